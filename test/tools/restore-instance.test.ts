import { describe, expect, test } from 'vitest';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import values from '../../src/tools/schema/values.json' with { type: 'json' };
import { problems, withValue } from '../support/rules.js';

/** Every rule of RestoreInstance: what it accepts and what it refuses, boundary values included. */

const valid = { backupId: '0123456789abcdef0123456789abcdef', instanceId: 'server-1' };

const hyphenRules = (max: number) => ({
  accepts: ['a', '0', 'a-b', 'a--b', 'a'.repeat(max)],
  refuses: ['', '-a', 'a-', '-', 'A', 'a_b', 'a b', 'ａ', 'a\n', 'a'.repeat(max + 1), 7],
});
const bucketRules = {
  accepts: ['abc', 'a-c', '012', 'a'.repeat(32)],
  refuses: ['ab', 'a'.repeat(33), '-abc', 'abc-', 'Abc', 'a.c', ''],
};

const rules: readonly { path: string; accepts: readonly unknown[]; refuses: readonly unknown[] }[] = [
  {
    path: 'backupId',
    accepts: ['a'.repeat(32), '0'.repeat(32)],
    refuses: [
      undefined,
      'a'.repeat(31),
      'a'.repeat(33),
      'A'.repeat(32),
      `${'a'.repeat(31)}-`,
      `${'a'.repeat(32)}\n`,
      5,
    ],
  },
  { path: 'instanceId', ...hyphenRules(30) },
  { path: 'instanceId', accepts: [], refuses: [undefined] },
  { path: 'firewallGroupName', ...hyphenRules(63) },
  { path: 'parameterGroupName', ...hyphenRules(63) },
  {
    path: 'instanceType',
    accepts: values.devopsInstanceTypes,
    refuses: ['e-small', 'E-LARGE', 'h2-triple-large32', 'h2-medium4', '', 1],
  },
  {
    path: 'diskSize',
    accepts: [100, 200, 300, 400, '100', '400'],
    refuses: [0, 99, 150, 500, '1e2', '100.0', ' 100', 100.5, '', true],
  },
  {
    path: 'availabilityZone',
    accepts: ['east-11', 'east-12', 'east-13', 'east-14', 'east-31', 'west-12', 'west-13', 'jp-west-21'],
    refuses: ['east-15', 'west-11', 'jp-west-2', 'EAST-11', ''],
  },
  {
    path: 'description',
    accepts: ['', 'x'.repeat(255), '全'.repeat(255), '😀'.repeat(255), '復元 test'],
    refuses: ['x'.repeat(256), '全'.repeat(256), '😀'.repeat(256), 1],
  },
  { path: 'networkConfig.networkId', accepts: ['net-1'], refuses: ['', 1] },
  {
    path: 'networkConfig.privateAddress',
    accepts: ['192.168.0.10/24', '0.0.0.0/0', '255.255.255.255/32'],
    refuses: [
      '192.168.0.10',
      '192.168.0.10/33',
      '256.0.0.1/24',
      '192.168.0/24',
      '192.168.0.10/',
      '192.168.0.10/-1',
      'fe80::1/64',
      '192.168.0.10/024',
      ' 192.168.0.10/24',
      '',
    ],
  },
  {
    path: 'objectStorageConfig.account',
    accepts: ['a', 'Z9', 'a'.repeat(128)],
    refuses: ['', 'a'.repeat(129), 'a-b', 'a_b', 'ü'],
  },
  { path: 'objectStorageConfig.region', accepts: ['jp-east-1', 'jp-west-2'], refuses: ['jp-east-3', 'jp-west-1', ''] },
  { path: 'objectStorageConfig.bucketUseObjects.lfs', ...bucketRules },
  { path: 'objectStorageConfig.bucketUseObjects.packages', ...bucketRules },
  { path: 'objectStorageConfig.bucketUseObjects.containerRegistry', ...bucketRules },
  {
    path: 'region',
    accepts: ['jp-east-1', 'us-east-1'],
    refuses: ['', 'a/b', 'evil.example', 'x:1', 'A', 'a'.repeat(33)],
  },
];

describe.each(rules)('$path', ({ path, accepts, refuses }) => {
  test.each(accepts.map((value) => [value]))('accepts %j', (value) => {
    expect(problems(restoreInstance, withValue(valid, path, value))).toEqual([]);
  });
  test.each(refuses.map((value) => [value]))('refuses %j', (value) => {
    const lines = problems(restoreInstance, withValue(valid, path, value));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(new RegExp(`^${path}: `));
  });
});

test('list D has the 34 values of the reference', () => {
  expect(new Set(values.devopsInstanceTypes).size).toBe(34);
});

test('only backupId and instanceId are required', () => {
  expect(problems(restoreInstance, {})).toEqual(['backupId: is required', 'instanceId: is required']);
});

test.each(['networkConfig', 'objectStorageConfig', 'objectStorageConfig.bucketUseObjects'])(
  'an unknown field in %s is refused, because the cloud would ignore or misread it',
  (path) => {
    expect(problems(restoreInstance, withValue(valid, `${path}.surprise`, 1))[0]).toMatch(
      `${path}.surprise: is not an argument`,
    );
  },
);

test('explains a status inside and outside the documented lists', () => {
  const known = restoreInstance.summarize(
    { instance: { state: 'DELETEING', status: { code: 400, name: 'FAILED_INSTANCE_RESTORE' } } },
    valid,
  );
  expect(known.text).toContain('DELETEING (being deleted; the cloud spells it so)');
  expect(known.text).toContain('400 (error)');
  expect(restoreInstance.summarize({ instance: { state: 'EVAPORATING' } }, valid).text).toContain(
    '"EVAPORATING" (not among the documented values)',
  );
});
