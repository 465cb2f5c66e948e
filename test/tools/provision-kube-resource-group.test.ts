import { describe, expect, test } from 'vitest';
import { provisionKubeResourceGroup } from '../../src/tools/provision-kube-resource-group.js';
import values from '../../src/tools/schema/values.json' with { type: 'json' };
import { problems, shown, withValue } from '../support/rules.js';

/** Every rule of ProvisionKubeResourceGroup: what it accepts and what it refuses, boundary values included. */

const valid = { resourceGroupName: 'group-1' };

const volumeType = {
  accepts: [
    'standard-flash-storage-a',
    'standard-flash-storage-b',
    'high-speed-flash-storage-a',
    'high-speed-flash-storage-b',
  ],
  refuses: ['standard-flash-storage-c', 'Standard-flash-storage-a', ''],
};
const volumeSize = { accepts: [100, '100'], refuses: [99, 101, 200, '100GB', 100.5] };
const accounting = { accepts: ['pay-per-use', 'monthly'], refuses: ['yearly', 'Monthly', ''] };
const nodeType = {
  accepts: values.nodeInstanceTypes,
  refuses: ['h2-large', 'h2-medium4', 'h2-large8', 'e-large', 'h2-large20'],
};
const someText = { accepts: ['x', 'jp-east-1'], refuses: ['', 1] };
const flag = { accepts: [true, false], refuses: ['yes', 1] };
const listOfOne = { accepts: [['one']], refuses: [[], ['one', 'two'], 'one'] };

const rules: readonly { path: string; accepts: readonly unknown[]; refuses: readonly unknown[] }[] = [
  {
    path: 'resourceGroupName',
    accepts: ['a', 'Group_1', 'a b', 'ü', '...', '%2f', '%2e%2e'],
    refuses: [undefined, '', '.', '..', 'a/b', '/', 'a\\b', 'a\nb', '\u0000', '\u007f', '\ud800', 5],
  },
  { path: 'regions', ...listOfOne },
  { path: 'availabilityZones', ...listOfOne },
  {
    path: 'resourceNamePrefix',
    accepts: ['a', '0', 'abcdef', 'abc123'],
    refuses: ['', 'abcdefg', 'ABC', 'a-b', 'a b', 'é'],
  },
  { path: 'deploymentModel', accepts: ['standalone', 'multi', 'hybrid'], refuses: ['Standalone', 'single', ''] },
  {
    path: 'externalCloudConfig.serviceAccountKey',
    accepts: ['{}', '{"type":"service_account"}', ' {"a":{"b":1}} '],
    refuses: ['', 'x', '[]', '"text"', 'null', '3', '{"a":', {}],
  },
  { path: 'externalCloudConfig.location', ...someText },
  { path: 'adminWorkstation.region', ...someText },
  { path: 'adminWorkstation.availabilityZone', ...someText },
  {
    path: 'adminWorkstation.instanceType',
    accepts: values.workstationInstanceTypes,
    refuses: ['h2-medium', 'h2-extra-large', 'e-large'],
  },
  { path: 'adminWorkstation.volumeType', ...volumeType },
  { path: 'adminWorkstation.volumeSize', ...volumeSize },
  { path: 'adminWorkstation.keyName', ...someText },
  { path: 'adminWorkstation.initialAccountingType', ...accounting },
  {
    path: 'adminCluster.name',
    accepts: ['a', 'a1', 'a-1', 'a'.repeat(40)],
    refuses: ['', '1a', '-a', 'a-', 'A', 'a_b', 'a'.repeat(41)],
  },
  { path: 'adminCluster.version', ...someText },
  { path: 'adminCluster.keyName', ...someText },
  { path: 'adminCluster.initialAccountingType', ...accounting },
  { path: 'adminCluster.kubeServiceMeshConfig.enabled', ...flag },
  { path: 'adminCluster.kubeServiceMeshConfig.version', ...someText },
  { path: 'adminCluster.cloudControllerManagerConfig.useExternalCloudProvider', ...flag },
  {
    path: 'adminCluster.controlPlaneLoadBalancer.type',
    accepts: ['elastic-load-balancer'],
    refuses: ['network-load-balancer', ''],
  },
  {
    path: 'adminCluster.controlPlaneLoadBalancer.vip',
    accepts: ['10.0.0.5', '2001:db8::1'],
    refuses: ['', '10.0.0.256', '10.0.0.5/24', 'host'],
  },
  { path: 'adminCluster.controlPlane.region', ...someText },
  { path: 'adminCluster.controlPlane.availabilityZone', ...someText },
  { path: 'adminCluster.controlPlane.instanceType', ...nodeType },
  { path: 'adminCluster.controlPlane.volumeType', ...volumeType },
  { path: 'adminCluster.controlPlane.volumeSize', ...volumeSize },
  { path: 'adminCluster.controlPlane.nodeCount', accepts: [1, 3, 5, '3'], refuses: [0, 2, 4, 6, -1, 1.5, 'three'] },
  {
    path: 'adminCluster.nodePools.0.name',
    accepts: ['a', '1', 'a-b', '1-a', 'a'.repeat(40)],
    refuses: ['', '-a', 'a-', 'A', 'a'.repeat(41)],
  },
  { path: 'adminCluster.nodePools.0.region', ...someText },
  { path: 'adminCluster.nodePools.0.availabilityZone', ...someText },
  { path: 'adminCluster.nodePools.0.instanceType', ...nodeType },
  { path: 'adminCluster.nodePools.0.volumeType', ...volumeType },
  { path: 'adminCluster.nodePools.0.volumeSize', ...volumeSize },
  { path: 'adminCluster.nodePools.0.nodeCount', accepts: [0, 1, 2, 4, 6, 100, '7'], refuses: [-1, 1.5, 'two'] },
];

describe.each(rules)('$path', ({ path, accepts, refuses }) => {
  test.each(accepts.map((value) => [value]))('accepts %j', (value) => {
    expect(problems(provisionKubeResourceGroup, withValue(valid, path, value))).toEqual([]);
  });
  test.each(refuses.map((value) => [value]))('refuses %j', (value) => {
    const lines = problems(provisionKubeResourceGroup, withValue(valid, path, value));
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) expect(line.startsWith(`${shown(path)}: `), line).toBe(true);
  });
});

test('list N has 22 values, list W 29, and W holds all of N', () => {
  expect(new Set(values.nodeInstanceTypes).size).toBe(22);
  expect(new Set(values.workstationInstanceTypes).size).toBe(29);
  expect(
    values.nodeInstanceTypes.filter((type) => !(values.workstationInstanceTypes as readonly string[]).includes(type)),
  ).toEqual([]);
});

test('only the resource group is required', () => {
  expect(problems(provisionKubeResourceGroup, {})).toEqual(['resourceGroupName: is required']);
});

describe('private LAN (networkConfig.networkId)', () => {
  const at = 'adminCluster.controlPlaneLoadBalancer';
  const elb = 'elastic-load-balancer';
  const two = ['10.0.0.1', '10.0.0.2'];
  const cases: readonly { title: string; lan: boolean; balancer: object | undefined; refused: readonly string[] }[] = [
    { title: 'none, no balancer', lan: false, balancer: undefined, refused: [] },
    { title: 'none, type alone', lan: false, balancer: { type: elb }, refused: [] },
    { title: 'none, with vip', lan: false, balancer: { type: elb, vip: '10.0.0.5' }, refused: [] },
    {
      title: 'none, with two addresses',
      lan: false,
      balancer: { type: elb, systemIpAddresses: two },
      refused: ['systemIpAddresses'],
    },
    {
      title: 'none, addresses without a type',
      lan: false,
      balancer: { systemIpAddresses: two },
      refused: ['systemIpAddresses'],
    },
    { title: 'given, no balancer', lan: true, balancer: undefined, refused: ['vip'] },
    { title: 'given, vip alone', lan: true, balancer: { vip: '10.0.0.5' }, refused: [] },
    {
      title: 'given, vip and two addresses without a type',
      lan: true,
      balancer: { vip: '10.0.0.5', systemIpAddresses: two },
      refused: [],
    },
    {
      title: 'given, complete',
      lan: true,
      balancer: { type: elb, vip: '10.0.0.5', systemIpAddresses: two },
      refused: [],
    },
    { title: 'given, no vip', lan: true, balancer: { type: elb, systemIpAddresses: two }, refused: ['vip'] },
    { title: 'given, nothing but the type', lan: true, balancer: { type: elb }, refused: ['vip', 'systemIpAddresses'] },
    ...[[], ['10.0.0.1'], ['10.0.0.1', '10.0.0.1'], ['::1', '0:0:0:0:0:0:0:1'], [...two, '10.0.0.3']].map(
      (systemIpAddresses) => ({
        title: `given, addresses ${JSON.stringify(systemIpAddresses)}`,
        lan: true,
        balancer: { type: elb, vip: '10.0.0.5', systemIpAddresses },
        refused: ['systemIpAddresses'],
      }),
    ),
  ];
  test.each(cases)('$title', ({ lan, balancer, refused }) => {
    const args = {
      ...valid,
      ...(lan && { networkConfig: { networkId: 'net-1' } }),
      ...(balancer !== undefined && { adminCluster: { controlPlaneLoadBalancer: balancer } }),
    };
    const lines = problems(provisionKubeResourceGroup, args);
    expect(lines.map((line) => line.split(':')[0])).toEqual(refused.map((field) => `${at}.${field}`));
  });

  test('its conditions are reported together with all other problems', () => {
    const args = {
      resourceNamePrefix: 'TOOLONG',
      networkConfig: { networkId: 'net-1' },
      adminCluster: { name: 7, controlPlaneLoadBalancer: { type: elb, systemIpAddresses: ['x'] }, surprise: 1 },
    };
    expect(problems(provisionKubeResourceGroup, args).map((line) => line.split(':')[0])).toEqual([
      'resourceGroupName',
      'resourceNamePrefix',
      'adminCluster.name',
      `${at}.systemIpAddresses[0]`,
      'adminCluster.surprise',
      `${at}.vip`,
      `${at}.systemIpAddresses`,
    ]);
  });
});
