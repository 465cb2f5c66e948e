import { hash } from 'node:crypto';
import * as z from 'zod';
import { clusterKey, kubeOf, showGroup } from '../catalog.js';
import type { Cloud } from '../cloud.js';
import { type Fields, jsonAnswer, parseObject } from '../http.js';
import { defineOperation } from '../operation.js';
import { address, areDistinctAddresses, duplicate, name, oneOf, serverTypes, text } from '../rules.js';

/** The server types that docs/API.md (Instance types) calls `listN`, for nodes, and `listW`, for the workstation. */
const listN = serverTypes({
  'h2-large': '16 24 32',
  'h2-extra-large': '16 24 32 48',
  'h2-double-large': '16 24 32 48 64 96',
  'h2-triple-large': '32 48 64 96 128',
  'h2-quad-large': '64 96 128',
  'h2-septa-large': '128',
});
const small = serverTypes({ 'h2-medium': '4 8 16 24', 'h2-large': '8', 'h2-extra-large': '8' });
const listW = ['h2-large', ...small, ...listN];

const volumeTypes = ['standard-flash-storage-a', 'standard-flash-storage-b', 'high-speed-flash-storage-a'];
const machine = (types: readonly string[]) => ({
  region: text,
  availabilityZone: text,
  instanceType: oneOf(...types).default(''),
  volumeType: oneOf(...volumeTypes, 'high-speed-flash-storage-b').default(''),
  volumeSize: z.literal(100).default(100),
});
const clusterName = /^[a-z]([a-z0-9-]*[a-z0-9])?$/;
const prefix = /^[a-z0-9]{1,6}$/;
const isObjectText = (text: string) => parseObject(text) !== undefined;
const accounting = z.enum(['pay-per-use', 'monthly']).default('pay-per-use');

const workstation = z.strictObject({ ...machine(listW), keyName: text, initialAccountingType: accounting });
const serviceAccountKey = z.string().refine(isObjectText, 'must be a JSON object').default('{}');

const serviceMesh = z.strictObject({
  enabled: z.boolean().default(false),
  version: z.string().default('1.27.1-sandbox'),
});
const controllerManager = z.strictObject({ useExternalCloudProvider: z.boolean().default(false) });
const loadBalancer = z.strictObject({
  type: z.literal('elastic-load-balancer').optional(),
  vip: address.optional(),
  systemIpAddresses: z.array(address).optional(),
});
const controlPlane = z.strictObject({ ...machine(listN), nodeCount: z.literal([1, 3, 5]).default(1) });
const nodePool = z.strictObject({
  name: name(1, 40).default(''),
  ...machine(listN),
  nodeCount: z.int().nonnegative().default(1),
});

const cluster = z.strictObject({
  name: z.string().max(40).regex(clusterName).default(''),
  version: z.string().default('1.34.2-sandbox'),
  keyName: text,
  initialAccountingType: accounting,
  kubeServiceMeshConfig: serviceMesh.prefault({}),
  cloudControllerManagerConfig: controllerManager.prefault({}),
  controlPlaneLoadBalancer: loadBalancer.prefault({}),
  controlPlane: controlPlane.prefault({}),
  nodePools: z.array(nodePool).default([]),
});

/** Rules of the request (docs/API.md: ProvisionKubeResourceGroup). */
const body = z.strictObject({
  regions: z.array(z.string()).length(1).default([]),
  availabilityZones: z.array(z.string()).length(1).default([]),
  resourceNamePrefix: z.string().regex(prefix).default(''),
  deploymentModel: z.enum(['standalone', 'multi', 'hybrid']).default('standalone'),
  networkConfig: z.strictObject({ networkId: z.string().optional() }).prefault({}),
  externalCloudConfig: z.strictObject({ serviceAccountKey, location: text }).prefault({}),
  adminWorkstation: workstation.prefault({}),
  adminCluster: cluster.prefault({}),
});

type ProvisionInput = z.output<typeof body>;

const balancerOf = (input: ProvisionInput) => input.adminCluster?.controlPlaneLoadBalancer;
const hasPrivateLan = (input: ProvisionInput) => input.networkConfig?.networkId !== undefined;

/** Options for a rule about a field of the load balancer. The rule runs even if other fields are invalid, so its input may lack objects. */
const condition = (field: string, error: string) => {
  return { error, path: ['adminCluster', 'controlPlaneLoadBalancer', field], when: () => true };
};

const vipNeeded = condition('vip', 'is required when a private LAN is specified');
const noneWanted = condition('systemIpAddresses', 'must not be given when the common private network is used');
const twoNeeded = condition(
  'systemIpAddresses',
  'must be two distinct IP addresses on a private LAN with an elastic-load-balancer',
);

export const provisionRules = body
  .refine((input) => !hasPrivateLan(input) || balancerOf(input)?.vip !== undefined, vipNeeded)
  .refine((input) => hasPrivateLan(input) || balancerOf(input)?.systemIpAddresses === undefined, noneWanted)
  .refine((input) => {
    if (!hasPrivateLan(input) || balancerOf(input)?.type !== 'elastic-load-balancer') return true;
    const addresses = balancerOf(input).systemIpAddresses;
    return Array.isArray(addresses) && addresses.length === 2 && areDistinctAddresses(addresses[0], addresses[1]);
  }, twoNeeded);

export const provisionKubeResourceGroup = defineOperation({
  service: 'catalog',
  request: 'POST /v1/resource-groups/{resourceGroupName}/kube:provision',
  source: 'reference',
  invents: ['status', 'versions', 'servers', 'balancer'],
  rules: provisionRules,
  handle({ parameters: { resourceGroupName }, input }, cloud) {
    checkUnique(resourceGroupName, input, cloud);
    const group = groupRecord(resourceGroupName, input, cloud.now().toISOString());
    cloud.groups.set(resourceGroupName, group);
    // A request creates a group and its admin cluster. No request creates a user cluster.
    const isAdmin = true;
    cloud.clusters.set(clusterKey(resourceGroupName, input.adminCluster.name), clusterRecord(input, group, isAdmin));
    return jsonAnswer(200, showGroup(cloud, group));
  },
});

/** Throws a `ServiceError` if the name of the group, its prefix or the name of its admin cluster is in use. */
function checkUnique(group: string, input: ProvisionInput, { groups, clusters }: Cloud): void {
  const prefix = input.resourceNamePrefix;
  const { projectId } = serviceAccountOf(input);
  const { name } = input.adminCluster;
  if (groups.has(group)) throw duplicate('ResourceGroupName', `${group} is provisioned already.`);
  if (prefix !== '' && [...groups.values()].some((other) => kubeOf(other).resourceNamePrefix === prefix))
    throw duplicate('ResourceNamePrefix', `Another resource group has the prefix ${prefix}.`);
  if (name !== '' && [...clusters.values()].some((other) => other.project === projectId && other.name === name))
    throw duplicate('AdminClusterName', `The external cloud project ${projectId} has a cluster ${name}.`);
}

/** Creates the record of a new group (docs/API.md: Resource group record). Its clusters have records of their own. */
export function groupRecord(name: string, input: ProvisionInput, createTime: string): Fields {
  const { adminCluster: _, externalCloudConfig, adminWorkstation, ...settings } = input;
  const workstationServer = serverRecord(`${name}-workstation`, adminWorkstation, input.networkConfig.networkId);
  const kube = {
    ...settings,
    // The request has a secret key here. The record has only the account of the key.
    externalCloudConfig: { serviceAccount: serviceAccountOf(input), location: externalCloudConfig.location },
    adminWorkstation: { ...adminWorkstation, instance: workstationServer },
  };

  return {
    name,
    description: '',
    template: 'kube',
    configuration: { kube },
    status: 'provisioning',
    createTime,
    // `showGroup` needs this to tell if the group is ready, and leaves it out of the answer.
    changedAt: createTime,
  };
}

/** Returns the three fields of the service account key that answers may show. The key itself is secret (docs/API.md: Resource group record). */
function serviceAccountOf({ externalCloudConfig }: ProvisionInput) {
  const key = parseObject(externalCloudConfig.serviceAccountKey) ?? {};
  const text = (value: unknown) => String(value ?? '');
  return { projectId: text(key.project_id), clientEmail: text(key.client_email), clientId: text(key.client_id) };
}

/**
 * Creates the record of a cluster (docs/API.md: Cluster record) with the settings in `input.adminCluster`. A user cluster, which only a new
 * sandbox has, takes its settings from this field too, because a request has no other field for a cluster.
 */
export function clusterRecord(input: ProvisionInput, group: Fields, isAdmin: boolean): Fields {
  const cluster = input.adminCluster;
  const { networkId } = input.networkConfig;
  /** Adds the list `instances`, with `nodeCount` servers, to the settings of a control plane or a node pool. */
  const withServers = (settings: ServerSettings & { readonly nodeCount: number }, namePrefix: string) => {
    // A request may ask for any number of servers, so only the first of them are listed.
    const listedCount = Math.min(settings.nodeCount, maximumListedServers);
    const serverNames = Array.from({ length: listedCount }, (_, index) => `${namePrefix}-${index + 1}`);
    return { ...settings, instances: serverNames.map((name) => serverRecord(name, settings, networkId)) };
  };

  const { enabled, version } = cluster.kubeServiceMeshConfig;
  const controlPlaneName = `${cluster.name}-control-plane`;
  return {
    ...cluster,
    // A service mesh that is not enabled has no version. The version in `input` may be the default of `provisionRules`.
    kubeServiceMeshConfig: enabled ? { enabled, version } : { enabled },
    controlPlaneLoadBalancer: loadBalancerRecord(input),
    controlPlane: { name: controlPlaneName, ...withServers(cluster.controlPlane, controlPlaneName) },
    nodePools: cluster.nodePools.map((pool) => withServers(pool, `${cluster.name}-${pool.name}`)),
    status: 'provisioning',
    // The following fields are for the sandbox itself. `showCluster` leaves them out of answers.
    changedAt: group.createTime,
    group: group.name,
    project: serviceAccountOf(input).projectId,
    isAdmin,
  };
}

/** The settings of a server that workstation, control plane and node pools have in common. */
type ServerSettings = Omit<ProvisionInput['adminWorkstation'], 'keyName' | 'initialAccountingType'>;

const maximumListedServers = 100;

/** Creates the record of a load balancer (docs/API.md: Cluster record). Addresses that the request does not name are invented. */
function loadBalancerRecord({ adminCluster, networkConfig }: ProvisionInput): Fields {
  const requested = adminCluster.controlPlaneLoadBalancer;
  const name = `${adminCluster.name}-balancer`;
  const { region, availabilityZone } = adminCluster.controlPlane;

  const networkId = networkConfig.networkId ?? commonNetworkId;
  const ipAddress = requested.vip ?? addressOf(name);
  const systemIpAddresses = requested.systemIpAddresses ?? [addressOf(`${name}-1`), addressOf(`${name}-2`)];

  return {
    type: 'elastic-load-balancer',
    // As in the sample of docs/API.md, `vip` stays empty if it was not requested. Only `elasticLoadBalancer` has an invented address for it,
    // while system addresses are in both places.
    vip: requested.vip ?? '',
    systemIpAddresses,
    elasticLoadBalancer: {
      region,
      availabilityZone,
      id: uniqueId(name),
      name,
      // An address in place of a name, as in docs/API.md.
      dnsName: ipAddress,
      networkInterfaces: [{ networkId, ipAddress, isVipNetwork: true, systemIpAddresses }],
    },
  };
}

/** Creates the record of a server (docs/API.md: Server record). */
function serverRecord(instanceId: string, settings: ServerSettings, networkId = commonNetworkId): Fields {
  const { region, availabilityZone, instanceType, volumeType: type, volumeSize: size } = settings;
  const volumeId = `${instanceId}-disk`;
  return {
    region,
    availabilityZone,
    instanceId,
    instanceUniqueId: uniqueId(instanceId),
    instanceType,
    securityGroupName: 'sandbox-firewall',
    networkInterfaces: [{ networkId, ipAddress: addressOf(instanceId) }],
    volumes: [{ region, availabilityZone, volumeId, volumeUniqueId: uniqueId(volumeId), type, size }],
  };
}

/** ID of the common private network, which servers without a private LAN use. */
const commonNetworkId = 'common-private';
const digest = (text: string) => hash('sha256', text, 'buffer');
/** Derives an ID from a name, so that the same requests get the same answers in every sandbox. `addressOf` derives an IP address. */
const uniqueId = (name: string) => `i-${digest(name).toString('hex').slice(0, 12)}`;
const addressOf = (name: string) => `10.${[...digest(name).subarray(0, 3)].join('.')}`;
