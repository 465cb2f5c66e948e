import { describe, expect, test } from 'vitest';
import { afterChange, afterSaying, createPerson, type Person, saysBefore } from '../../eval/person.js';
import type { Event } from '../../eval/record.js';

/** The scripted person. */

const person: Person = {
  task: 'Restore it.',
  lines: [
    { when: saysBefore(/which backup/i), say: 'b-1' },
    { when: saysBefore(/plan/, /200/), say: 'Yes.', permits: true },
  ],
  otherwise: { early: 'I know no more.', late: 'Leave it.' },
  closing: 'What came of it?',
};
const change: Event = { kind: 'request', account: '', method: 'POST', url: '/', headers: {}, body: {}, changes: true };
const said: Event = { kind: 'person', text: 'Go.', permits: false };
const question: Event = { kind: 'question', tool: 't', message: '', decision: 'accept' };
const textsOf = (given: Person, said: readonly (readonly [string, readonly Event[]])[]) => {
  const answer = createPerson(given);
  return said.map(([text, events]) => answer(text, events)?.text);
};

test('answers by what was said, each line once, then asks how it ended, and is silent', () => {
  expect(
    textsOf(person, [
      ['Which backup?', []],
      ['Which backup?', []],
      ['The plan: 200 GB. Shall I?', []],
      ['Started.', [change]],
      ['wiki: accepted', [change]],
    ]),
  ).toEqual(['b-1', 'I know no more.', 'Yes.', 'What came of it?', undefined]);
});

test('only the line that says so permits anything', () => {
  const answer = createPerson(person);
  const permits = ['Which backup?', 'The plan: 200 GB', 'Anything else?'].map((text) => answer(text, [])?.permits);
  expect(permits).toEqual([false, true, false]);
});

test('has one answer to other questions before a change, and one after it', () => {
  const asked: readonly (readonly [string, readonly Event[]])[] = [
    ['Which colour?', []],
    ['Which name?', [question]],
    ['And now?', [change]],
  ];
  expect(textsOf(person, asked)).toEqual(['I know no more.', 'Leave it.', 'What came of it?']);
});

describe('a line', () => {
  test.each([
    ['saysBefore needs all patterns', saysBefore(/a/, /b/)('a', []), false],
    ['saysBefore fits before a change', saysBefore(/a/)('a', [question]), true],
    ['saysBefore does not fit after a change', saysBefore(/a/)('a', [change]), false],
    ['afterChange does not fit before a change', afterChange('a', [question]), false],
    ['afterChange fits after a change', afterChange('a', [change]), true],
    ['afterSaying does not fit before that', afterSaying('Go.')('a', [{ ...said, text: 'No.' }]), false],
    ['afterSaying fits after that', afterSaying('Go.')('a', [said, change]), true],
  ])('%s', (_rule, fits, expected) => expect(fits).toBe(expected));
});

test.each(['Shall I?', 'Shall I? ', '**Shall I?**', '実行しますか？', '("Shall I?")'])('%s is a question', (text) => {
  expect(createPerson({ ...person, lines: [] })(text, [])?.kind).toBe('otherwise');
});
