import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { provisionKubeResourceGroup } from '../../../src/tools/provision-kube-resource-group.js';
import { restoreInstance } from '../../../src/tools/restore-instance.js';
import { fieldNames } from '../../../src/tools/schema/field-names.js';
import { fromServer } from '../../../src/util/safe-text.js';

const provision = fieldNames(provisionKubeResourceGroup.input());
const restore = fieldNames(restoreInstance.input());

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
])('the field %s is called "%s"', (path, name) => expect(provision.of(path)).toBe(name));

test.each(['', 'adminCluster.toString', 'constructor', 'adminCluster[0]', 'adminCluster.nodePools.name', 'volumeType'])(
  '%j is not a field',
  (path) => expect(provision.of(path)).toBeUndefined(),
);

test('a field without a title has the words of its own name', () => {
  const names = fieldNames(
    z.strictObject({
      webhookURL: z.string(),
      max_age: z.string(),
      dnsServerIds: z.array(z.string()).optional(),
      retries: z.preprocess((value) => value, z.strictObject({ backOff: z.int() })),
    }),
  );
  expect(['webhookURL', 'max_age', 'dnsServerIds', 'dnsServerIds[2]', 'retries.backOff'].map(names.of)).toEqual([
    'webhook URL',
    'max age',
    'DNS server IDs',
    'DNS server IDs 3',
    "retries's back off",
  ]);
});

describe('in a sentence', () => {
  test.each([
    ['Not given: firewallGroupName, diskSize.', 'Not given: the firewall group, the disk size.'],
    [
      'networkConfig.networkId is given without privateAddress.',
      "The private network's LAN is given without the private address.",
    ],
    ['A sentence. diskSize decides.', 'A sentence. The disk size decides.'],
    ['It has no diskSize; the diskSize and its diskSize.', 'It has no disk size; the disk size and its disk size.'],
    ['region and description are words.', 'region and description are words.'],
    ['A server "diskSize \\" diskSize" stays.', 'A server "diskSize \\" diskSize" stays.'],
    ['GetKubeServerConfig and e.g. v1.2 are no fields.', 'GetKubeServerConfig and e.g. v1.2 are no fields.'],
  ])('%s', (sentence, expected) => expect(restore.in(fromServer(sentence)).text).toBe(expected));

  test('an element of a list has its number in place of an article', () => {
    expect(provision.in(fromServer('adminCluster.nodePools[0] has no region and zone.')).text).toBe(
      'Node pool 1 has no region and zone.',
    );
  });
});
