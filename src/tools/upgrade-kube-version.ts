import * as z from 'zod';
import { sentences } from '../util/human.js';
import { join, say } from '../util/safe-text.js';
import { encodeSegment } from '../util/uri.js';
import { defineOperation } from './define-operation.js';
import { json } from './request-body.js';
import { differs, withMeaning } from './schema/answer-texts.js';
import { consentArguments, pathName, text } from './schema/fields.js';
import { versionWarnings } from './schema/kube-inputs.js';
import { cluster } from './schema/outputs.js';
import values from './schema/values.json' with { type: 'json' };

/** UpgradeKubeVersion (docs/API.md: UpgradeKubeVersion). */
export const upgradeKubeVersion = defineOperation({
  name: 'upgrade_kube_version',
  api: 'UpgradeKubeVersion',
  title: 'Upgrade a Kubernetes cluster',
  description:
    'Upgrades one Kubernetes cluster in a resource group to another version. It changes a live cluster, and the API ' +
    'documents no way back. Have ready: the resource group, the cluster and the exact target version, which ' +
    'GetKubeServerConfig of the cloud lists (not available here; ask the user rather than guess). It answers at once with ' +
    'status "configuring", and the upgrade continues in the cloud.',
  effect: 'alter',
  service: 'catalog',
  method: 'POST',
  answer: 'json',
  example: { resourceGroupName: 'demo-group', clusterName: 'demo-user', version: '1.34.2-sandbox' },
  defaults: [],
  undocumented: [
    'Possible versions: GetKubeServerConfig lists them, but its answer is not described.',
    'Success status code, error codes, rate limits, the duration, and whether the upgrade can be undone.',
  ],
  limitations: [
    'Listing clusters and versions, and reading the state of a cluster: use the console.',
    'Going back to an earlier version: the API documents no operation for it.',
  ],
  errors: {
    'Client.InvalidParameterNotFound': {
      agent:
        'Tell the user that the resource group, the cluster or the version does not exist, and ask them for the right one.',
      person: 'The resource group, the cluster or the version does not exist: give the right one.',
    },
  },

  input: () =>
    z.strictObject({
      resourceGroupName: pathName().describe('Resource group that holds the cluster.'),
      clusterName: pathName().describe('Cluster to upgrade.'),
      version: text(255).describe('Version to upgrade to.'),
      ...consentArguments(),
    }),

  change: {
    costsMoney: false,
    irreversible: true,
    continues: true,
    headline: ({ resourceGroupName, clusterName, version }) =>
      say`Upgrade cluster ${clusterName} of resource group ${resourceGroupName} to version ${version}`,
    shortHeadline: ({ clusterName, version }) => say`Upgrade cluster ${clusterName} to version ${version}`,
    accept: ({ clusterName }) => say`Upgrade cluster ${clusterName}`,
    consequences: () => [say`It changes a live cluster, and the API documents no way back.`],
    warnings: ({ version }) => versionWarnings(version),
    notChecked: ['that the cluster exists', 'that the version is possible', 'which version the cluster has now'],
    identifies: ['resourceGroupName', 'clusterName'],
    named: ['resourceGroupName', 'clusterName', 'version'],
    verificationHint: ({ resourceGroupName, clusterName, version }) =>
      say`cluster ${clusterName} of resource group ${resourceGroupName} with status configuring or version ${version}`,
    contradictions: (record, { clusterName }) => differs('cluster', clusterName, record.name),
  },

  output: cluster,

  request: ({ resourceGroupName, clusterName, version }) => ({
    path: `/v1/resource-groups/${encodeSegment(resourceGroupName)}/kube/clusters/${encodeSegment(clusterName)}:upgrade`,
    body: json({ version }),
  }),

  extract: (body) => body,

  summarize: ({ version, status }, { clusterName }) =>
    join(
      sentences(
        say`The cloud accepted the upgrade of cluster ${clusterName}: it has started and is not finished.`,
        status !== undefined && say`Its status is ${withMeaning(status, values.clusterStatus)}.`,
        version !== undefined &&
          say`The answer already names version ${version}, which does not mean that it is in use.`,
      ),
      ' ',
    ),
});
