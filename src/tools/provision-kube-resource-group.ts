import { isIPv6 } from 'node:net';
import * as z from 'zod';
import { isObject } from '../util/objects.js';
import { quote } from '../util/quote.js';
import { defineOperation } from './define-operation.js';
import { consentArguments } from './schema/consent-arguments.js';
import {
  accountingTypes,
  deploymentModels,
  nodeInstanceTypes,
  volumeTypes,
  workstationInstanceTypes,
} from './schema/enumerations.js';
import {
  characters,
  clusterName,
  encodeSegment,
  hyphenated,
  ipAddress,
  oneOf,
  oneOfNumbers,
  pathName,
  text,
  wholeNumber,
} from './schema/fields.js';
import { clusterStatus, resourceGroupStatus, withMeaning } from './schema/meanings.js';
import { cluster, instance, like } from './schema/outputs.js';
import { zoneWarnings } from './schema/zones.js';

const placement = { region: text().optional(), availabilityZone: text().optional() };

const volume = {
  volumeType: oneOf(volumeTypes).optional(),
  volumeSize: oneOfNumbers([100]).describe('GB; 100 is the only size.').optional(),
};

const accounting = {
  initialAccountingType: oneOf(accountingTypes).describe('Billing; pay-per-use when absent.').optional(),
};

const nodes = { ...placement, instanceType: oneOf(nodeInstanceTypes).optional(), ...volume };

const input = z
  .strictObject({
    resourceGroupName: pathName().describe('Resource group to set up.'),
    regions: z.array(text()).length(1, 'must hold exactly one region').describe('The one region to use.').optional(),
    availabilityZones: z
      .array(text())
      .length(1, 'must hold exactly one zone')
      .describe('The one zone to use.')
      .optional(),
    resourceNamePrefix: characters(1, 6, '[a-z0-9]', 'lowercase letters or digits')
      .describe('Prefix of everything that is created; no other resource group may have it.')
      .optional(),
    deploymentModel: oneOf(deploymentModels).optional(),
    networkConfig: z
      .strictObject({
        networkId: text().describe('Private LAN to use. Without it the common private network is used.').optional(),
      })
      .optional(),
    externalCloudConfig: z
      .strictObject({
        serviceAccountKey: z
          .string()
          .refine(isJsonObject, 'must be the text of a JSON object, as the external cloud issued it')
          .describe('Service account key of the external cloud: the text of its JSON file. Never shown again.')
          .optional(),
        serviceAccountKeyName: text()
          .describe('Instead of the key: name of a secret that this server holds.')
          .optional(),
        location: text().describe('Location in the external cloud; GetKubeServerConfig lists them.').optional(),
      })
      .optional(),
    adminWorkstation: z
      .strictObject({
        ...placement,
        instanceType: oneOf(workstationInstanceTypes).optional(),
        ...volume,
        keyName: text().describe('SSH key of the compute service.').optional(),
        ...accounting,
      })
      .optional(),
    adminCluster: z
      .strictObject({
        name: clusterName().describe('No other cluster of the external cloud project may have it.').optional(),
        version: text().describe("Container-platform version; the platform's default when absent.").optional(),
        keyName: text().optional(),
        ...accounting,
        kubeServiceMeshConfig: z
          .strictObject({
            enabled: z.boolean('must be true or false').optional(),
            version: text().describe("The platform's default when absent.").optional(),
          })
          .optional(),
        cloudControllerManagerConfig: z
          .strictObject({ useExternalCloudProvider: z.boolean('must be true or false').optional() })
          .optional(),
        controlPlaneLoadBalancer: z
          .strictObject({
            type: oneOf(['elastic-load-balancer']).optional(),
            vip: ipAddress().describe('Virtual IP address; required with a private LAN.').optional(),
            systemIpAddresses: z
              .array(ipAddress())
              .describe(
                'Exactly two with a private LAN and type elastic-load-balancer; not allowed without a private LAN.',
              )
              .optional(),
          })
          .optional(),
        controlPlane: z.strictObject({ ...nodes, nodeCount: oneOfNumbers([1, 3, 5]).optional() }).optional(),
        nodePools: z
          .array(
            z.strictObject({
              name: hyphenated({ max: 40 }).optional(),
              ...nodes,
              nodeCount: wholeNumber(0).optional(),
            }),
          )
          .optional(),
      })
      .optional(),
    ...consentArguments,
  })
  .superRefine(
    ({ networkConfig, externalCloudConfig, adminCluster }, context) => {
      if (
        externalCloudConfig?.serviceAccountKey !== undefined &&
        externalCloudConfig.serviceAccountKeyName !== undefined
      )
        context.addIssue({
          code: 'custom',
          path: ['externalCloudConfig', 'serviceAccountKeyName'],
          input: externalCloudConfig.serviceAccountKeyName,
          message: 'must be left out if serviceAccountKey is given',
        });
      const { type, vip, systemIpAddresses } = adminCluster?.controlPlaneLoadBalancer ?? {};
      const field = (name: string) => ['adminCluster', 'controlPlaneLoadBalancer', name];
      const report = (name: string, given: unknown, message: string) =>
        context.addIssue({ code: 'custom', path: field(name), input: given, message });

      if (networkConfig?.networkId === undefined) {
        if (systemIpAddresses !== undefined)
          report(
            'systemIpAddresses',
            systemIpAddresses,
            'must be left out without a private LAN: give networkConfig.networkId as well, or leave it out',
          );
        return;
      }
      if (vip === undefined) report('vip', vip, 'is required with a private LAN (networkConfig.networkId is given)');
      if (type === 'elastic-load-balancer' && !areTwoDistinct(systemIpAddresses))
        report(
          'systemIpAddresses',
          systemIpAddresses,
          'must be exactly two distinct IP addresses with a private LAN and type elastic-load-balancer',
        );
    },
    { when: ({ value }) => typeof value === 'object' && value !== null },
  );

/** ProvisionKubeResourceGroup (reference, sections 2.5, 4.2 and 8). */
export const provisionKubeResourceGroup = defineOperation({
  name: 'provision_kube_resource_group',
  api: 'ProvisionKubeResourceGroup',
  title: 'Provision a Kubernetes resource group',
  description:
    'Sets up a resource group for the container platform: admin workstation and admin cluster (control plane, node ' +
    'pools, load balancer), linked to an external cloud project. The servers, disks and load balancer it creates cost ' +
    'money. Have ready: resource group, name prefix, region, zone, SSH key names, instance types, service account key. ' +
    'It answers at once with status "provisioning"; the setup goes on in the cloud.',
  effect: 'create',
  service: 'catalog',
  secrets: ['externalCloudConfig.serviceAccountKey'],
  secretNames: { 'externalCloudConfig.serviceAccountKeyName': 'externalCloudConfig.serviceAccountKey' },
  defaults: [
    { path: 'adminWorkstation.initialAccountingType', value: 'pay-per-use' },
    { path: 'adminCluster.initialAccountingType', value: 'pay-per-use' },
    { path: 'adminCluster.version', value: 'defaultConfig.kubeVersion of GetKubeServerConfig' },
    {
      path: 'adminCluster.kubeServiceMeshConfig.version',
      value: 'defaultConfig.serviceMeshVersion of GetKubeServerConfig, if the mesh is enabled',
    },
    { path: 'networkConfig.networkId', value: 'the common private network' },
  ],
  undocumented: [
    'Which arguments are required, apart from what a private LAN needs.',
    'Versions and locations on offer: GetKubeServerConfig lists them; its shape is not shown.',
    'Success status code, error codes, limits of rate, and how long it takes.',
    'Transitions between states after the first, and an operation that reads a resource group.',
  ],

  input,

  change: {
    consequences: ({ resourceGroupName, adminWorkstation, adminCluster }) => [
      `Resource group ${quote(resourceGroupName)} is set up with an admin workstation and an admin cluster${adminCluster?.name === undefined ? '' : ` ${quote(adminCluster.name)}`}.`,
      `Servers, disks and a load balancer are created and cost money from then on: workstation ${adminWorkstation?.instanceType ?? '(type not given)'}, ${adminCluster?.controlPlane?.nodeCount ?? 'an unstated number of'} control plane nodes, ${workers(adminCluster?.nodePools)} nodes in pools.`,
    ],
    warnings: ({ regions, availabilityZones, externalCloudConfig, adminWorkstation, adminCluster }) => [
      ...zoneWarnings(availabilityZones?.[0], regions?.[0]),
      ...[adminWorkstation, adminCluster?.controlPlane, ...(adminCluster?.nodePools ?? [])].flatMap((place) =>
        zoneWarnings(place?.availabilityZone, place?.region),
      ),
      ...(externalCloudConfig?.serviceAccountKey === undefined
        ? ['No service account key is given, so there is nothing to link the group to the external cloud with.']
        : []),
      ...repeatedNames(adminCluster?.nodePools).map((name) => `Several node pools have the name ${quote(name)}.`),
    ],
  },

  output: z.object({
    name: z.string(),
    description: z.string().optional(),
    template: z.string(),
    configuration: like(
      z.object({
        kube: z.object({
          regions: z.array(z.string()),
          availabilityZones: z.array(z.string()),
          resourceNamePrefix: z.string(),
          deploymentModel: z.string(),
          networkConfig: z.object({ networkId: z.string().optional() }).optional(),
          externalCloudConfig: z.object({
            serviceAccount: z.object({ projectId: z.string(), clientEmail: z.string(), clientId: z.string() }),
            location: z.string(),
          }),
          adminWorkstation: z.object({
            region: z.string(),
            availabilityZone: z.string(),
            instanceType: z.string(),
            volumeType: z.string(),
            volumeSize: z.int(),
            keyName: z.string(),
            initialAccountingType: z.string(),
            instance: instance.optional(),
          }),
          adminCluster: cluster,
          userClusters: z.array(cluster),
        }),
      }),
      'kube: what was asked for, with adminCluster and userClusters like the answer of upgrade_kube_version',
    ),
    status: z.string(),
    createTime: z.string(),
  }),

  request: ({ resourceGroupName, ...body }) => ({
    method: 'POST',
    path: `/v1/resource-groups/${encodeSegment(resourceGroupName)}/kube:provision`,
    query: {},
    body,
  }),

  record: (body) => body,

  explain({ name = '', status, configuration }) {
    const admin = configuration?.kube?.adminCluster ?? {};
    return (
      `The setup of resource group ${quote(name)} was accepted. Its status is ${withMeaning(status, resourceGroupStatus)}; ` +
      `the status of its admin cluster ${quote(admin.name ?? '')} is ${withMeaning(admin.status, clusterStatus)}. ` +
      'The API documents no operation that reads a resource group: follow the setup in the console, and do not send it again.'
    );
  },
});

type Pools = readonly { readonly name?: string | undefined; readonly nodeCount?: number | undefined }[] | undefined;

const workers = (pools: Pools) => (pools ?? []).reduce((sum, { nodeCount = 0 }) => sum + nodeCount, 0);

function repeatedNames(pools: Pools): string[] {
  const names = (pools ?? []).flatMap(({ name }) => name ?? []);
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
}

function isJsonObject(value: string): boolean {
  try {
    return isObject(JSON.parse(value));
  } catch {
    return false;
  }
}

/** The value may be anything: the condition is checked beside the other rules, not after them. */
const areTwoDistinct = (addresses: unknown) =>
  Array.isArray(addresses) && addresses.length === 2 && new Set(addresses.map(canonicalAddress)).size === 2;

/** An IPv6 address has many spellings; a URL has one. */
const canonicalAddress = (address: unknown) =>
  typeof address === 'string' && isIPv6(address) ? new URL(`http://[${address.split('%')[0]}]`).hostname : address;
