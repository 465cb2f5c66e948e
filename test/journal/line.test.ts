import fc from 'fast-check';
import { expect, test } from 'vitest';
import { boundedIntent } from '../../src/journal/entry.js';
import { endingOf, intentOf, readLine } from '../../src/journal/line.js';
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
      const intent = boundedIntent(intentAt(noon, given));
      const line = readLine(Buffer.from(JSON.stringify({ intent })).toString('latin1'));
      expect(line).toMatchObject({ kind: 'intent', time: noon, id: intent.id, digest: intent.digest });
      if (line?.kind !== 'intent') return;
      expect([line.nonce, line.budget]).toEqual([intent.nonce, intent.budget]);
      expect(intentOf(line)).toEqual(JSON.parse(JSON.stringify(intent)));
    }),
  );
});

test('an ending is read whole, whatever the service said', () => {
  fc.assert(
    fc.property(texts, texts, (code, requestId) => {
      const given = { ...ending(noon, 'some-id', 'rejected'), status: 400, code, requestIds: { outcome: requestId } };
      const line = readLine(Buffer.from(JSON.stringify({ ending: given })).toString('latin1'));
      expect(line).toMatchObject({ kind: 'ending', id: 'some-id', time: noon, outcome: 'rejected' });
      if (line?.kind === 'ending') expect(endingOf(line)).toEqual(JSON.parse(JSON.stringify(given)));
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
  const line = readLine(Buffer.from(JSON.stringify(entry)).toString('latin1'));
  if (expected === undefined) expect(line).toBeUndefined();
  else expect(line).toMatchObject(expected);
});
