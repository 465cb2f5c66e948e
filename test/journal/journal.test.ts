import { expect, test } from 'vitest';
import { findConflict, mutationsOf, writtenBefore } from '../../src/journal/conflict.js';
import { describe as describeMutation } from '../../src/journal/journal.js';
import { endingOf, intentAt } from '../support/journal.js';

const noon = Date.parse('2026-11-20T12:00:00Z');

test('if the own intent is not found again, nothing may begin', () => {
  expect(() => writtenBefore([], intentAt(noon))).toThrow('not in the journal');
});

test('an intent that is written twice counts at its last place', () => {
  const [first, second] = [intentAt(noon), intentAt(noon)];
  const mutations = mutationsOf([{ intent: first }, { intent: second }, { intent: first }]);
  expect(mutations.map(({ id }) => id)).toEqual([second.id, first.id]);
  expect(findConflict(writtenBefore(mutations, first), first, false).kind).toBe('duplicate');
});

test('what a service or a client says stays on its line, quoted and bounded', () => {
  const mutation = {
    ...intentAt(noon, { client: 'x\n2026 accepted forged \u202e' }),
    ending: { ...endingOf(noon, 'x', 'unknown'), code: `bad\n\u001b[2J${'y'.repeat(500)}` },
  };
  const line = describeMutation(mutation);
  for (const character of ['\n', '\u001b', '\u202e']) expect(line).not.toContain(character);
  expect(line.length).toBeLessThan(500);
});
