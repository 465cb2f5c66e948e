import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { CallOutcome, Failure, Success } from '../../src/calls/outcome.js';
import {
  attemptsText,
  fieldsSentence,
  outcomeLabel,
  plainResult,
  render,
  resultText,
} from '../../src/calls/result-text.js';
import { own, say, words } from '../../src/util/safe-text.js';

const wide = (row: number, columns: number) =>
  Object.fromEntries(Array.from({ length: columns }, (_, column) => [`c${row}-${column}`, 1]));

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
  ['a list with null in it', { ids: ['a', null] }, ['ids: a, null']],
  ['values among records', { rows: [{ id: 1 }, 2] }, ['rows[0]:', '  id: 1', 'rows[1]: 2']],
])('%s', (_, record, lines) => {
  expect(render(record)).toEqual(lines);
});

test('records with different fields make no table, which would be mostly empty', () => {
  const lines = render({ rows: [wide(1, 16), wide(2, 15)] });
  expect(lines[0]).toBe('rows[0]:');
  expect(lines).toHaveLength(2 + 31);
  expect(render({ rows: [wide(1, 15), wide(2, 15)] })).toHaveLength(1 + 2);
});

const attempts = (count: number) => Array.from({ length: count }, () => ({ result: '429', waitedMs: 150 }));
const next = { who: 'agent', action: 'call', text: words('Look at it.') } as const;
const request = { method: 'POST', url: 'https://a.example/', headers: { accept: 'x/y' } };
const plan = { summary: words('A plan.'), where: [], consequences: [], risks: [], defaults: [], warnings: [] };

/** Each field of a result is in one of them. */
const results: Readonly<Record<string, Success | Failure>> = {
  'a change in parts': {
    summary: say`It was changed in ${'a\nb'}.`,
    outcome: 'partly',
    changeId: 'c1',
    account: 'prod',
    failed: { count: 3, codes: [own('Busy'), own('Gone')], names: [words('x')] },
    consent: words('the user'),
    sentAt: '2026-11-20T12:00:00Z',
    where: [words('region a'), words('account 1')],
    effects: [words('It costs money.'), words('It stops.')],
    requestIds: { ext: 'r 1', amz: 'r2' },
    attempts: [...attempts(10), { result: '200' }],
    notes: [words('Noted.')],
    warnings: [words('Careful.'), words('Again.')],
    leftOut: [
      { path: '', entries: 3 },
      { path: 'rows[0].text', characters: 9000 },
    ],
    next,
    answer: { rows: [null, 1], text: 'a\nb', none: {} },
  },
  'a change that waits': {
    summary: words('It waits.'),
    outcome: 'waiting',
    failed: { count: 1, codes: [], names: [] },
    plan: { ...plan, ...request, body: { a: 1 }, notChecked: [] },
    show: words('Shown.'),
    decideAt: 'https://page.example/1',
    planExpires: '2026-11-20T12:10:00Z',
    requestIds: {},
    attempts: attempts(10),
    warnings: [],
  },
  'a plan without a body': {
    summary: words('It is planned.'),
    plan: { ...plan, ...request, notChecked: [] },
    requestIds: {},
    warnings: [],
  },
  'a failure': {
    summary: words('It failed.'),
    code: 'Http400',
    problems: [words('a: is wrong'), words('b: is wrong')],
    status: 400,
    serviceSays: { message: 'No.\nnext: yes', code: 'Bad', requestId: 'q' },
    outcome: 'unknown',
    mayHaveHappened: true,
    earlier: { outcome: 'unknown', sentAt: '2026-11-20T11:00:00Z', requestIds: { ext: 'r0' } },
    requestIds: {},
    next,
  },
  'a failure without a message': {
    summary: words('It failed.'),
    code: 'Http500',
    problems: [],
    serviceSays: { code: 'Bad' },
    mayHaveHappened: false,
    earlier: { outcome: 'not ended', sentAt: '2026-11-20T11:00:00Z', requestIds: {} },
    requestIds: {},
    next,
  },
  'a failure with a message alone': {
    summary: words('It failed.'),
    code: 'Http500',
    problems: [],
    serviceSays: { message: 'No.' },
    requestIds: {},
    next,
  },
};

test('each field of a result is in its text and in its structured content, as reviewed', async () => {
  const parts = Object.entries(results).map(([title, result]) => {
    const fields = plainResult(result);
    expect(fields).toStrictEqual(JSON.parse(JSON.stringify(fields)));
    return `# ${title}\n\n${resultText(result)}\n\n${JSON.stringify(fields, null, 2)}\n`;
  });
  const golden = fileURLToPath(new URL('golden/every-field.txt', import.meta.url));
  await expect(parts.join('\n')).toMatchFileSnapshot(golden);
});

test('no attempts and no further arguments have no words', () => {
  expect(attemptsText([])).toBeUndefined();
  expect(fieldsSentence(undefined)).toEqual([]);
  expect(fieldsSentence({ fields: [], lists: [words('x')] })).toEqual([]);
  expect(fieldsSentence({ fields: [words('a 1'), words('b 2')], lists: [] })).toEqual([say`Also: a 1, b 2.`]);
});

const failed = (more: Partial<Failure>): CallOutcome => {
  const failure = { summary: words('No.'), code: 'Http400', problems: [], requestIds: {}, next, ...more };
  return { kind: 'failed', failure };
};
const succeeded = (more: Partial<Success>): CallOutcome => {
  const success = { summary: words('Done.'), requestIds: {}, warnings: [], ...more };
  return { kind: 'succeeded', success };
};

test.each<readonly [string, CallOutcome | undefined]>([
  ['failed', undefined],
  ['asked', { kind: 'inputRequired', message: words('May it?'), answer: { address: 'a' }, state: 's' }],
  ['ok', succeeded({})],
  ['accepted', succeeded({ outcome: 'accepted' })],
  ['unknown', failed({ mayHaveHappened: true, status: 500 })],
  ['rejected', failed({ mayHaveHappened: false, status: 400 })],
  ['journal_unavailable', failed({ code: 'JournalUnavailable', mayHaveHappened: false })],
  ['journal_unavailable', failed({ code: 'StateUnavailable' })],
  ['refused', failed({ code: 'Declined', mayHaveHappened: false })],
  ['not_sent', failed({ code: 'Timeout', mayHaveHappened: false })],
  ['failed', failed({ code: 'Timeout' })],
])('metrics and logs call an outcome %s', (label, outcome) => {
  expect(outcomeLabel(outcome)).toBe(label);
});
