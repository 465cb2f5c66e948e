import { describe, expect, test } from 'vitest';
import {
  abandonedMs,
  blocksUntil,
  changesOf,
  duplicateWindowMs,
  findConflict,
  findOverspending,
  OtherVersion,
} from '../../src/journal/conflict.js';
import type { Ending, Entry, Intent } from '../../src/journal/entry.js';
import { endingOf, intentAt } from '../support/journal.js';

const now = Date.parse('2026-11-20T12:00:00Z');
const second = 1000;

/** An earlier change: when it was asked for, what came of it and when, and how it differs from the one to be sent. */
interface Earlier extends Partial<Intent> {
  readonly asked: number;
  readonly outcome?: Ending['outcome'];
  readonly ended?: number;
}

const entriesOf = ({ asked, outcome, ended = asked, ...changes }: Earlier): Entry[] => {
  const intent = intentAt(asked, changes);
  return outcome === undefined ? [{ intent }] : [{ intent }, { ending: endingOf(ended, intent.id, outcome) }];
};
const conflictWith = (earlier: readonly Earlier[], allowRepeat: boolean, changes: Partial<Intent> = {}) => {
  const intent = intentAt(now, { nonce: 'n', ...changes });
  const before = changesOf(earlier.flatMap(entriesOf));
  const meant = allowRepeat && before.findLast(({ digest }) => digest === intent.digest)?.id;
  return findConflict(before, intent, meant ?? false, Date.parse(intent.time)).kind;
};

describe('the same change was asked for before, with another consent', () => {
  const barelyDuplicate = now - duplicateWindowMs;
  test.each<[what: string, earlier: Earlier, kind: string]>([
    ['accepted just now', { asked: now, outcome: 'accepted' }, 'duplicate'],
    ['accepted ten minutes ago', { asked: barelyDuplicate, outcome: 'accepted' }, 'duplicate'],
    ['accepted longer ago', { asked: barelyDuplicate - 1, outcome: 'accepted' }, 'begun'],
    [
      'asked for an hour ago, accepted just now',
      { asked: now - 3600 * second, outcome: 'accepted', ended: now },
      'duplicate',
    ],
    ['unknown ten minutes ago', { asked: barelyDuplicate, outcome: 'unknown' }, 'duplicate'],
    ['unknown longer ago', { asked: barelyDuplicate - 1, outcome: 'unknown' }, 'begun'],
    ['rejected', { asked: now, outcome: 'rejected' }, 'begun'],
    ['not sent', { asked: now, outcome: 'not sent' }, 'begun'],
    ['declined', { asked: now, outcome: 'declined' }, 'begun'],
    ['still without an outcome', { asked: now }, 'duplicate'],
    [
      'without an outcome, however old it is by a clock that may have jumped',
      { asked: now - 2 * abandonedMs },
      'duplicate',
    ],
    ['a clock ahead of ours', { asked: now + 60 * second, outcome: 'accepted' }, 'duplicate'],
    ['another change', { asked: now, outcome: 'accepted', digest: 'other' }, 'begun'],
  ])('%s', (_what, earlier, kind) => {
    expect(conflictWith([{ nonce: 'other', ...earlier }], false)).toBe(kind);
    expect(conflictWith([earlier], false, { nonce: undefined })).toBe(kind);
    expect(conflictWith([{ nonce: 'other', ...earlier }], true)).toBe('begun');
  });
});

describe('the same consent came before, for another change', () => {
  test.each<[outcome: Ending['outcome'] | undefined, kind: string]>([
    ['accepted', 'consentUsed'],
    ['rejected', 'consentUsed'],
    ['unknown', 'consentUsed'],
    ['declined', 'consentUsed'],
    [undefined, 'consentUsed'],
    ['not sent', 'begun'],
  ])('%s', (outcome, kind) => {
    const earlier = {
      asked: now - abandonedMs,
      nonce: 'n',
      digest: 'other',
      ...(outcome !== undefined && { outcome }),
    };
    const others = [
      { asked: now, digest: 'another', nonce: 'another' },
      { asked: now, digest: 'one more' },
    ];
    for (const allowRepeat of [false, true])
      for (const all of [[earlier], [earlier, ...others], [...others, earlier]])
        expect(conflictWith(all, allowRepeat)).toBe(kind);
  });
});

test('used consent is told before a duplicate, and the last duplicate is the one that is told', () => {
  const intent = intentAt(now);
  const [first, last] = [intentAt(now), intentAt(now)];
  const earlier = changesOf([{ intent: first }, { intent: last }]);
  expect(findConflict(earlier, intent, false, Date.parse(intent.time))).toMatchObject({
    kind: 'duplicate',
    earlier: { id: last.id },
  });
  expect(conflictWith([{ asked: now, nonce: 'n' }], false)).toBe('consentUsed');
});

test.each<readonly [string, string | boolean, string]>([
  ['the one that was planned on', 'c-1', 'begun'],
  ['any', true, 'begun'],
  ['another one', 'c-2', 'duplicate'],
  ['none', false, 'duplicate'],
])('an intent that may repeat %s', (_which, allowRepeat, kind) => {
  const earlier = changesOf([{ intent: intentAt(now, { id: 'c-1' }) }]);
  expect(findConflict(earlier, intentAt(now), allowRepeat, now).kind).toBe(kind);
});

test('a change that its budget has no room for is told when there will be', () => {
  const budget = { mostChanges: 2, windowMs: 60 * second };
  expect(findOverspending([now - 5 * second], budget, now)).toEqual({ kind: 'begun' });
  expect(findOverspending([now - 5 * second, now], budget, now)).toEqual({
    kind: 'budgetSpent',
    budget,
    left: 0,
    nextAt: now + 55 * second,
  });
});

describe('the order of lines', () => {
  test('an intent that is written twice counts at its last place, with its ending', () => {
    const [first, other] = [intentAt(now), intentAt(now)];
    const ending = endingOf(now, first.id, 'accepted');
    const changes = changesOf([{ intent: first }, { ending }, { intent: other }, { intent: first }]);
    expect(changes).toEqual([other, { ...first, ending }]);
  });

  test.each<[Ending['outcome'], Ending['outcome'], Ending['outcome']]>([
    ['unknown', 'accepted', 'accepted'],
    ['unknown', 'rejected', 'rejected'],
    ['accepted', 'unknown', 'accepted'],
    ['declined', 'unknown', 'declined'],
    ['declined', 'not sent', 'not sent'],
  ])('%s, then %s: %s', (one, then, result) => {
    const intent = intentAt(now);
    const endings = [one, then].map((outcome) => ({ ending: endingOf(now, intent.id, outcome) }));
    expect(changesOf([{ intent }, ...endings])).toMatchObject([{ ending: { outcome: result } }]);
  });

  test('an ending of nothing is nothing', () => {
    expect(changesOf([{ ending: endingOf(now, 'lost', 'accepted') }])).toEqual([]);
  });
});

describe('a change of another version, whose digest cannot be compared', () => {
  test.each([
    ['has no outcome', undefined, now + abandonedMs],
    ['ended at once', now, now + duplicateWindowMs],
    ['ended after an hour', now + 3600 * second, now + 3600 * second + duplicateWindowMs],
    ['ended when it was abandoned', now + abandonedMs, now + abandonedMs],
  ])('that %s blocks changes for its own time', (_what, ended, until) => {
    expect(blocksUntil(now, ended)).toBe(until);
  });

  test.each([
    ['says until when', now + second, 'changes are refused until 2026-11-20T12:00:01.000Z, and longer while'],
    ['says nothing of a time that no date has', 8.64e15, 'changes are refused, and longer while'],
    ['says nothing of an unknown time', Number.POSITIVE_INFINITY, 'changes are refused, and longer while'],
  ])('has an error that %s', (_what, until, text) => {
    expect(new OtherVersion(until).shown.text).toContain(text);
  });
});
