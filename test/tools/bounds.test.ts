import { describe, expect, test } from 'vitest';
import { operations } from '../../src/tools/index.js';
import { leavesOf } from '../../src/util/objects.js';
import { problems, withValue } from '../support/rules.js';

/** Texts that agents give have a longest length, so that what they end up in has one too. */

const texts = operations.flatMap((operation) =>
  [...leavesOf(operation.example)]
    .filter(([, value]) => typeof value === 'string')
    .map(([path]) => [operation.name, path.replace(/\[(\d+)\]/g, '.$1'), operation] as const),
);

describe.each(texts)('%s: %s', (_name, path, operation) => {
  test.each([65_537, 500_000])('of %i characters is refused in few words', (length) => {
    const lines = problems(operation, withValue(operation.example, path, 'a'.repeat(length)));
    expect(lines).not.toEqual([]);
    expect(lines.join('\n').length).toBeLessThan(2000);
  });
});

/** Longest lengths of the reference and, where it gives none, of this server. */
test.each([
  ['upgrade_kube_version', 'resourceGroupName', 255],
  ['upgrade_kube_version', 'clusterName', 255],
  ['list_parts', 'bucket', 255],
  ['list_parts', 'object', 1024],
])('%s: %s has at most %i characters', (name, path, longest) => {
  const [operation] = operations.filter((one) => one.name === name);
  if (operation === undefined) throw new Error(`${name} is no operation`);
  expect(problems(operation, withValue(operation.example, path, 'a'.repeat(longest)))).toEqual([]);
  expect(problems(operation, withValue(operation.example, path, 'a'.repeat(longest + 1)))).toHaveLength(1);
});

test('the key of an object is counted in bytes', () => {
  const [operation] = operations.filter(({ name }) => name === 'list_parts');
  if (operation === undefined) throw new Error('list_parts is no operation');
  expect(problems(operation, { ...operation.example, object: 'é'.repeat(512) })).toEqual([]);
  expect(problems(operation, { ...operation.example, object: 'é'.repeat(513) })).toHaveLength(1);
});
