import { describe, expect, test } from 'vitest';
import {
  endingSchema,
  intentSchema,
  outcomes,
  shorten,
  shortenEnding,
  shortenIntent,
} from '../../src/journal/entry.js';
import { endingOf, intentAt } from '../support/journal.js';

const noon = Date.parse('2026-11-20T12:00:00Z');

describe('a text within a bound', () => {
  test.each(['', 'a', 'é'.repeat(50), 'x'.repeat(100)])('%j stays as it is', (text) => {
    expect(shorten(text, 100)).toBe(text);
  });

  test.each(['x'.repeat(101), 'é'.repeat(500), '🚀'.repeat(100), `x${'🚀'.repeat(100)}`])(
    '%j is cut, and says so',
    (text) => {
      const cut = shorten(text, 100);
      expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(100);
      expect(cut).toMatch(
        new RegExp(`^[xé🚀]+… \\[cut, ${Buffer.byteLength(text)} bytes, SHA-256 [0-9a-f]{16}\\]$`, 'u'),
      );
    },
  );

  test('what was unreadable already stays so', () => {
    expect(shorten(`\ufffd${'x'.repeat(200)}`, 100)).toMatch(/^\ufffdx+…/);
  });

  test('two long callers are not taken for one another', () => {
    const [one, other] = ['1', '2'].map(
      (end) => shortenIntent(intentAt(noon, { caller: 'x'.repeat(5000) + end })).caller,
    );
    expect(one).not.toBe(other);
  });
});

test('no entry comes near 512 KiB, from where on it would be written in pieces', () => {
  // Each character of these takes six in JSON.
  const endless = '\u0001'.repeat(50_000);
  const intent = intentAt(noon, {
    what: endless,
    target: endless,
    client: endless,
    caller: endless,
    account: endless,
    reason: endless,
  });
  const requestIds = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [index + endless, endless]));
  const ending = { ...endingOf(noon, 'i', 'accepted'), code: endless, requestIds };
  for (const entry of [shortenIntent(intent), shortenEnding(ending)])
    expect(JSON.stringify(entry).length).toBeLessThan(128 * 1024);
  expect(Object.keys(shortenEnding(ending).requestIds ?? {})).toHaveLength(8);
});

test('an entry within bounds stays as it is', () => {
  const intent = intentAt(noon, { key: 'k', caller: 'alice', approver: 'bob', reason: 'r', nonce: 'n', budget: 'b' });
  const ending = { ...endingOf(noon, 'i', 'rejected'), key: 'k', code: 'Bad', requestIds: { one: '1' } };
  for (const each of [intent, intentAt(noon)]) expect(shortenIntent(each)).toEqual(each);
  for (const each of [ending, endingOf(noon, 'i', 'accepted')]) expect(shortenEnding(each)).toEqual(each);
});

test('values are read as they are, and those that only a newer version knows as the most cautious ones', () => {
  for (const consent of ['asked', 'clicked', 'page', 'planId', 'option', 'off', 'withdrawn', 'program'] as const)
    expect(intentSchema().parse(intentAt(noon, { consent }))).toMatchObject({ consent });
  expect(intentSchema().parse({ ...intentAt(noon), consent: 'voted', more: 1 })).toEqual(
    intentAt(noon, { consent: 'other', id: expect.any(String) }),
  );
  for (const outcome of outcomes)
    expect(endingSchema().parse(endingOf(noon, 'i', outcome))).toEqual(endingOf(noon, 'i', outcome));
  expect(endingSchema().parse({ ...endingOf(noon, 'i', 'accepted'), outcome: 'scheduled' })).toEqual(
    endingOf(noon, 'i', 'unknown'),
  );
});
