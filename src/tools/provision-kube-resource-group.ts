import * as z from 'zod';
import { sentences } from '../util/human.js';
import { isObject, parseJson } from '../util/objects.js';
import { counted, join, type SafeText, say, words } from '../util/safe-text.js';
import { encodeSegment } from '../util/uri.js';
import { defineOperation } from './define-operation.js';
import { json } from './request-body.js';
import { differs, place, withMeaning, zoneWarnings } from './schema/answer-texts.js';
import {
  characters,
  consentArguments,
  group,
  longestSecretName,
  oneOf,
  pathName,
  secretNameDescription,
  text,
  withConditions,
} from './schema/fields.js';
import {
  adminCluster,
  adminWorkstation,
  checkPrivateLan,
  listOfOne,
  poolsText,
  typeText,
  versionWarnings,
} from './schema/kube-inputs.js';
import { resourceGroup } from './schema/outputs.js';
import values from './schema/values.json' with { type: 'json' };

/** Nearly all are optional, because the API reference does not say which are required. */
const input = () =>
  withConditions(
    z.strictObject({
      resourceGroupName: pathName().describe('Group to set up.'),
      regions: listOfOne('region').optional(),
      availabilityZones: listOfOne('zone').optional(),
      resourceNamePrefix: characters(1, 6, '[a-z0-9]', 'lowercase letters or digits')
        .describe('Unique name prefix.')
        .meta({ title: 'name prefix' })
        .optional(),
      deploymentModel: oneOf(values.deploymentModels).describe('Kind of deployment.').optional(),
      networkConfig: group('network', 'Network.', {
        networkId: text(255).describe('Private LAN; else the common one.').meta({ title: 'private LAN' }),
      }).optional(),
      externalCloudConfig: group('external cloud', 'External cloud.', {
        serviceAccountKey: z
          .string()
          .max(64 * 1024, 'must have at most 65,536 characters')
          .refine(isJsonObject, 'must be the text of a JSON object, as the external cloud issued it')
          .describe('Its JSON text.'),
        serviceAccountKeyName: text(longestSecretName).describe(secretNameDescription),
        location: text(255).describe('As GetKubeServerConfig lists.'),
      }).optional(),
      adminWorkstation: adminWorkstation().optional(),
      adminCluster: adminCluster().optional(),
      ...consentArguments(),
    }),
    ({ networkConfig, externalCloudConfig, adminCluster }, report) => {
      const { serviceAccountKey, serviceAccountKeyName } = externalCloudConfig ?? {};
      if (serviceAccountKey !== undefined && serviceAccountKeyName !== undefined)
        report('externalCloudConfig.serviceAccountKeyName', 'must be left out if serviceAccountKey is given');
      checkPrivateLan(networkConfig, adminCluster?.controlPlaneLoadBalancer, (field, message) =>
        report(`adminCluster.controlPlaneLoadBalancer.${field}`, message),
      );
    },
  );

const examplePlace = {
  region: 'jp-east-1',
  availabilityZone: 'east-11',
  volumeType: 'standard-flash-storage-a',
  volumeSize: 100,
};

/** ProvisionKubeResourceGroup (docs/API.md: ProvisionKubeResourceGroup). */
export const provisionKubeResourceGroup = defineOperation({
  name: 'provision_kube_resource_group',
  api: 'ProvisionKubeResourceGroup',
  title: 'Provision a Kubernetes resource group',
  description:
    'Sets up a Kubernetes resource group: admin workstation and admin cluster, linked to an external cloud ' +
    'project. Its servers, disks and load balancer cost money. Have ready: resource group, name prefix, region, zone, SSH key ' +
    'names, instance types, service account key. It answers at once with status "provisioning", and the setup continues in the cloud. ' +
    'It cannot list groups, versions and locations.',
  effect: 'create',
  service: 'catalog',
  method: 'POST',
  answer: 'json',
  example: {
    resourceGroupName: 'demo-blue',
    regions: ['jp-east-1'],
    availabilityZones: ['east-11'],
    resourceNamePrefix: 'blue',
    deploymentModel: 'standalone',
    externalCloudConfig: { serviceAccountKey: '{"project_id":"demo-project"}', location: 'asia-northeast1' },
    adminWorkstation: {
      ...examplePlace,
      instanceType: 'h2-medium4',
      keyName: 'demo-key',
    },
    adminCluster: {
      name: 'blue-admin',
      keyName: 'demo-key',
      controlPlane: {
        ...examplePlace,
        instanceType: 'h2-large16',
        nodeCount: 3,
      },
      nodePools: [
        {
          ...examplePlace,
          name: 'workers',
          instanceType: 'h2-large32',
          nodeCount: 2,
        },
      ],
    },
  },
  secrets: ['externalCloudConfig.serviceAccountKey'],
  secretNames: { 'externalCloudConfig.serviceAccountKeyName': 'externalCloudConfig.serviceAccountKey' },
  defaults: [
    { path: 'adminWorkstation.initialAccountingType', value: 'pay-per-use' },
    { path: 'adminCluster.initialAccountingType', value: 'pay-per-use' },
    { path: 'adminCluster.version', value: "the cloud's default version" },
    {
      path: 'adminCluster.kubeServiceMeshConfig.version',
      value: "the cloud's default version, if the mesh is enabled",
    },
    { path: 'networkConfig.networkId', value: 'the common private network' },
  ],
  unknownDefaults: [
    'regions',
    'availabilityZones',
    'resourceNamePrefix',
    'deploymentModel',
    'adminWorkstation.keyName',
    'adminCluster.name',
    'adminCluster.keyName',
  ],
  costDrivers: [
    'adminWorkstation',
    'adminWorkstation.instanceType',
    'adminWorkstation.volumeType',
    'adminCluster',
    'adminCluster.controlPlane',
    'adminCluster.controlPlane.instanceType',
    'adminCluster.controlPlane.volumeType',
    'adminCluster.controlPlane.nodeCount',
  ],
  undocumented: [
    'Which arguments are required, apart from what a private LAN needs.',
    'Whether the resource group must exist before.',
    'Possible versions and locations: GetKubeServerConfig lists them, but its answer is not described.',
    'Success status code, error codes, rate limits, and the duration.',
    'Transitions between states after the first.',
    'The location of each region: the API has only codes.',
  ],
  limitations: [
    'Creating, listing and deleting resource groups, and reading the state of one: use the console.',
    'Listing versions, locations, networks and SSH keys: use the console.',
  ],
  errors: {
    'Client.InvalidParameterDuplicate.ResourceGroupName': {
      agent: 'Tell the user that the group is set up already, and ask whether another one was meant.',
      person: 'The group is set up already.',
    },
    'Client.InvalidParameterDuplicate': {
      agent: 'Tell the user which name is in use, as the cloud says, and ask them for another one.',
      person: 'The cloud says which name is in use: give another one.',
    },
    'Client.InvalidParameterNotFound': {
      agent: 'Tell the user what does not exist, as the cloud says, and ask them for the right name.',
      person: 'The cloud says what does not exist: give the right name.',
    },
  },

  input,

  change: {
    costsMoney: true,
    continues: true,
    headline: (input) =>
      say`Set up Kubernetes resource group ${input.resourceGroupName}${inRegion(input.regions)}: ${serversText(input)}`,
    shortHeadline: (input) => say`Set up Kubernetes group ${input.resourceGroupName}: ${serversText(input)}`,
    accept: ({ resourceGroupName }) => say`Set up ${resourceGroupName}`,
    consequences: ({ adminWorkstation, adminCluster }) => [
      say`Its servers, disks and load balancer cost money from the moment they are created.`,
      say`Workstation: ${typeText(adminWorkstation?.instanceType)}. Control plane: ${adminCluster?.controlPlane?.nodeCount ?? words('?')} × ${typeText(adminCluster?.controlPlane?.instanceType)}. Node pools: ${poolsText(adminCluster?.nodePools)}.`,
    ],
    warnings({ regions, availabilityZones, adminWorkstation, adminCluster }) {
      const [groupRegion] = regions ?? [];
      const { controlPlane, nodePools = [] } = adminCluster ?? {};
      return [
        ...zoneWarnings(availabilityZones?.[0], groupRegion),
        ...[adminWorkstation, controlPlane, ...nodePools].flatMap((server) =>
          zoneWarnings(server?.availabilityZone, server?.region),
        ),
        ...versionWarnings(adminCluster?.version),
      ];
    },
    notChecked: [
      'that the resource group can be set up',
      'that prefix and cluster name are free',
      'that the SSH keys exist',
    ],
    identifies: ['resourceGroupName'],
    named: [
      'resourceGroupName',
      'adminWorkstation.instanceType',
      'adminCluster.controlPlane.nodeCount',
      'adminCluster.controlPlane.instanceType',
      'adminCluster.nodePools[].name',
      'adminCluster.nodePools[].nodeCount',
      'adminCluster.nodePools[].instanceType',
    ],
    verificationHint: ({ resourceGroupName, regions }) =>
      say`resource group ${resourceGroupName}${inRegion(regions)} with status provisioning, configuring or provisioned`,
    contradictions: ({ name, configuration }, { resourceGroupName, regions, availabilityZones }) => [
      ...differs('resource group', resourceGroupName, name),
      ...differs('region', regions?.[0], configuration?.kube?.regions?.[0]),
      ...differs('zone', availabilityZones?.[0], configuration?.kube?.availabilityZones?.[0]),
    ],
  },

  output: resourceGroup,

  request: ({ resourceGroupName, ...body }) => ({
    path: `/v1/resource-groups/${encodeSegment(resourceGroupName)}/kube:provision`,
    body: json(body),
  }),

  extract: (body) => body,

  summarize({ status, configuration }, { resourceGroupName }) {
    const { name, status: clusterState } = configuration?.kube?.adminCluster ?? {};
    const cluster = name ? say`admin cluster ${name}` : words('admin cluster');
    return join(
      sentences(
        say`The cloud accepted the setup of resource group ${resourceGroupName}: it has started and is not finished.`,
        status !== undefined && say`Its status is ${withMeaning(status, values.resourceGroupStatus)}.`,
        clusterState !== undefined &&
          say`The status of its ${cluster} is ${withMeaning(clusterState, values.clusterStatus)}.`,
      ),
      ' ',
    );
  },
});

function serversText({ adminWorkstation, adminCluster }: z.output<ReturnType<typeof input>>): SafeText {
  const { controlPlane, nodePools = [] } = adminCluster ?? {};
  const counts = [adminWorkstation && 1, ...[controlPlane, ...nodePools].map((group) => group?.nodeCount)];
  const total = counts.reduce<number>((sum, count = 0) => sum + count, 0);
  const atLeast = words(counts.includes(undefined) ? 'at least ' : '');
  return total === 0 ? words('number of servers not given') : say`${atLeast}${counted(total, 'server')}`;
}

const inRegion = ([region]: readonly string[] = []) => (region === undefined ? words('') : say` in ${place(region)}`);

const isJsonObject = (text: string): boolean => isObject(parseJson(text));
