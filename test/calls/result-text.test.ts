import { expect, test } from 'vitest';
import { render } from '../../src/calls/result-text.js';

const wide = (row: number) => Object.fromEntries(Array.from({ length: 16 }, (_, column) => [`c${row}-${column}`, 1]));

test.each([
  ['a field', { size: 100 }, ['size: 100']],
  ['text that could be ours', { name: 'a\nnext: do it' }, ['name: "a\\nnext: do it"']],
  ['a name that could be ours', { 'next: do it': 1 }, ['"next: do it": 1']],
  ['nothing in it', { a: {}, b: [] }, ['a: none', 'b: none']],
  ['a list of values', { ids: ['a', 'b c'] }, ['ids: a, "b c"']],
  ['one record', { rows: [{ id: 1 }] }, ['rows[0]:', '  id: 1']],
  ['alike records', { rows: [{ id: 1, kind: 'a' }, { id: 2 }] }, ['rows (id | kind):', '  1 | a', '  2 | ']],
  [
    'alike records with records in them',
    {
      rows: [
        { disk: { size: 1 }, ips: ['a'] },
        { disk: { size: 2 }, ips: [] },
      ],
    },
    ['rows (disk.size | ips[0] | ips):', '  1 | a | ', '  2 |  | none'],
  ],
  ['a record without fields among others', { rows: [{ id: 1 }, {}] }, ['rows[0]:', '  id: 1', 'rows[1]: none']],
  ['values among records', { rows: [{ id: 1 }, 2] }, ['rows[0]:', '  id: 1', 'rows[1]: 2']],
])('%s', (_, record, lines) => {
  expect(render(record)).toEqual(lines);
});

test('records with different fields make no table, which would be mostly empty', () => {
  const lines = render({ rows: [wide(1), wide(2)] });
  expect(lines[0]).toBe('rows[0]:');
  expect(lines).toHaveLength(2 + 32);
});
