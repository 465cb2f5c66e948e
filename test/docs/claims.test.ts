import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { httpFailureRemedies, knownCodes } from '../../src/calls/remedies.js';
import { clients } from '../../src/cli/client-formats.js';
import { refusalCodes } from '../../src/consent/refusal.js';
import { type ConsentRequest, type ConsentStep, decideConsent } from '../../src/consent/required-consent.js';
import { defaultHttpLimits } from '../../src/http/limits.js';
import { duplicateWindowMs } from '../../src/journal/conflict.js';

/** Sentences of the pages that say how much or how long: what the source says of it. Others must not come back. */

const read = (page: string) => readFileSync(page, 'utf8').replaceAll(/\s+/g, ' ');
const pages = [
  'README.md',
  ...readdirSync('docs')
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
];

const { bodyBytes, concurrentCalls, callsOfCaller, waitingCalls, questionsOfCaller, questions, connections } =
  defaultHttpLimits;
const kibibytes = `${bodyBytes / 1024} KiB`;
const minutes = { 10: 'ten' }[duplicateWindowMs / 60_000];

const figures: readonly (readonly [page: string, sentence: string])[] = [
  ['docs/DEPLOY.md', `| body of a request | ${kibibytes}, `],
  ['docs/DEPLOY.md', `| ${concurrentCalls} in all, ${callsOfCaller} for each caller; ${waitingCalls} more may wait`],
  ['docs/DEPLOY.md', `| ${questionsOfCaller} for each caller, ${questions} in all |`],
  ['docs/DEPLOY.md', `of the ${connections.toLocaleString('en')} connections`],
  ['docs/TROUBLESHOOTING.md', `larger than ${kibibytes}`],
  ['README.md', `For ${minutes} minutes, the same change needs \`allowRepeat\``],
];

test.each(figures)('%s: %s', (page, sentence) => {
  expect(read(page)).toContain(sentence);
});

/** Of the command line, where the message says it all. */
const ofCommands = ['Usage'];

test.each(
  [...refusalCodes, ...Object.keys(httpFailureRemedies), ...knownCodes].filter((code) => !ofCommands.includes(code)),
)('docs/TROUBLESHOOTING.md says what %s means', (code) => {
  expect(read('docs/TROUBLESHOOTING.md')).toContain(`\`${code}\``);
});

const cannotAsk = { planOnly: false, hasPlanId: false, question: 'none', hasView: false, agreed: false } as const;

test.each<[mode: 'ask' | 'human', page: ConsentRequest['page'], Partial<ConsentStep>]>([
  ['ask', 'none', { kind: 'plan', withPlanId: true }],
  ['human', 'signIn', { kind: 'plan', withPlanId: false, withPage: true }],
  ['human', 'none', { kind: 'refuse' }],
])("docs/SECURITY.md says what a client that can't ask gets: %s, a page: %s", (mode, page, step) => {
  expect(decideConsent({ ...cannotAsk, mode, page })).toMatchObject(step);
  expect(read('docs/SECURITY.md')).toContain(
    'with `ask`, the agent can carry out the plan with its `planId`; with `human`, a person decides on a page or the call is refused',
  );
});

const tooStrong: readonly (readonly [RegExp, string])[] = [
  [/client that can't ask[^.]*never lets a change through/, 'with "ask", such a client gets a planId'],
  [/each problem comes with its remedy/i, 'doctor does not know every remedy'],
  [/nothing is sent twice by accident/i, 'the same change is found for ten minutes, and reads are retried'],
  [/no secret is in the block/i, 'some clients need the secret in the block: its user puts it there'],
  [/references in place of secrets/i, 'Claude Desktop looks up no reference'],
];

describe.each(pages)('%s', (page) => {
  test.each(tooStrong)('does not say %s', (sentence) => {
    expect(read(page)).not.toMatch(sentence);
  });
});

test('a host in a browser is named together with what it takes to reach a server', () => {
  const sentences = pages.flatMap((page) => read(page).split(/(?<=\.) |\n/));
  const hosts = sentences.filter((sentence) => /claude\.ai|ChatGPT/.test(sentence));
  expect(hosts.length).toBeGreaterThan(0);
  expect(hosts.filter((sentence) => !/over HTTP/.test(sentence))).toEqual([]);
});

test('where a client looks up no reference, the secret is in a file that only its user should read', () => {
  expect(clients['claude-desktop']?.secrets).toContain('Only you should be able to read it');
});
