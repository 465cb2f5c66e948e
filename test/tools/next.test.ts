import { describe, expect, test } from 'vitest';
import { httpFailureRemedies, knownCodes, remedyFor } from '../../src/calls/remedies.js';
import { Refusal, type RefusalCode, refusalCodes, refusalFailure } from '../../src/consent/refusal.js';
import { operations } from '../../src/tools/index.js';
import { textForOperator, textForUser } from '../../src/tools/next.js';
import { fromServer } from '../../src/util/safe-text.js';

/** Steps are written for models. These are the same for people who read them themselves. */

const toldTo = (reader: 'operator' | 'user', text: string): string =>
  (reader === 'operator' ? textForOperator : textForUser)(fromServer(text)).text;

const facts = { api: 'ListParts', isStorage: true, account: 'AKIDEXAMPLE' };
const statuses = [307, 400, 401, 403, 404, 409, 418, 429, 500];
const own = operations.flatMap(({ errors = {} }) => Object.values(errors));
const afterAnswer: readonly string[] = [
  ...knownCodes.map((code) => remedyFor({}, code, 400, facts).next.text.text),
  ...statuses.map((status) => remedyFor({}, undefined, status, facts).next.text.text),
  remedyFor({}, undefined, 307, { ...facts, isStorage: false }).next.text.text,
  ...own,
];
const all: readonly string[] = [
  ...afterAnswer,
  ...Object.values(httpFailureRemedies).map(({ text }) => text.text),
  ...refusalCodes.map((code) => refusalFailure('x', new Refusal(code as RefusalCode, []), true).next.text.text),
];

/** What only a model is told, or only of a person who is not the reader. */
const aboutUsers = /\b(?:the user|tell|ask them|have them look|in the conversation)\b/i;

test.each([...new Set(all)])('%s is told to the person themself', (text) => {
  for (const reader of ['operator', 'user'] as const) {
    const told = toldTo(reader, text);
    expect(told).not.toMatch(aboutUsers);
    expect(told).toMatch(/^(?:[A-Z].*\.)?$/);
  }
  expect(toldTo('operator', text)).not.toMatch(/who runs this server (?:has to|can)\b|\bin its\b|\bof its\b/);
});

test.each([...new Set(afterAnswer)])('%s, in a view, names no tool and no call', (text) => {
  const told = toldTo('user', text);
  expect(told).not.toBe('');
  expect(told).not.toMatch(/\b[Cc]all\b|`|[a-z]_[a-z]/);
});

describe('of two readers', () => {
  const text =
    'Tell the user: the person who runs this server has to check the clock of its machine. Call again in about 60 s.';

  test('the one who runs the server acts', () => {
    expect(toldTo('operator', text)).toBe('Check the clock of this machine. Call again in about 60 s.');
  });

  test('the other is told who has to', () => {
    expect(toldTo('user', text)).toBe(
      'The person who runs this server has to check the clock of its machine. Try again in about 60 s.',
    );
  });
});

test.each([
  'Ask the user whether "a. Ask the user whether b (c" is right. Then wait.',
  'Ask the user whether "\\" Tell the user that x. " is right. Then wait.',
])('what is quoted stays as it is: %s', (text) => {
  expect(toldTo('user', text)).toBe(text.replace('Ask the user whether', 'Check whether'));
});
