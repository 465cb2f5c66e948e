import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import * as z from 'zod';
import { answerBudget, pickedBudget, withinBudget } from '../../src/calls/answer-budget.js';
import type { LeftOut } from '../../src/calls/outcome.js';
import { resultText } from '../../src/calls/result-text.js';
import type { Operation } from '../../src/tools/define-operation.js';
import { listParts } from '../../src/tools/list-parts.js';
import { next } from '../../src/tools/next.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { escapeJson } from '../../src/util/quote.js';
import { say } from '../../src/util/safe-text.js';
import { anyText } from '../support/any-text.js';
import { runs } from '../support/runs.js';

/** An agent gets of a long answer what fits into the budget, and the result names the rest. */

type Answer = Record<string, unknown>;

const success = (answer: Answer) => ({
  summary: say`Read.`,
  warnings: [],
  requestIds: {},
  next: next('agent', 'call', 'Go on.'),
  answer,
});
const limited = (answer: Answer) => {
  const { answer: shown = {}, leftOut = [] } = withinBudget(success(answer));
  return { shown, leftOut };
};
const lengthOf = (value: unknown) => escapeJson(JSON.stringify(value)).length;
const listIn = (answer: object, name: string): readonly object[] => Object(answer)[name];

const rows = Array.from({ length: 3000 }, (_, index) => ({ Key: `key-${index}`, ETag: 'e'.repeat(40), Size: index }));
const text = (length: number) => 'a'.repeat(length);

test('an answer within the budget is whole, and nothing is said', () => {
  const result = success({ Document: text(answerBudget - 100), Names: [], Tags: {}, At: 1, Absent: undefined });
  expect(withinBudget(result)).toBe(result);
});

test('a long list has only whole entries, as many as fit, and leaves room for the fields after it', () => {
  const { shown, leftOut } = limited({ Contents: rows, Name: 'bucket', Prefix: 'a/' });
  const contents = listIn(shown, 'Contents');
  expect(contents).toEqual(rows.slice(0, contents.length));
  expect(lengthOf(shown)).toBeGreaterThan(answerBudget - 300);
  expect(Object.keys(shown)).toEqual(['Contents', 'Name', 'Prefix']);
  expect(leftOut).toEqual([{ path: 'Contents', entries: rows.length - contents.length }]);
});

test.each<[what: string, answer: Answer, leftOut: readonly LeftOut[], shown: Answer]>([
  [
    'a text that does not fit',
    { Policy: { Name: 'p', Document: text(20_000) }, Id: 'i' },
    [{ path: 'Policy.Document', characters: 20_000 }],
    { Policy: { Name: 'p' }, Id: 'i' },
  ],
  [
    'the longer texts, if the others fit',
    { A: text(15_000), B: text(2000), C: 'c' },
    [{ path: 'A', characters: 15_000 }],
    { B: text(2000), C: 'c' },
  ],
  [
    'a text in the first entry, and the other entries with such texts',
    { Items: [1, 2, 3].map((Id) => ({ Id, Text: text(17_000) })) },
    [
      { path: 'Items[0].Text', characters: 17_000 },
      { path: 'Items', entries: 2 },
    ],
    { Items: [{ Id: 1 }] },
  ],
  [
    'an entry with a shorter text that does not fit',
    { Items: [1, 2, 3].map((Id) => ({ Id, A: text(2900), B: text(2900), C: text(2900) })) },
    [{ path: 'Items', entries: 2 }],
    { Items: [{ Id: 1, A: text(2900), B: text(2900), C: text(2900) }] },
  ],
  [
    'the texts of a list from the first that does not fit',
    { Names: ['a', text(17_000), 'b'] },
    [{ path: 'Names', entries: 2 }],
    { Names: ['a'] },
  ],
  [
    'a text under a name that has the form of a path',
    { Tags: { 'a.b[0]': text(17_000), c: 'd' } },
    [{ path: 'Tags["a.b[0]"]', characters: 17_000 }],
    { Tags: { c: 'd' } },
  ],
  [
    'a field whose name does not fit',
    { [text(17_000)]: 1, a: 2 },
    [{ path: `["${text(100)}"]`, characters: 1 }],
    { a: 2 },
  ],
])('%s is left out, and named', (_what, answer, leftOut, shown) => {
  expect(limited(answer)).toEqual({ shown, leftOut });
});

test('a list in the first entry is shortened, and not left out with its entry', () => {
  const { shown, leftOut } = limited({ Groups: [{ Rows: rows }, { Rows: rows }], Notes: rows });
  const [group = {}, ...others] = listIn(shown, 'Groups');
  expect(others).toEqual([]);
  expect(listIn(group, 'Rows').length).toBeGreaterThan(100);
  expect(leftOut).toEqual([
    { path: 'Groups[0].Rows', entries: rows.length - listIn(group, 'Rows').length },
    { path: 'Groups', entries: 1 },
    { path: 'Notes', entries: rows.length },
  ]);
});

test.each([
  ['many lists', Object.fromEntries(rows.map(({ Key }) => [Key, [{ a: Key }]]))],
  ['many fields', { Map: Object.fromEntries(rows.map(({ Key, ETag }) => [Key, ETag])) }],
  ['many names that look like paths', { Map: Object.fromEntries(rows.map(({ Key, ETag }) => [`a.${Key}`, ETag])) }],
])('%s that are left out are named together', (_what, answer) => {
  const { leftOut } = limited(answer);
  expect(leftOut.length).toBeGreaterThan(0);
  expect(leftOut.length).toBeLessThanOrEqual(12);
});

/** True if everything that is shown is exact, and everything else is named. */
function isAccountedFor(given: unknown, shown: unknown, path: string, named: (path: string) => boolean): boolean {
  if (shown === undefined) return named(path);
  if (Array.isArray(given) && Array.isArray(shown))
    return (
      (shown.length === given.length || named(path)) &&
      shown.every((entry, index) => isAccountedFor(given[index], entry, `${path}[${index}]`, named))
    );
  if (typeof given !== 'object' || given === null) return Object.is(given, shown);
  return Object.entries(given).every(([name, field]) => {
    const inner = path === '' ? name : `${path}.${name}`;
    return (
      isAccountedFor(field, Object.hasOwn(Object(shown), name) ? Object(shown)[name] : undefined, inner, named) ||
      named(path)
    );
  });
}

test('whatever the answer: it is exact or named, and within the budget', () => {
  const long = fc.integer({ min: 0, max: 18_000 }).map((length) => '\u202e"é\n'.repeat(length / 4));
  const name = fc.stringMatching(/^[A-Za-z]{1,12}$/);
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      fc.oneof(anyText(), fc.integer(), fc.boolean(), long),
      fc.array(tie('tree'), { maxLength: 40 }),
      fc.dictionary(name, tie('tree'), { maxKeys: 12 }),
    ),
  }));
  fc.assert(
    fc.property(fc.dictionary(name, tree, { maxKeys: 12 }), (answer) => {
      const { shown, leftOut } = limited(answer);
      expect(lengthOf(shown)).toBeLessThanOrEqual(answerBudget + 100);
      const paths = new Set(leftOut.map(({ path }) => path));
      expect(isAccountedFor(answer, shown, '', (path) => paths.has(path))).toBe(true);
    }),
    { numRuns: runs(300) },
  );
});

describe('the result says what to do about what was left out:', () => {
  const { pages: _, followUpRead: _followUp, fieldsArgument: _fields, ...unpaged } = listParts;
  const readWith = (shape: Readonly<Record<string, z.ZodType>>, more: Partial<Operation> = {}): Operation => ({
    ...(unpaged as Operation),
    input: () => z.strictObject(shape),
    ...more,
  });
  const answer = { Volumes: rows, Note: text(20_000) };
  const lastWarning = (operation: Operation | undefined) =>
    withinBudget(success(answer), operation && { operation, args: {} }).warnings.at(-1)?.text;

  test.each(['MaxKeys', 'maxResults', 'max_items', 'Limit', 'pageLimit', 'page_limit', 'PageSize', 'page_size'])(
    'a small %s',
    (argument) => {
      expect(lastWarning(readWith({ [argument]: z.string().optional() }))).toContain(`call with a small ${argument}, `);
    },
  );

  test.each(['maximum', 'limits', 'page', 'sizes'])('%s is no size of a page', (argument) => {
    expect(lastWarning(readWith({ [argument]: z.string().optional() }))).toContain(
      'call with arguments that select less',
    );
  });

  test('the argument that picks fields, with a path that may fit', () => {
    const operation = readWith({}, { fieldsArgument: 'fields' });
    expect(lastWarning(operation)).toContain('call with fields such as ["Volumes[].Key"], with arguments');
    const { warnings } = withinBudget(success({ Note: answer.Note }), { operation, args: {} });
    expect(warnings.at(-1)?.text).toContain('call with fields such as ["Note"]');
  });

  test('a change must not be called again, and its next step stays', () => {
    expect(lastWarning(restoreInstance as Operation)).toBe('The answer is too long: leftOut names what is not in it.');
    expect(lastWarning(undefined)).toBe('The answer is too long: leftOut names what is not in it.');
    expect(withinBudget(success(answer), { operation: restoreInstance as Operation })).toHaveProperty('next');
    expect(withinBudget(success(answer), { operation: readWith({}) })).not.toHaveProperty('next');
  });

  test('the answer of a change is read by its ID', () => {
    const adviceFor = (kept: Readonly<Record<string, unknown>>) =>
      withinBudget({ ...success(kept), changeId: 'c-1' }, { operation: restoreInstance as Operation }).warnings.at(-1)
        ?.text;
    const volumes = Array.from({ length: 20 }, (_, index) => ({ Key: `k${index}`, Note: text(2000) }));
    expect(adviceFor({ Volumes: volumes })).toContain(
      'To get it, call get_change with fields such as ["Volumes[].Key"].',
    );
    expect(adviceFor({ Tags: { 'a.b': text(20_000) } })).toContain('fields such as ["Tags"]');
    // A longer answer is not kept.
    expect(adviceFor({ Note: text(65 * 1024) })).not.toContain('get_change');
    const read = (args: object) => withinBudget(success({ Note: text(20_000) }), { args });
    expect(read({ changeId: 'c-1' })).toHaveProperty('leftOut');
    expect(read({ changeId: 'c-1', fields: ['Note'] })).not.toHaveProperty('leftOut');
  });

  test('the text names it, too', () => {
    const lines = resultText(withinBudget(success(answer))).split('\n');
    expect(lines).toContain('left out: Note (20000 characters)');
    expect(lines.filter((line) => /^left out: \d+ entries of Volumes$/.test(line))).toHaveLength(1);
  });

  test('a call that picks fields has a larger budget', () => {
    const operation = readWith({}, { fieldsArgument: 'outputFields' });
    const picked = { operation, args: { outputFields: ['Note'] } };
    expect(withinBudget(success({ Note: text(20_000) }), picked)).not.toHaveProperty('leftOut');
    expect(withinBudget(success({ Note: text(pickedBudget) }), picked)).toHaveProperty('leftOut');
  });
});

test('a text of megabytes is not written as JSON to find out that it is too long', () => {
  const stringify = vi.spyOn(JSON, 'stringify');
  limited({ Body: text(5_000_000) });
  const longest = Math.max(...stringify.mock.calls.map(([value]) => String(value).length));
  vi.restoreAllMocks();
  expect(longest).toBeLessThan(answerBudget);
});
