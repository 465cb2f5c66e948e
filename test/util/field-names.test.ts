import { expect, test } from 'vitest';
import * as z from 'zod';
import { provisionKubeResourceGroup } from '../../src/tools/provision-kube-resource-group.js';
import { fieldInWords, fieldUnit } from '../../src/util/field-names.js';

const provision = provisionKubeResourceGroup.input();

test.each([
  ['adminCluster', 'admin cluster'],
  ['adminCluster.controlPlane', "admin cluster's control plane"],
  ['adminCluster.controlPlane.volumeType', "control plane's disk type"],
  ['adminCluster.controlPlane.nodeCount', "control plane's number of nodes"],
  ['adminCluster.nodePools[1]', 'node pool 2'],
  ['adminCluster.nodePools[1].instanceType', "node pool 2's server type"],
  ['adminCluster.controlPlaneLoadBalancer.vip', "load balancer's VIP"],
  ['networkConfig.networkId', "network's private LAN"],
  ['regions[0]', 'region 1'],
])('the field %s is called "%s"', (path, name) => expect(fieldInWords(provision, path)).toBe(name));

test.each(['', 'adminCluster.toString', 'constructor', 'adminCluster[0]', 'adminCluster.nodePools.name', 'volumeType'])(
  '%j is not a field',
  (path) => expect(fieldInWords(provision, path)).toBeUndefined(),
);

test('a number has the unit that its schema names', () => {
  const units = ['adminCluster.nodePools[1].volumeSize', 'adminCluster.nodePools[1].nodeCount', 'x.y'];
  expect(units.map((path) => fieldUnit(provision, path))).toEqual(['GB', undefined, undefined]);
});

test('a field without a title has the words of its own name', () => {
  const schema = z.strictObject({
    webhookURL: z.string(),
    max_age: z.string(),
    dnsServerIds: z.array(z.string()).optional(),
    retries: z.preprocess((value) => value, z.strictObject({ backOff: z.int() })),
  });
  expect(
    ['webhookURL', 'max_age', 'dnsServerIds', 'dnsServerIds[2]', 'retries.backOff'].map((path) =>
      fieldInWords(schema, path),
    ),
  ).toEqual(['webhook URL', 'max age', 'DNS server IDs', 'DNS server IDs 3', "retries's back off"]);
});
