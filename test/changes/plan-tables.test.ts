import { expect, test } from 'vitest';
import { planTables } from '../../src/changes/plan.js';
import { provisionKubeResourceGroup } from '../../src/tools/provision-kube-resource-group.js';

/** The lists among the arguments of a change, as tables for people. */

const tablesOf = (input: object) => JSON.parse(JSON.stringify(planTables(provisionKubeResourceGroup, { ...input })));
const pools = (nodePools: readonly object[]) => ({ adminCluster: { name: 'blue', nodePools } });

test('each element is a row, each field at any depth a column, in the words of the schema', () => {
  const placed = { name: 'workers', instanceType: 'h2-large32', nodeCount: 2 };
  expect(tablesOf(pools([placed, { name: 'batch', odd: { depth: true } }]))).toEqual([
    {
      title: "Admin cluster's node pools",
      columns: ['Name', 'Server type', 'Number of nodes', 'Odd.depth'],
      rows: [
        ['"workers"', '"h2-large32"', '2', ''],
        ['"batch"', '', '', 'true'],
      ],
      more: 0,
    },
  ]);
});

test('a number has the unit of its field, and a value of another kind is written as JSON', () => {
  const [table] = tablesOf(pools([{ volumeSize: 100, nodeCount: 3, odd: null }]));
  expect(table).toMatchObject({
    columns: ['Disk size', 'Number of nodes', 'Odd'],
    rows: [['100 GB', '3', 'null']],
  });
});

test('a list of plain values has one column', () => {
  expect(tablesOf({ keys: ['a', 2] })).toEqual([
    { title: 'Keys', columns: ['Value'], rows: [['"a"'], ['2']], more: 0 },
  ]);
});

test.each([
  ['the only value of a list', { regions: ['jp-east-1'] }, 0],
  ['two values', { keys: ['a', 'b'] }, 1],
  ['an empty list', pools([]), 0],
  ['one object', pools([{ name: 'a' }]), 1],
])('%s: %j make as many tables as people need', (_what, input, count) => {
  expect(tablesOf(input)).toHaveLength(count);
});

test('a table has 100 rows and 12 columns at most, and says how many rows it lacks', () => {
  const wide = Object.fromEntries(Array.from({ length: 13 }, (_, index) => [`f${index}`, index]));
  const [table] = tablesOf(pools(Array.from({ length: 103 }, () => wide)));
  expect([table.rows.length, table.columns.length, table.rows[0].length, table.more]).toEqual([100, 12, 12, 3]);
});

test('a name is cut at 32 characters, and nothing in it can pass for our words', () => {
  const [table] = tablesOf(pools([{ name: 'x'.repeat(33) }, { name: 'a" | "b\u202e' }]));
  expect(table.rows).toEqual([[`"${'x'.repeat(31)}…"`], ['"a\\" | \\"b\\u202e"']]);
});
