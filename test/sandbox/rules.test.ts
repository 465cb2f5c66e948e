import { describe, expect, test } from 'vitest';
import { type OperationRules, provisionRules, readInput, restoreRules, upgradeRules } from '../../sandbox/rules.js';
import {
  accountingTypes,
  deploymentModels,
  devopsInstanceTypes,
  devopsZones,
  nodeInstanceTypes,
  objectStorageRegions,
  volumeTypes,
  workstationInstanceTypes,
} from '../../src/tools/schema/enumerations.js';
import { withValue } from '../support/rules.js';

/** How the sandbox refuses a body. What it refuses is compared with the tools' rules in disagreement.test.ts. */

const backupId = 'a'.repeat(32);

function refused(rules: OperationRules, body: object): { code: string; message: string } | undefined {
  return refusedText(rules, JSON.stringify(body));
}

function refusedText(rules: OperationRules, body: string) {
  const response = readInput(rules, Buffer.from(body)).refused;
  if (response === undefined) return undefined;
  expect(response.status).toBe(400);
  expect(response.headers).toMatchObject({ 'content-type': 'application/json', 'x-sandbox-invented': 'error' });
  return JSON.parse(response.body) as { code: string; message: string };
}

test('a refusal names every field with its rule, and its code names the first', () => {
  expect(refused(restoreRules, { backupId: 'A', instanceId: 's-', diskSize: '100', firewall: 1 })).toEqual({
    code: 'Client.InvalidParameterIllegalInput.BackupId',
    message:
      'backupId must have 32 characters. instanceId must not begin or end with a hyphen. ' +
      'diskSize must be an integer. firewall is not a field here.',
  });
});

test('an element of a list is named by its number', () => {
  const body = { adminCluster: { nodePools: [{ name: 'a' }, { name: 'A', nodeCount: -1 }] } };
  expect(refused(provisionRules, body)).toEqual({
    code: 'Client.InvalidParameterIllegalInput.AdminClusterNodePoolsName',
    message:
      'adminCluster.nodePools[1].name must be lowercase alphanumerics or hyphens. ' +
      'adminCluster.nodePools[1].nodeCount must not be negative.',
  });
});

test('no value is repeated: it may be secret', () => {
  const body = { externalCloudConfig: { serviceAccountKey: 'MARKER' }, resourceNamePrefix: 'MARKER!' };
  expect(refused(provisionRules, body)?.message).not.toContain('MARKER');
});

test('what the operation means nothing without is required, and nothing else', () => {
  expect(refused(restoreRules, {})?.message).toBe('backupId is required. instanceId is required.');
  expect(refused(upgradeRules, {})?.message).toBe('version is required.');
  expect(refused(provisionRules, {})).toBeUndefined();
});

test.each(['__proto__', 'constructor', '', 'networkConfig.networkId', 'regions[]', '?', 'BackupId'])(
  'a field called %j is unknown wherever it stands',
  (name) => {
    for (const value of ['"x"', '{}', '[]', 'null']) {
      const field = `${JSON.stringify(name)}: ${value}`;
      const known = `"backupId": "${backupId}", "instanceId": "s"`;
      const says = (path: string) => ({ message: `${path} is not a field here.` });
      expect(refusedText(restoreRules, `{${known}, ${field}}`)).toMatchObject(says(name));
      const inside = `{${known}, "networkConfig": {${field}}}`;
      expect(refusedText(restoreRules, inside)).toMatchObject(says(`networkConfig.${name}`));
    }
  },
);

describe('the sandbox and the tools have read the same lists of values', () => {
  test.each<[string, OperationRules, string, readonly string[]]>([
    ['list N', provisionRules, 'adminCluster.controlPlane.instanceType', nodeInstanceTypes],
    ['list N for pools', provisionRules, 'adminCluster.nodePools[].instanceType', nodeInstanceTypes],
    ['list W', provisionRules, 'adminWorkstation.instanceType', workstationInstanceTypes],
    ['list D', restoreRules, 'instanceType', devopsInstanceTypes],
    ['volume types', provisionRules, 'adminCluster.controlPlane.volumeType', volumeTypes],
    ['billing', provisionRules, 'adminCluster.initialAccountingType', accountingTypes],
    ['deployment models', provisionRules, 'deploymentModel', deploymentModels],
    ['zones', restoreRules, 'availabilityZone', devopsZones],
    ['regions of object storage', restoreRules, 'objectStorageConfig.region', objectStorageRegions],
  ])('%s', (_name, rules, field, values) => {
    const allowed = rules.fields[field]?.at(-1)?.says.replace('must be one of ', '').split(', ');
    expect(allowed?.sort()).toEqual([...values].sort());
  });
});

describe('private LAN', () => {
  const balancer = 'adminCluster.controlPlaneLoadBalancer';
  const two = ['10.0.0.1', '10.0.0.2'];
  const elb = { type: 'elastic-load-balancer', vip: '10.0.0.9', systemIpAddresses: two };
  test.each<[string, boolean, object, string | undefined]>([
    ['common network, nothing given', false, {}, undefined],
    ['common network, a vip', false, { vip: '10.0.0.9' }, undefined],
    ['common network, addresses', false, { systemIpAddresses: two }, 'must not be given when the common private'],
    ['private, all given', true, elb, undefined],
    ['private, no vip', true, { ...elb, vip: undefined }, 'vip is required when a private LAN'],
    ['private, no addresses', true, { ...elb, systemIpAddresses: undefined }, 'exactly two distinct'],
    ['private, one address', true, { ...elb, systemIpAddresses: ['10.0.0.1'] }, 'exactly two distinct'],
    [
      'private, the same twice',
      true,
      { ...elb, systemIpAddresses: ['::1', '0:0:0:0:0:0:0:1'] },
      'exactly two distinct',
    ],
    ['private, three', true, { ...elb, systemIpAddresses: [...two, '10.0.0.3'] }, 'exactly two distinct'],
    ['private, no type', true, { vip: '10.0.0.9' }, undefined],
  ])('%s', (_case, lan, given, message) => {
    const body = withValue(lan ? { networkConfig: { networkId: 'net-1' } } : {}, balancer, given);
    const problem = refused(provisionRules, body)?.message;
    if (message === undefined) expect(problem).toBeUndefined();
    else expect(problem).toContain(message);
  });
});
