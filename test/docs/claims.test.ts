import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { situations } from '../../eval/situations.js';
import { shortestReadMs } from '../../src/calls/approve-change.js';
import { defaultReadLimits } from '../../src/calls/read-memory-limit.js';
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

const {
  bodyBytes,
  concurrentCalls,
  callsOfCaller,
  waitingCalls,
  questionsOfCaller,
  questions,
  connections,
  connectionsOfAddress,
} = defaultHttpLimits;
const kibibytes = `${bodyBytes / 1024} KiB`;
const minutes = { 10: 'ten' }[duplicateWindowMs / 60_000];
const aSecond = { 1000: 'a second' }[shortestReadMs];
const { pages: readPages, entries, bytes } = defaultReadLimits;
const readLimits = [
  `${entries.toLocaleString('en')} entries`,
  `${readPages} pages`,
  `${bytes / 1024 ** 2} MiB`,
] as const;

/** Measured: a page repeats what bench/README.md has. */
const measured = readFileSync('bench/README.md', 'utf8');
const [, sentWithStandby, twice] = /^\| an asynchronous standby .*? \| (\d+) \| (\d+) \|/m.exec(measured) ?? [];
const [, soakMemory] = /(\d+ MiB) at most\./.exec(measured) ?? [];
const [, memoryLimit] =
  /limits:\s+memory: (\d+)Mi/.exec(readFileSync('deploy/kubernetes/deployment.yaml', 'utf8')) ?? [];

const figures: readonly (readonly [page: string, sentence: string])[] = [
  ['docs/DEPLOY.md', `| body of a request | ${kibibytes}, `],
  ['docs/DEPLOY.md', `| ${concurrentCalls} in all, ${callsOfCaller} for each caller; ${waitingCalls} more may wait`],
  ['docs/DEPLOY.md', `| ${questionsOfCaller} for each caller, ${questions} in all |`],
  ['docs/DEPLOY.md', `| ${connections.toLocaleString('en')} in all, ${connectionsOfAddress} from one address.`],
  ['README.md', `For ${minutes} minutes, the same change needs \`allowRepeat\``],
  ['docs/CONSENT.md', `For ${minutes} minutes, no \`planId\` carries out a change that was declined`],
  ['docs/CONSENT.md', `An answer or a click in less than ${aSecond} counts as automated`],
  ['docs/OPERATE.md', `Wait ${minutes} minutes, the time in which a repetition would have been found`],
  ['docs/OPERATE.md', `${{ 10: 'ten' }[twice ?? '']} of ${sentWithStandby} changes were sent twice`],
  ['docs/SECURITY.md', `One read takes at most ${readLimits[1]}, ${readLimits[0]} and ${readLimits[2]}`],
  ['docs/DEPLOY.md', `A server took ${soakMemory} at most in a soak test; the manifests allow ${memoryLimit} MiB`],
  ['CHANGELOG.md', `one call reads up to ${readLimits[0]}, ${readLimits[1]} or ${readLimits[2]}`],
  ['CHANGELOG.md', `tries ${{ 15: 'fifteen' }[situations.length]} situations with a model`],
  ['eval/README.md', `in ${{ 15: 'fifteen' }[situations.length]} situations`],
];

test('README can be read in a few minutes', () => {
  expect(readFileSync('README.md', 'utf8').trimEnd().split('\n').length).toBeLessThanOrEqual(120);
});

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

/** Every text that a reader or a registry gets, and the source. */
const texts = ['.', 'docs', 'skills', 'deploy', 'scripts', 'src', 'ui', 'eval', 'examples', 'sandbox'].flatMap(
  (folder) =>
    readdirSync(folder, { recursive: folder !== '.', encoding: 'utf8' })
      .filter((name) => /\.(?:md|json|mjs|ts|html|ya?ml)$/.test(name) && name !== 'package-lock.json')
      .map((name) => join(folder, name)),
);
const breadth =
  /(?<!not )signed with (?:AWS )?Signature Version 4|\b(?:any|every) (?:other )?(?:signed )?API\b[^.]{0,60}\bsign/i;
const limits = [/event streams/, /bodies of any length|streaming bodies/, /host name/];

test('every section that says which APIs can be called names the limits', () => {
  const sections = texts.flatMap((path) =>
    readFileSync(path, 'utf8')
      .split(/^#+ .*$/m)
      .flatMap((text) => (breadth.test(text.replaceAll(/\s+/g, ' ')) ? [{ path, text }] : [])),
  );
  expect(sections.map(({ path }) => path)).toEqual(expect.arrayContaining(['README.md', 'docs/OPERATIONS.md']));
  expect(sections.filter(({ text }) => !limits.every((limit) => limit.test(text)))).toEqual([]);
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
