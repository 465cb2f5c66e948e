import { beforeEach, describe, expect, test } from 'vitest';
import { seededGroup } from '../../sandbox/seeds.js';
import { provisionKubeResourceGroup } from '../../src/tools/provision-kube-resource-group.js';
import { upgradeKubeVersion } from '../../src/tools/upgrade-kube-version.js';
import { testCloud } from '../support/sandbox.js';

let cloud: ReturnType<typeof testCloud>;
let time: number;
beforeEach(() => {
  time = Date.parse('2026-11-20T12:00:00Z');
  cloud = testCloud({ now: () => new Date(time) });
});

const send = (method: string, path: string, body: unknown = {}) => cloud.send('catalog', method, path, body);
const provision = (name: string, body: object = {}) => send('POST', `/v1/resource-groups/${name}/kube:provision`, body);
const upgrade = (group: string, cluster: string, version = '9') =>
  send('POST', `/v1/resource-groups/${group}/kube/clusters/${cluster}:upgrade`, { version });
const group = (name: string) => send('GET', `/v1/resource-groups/${name}`);

const placement = { region: 'jp-east-1', availabilityZone: 'east-11' };
const machine = { ...placement, volumeType: 'high-speed-flash-storage-a', volumeSize: 100, instanceType: 'h2-large16' };
const full = {
  regions: ['jp-east-1'],
  availabilityZones: ['east-11'],
  resourceNamePrefix: 'blue',
  deploymentModel: 'hybrid',
  networkConfig: { networkId: 'net-1' },
  externalCloudConfig: {
    serviceAccountKey: '{"project_id":"p","client_email":"e","client_id":"7","private_key":"MARKER"}',
    location: 'asia',
  },
  adminWorkstation: { ...machine, keyName: 'key', initialAccountingType: 'monthly' },
  adminCluster: {
    name: 'blue-admin',
    version: '1.2',
    keyName: 'key',
    kubeServiceMeshConfig: { enabled: true },
    cloudControllerManagerConfig: { useExternalCloudProvider: true },
    controlPlaneLoadBalancer: {
      type: 'elastic-load-balancer',
      vip: '10.0.0.9',
      systemIpAddresses: ['10.0.0.1', '10.0.0.2'],
    },
    controlPlane: { ...machine, nodeCount: 3 },
    nodePools: [{ ...machine, name: 'workers', nodeCount: 200 }],
  },
};

describe('provisioning', () => {
  test('answers with the whole resource group record, without the key', async () => {
    const { status, headers, body } = await provision('team', full);
    expect(status).toBe(200);
    expect(headers['x-sandbox-invented']).toBe('status,versions,servers,balancer');
    expect(provisionKubeResourceGroup.output().safeParse(body).error).toBeUndefined();
    expect(JSON.stringify(body)).not.toContain('MARKER');
    const { configuration, ...record } = body;
    expect(record).toEqual({
      name: 'team',
      description: '',
      template: 'kube',
      status: 'provisioning',
      createTime: '2026-11-20T12:00:00.000Z',
    });
    const { adminCluster, adminWorkstation, ...kube } = configuration.kube;
    expect(kube).toEqual({
      regions: ['jp-east-1'],
      availabilityZones: ['east-11'],
      resourceNamePrefix: 'blue',
      deploymentModel: 'hybrid',
      networkConfig: { networkId: 'net-1' },
      externalCloudConfig: {
        serviceAccount: { projectId: 'p', clientEmail: 'e', clientId: '7' },
        location: 'asia',
      },
      userClusters: [],
    });
    expect(adminWorkstation).toMatchObject({ ...full.adminWorkstation, instance: { instanceId: 'team-workstation' } });
    expect(adminCluster).toMatchObject({
      status: 'provisioning',
      version: '1.2',
      initialAccountingType: 'pay-per-use',
      kubeServiceMeshConfig: { enabled: true, version: expect.any(String) },
      controlPlaneLoadBalancer: {
        ...full.adminCluster.controlPlaneLoadBalancer,
        elasticLoadBalancer: {
          ...placement,
          dnsName: '10.0.0.9',
          networkInterfaces: [{ networkId: 'net-1', ipAddress: '10.0.0.9', isVipNetwork: true }],
        },
      },
      controlPlane: { name: 'blue-admin-control-plane', nodeCount: 3 },
      nodePools: [{ name: 'workers', nodeCount: 200 }],
    });
    const pools = [adminCluster.controlPlane, ...adminCluster.nodePools] as {
      instances: { instanceUniqueId: string }[];
    }[];
    // A pool of any size is answered, but only its first hundred servers are listed.
    expect(pools.map(({ instances }) => instances.length)).toEqual([3, 100]);
    const ids = pools.flatMap(({ instances }) => instances.map(({ instanceUniqueId }) => instanceUniqueId));
    expect(new Set(ids).size).toBe(103);
  });

  test('uses the documented defaults', async () => {
    const { body } = await provision('team');
    expect(provisionKubeResourceGroup.output().safeParse(body).error).toBeUndefined();
    expect(body.configuration.kube).toMatchObject({
      adminWorkstation: { initialAccountingType: 'pay-per-use', volumeSize: 100 },
      adminCluster: {
        version: expect.stringMatching(/./),
        initialAccountingType: 'pay-per-use',
        kubeServiceMeshConfig: { enabled: false },
        controlPlaneLoadBalancer: { type: 'elastic-load-balancer', vip: '' },
      },
    });
  });

  test.each([
    ['ResourceGroupName', 'team', { resourceNamePrefix: 'other' }],
    ['ResourceNamePrefix', 'other', { resourceNamePrefix: 'blue' }],
    ['AdminClusterName', 'other', { ...full, resourceNamePrefix: 'other' }],
  ])('refuses a %s that is taken, and keeps what is there', async (what, name, body) => {
    await provision('team', full);
    const before = cloud.changes();
    expect(await provision(name, body)).toMatchObject({
      status: 409,
      body: { code: `Client.InvalidParameterDuplicate.${what}` },
    });
    expect(cloud.changes()).toBe(before);
  });
});

describe('upgrading', () => {
  const { resourceGroupName, adminCluster, userCluster } = seededGroup;

  test('answers with the cluster record, which is running after the time to settle', async () => {
    const { body, headers } = await upgrade(resourceGroupName, userCluster);
    expect(upgradeKubeVersion.output().safeParse(body).error).toBeUndefined();
    expect(headers['x-sandbox-invented']).toContain('status');
    expect(body).toMatchObject({ name: userCluster, version: '9', status: 'configuring' });
    time += 20_001;
    const { kube } = (await group(resourceGroupName)).body.configuration;
    expect(kube.userClusters).toMatchObject([{ name: userCluster, version: '9', status: 'running' }]);
    expect(kube.adminCluster).toMatchObject({ name: adminCluster, version: seededGroup.version });
  });

  test('is refused while the cluster is busy, and not a moment longer', async () => {
    await upgrade(resourceGroupName, userCluster);
    const busy = await upgrade(resourceGroupName, userCluster, '10');
    expect(busy).toMatchObject({ status: 409, body: { code: 'Client.ResourceIncorrectState.Cluster' } });
    expect(busy.body.message).toContain('configuring');
    expect((await upgrade(resourceGroupName, adminCluster)).status).toBe(200);
    time += 20_001;
    expect((await upgrade(resourceGroupName, userCluster, '10')).body.version).toBe('10');
  });

  test.each([
    ['ResourceGroupName', 'unknown', userCluster],
    ['ClusterName', resourceGroupName, 'unknown'],
  ])('refuses an unknown %s', async (what, groupName, cluster) => {
    expect(await upgrade(groupName, cluster)).toMatchObject({
      status: 404,
      body: { code: `Client.InvalidParameterNotFound.${what}` },
    });
  });
});

test.each([
  ['GET', '/v1/resource-groups/a/kube:provision'],
  ['POST', '/v1/resource-groups'],
  ['POST', '/v1/resource-groups/a'],
  ['POST', '/v1/resource-groups/%2e%2e/kube:provision'],
  ['POST', '/v1/resource-groups/a%2Fb/kube:provision'],
  ['POST', '/v1/resource-groups/%ff/kube:provision'],
  ['POST', '/v1/resource-groups//kube:provision'],
  ['POST', '/v1/resource-groups/demo-group/kube/clusters/..:upgrade'],
  ['GET', '/v2/resource-groups'],
])('%s %s is no operation', async (method, path) => {
  expect(await send(method, path)).toMatchObject({ status: 404, body: { code: 'Client.URLNotFound' } });
});

test('the reads are marked as invented', async () => {
  const all = await send('GET', '/v1/resource-groups');
  expect(all.headers['x-sandbox-invented']).toBe('read');
  expect(all.body.groups).toMatchObject([{ name: seededGroup.resourceGroupName, status: 'provisioned' }]);
  expect((await group('unknown')).body.code).toBe('Client.InvalidParameterNotFound.ResourceGroupName');
});
