import { type Api, decodeSegment, isObject, json, jsonError, parseObject } from './http.js';

type Fields = Readonly<Record<string, unknown>>;

interface Group {
  readonly record: Fields;
  readonly clusters: Map<string, Fields>;
}

/** The catalog API: ProvisionKubeResourceGroup and UpgradeKubeVersion (reference, sections 2.4, 2.5, 4.2 and 4.3). */
export function createCatalog({ now }: { now: () => Date; secondsToSettle: number; saved?: unknown }): Api {
  const groups = new Map<string, Group>([['demo-group', seededGroup(now())]]);

  return {
    error: jsonError,
    snapshot: () => ({}),
    handle({ method, path, body }) {
      const provision = /^\/v1\/resource-groups\/([^/]+)\/kube:provision$/.exec(path);
      const upgrade = /^\/v1\/resource-groups\/([^/]+)\/kube\/clusters\/([^/]+):upgrade$/.exec(path);
      const match = provision ?? upgrade;
      if (method !== 'POST' || match === null)
        return jsonError(404, 'Client.URLNotFound', 'The sandbox knows no such operation.');
      const groupName = decodeSegment(match[1] ?? '');
      const input = parseObject(body);
      if (groupName === undefined || input === undefined)
        return jsonError(400, 'Client.InvalidParameterIllegalInput.Body', 'The path or the body is malformed.');
      return provision === null
        ? upgradeCluster(groupName, decodeSegment(match[2] ?? '') ?? '', input)
        : provisionGroup(groupName, input);
    },
  };

  function provisionGroup(name: string, input: Fields) {
    if (groups.has(name))
      return jsonError(409, 'Client.InvalidParameterDuplicate.ResourceGroupName', `${name} is provisioned already.`);
    const admin = clusterRecord(object(input.adminCluster), 'provisioning');
    const record = groupRecord(name, input, now());
    groups.set(name, { record, clusters: new Map([[String(admin.name), admin]]) });
    return json(200, withClusters(record, admin));
  }

  function upgradeCluster(groupName: string, clusterName: string, { version }: Fields) {
    const group = groups.get(groupName);
    if (group === undefined)
      return jsonError(404, 'Client.InvalidParameterNotFound.ResourceGroupName', `${groupName} does not exist.`);
    const cluster = group.clusters.get(clusterName);
    if (cluster === undefined)
      return jsonError(404, 'Client.InvalidParameterNotFound.ClusterName', `${clusterName} does not exist.`);
    if (typeof version !== 'string' || version === '')
      return jsonError(400, 'Client.InvalidParameterIllegalInput.Version', 'version must be a text.');
    const upgraded = { ...cluster, version, status: 'configuring' };
    group.clusters.set(clusterName, upgraded);
    return json(200, upgraded);
  }
}

const object = (value: unknown): Fields => (isObject(value) ? value : {});
/** Fields of a request as an answer repeats them: empty where they were not given. */
const texts = (given: Fields, ...names: string[]): Fields =>
  Object.fromEntries(names.map((name) => [name, given[name] ?? '']));
const elements = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.map(object) : []);

const defaults = { version: '1.34.2-sandbox', meshVersion: '1.27.1-sandbox', accounting: 'pay-per-use' };

function groupRecord(name: string, input: Fields, created: Date): Fields {
  const workstation = object(input.adminWorkstation);
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
        networkConfig: object(input.networkConfig),
        externalCloudConfig: {
          serviceAccount: serviceAccount(object(input.externalCloudConfig).serviceAccountKey),
          location: object(input.externalCloudConfig).location ?? '',
        },
        adminWorkstation: {
          ...texts(workstation, 'region', 'availabilityZone', 'instanceType', 'volumeType', 'keyName'),
          volumeSize: workstation.volumeSize ?? 100,
          initialAccountingType: workstation.initialAccountingType ?? defaults.accounting,
        },
      },
    },
    status: 'provisioning',
    createTime: created.toISOString(),
  };
}

function withClusters(record: Fields, adminCluster: Fields): Fields {
  const kube = object(object(record.configuration).kube);
  return { ...record, configuration: { kube: { ...kube, adminCluster, userClusters: [] } } };
}

/** The submitted key itself is never returned (reference, section 2.5). */
function serviceAccount(key: unknown): Fields {
  const fields = typeof key === 'string' ? (parseObject(Buffer.from(key)) ?? {}) : {};
  return {
    projectId: fields.project_id ?? '',
    clientEmail: fields.client_email ?? '',
    clientId: fields.client_id ?? '',
  };
}

function clusterRecord(input: Fields, status: string): Fields {
  const mesh = object(input.kubeServiceMeshConfig);
  const balancer = object(input.controlPlaneLoadBalancer);
  const nodes = (given: Fields): Fields => ({
    ...texts(given, 'name', 'region', 'availabilityZone', 'instanceType', 'volumeType'),
    volumeSize: given.volumeSize ?? 100,
    nodeCount: given.nodeCount ?? 1,
    instances: [],
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
    controlPlaneLoadBalancer: {
      type: balancer.type ?? 'elastic-load-balancer',
      vip: balancer.vip ?? '',
      ...(balancer.systemIpAddresses !== undefined && { systemIpAddresses: balancer.systemIpAddresses }),
    },
    controlPlane: { ...nodes(object(input.controlPlane)), name: `${String(input.name ?? '')}-control-plane` },
    nodePools: elements(input.nodePools).map(nodes),
    status,
  };
}

function seededGroup(created: Date): Group {
  const placement = { region: 'jp-east-1', availabilityZone: 'east-11' };
  const volume = { volumeType: 'standard-flash-storage-a', volumeSize: 100 };
  const cluster = (name: string) =>
    clusterRecord(
      {
        name,
        version: '1.33.5-sandbox',
        keyName: 'demo-key',
        controlPlane: { ...placement, ...volume, instanceType: 'h2-large16', nodeCount: 3 },
        nodePools: [{ ...placement, ...volume, name: 'workers', instanceType: 'h2-large32', nodeCount: 4 }],
      },
      'running',
    );
  return {
    record: groupRecord('demo-group', { regions: ['jp-east-1'], availabilityZones: ['east-11'] }, created),
    clusters: new Map(['demo-admin', 'demo-user'].map((name) => [name, cluster(name)])),
  };
}
