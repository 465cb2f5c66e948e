import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { shortenIntent } from '../../src/journal/entry.js';
import { keyFormat } from '../../src/journal/idempotency-key.js';
import { parseEnding, parseIntent, readEntry, readId, readLine } from '../../src/journal/line.js';
import { endingOf as ending, intentAt } from '../support/journal.js';

const noon = Date.parse('2026-11-20T12:00:00Z');
const texts = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '"digest":"x"',
    '","nonce":"y',
    '\\","id":"z',
    '{"intent":{"id":"',
    '","budget":"z',
    '日誌}}',
    '"keyFormat":2',
  ),
);

test('the fields that the rules look for are those of the JSON, whatever the texts beside them hold', () => {
  const names = ['id', 'digest', 'nonce', 'budget', 'what', 'target', 'account', 'client', 'caller'] as const;
  fc.assert(
    fc.property(fc.record(Object.fromEntries(names.map((name) => [name, texts]))), (given) => {
      const intent = shortenIntent(intentAt(noon, given));
      const line = readLine(JSON.stringify({ intent }));
      expect(line).toMatchObject({ kind: 'intent', time: noon, id: intent.id, digest: intent.digest });
      if (line?.kind !== 'intent') return;
      expect([line.nonce, line.budget]).toEqual([intent.nonce, intent.budget]);
      expect(parseIntent(line)).toEqual(JSON.parse(JSON.stringify(intent)));
    }),
  );
});

test('an ending is read whole, whatever the service said', () => {
  fc.assert(
    fc.property(texts, texts, (code, requestId) => {
      const given = { ...ending(noon, 'some-id', 'rejected'), status: 400, code, requestIds: { outcome: requestId } };
      const line = readLine(JSON.stringify({ ending: given }));
      expect(line).toMatchObject({ kind: 'ending', id: 'some-id', time: noon, outcome: 'rejected' });
      if (line?.kind === 'ending') expect(parseEnding(line)).toEqual(JSON.parse(JSON.stringify(given)));
    }),
  );
});

/** Lines as servers write them, with the fields in that order. */
const intentLines = fc.record({ text: texts, name: fc.option(texts, { nil: undefined }) }).map(({ text, name }) => {
  const intent = intentAt(noon, {
    what: text,
    target: text,
    key: name,
    caller: name,
    budget: name,
    approver: name,
    reason: name,
  });
  return JSON.stringify({ intent: { ...intent, nonce: text, answeredAfterMs: 1.5 } });
});
const endingLines = fc.record({ text: texts, code: fc.option(texts, { nil: undefined }) }).map(({ text, code }) => {
  const requestIds = { 'x-request-id': text, outcome: text };
  return JSON.stringify({
    ending: { ...ending(noon, 'some-id', 'accepted'), key: text, status: 200, code, requestIds },
  });
});

test('a line that a crash cut short is none, wherever it was cut', () => {
  fc.assert(
    fc.property(intentLines, endingLines, fc.double({ min: 0, max: 0.999, noNaN: true }), (intent, given, share) => {
      for (const line of [intent, given]) {
        const isKnown = (length: number) => readLine(line.slice(0, length)) !== undefined;
        expect([isKnown(Math.floor(share * line.length)), isKnown(line.length - 1)]).toEqual([false, false]);
      }
    }),
  );
});

test.each([
  ['a key of another format', { intent: { ...intentAt(noon), keyFormat: 2 } }, { kind: 'notUnderstood', time: noon }],
  ['two digests', { intent: { ...intentAt(noon), plan: { digest: 'of something else' } } }, { digest: 'same' }],
  [
    'an intent without an id',
    { intent: { time: new Date(noon).toISOString() } },
    { kind: 'notUnderstood', time: noon },
  ],
  ['another kind of entry', { note: { intent: 1 } }, undefined],
])('%s', (_what, entry, expected) => {
  const line = readLine(JSON.stringify(entry));
  if (expected === undefined) expect(line).toBeUndefined();
  else expect(line).toMatchObject(expected);
});

const textOf = (entry: unknown) => (typeof entry === 'string' ? entry : JSON.stringify(entry));
const intent = intentAt(noon, { id: 'c-1' });
const { id: _, tool: __, ...others } = intent;

test.each<readonly [string, unknown, object | undefined]>([
  ['of an intent', { intent }, { kind: 'intent', id: 'c-1' }],
  ['of an ending', { ending: ending(noon, 'c-1', 'accepted') }, { kind: 'ending', id: 'c-1' }],
  ['that is not its first field', { intent: { tool: 'first', ...others, id: 'c-1' } }, { kind: 'intent', id: 'c-1' }],
  ['with signs of its own', { intent: { ...intent, id: 'c 1 "é"' } }, { kind: 'intent', id: 'c 1 "é"' }],
  ['that is too long for a short look', { ending: ending(noon, 'c'.repeat(65), 'accepted') }, { id: 'c'.repeat(65) }],
  ['of a line that does not begin with it', ` ${JSON.stringify({ intent })}`, { kind: 'intent', id: 'c-1' }],
  ['of an entry that is not understood', { intent: { when: 'now', id: 'c-1' } }, undefined],
  ['of what is no entry', '"intent":{"id":"c-1"', undefined],
  ['of nothing', '', undefined],
])('the id %s', (_what, entry, expected) => {
  const found = readId(textOf(entry));
  if (expected === undefined) expect(found).toBeUndefined();
  else expect(found).toMatchObject(expected);
});

test.each<readonly [string, unknown, object | undefined]>([
  ['an intent', { intent: { ...intent, what: 'é' } }, { intent: { ...intent, what: 'é' } }],
  ['an intent of the format', { intent: { ...intent, keyFormat: 1 } }, { intent: { ...intent, keyFormat: 1 } }],
  ['an intent of another format', { intent: { ...intent, keyFormat: 2 } }, undefined],
  ['half of an intent', { intent: { id: 'c-1' } }, undefined],
  ['an ending', { ending: ending(noon, 'c-1', 'declined') }, { ending: ending(noon, 'c-1', 'declined') }],
  ['half of an ending', { ending: { id: 'c-1' } }, undefined],
  ['a line that a crash cut short', '{"intent":{"id"', undefined],
  ['null', 'null', undefined],
])('the entry of %s', (_what, entry, expected) => {
  expect(readEntry(textOf(entry))).toEqual(expected);
});

test.each<readonly [string, unknown, object | undefined]>([
  [
    'an id that is no plain text',
    { ending: { ...ending(noon, 'é', 'rejected') } },
    { kind: 'ending', id: 'é', outcome: 'rejected', time: noon },
  ],
  [
    'an outcome of a newer version',
    { ending: { ...ending(noon, 'c', 'rejected'), outcome: 'later' } },
    { kind: 'ending', outcome: 'unknown' },
  ],
  ['an ending without a time', { ending: { id: 'c', outcome: 'accepted' } }, undefined],
  ['a nonce that is no plain text', { intent: { ...intent, nonce: 'é' } }, { kind: 'intent', nonce: 'é' }],
  ['a nonce that is no text', { intent: { ...intent, nonce: 1 } }, { kind: 'notUnderstood', time: noon }],
  ['a budget that is no plain text', { intent: { ...intent, budget: 'é' } }, { kind: 'intent', budget: 'é' }],
  ['a digest that is no text', { intent: { ...intent, digest: 1 } }, { kind: 'notUnderstood', time: noon }],
  [
    'a time that is none',
    { intent: { when: intent.time, time: 'soon' } },
    { kind: 'notUnderstood', time: Number.POSITIVE_INFINITY },
  ],
])('a line with %s', (_what, entry, expected) => {
  const line = readLine(textOf(entry));
  if (expected === undefined) expect(line).toBeUndefined();
  else expect(line).toMatchObject(expected);
});

test('of an intent, no more has to be understood than what the rules look for', () => {
  const { id, digest, time } = intent;
  const told = { kind: 'intent', id, digest, time: noon };
  expect(readLine(textOf({ intent: { time, id, digest, more: [] } }))).toMatchObject(told);
  const both = { nonce: 'n', budget: 'b' };
  expect(readLine(textOf({ intent: { time, id, digest, more: [], ...both } }))).toMatchObject({ ...told, ...both });
});

test('the id of a line as servers write it is read without parsing', () => {
  const lines = [{ intent: { id: 'c-1', more: [] } }, { ending: { id: 'c-2', more: [] } }].map(textOf);
  const parse = vi.spyOn(JSON, 'parse');
  const read = lines.map(readId);
  const times = parse.mock.calls.length;
  parse.mockRestore();
  expect(read).toEqual([
    { kind: 'intent', id: 'c-1' },
    { kind: 'ending', id: 'c-2' },
  ]);
  expect(times).toBe(0);
});

test('of an ending that is not understood, what the rules look for is told', () => {
  const given = { ...ending(noon, 'c-1', 'accepted'), status: 'fine' };
  const line = readLine(textOf({ ending: given }));
  if (line?.kind !== 'ending') throw new Error('no ending');
  const { key: _, ...understood } = ending(noon, 'c-1', 'accepted');
  expect(parseEnding(line)).toEqual(understood);
});

test.each([
  ['of this version', { keyFormat }, { isOlder: false, isRestored: false }],
  ['of an earlier version', { keyFormat: keyFormat - 1 }, { isOlder: true, isRestored: false }],
  ['of a version that named no format', { keyFormat: undefined }, { isOlder: true, isRestored: false }],
  [
    'that was written again',
    { keyFormat, restored: new Date(noon).toISOString() },
    { isOlder: false, isRestored: true },
  ],
])('an intent %s is told by its fields', (_what, fields, expected) => {
  expect(readLine(JSON.stringify({ intent: { ...intentAt(noon), ...fields } }))).toMatchObject({
    kind: 'intent',
    ...expected,
  });
});

test('an intent with a later format of its key is not understood, so that it blocks', () => {
  const intent = { ...intentAt(noon), keyFormat: keyFormat + 1 };
  expect(readLine(JSON.stringify({ intent }))).toEqual({ kind: 'notUnderstood', time: noon });
});
