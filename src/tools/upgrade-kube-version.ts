import * as z from 'zod';
import { quote } from '../util/quote.js';
import { defineOperation } from './define-operation.js';
import { consentArguments } from './schema/consent-arguments.js';
import { encodeSegment, pathName, text } from './schema/fields.js';
import { clusterStatus, withMeaning } from './schema/meanings.js';
import { cluster } from './schema/outputs.js';

/** UpgradeKubeVersion (reference, sections 2.4 and 4.3). */
export const upgradeKubeVersion = defineOperation({
  name: 'upgrade_kube_version',
  api: 'UpgradeKubeVersion',
  title: 'Upgrade a Kubernetes cluster',
  description:
    'Upgrades the container-platform version of one cluster in a resource group. It changes a live ' +
    'cluster, and the API documents no way back. Have ready: the resource group, the ' +
    'cluster and the exact target version, which GetKubeServerConfig of the platform lists (not offered here; ask the ' +
    'user rather than guess). It answers at once with status "configuring"; the upgrade goes on in the cloud.',
  effect: 'change',
  service: 'catalog',
  secrets: [],
  defaults: [],
  undocumented: [
    'Versions on offer: GetKubeServerConfig lists them; its shape is not shown.',
    'Success status code, error codes, limits of rate, how long it takes, and whether it can be undone.',
    'An operation that reads a cluster.',
  ],

  input: z.strictObject({
    resourceGroupName: pathName().describe('Resource group that holds the cluster.'),
    clusterName: pathName().describe('Cluster to upgrade.'),
    version: text().describe('Container-platform version to upgrade to.'),
    ...consentArguments,
  }),

  change: {
    consequences: ({ resourceGroupName, clusterName, version }) => [
      `Cluster ${quote(clusterName)} of resource group ${quote(resourceGroupName)} is upgraded to version ${quote(version)}.`,
      'It is a live change, and the API documents no way back.',
    ],
    warnings: () => [],
  },

  output: cluster,

  request: ({ resourceGroupName, clusterName, version }) => ({
    method: 'POST',
    path: `/v1/resource-groups/${encodeSegment(resourceGroupName)}/kube/clusters/${encodeSegment(clusterName)}:upgrade`,
    query: {},
    body: { version },
  }),

  record: (body) => body,

  explain: ({ name = '', version, status }) =>
    `The upgrade of cluster ${quote(name)} was accepted. Its status is ${withMeaning(status, clusterStatus)}, ` +
    `its version in the answer ${version === undefined ? 'not given' : quote(version)}. ` +
    'The API documents no operation that reads a cluster: follow the upgrade in the console, and do not send it again.',
});
