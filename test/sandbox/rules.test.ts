import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { ServiceError } from '../../sandbox/http.js';
import { provisionRules } from '../../sandbox/operations/provision-kube-resource-group.js';
import { restoreRules } from '../../sandbox/operations/restore-instance.js';
import { readInput } from '../../sandbox/rules.js';
import values from '../../src/tools/schema/values.json' with { type: 'json' };
import { withValue } from '../support/rules.js';

/** The form of refusals. disagreement.test.ts compares the rules themselves with those of the tools. */

const backupId = 'a'.repeat(32);

const refused = (rules: z.ZodType, body: object) => refusedText(rules, JSON.stringify(body));

function refusedText(rules: z.ZodType, body: string): { code: string; message: string } | undefined {
  try {
    readInput(rules, Buffer.from(body));
    return undefined;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    expect(error.status).toBe(400);
    return { code: error.code, message: error.message };
  }
}

/** The fields that a refusal names. */
const fieldsIn = (message = '') => [...message.matchAll(/(?:^|\. )([\w.[\]]+): /g)].map(([, field]) => field);

test('a refusal names every field with its rule, and its code names the first', () => {
  const { code, message } =
    refused(restoreRules, { backupId: 'A', instanceId: 's-', diskSize: '100', firewall: 1 }) ?? {};
  expect(code).toBe('Client.InvalidParameterIllegalInput.BackupId');
  expect(fieldsIn(message)).toEqual(['backupId', 'instanceId', 'diskSize', 'firewall']);
});

test('no value is repeated: it may be secret', () => {
  const body = { externalCloudConfig: { serviceAccountKey: 'MARKER' }, resourceNamePrefix: 'MARKER!' };
  expect(refused(provisionRules, body)?.message).not.toContain('MARKER');
});

test.each(['__proto__', 'constructor', '', 'networkConfig.networkId', 'regions[]', '?', 'BackupId'])(
  'a field called %j is unknown wherever it stands',
  (name) => {
    for (const value of ['"x"', '{}', '[]', 'null']) {
      const field = `${JSON.stringify(name)}: ${value}`;
      const known = `"backupId": "${backupId}", "instanceId": "s"`;
      const says = (...path: string[]) => ({ message: `${z.core.toDotPath(path)}: is not a field here.` });
      expect(refusedText(restoreRules, `{${known}, ${field}}`)).toMatchObject(says(name));
      const inside = `{${known}, "networkConfig": {${field}}}`;
      expect(refusedText(restoreRules, inside)).toMatchObject(says('networkConfig', name));
    }
  },
);

describe('the sandbox and the tools have read the same lists of values', () => {
  const group = (path: string, value: string) => refused(provisionRules, withValue({}, path, value));
  const server = (path: string, value: string) =>
    refused(restoreRules, withValue({ backupId, instanceId: 's' }, path, value));
  test.each<[string, typeof group, string, readonly string[]]>([
    ['list N', group, 'adminCluster.controlPlane.instanceType', values.nodeInstanceTypes],
    ['list N for pools', group, 'adminCluster.nodePools.0.instanceType', values.nodeInstanceTypes],
    ['list W', group, 'adminWorkstation.instanceType', values.workstationInstanceTypes],
    ['list D', server, 'instanceType', values.devopsInstanceTypes],
    ['volume types', group, 'adminCluster.controlPlane.volumeType', values.volumeTypes],
    ['billing', group, 'adminCluster.initialAccountingType', values.accountingTypes],
    ['deployment models', group, 'deploymentModel', values.deploymentModels],
    ['zones', server, 'availabilityZone', values.devopsZones],
    ['regions of object storage', server, 'objectStorageConfig.region', values.objectStorageRegions],
  ])('%s', (_name, refusal, path, values) => {
    for (const value of values) expect(refusal(path, value)).toBeUndefined();
    // The refusal lists what is allowed, with commas or bars between.
    const listed = refusal(path, 'no-such-value')?.message.match(/[a-z0-9]+(-[a-z0-9]+)+|(?<=")[a-z]+(?=")/g) ?? [];
    expect(listed.filter((word) => word !== 'no-such-value').sort()).toEqual([...values].sort());
  });
});
