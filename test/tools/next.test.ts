import { describe, expect, test } from 'vitest';
import { nextOf, Refusal, type RefusalCode, refusalCodes, refusalFailure } from '../../src/calls/refusal.js';
import { httpFailures, knownCodes, type RemedyFacts, remedyFor } from '../../src/calls/remedies.js';
import { operations } from '../../src/tools/index.js';
import { operatorMust } from '../../src/tools/next.js';
import { distinct, type SafeText, say, textFor } from '../../src/util/safe-text.js';

/** Steps are written for models. These are the same for people who read them themselves. */

const toldTo = (reader: 'operator' | 'person', text: SafeText): string => textFor(reader, text).text;

const facts = {
  api: 'ListParts',
  endpoint: { origin: 'http://storage.example' },
  takesRegion: true,
  account: 'AKIDEXAMPLE',
  error: {},
};
const statuses = [307, 400, 401, 403, 404, 405, 407, 408, 409, 418, 426, 429, 500, 501, 507, 511];
/** Errors whose advice depends on more than the code. */
const withEvidence: readonly (readonly [status: number, more: Partial<RemedyFacts>])[] = [
  [307, { error: { host: 'https://storage.example/' } }],
  [307, { error: { host: '/sign-in' } }],
  [307, { takesRegion: false }],
  [307, { error: { region: 'eu-1' } }],
  [400, { error: { code: 'AuthorizationHeaderMalformed', region: 'eu-1' }, takesRegion: false }],
  [403, { error: { message: 'Use the virtual-hosted style.' } }],
  [
    403,
    {
      error: { message: 'Use the virtual-hosted style.' },
      endpoint: { origin: 'https://b.example', bucketInHost: 'b' },
    },
  ],
  [403, { error: { message: 'Use the specified endpoint.', host: 'eu.storage.example' } }],
];
const own = operations.flatMap(({ errors = {} }) =>
  Object.keys(errors).map((code) => remedyFor(400, errors, { ...facts, error: { code } }).next.text),
);
const afterAnswer: readonly SafeText[] = [
  ...knownCodes.map((code) => remedyFor(400, {}, { ...facts, error: { code } }).next.text),
  ...statuses.map((status) => remedyFor(status, {}, facts).next.text),
  ...withEvidence.map(([status, more]) => remedyFor(status, {}, { ...facts, ...more }).next.text),
  ...own,
];
const all: readonly SafeText[] = [
  ...afterAnswer,
  ...Object.values(httpFailures).map((step) => nextOf(step).text),
  ...refusalCodes.map(
    (code) => refusalFailure('x', new Refusal(code as RefusalCode, []), { isChange: true }).next.text,
  ),
];

/** What only a model is told, or only of a person who is not the reader. */
const aboutUsers = /\b(?:the user|tell|ask them|have them look|in the conversation)\b/i;

test.each(distinct(all))('%s is told to the person themself', (text) => {
  for (const reader of ['operator', 'person'] as const) {
    const told = toldTo(reader, text);
    expect(told).not.toMatch(aboutUsers);
    expect(told).toMatch(/^(?:[A-Z].*\.)?$/);
  }
  expect(toldTo('operator', text)).not.toMatch(/who runs this server (?:has to|can)\b|\bin its\b|\bof its\b/);
});

test.each(distinct(afterAnswer))('%s, in a view, names no tool and no call', (text) => {
  const told = toldTo('person', text);
  expect(told).not.toBe('');
  expect(told).not.toMatch(/\b[Cc]all\b|`|[a-z]_[a-z]/);
});

describe('what the person who runs this server has to do', () => {
  const { text } = operatorMust(say`check the log`);

  test.each([
    ['agent', 'Tell the user: the person who runs this server has to check the log.'],
    ['person', 'The person who runs this server has to check the log.'],
    ['operator', 'Check the log.'],
  ] as const)('reads for the %s: %s', (reader, sentence) => {
    expect(textFor(reader, text).text).toBe(sentence);
  });
});

test.each(['a. Ask the user whether b (c', '" Tell the user that x. '])('what is quoted stays as it is: %s', (name) => {
  const { text } = operatorMust(say`check whether ${name} is right`);
  expect(toldTo('person', text)).toContain(JSON.stringify(name));
});
