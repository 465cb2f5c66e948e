import { createHash } from 'node:crypto';
import { type Api, decodeSegment, type Fields, json, jsonError, object, objects, parseObject } from './http.js';
import { invented } from './invented.js';
import { duplicate, notFound, provisionRules, readInput, refuse, unknownOperation, upgradeRules } from './rules.js';

/** What the catalog has from the start. */
export const seededGroup = {
  resourceGroupName: 'demo-group',
  resourceNamePrefix: 'demo',
  adminCluster: 'demo-admin',
  userCluster: 'demo-user',
  version: '1.33.5-sandbox',
  /** The external cloud project in which both clusters' names are taken. */
  project: 'demo-project',
};

/** A record as it was when it last changed, with `changedAt`, which is not shown. */
type Stored = Fields;

/** The catalog API: ProvisionKubeResourceGroup and UpgradeKubeVersion (reference, sections 2.3 to 2.5, 4.2 and 4.3). */
export function createCatalog({
  now,
  secondsToSettle,
  saved = seeds(),
}: {
  now: () => Date;
  secondsToSettle: number;
  saved?: unknown;
}): Api {
  const groups = new Map(objects(object(saved).groups).map((group) => [String(group.name), group]));
  /** Those of all groups. `group`, `project` and `isAdmin` are not shown. */
  const clusters = [...objects(object(saved).clusters)];

  return {
    error: jsonError,
    snapshot: () => ({ groups: [...groups.values()], clusters }),
    handle({ method, path, body }) {
      const provisioned = /^\/v1\/resource-groups\/([^/]+)\/kube:provision$/.exec(path);
      const upgraded = /^\/v1\/resource-groups\/([^/]+)\/kube\/clusters\/([^/]+):upgrade$/.exec(path);
      const looked = /^\/v1\/resource-groups(?:\/([^/]+))?$/.exec(path);
      const group = pathName((provisioned ?? upgraded ?? looked)?.[1]);
      const cluster = pathName(upgraded?.[2]);
      if (method === 'GET' && looked !== null) return look(looked[1] === undefined ? undefined : (group ?? ''));
      if (method !== 'POST' || group === undefined) return unknownOperation();
      if (provisioned !== null) return provision(group, body);
      return cluster === undefined ? unknownOperation() : upgrade(group, cluster, body);
    },
  };

  function look(name: string | undefined) {
    if (name === undefined) return invented(json(200, { groups: [...groups.values()].map(show) }), 'read');
    const group = groups.get(name);
    return group === undefined ? unknownGroup(name) : invented(json(200, show(group)), 'read');
  }

  function provision(name: string, body: Buffer) {
    const { input, refused } = readInput(provisionRules, body);
    const problem = refused ?? conflict(name, input);
    if (problem !== undefined) return problem;
    const group = groupRecord(name, input, now().toISOString());
    groups.set(name, group);
    clusters.push(clusterRecord(input, group, true));
    return invented(json(200, show(group)), 'status', 'versions', 'servers', 'balancer');
  }

  function conflict(name: string, input: Fields) {
    const prefix = input.resourceNamePrefix;
    const { projectId } = serviceAccount(input);
    const cluster = object(input.adminCluster).name;
    if (groups.has(name)) return duplicate('ResourceGroupName', `${name} is provisioned already.`);
    if (prefix !== undefined && [...groups.values()].some((group) => kube(group).resourceNamePrefix === prefix))
      return duplicate('ResourceNamePrefix', `Another resource group has the prefix ${prefix}.`);
    return clusters.some((other) => other.project === projectId && other.name === cluster)
      ? duplicate('AdminClusterName', `The external cloud project ${projectId} has a cluster ${cluster}.`)
      : undefined;
  }

  function upgrade(groupName: string, clusterName: string, body: Buffer) {
    const { input, refused } = readInput(upgradeRules, body);
    if (refused !== undefined) return refused;
    if (!groups.has(groupName)) return unknownGroup(groupName);
    const index = clusters.findIndex(({ group, name }) => group === groupName && name === clusterName);
    const cluster = clusters[index];
    if (cluster === undefined) return notFound('ClusterName', `${groupName} has no cluster ${clusterName}.`);
    if (!isSettled(cluster))
      return refuse(409, 'ResourceIncorrectState.Cluster', `${clusterName} is ${cluster.status}: wait until it runs.`);
    const changed = { ...cluster, version: input.version, status: 'configuring', changedAt: now().toISOString() };
    clusters[index] = changed;
    return invented(json(200, showCluster(changed)), 'status', 'versions', 'servers', 'balancer');
  }

  function isSettled({ changedAt }: Stored) {
    return now().getTime() - Date.parse(String(changedAt)) > secondsToSettle * 1000;
  }

  function showCluster(stored: Stored): Fields {
    const { changedAt: _, group: _group, project: _project, isAdmin: _isAdmin, ...cluster } = stored;
    return { ...cluster, ...(isSettled(stored) && { status: 'running' }) };
  }

  function show(stored: Stored): Fields {
    const { changedAt: _, ...group } = stored;
    const own = clusters.filter((cluster) => cluster.group === group.name);
    const admin = own.find(({ isAdmin }) => isAdmin === true);
    const users = own.filter(({ isAdmin }) => isAdmin !== true);
    return {
      ...group,
      configuration: {
        kube: { ...kube(group), adminCluster: showCluster(admin ?? {}), userClusters: users.map(showCluster) },
      },
      ...(isSettled(stored) && { status: 'provisioned' }),
    };
  }
}

/** A name in a path; undefined for what has no place of its own there. */
function pathName(segment: string | undefined): string | undefined {
  const name = decodeSegment(segment ?? '') ?? '';
  return name === '' || name === '.' || name === '..' || name.includes('/') ? undefined : name;
}

const unknownGroup = (name: string) => notFound('ResourceGroupName', `There is no resource group ${name}.`);

const kube = (group: Fields) => object(object(group.configuration).kube);

/** Fields of a request as an answer repeats them: empty where they were not given. */
const texts = (given: Fields, ...names: string[]): Fields =>
  Object.fromEntries(names.map((name) => [name, given[name] ?? '']));

const defaults = { version: '1.34.2-sandbox', meshVersion: '1.27.1-sandbox', accounting: 'pay-per-use' };

function groupRecord(name: string, input: Fields, createTime: string): Stored {
  const workstation = object(input.adminWorkstation);
  const networkConfig = object(input.networkConfig);
  return {
    name,
    description: '',
    template: 'kube',
    configuration: {
      kube: {
        regions: input.regions ?? [],
        availabilityZones: input.availabilityZones ?? [],
        resourceNamePrefix: input.resourceNamePrefix ?? '',
        deploymentModel: input.deploymentModel ?? 'standalone',
        networkConfig,
        externalCloudConfig: {
          serviceAccount: serviceAccount(input),
          location: object(input.externalCloudConfig).location ?? '',
        },
        adminWorkstation: {
          ...texts(workstation, 'region', 'availabilityZone', 'instanceType', 'volumeType', 'keyName'),
          volumeSize: workstation.volumeSize ?? 100,
          initialAccountingType: workstation.initialAccountingType ?? defaults.accounting,
          instance: instanceRecord(`${name}-workstation`, workstation, networkConfig.networkId),
        },
      },
    },
    status: 'provisioning',
    createTime,
    changedAt: createTime,
  };
}

/** The submitted key itself is never returned (reference, section 2.5). */
function serviceAccount(input: Fields) {
  const key = object(input.externalCloudConfig).serviceAccountKey;
  const fields = typeof key === 'string' ? (parseObject(Buffer.from(key)) ?? {}) : {};
  return {
    projectId: String(fields.project_id ?? ''),
    clientEmail: String(fields.client_email ?? ''),
    clientId: String(fields.client_id ?? ''),
  };
}

/** The admin cluster that a group's input describes, or a user cluster like it, in its first state. */
function clusterRecord(group: Fields, { name: groupName, createTime }: Stored, isAdmin: boolean): Stored {
  const input = object(group.adminCluster);
  const { networkId } = object(group.networkConfig);
  const mesh = object(input.kubeServiceMeshConfig);
  const name = String(input.name ?? '');
  const controlPlane = `${name}-control-plane`;
  const nodes = (given: Fields, serverName: string): Fields => ({
    ...texts(given, 'name', 'region', 'availabilityZone', 'instanceType', 'volumeType'),
    volumeSize: given.volumeSize ?? 100,
    nodeCount: given.nodeCount ?? 1,
    instances: Array.from({ length: Math.min(Number(given.nodeCount ?? 1), shownNodes) }, (_, index) =>
      instanceRecord(`${serverName}-${index + 1}`, given, networkId),
    ),
  });
  return {
    ...texts(input, 'name', 'keyName'),
    version: input.version ?? defaults.version,
    initialAccountingType: input.initialAccountingType ?? defaults.accounting,
    kubeServiceMeshConfig: {
      enabled: mesh.enabled ?? false,
      ...(mesh.enabled === true && { version: mesh.version ?? defaults.meshVersion }),
    },
    cloudControllerManagerConfig: {
      useExternalCloudProvider: object(input.cloudControllerManagerConfig).useExternalCloudProvider ?? false,
    },
    controlPlaneLoadBalancer: loadBalancer(name, input, networkId),
    controlPlane: nodes({ ...object(input.controlPlane), name: controlPlane }, controlPlane),
    nodePools: objects(input.nodePools).map((pool) => nodes(pool, `${name}-${pool.name ?? ''}`)),
    status: 'provisioning',
    ...{ changedAt: createTime, group: groupName, project: serviceAccount(group).projectId, isAdmin },
  };
}

/** A pool may be of any size; its servers are listed up to this many. */
const shownNodes = 100;

/** The form of the reference's section 2.4. On the common private network the addresses are the platform's. */
function loadBalancer(clusterName: string, input: Fields, networkId: unknown): Fields {
  const { type = 'elastic-load-balancer', vip = '', systemIpAddresses } = object(input.controlPlaneLoadBalancer);
  const name = `${clusterName}-balancer`;
  const ipAddress = vip === '' ? addressOf(name) : vip;
  const system = systemIpAddresses ?? [addressOf(`${name}-1`), addressOf(`${name}-2`)];
  return {
    type,
    vip,
    systemIpAddresses: system,
    elasticLoadBalancer: {
      ...texts(object(input.controlPlane), 'region', 'availabilityZone'),
      id: uniqueId(name),
      name,
      dnsName: ipAddress,
      networkInterfaces: [
        { networkId: networkId ?? commonPrivate, ipAddress, isVipNetwork: true, systemIpAddresses: system },
      ],
    },
  };
}

/** A server (reference, section 2.3). */
function instanceRecord(instanceId: string, given: Fields, networkId: unknown): Fields {
  const place = texts(given, 'region', 'availabilityZone');
  const volumeId = `${instanceId}-disk`;
  return {
    ...place,
    instanceId,
    instanceUniqueId: uniqueId(instanceId),
    ...texts(given, 'instanceType'),
    securityGroupName: 'sandbox-firewall',
    networkInterfaces: [{ networkId: networkId ?? commonPrivate, ipAddress: addressOf(instanceId) }],
    volumes: [
      {
        ...place,
        volumeId,
        volumeUniqueId: uniqueId(volumeId),
        type: given.volumeType ?? '',
        size: given.volumeSize ?? 100,
      },
    ],
  };
}

const commonPrivate = 'common-private';
const digest = (text: string) => createHash('sha256').update(text).digest();
/** The same name always gets the same id and address, so that runs can be compared. */
const uniqueId = (name: string) => `i-${digest(name).toString('hex').slice(0, 12)}`;
const addressOf = (name: string) => `10.${[...digest(name).subarray(0, 3)].join('.')}`;

function seeds(): unknown {
  const { resourceGroupName, resourceNamePrefix, adminCluster, userCluster, version, project } = seededGroup;
  const place = { region: 'jp-east-1', availabilityZone: 'east-11', volumeType: 'standard-flash-storage-a' };
  const input = (name: string) => ({
    regions: [place.region],
    availabilityZones: [place.availabilityZone],
    resourceNamePrefix,
    externalCloudConfig: {
      serviceAccountKey: JSON.stringify({
        project_id: project,
        client_email: `demo@${project}.invalid`,
        client_id: '1',
      }),
      location: 'asia-northeast1',
    },
    adminWorkstation: { ...place, instanceType: 'h2-medium4', keyName: 'demo-key' },
    adminCluster: {
      ...{ name, version, keyName: 'demo-key' },
      controlPlane: { ...place, instanceType: 'h2-large16', nodeCount: 3 },
      nodePools: [{ ...place, name: 'workers', instanceType: 'h2-large32', nodeCount: 2 }],
    },
  });
  const group = groupRecord(resourceGroupName, input(adminCluster), '2026-01-01T00:00:00.000Z');
  return {
    groups: [group],
    clusters: [clusterRecord(input(adminCluster), group, true), clusterRecord(input(userCluster), group, false)],
  };
}
