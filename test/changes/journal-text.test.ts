import { expect, test } from 'vitest';
import type { Change } from '../../src/changes/change.js';
import { describe as describeChange, journalText, shownTime } from '../../src/changes/journal-text.js';
import { newChange } from '../support/changes.js';

const noon = Date.parse('2026-11-20T12:00:00Z');
const ended = (changes: Partial<Change> = {}): Change => ({
  ...newChange(),
  state: 'accepted',
  madeAt: noon - 1000,
  expiresAt: noon,
  begunAt: noon,
  isExpired: false,
  ageMs: 0,
  ...changes,
});

test('a change is its outcome and who took part, with what others wrote in quotation marks', () => {
  const odd = 'a\n\u202eb';
  const change = ended({
    state: 'partly',
    tool: 'x',
    account: 'prod',
    what: odd,
    target: odd,
    client: odd,
    caller: odd,
    agent: { clientId: 'helper', actors: ['scheduler'] },
    decision: { kind: 'approved', way: 'asked', person: odd, reason: odd, answeredAfterMs: 4_200 },
    ending: { code: odd, failed: { count: 2, codes: [] } },
  });
  const { outcome, people } = describeChange(change);
  expect(`${outcome}  ${people.join('  ')}`).toBe(
    '2026-11-20T12:00:00.000Z  partly (2 failed) ("a\\n\\u202eb")  consent: asked after 4 s  client: "a\\n\\u202eb"  caller: "a\\n\\u202eb"  agent "scheduler" through "helper"  decided by: "a\\n\\u202eb"  reason: "a\\n\\u202eb"',
  );
});

test.each([
  ['begun', 'no outcome yet'],
  ['approved', 'no outcome yet'],
  ['declined', 'declined'],
  ['withdrawn', 'withdrawn'],
  ['not sent', 'not sent'],
] as const)('a change that is %s: %s', (state, shown) => {
  expect(describeChange(ended({ state })).outcome.text).toBe(`2026-11-20T12:00:00.000Z  ${shown}`);
});

test('a time that is none is no error', () => {
  expect([Number.NaN, 1e300, noon].map((time) => shownTime(time).text)).toEqual([
    'an unknown time',
    'an unknown time',
    '2026-11-20T12:00:00.000Z',
  ]);
});

test('the text has the last fifty changes that were decided, oldest first, of some accounts', async () => {
  const all = Array.from({ length: 60 }, (_, index) =>
    ended({ what: `${index}`, account: index % 2 === 0 ? 'even' : 'odd', ...(index === 59 && { state: 'waiting' }) }),
  );
  const asked: unknown[] = [];
  const newest = async (options: object) => {
    asked.push(options);
    return all.toReversed();
  };
  const numbers = (text: string) => [...text.matchAll(/"(\d+)"/g)].map(([, number]) => Number(number));
  const text = await journalText({ newest }, 'alice');
  expect(text).toMatch(/^# Journal\n\n- 2026/);
  expect(numbers(text)).toEqual(Array.from({ length: 50 }, (_, index) => index + 9));
  expect(numbers(await journalText({ newest }, undefined, ['odd']))).toHaveLength(29);
  expect(asked).toEqual([expect.objectContaining({ caller: 'alice' }), expect.objectContaining({ caller: undefined })]);
  expect(await journalText({ newest: async () => [] }, undefined)).toBe('# Journal\n\nNo changes yet.\n');
});
