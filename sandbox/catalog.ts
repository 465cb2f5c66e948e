import { hash } from 'node:crypto';
import type { Cloud } from './cloud.js';
import { type Fields, object, parseObject } from './http.js';
import type { ProvisionInput } from './operations/provision-kube-resource-group.js';
import { notFound } from './rules.js';

export const clusterKey = (group: string, name: string) => `${group}/${name}`;

/** Throws a `ServiceError` if there is none of this name. */
export function findGroup({ groups }: Cloud, name: string): Fields {
  const group = groups.get(name);
  if (group === undefined) throw notFound('ResourceGroupName', `There is no resource group ${name}.`);
  return group;
}

/** A group as it is now. */
export function showGroup(cloud: Cloud, { changedAt, ...group }: Fields): Fields {
  const own = [...cloud.clusters.values()].filter((cluster) => cluster.group === group.name);
  const shown = (isAdmin: boolean) =>
    own.filter((cluster) => cluster.isAdmin === isAdmin).map((cluster) => showCluster(cloud, cluster));
  return {
    ...group,
    configuration: { kube: { ...kubeOf(group), adminCluster: shown(true)[0], userClusters: shown(false) } },
    ...(cloud.hasSettled(changedAt) && { status: 'provisioned' }),
  };
}

/** A cluster as it is now. */
export function showCluster(cloud: Cloud, stored: Fields): Fields {
  const { changedAt, group: _group, project: _project, isAdmin: _isAdmin, ...cluster } = stored;
  return { ...cluster, ...(cloud.hasSettled(changedAt) && { status: 'running' }) };
}

export const kubeOf = (group: Fields) => object(object(group.configuration).kube);

/** A group in its first state. */
export function groupRecord(name: string, input: ProvisionInput, createTime: string): Fields {
  const { adminCluster: _, externalCloudConfig, adminWorkstation, ...given } = input;
  const instance = serverRecord(`${name}-workstation`, adminWorkstation, input.networkConfig.networkId);
  const kube = {
    ...given,
    externalCloudConfig: { serviceAccount: serviceAccountOf(input), location: externalCloudConfig.location },
    adminWorkstation: { ...adminWorkstation, instance },
  };
  return {
    name,
    description: '',
    template: 'kube',
    configuration: { kube },
    status: 'provisioning',
    createTime,
    changedAt: createTime,
  };
}

/** The submitted key itself is never returned (reference, section 2.5). */
export function serviceAccountOf({ externalCloudConfig }: ProvisionInput) {
  const key = parseObject(externalCloudConfig.serviceAccountKey) ?? {};
  const text = (value: unknown) => String(value ?? '');
  return { projectId: text(key.project_id), clientEmail: text(key.client_email), clientId: text(key.client_id) };
}

/** The admin cluster that a group's input describes, or a user cluster like it, in its first state. */
export function clusterRecord(input: ProvisionInput, { name: group, createTime }: Fields, isAdmin: boolean): Fields {
  const { adminCluster: cluster, networkConfig } = input;
  const { enabled, version } = cluster.kubeServiceMeshConfig;
  const nodes = (given: Machine & { readonly nodeCount: number }, serverName: string) => ({
    ...given,
    instances: Array.from({ length: Math.min(given.nodeCount, shownNodes) }, (_, index) =>
      serverRecord(`${serverName}-${index + 1}`, given, networkConfig.networkId),
    ),
  });
  const controlPlane = `${cluster.name}-control-plane`;
  return {
    ...cluster,
    kubeServiceMeshConfig: { enabled, ...(enabled && { version }) },
    controlPlaneLoadBalancer: loadBalancer(input),
    controlPlane: { name: controlPlane, ...nodes(cluster.controlPlane, controlPlane) },
    nodePools: cluster.nodePools.map((pool) => nodes(pool, `${cluster.name}-${pool.name}`)),
    status: 'provisioning',
    ...{ changedAt: createTime, group, project: serviceAccountOf(input).projectId, isAdmin },
  };
}

/** What is said about servers, wherever it stands. */
type Machine = Omit<ProvisionInput['adminWorkstation'], 'keyName' | 'initialAccountingType'>;

/** A pool may be of any size; its servers are listed up to this many. */
const shownNodes = 100;

/** The form of the reference's section 2.4. On the common private network the addresses are the platform's. */
function loadBalancer({ adminCluster, networkConfig: { networkId = commonPrivate } }: ProvisionInput): Fields {
  const name = `${adminCluster.name}-balancer`;
  const { region, availabilityZone } = adminCluster.controlPlane;
  const given = adminCluster.controlPlaneLoadBalancer;
  const ipAddress = given.vip ?? addressOf(name);
  const systemIpAddresses = given.systemIpAddresses ?? [addressOf(`${name}-1`), addressOf(`${name}-2`)];
  return {
    type: 'elastic-load-balancer',
    vip: given.vip ?? '',
    systemIpAddresses,
    elasticLoadBalancer: {
      ...{ region, availabilityZone, id: uniqueId(name), name, dnsName: ipAddress },
      networkInterfaces: [{ networkId, ipAddress, isVipNetwork: true, systemIpAddresses }],
    },
  };
}

/** A server (reference, section 2.3). */
function serverRecord(instanceId: string, given: Machine, networkId = commonPrivate): Fields {
  const { region, availabilityZone, instanceType, volumeType: type, volumeSize: size } = given;
  const volumeId = `${instanceId}-disk`;
  return {
    ...{ region, availabilityZone, instanceId, instanceUniqueId: uniqueId(instanceId), instanceType },
    securityGroupName: 'sandbox-firewall',
    networkInterfaces: [{ networkId, ipAddress: addressOf(instanceId) }],
    volumes: [{ region, availabilityZone, volumeId, volumeUniqueId: uniqueId(volumeId), type, size }],
  };
}

const commonPrivate = 'common-private';
const digest = (text: string) => hash('sha256', text, 'buffer');
/** The same name always gets the same id and address, so that runs can be compared. */
const uniqueId = (name: string) => `i-${digest(name).toString('hex').slice(0, 12)}`;
const addressOf = (name: string) => `10.${[...digest(name).subarray(0, 3)].join('.')}`;
