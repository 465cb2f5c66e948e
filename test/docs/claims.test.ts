import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { situations } from '../../eval/situations.js';
import { answerBudget, pickedBudget } from '../../src/calls/answer-budget.js';
import { resultSchemas } from '../../src/calls/outcome.js';
import { defaultReadLimits } from '../../src/calls/read-limits.js';
import { refusalCodes } from '../../src/calls/refusal.js';
import { httpFailures, knownCodes } from '../../src/calls/remedies.js';
import { decisionWays, states } from '../../src/changes/change.js';
import { duplicateWindowMs } from '../../src/changes/change-table.js';
import { planInClientMs, shortestReadMs } from '../../src/changes/decide.js';
import { longestReason } from '../../src/changes/decline-reason.js';
import { type ConsentRequest, type ConsentStep, decideConsent } from '../../src/changes/required-consent.js';
import { sessionMs } from '../../src/http/decision-session.js';
import { defaultHttpLimits } from '../../src/http/limits.js';
import { defaultLimits } from '../../src/transport/http-client.js';
import { mostJsonValues } from '../../src/transport/parse-body.js';
import { constant } from '../support/constant.js';

/** Sentences of the pages that say how much or how long: what the source says of it. Others must not come back. */

const read = (page: string) => readFileSync(page, 'utf8').replaceAll(/\s+/g, ' ');
const pages = [
  'README.md',
  ...readdirSync('docs')
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
];

const { bodyBytes, waitMs, concurrentCalls, callsOfCaller, waitingCalls, connections, requests } = defaultHttpLimits;
const kibibytes = `${bodyBytes / 1024} KiB`;
const minutes = { 10: 'ten' }[duplicateWindowMs / 60_000];
const aSecond = { 1000: 'a second' }[shortestReadMs];
const { pages: readPages, entries, bytes, bytesOfAll, valuesOfAll, bytesAlways } = defaultReadLimits;
const { reads, readsAtATime, milliseconds } = defaultReadLimits;
const readLimits = [
  `${entries.toLocaleString('en')} entries`,
  `${readPages} pages`,
  `${bytes / 1024 ** 2} MiB`,
] as const;
const readValues = `${defaultReadLimits.values.toLocaleString('en')} values`;

/** Measured: a page repeats what bench/README.md has. */
const measured = readFileSync('bench/README.md', 'utf8');
const [, sentWithStandby, twice] = /^\| an asynchronous standby .*? \| (\d+) \| (\d+) \|/m.exec(measured) ?? [];
const [, soakMemory] = /(\d+ MiB) at most\./.exec(measured) ?? [];
const [, memoryLimit] =
  /limits:\s+memory: (\d+)Mi/.exec(readFileSync('deploy/kubernetes/deployment.yaml', 'utf8')) ?? [];

const numerals: Readonly<Record<number, string>> = {
  1: 'a',
  2: 'two',
  3: 'three',
  4: 'four',
  5: 'five',
  8: 'eight',
  10: 'ten',
};
/** `ten minutes`, `a day`, `half a second`. */
const spelled = (value: number, unit: string) =>
  value === 0.5 ? `half a ${unit}` : `${numerals[value] ?? value} ${unit}${value === 1 ? '' : 's'}`;
const seconds = (ms: number) => spelled(ms / 1000, 'second');
const inMinutes = (ms: number) => spelled(ms / 60_000, 'minute');
const hours = (ms: number) => spelled(ms / 3_600_000, 'hour');
const aDay = (ms: number) => spelled(ms / 86_400_000, 'day');
const grouped = (value: number) => value.toLocaleString('en');
const binary = (size: number) => (size < 1024 ** 2 ? `${size / 1024} KiB` : `${size / 1024 ** 2} MiB`);

const issuerKeys = (name: string) => constant('src/http/issuer-keys.ts', name);
const signInWaiting = constant('src/http/sign-in-at-issuer.ts', 'mostWaiting');
const plansWaiting = constant('src/changes/change-table.ts', 'mostAsking');
const announced = constant('src/changes/announcement.ts', 'mostOfCaller');
const announcedWithin = inMinutes(constant('src/changes/announcement.ts', 'spanMs'));
const refusals = numerals[constant('src/changes/decide.ts', 'mostDeclined')];
const program = (name: string) => constant('src/signing/program-keys.ts', name);
const unasked = constant('src/changes/change-table.ts', 'mostUnasked');
const row = binary(constant('src/changes/change-table.ts', 'longestRow'));
const rereadTokens = seconds(constant('src/http/tokens-file.ts', 'rereadAfterMs'));
const logins = (name: string) => numerals[constant('src/http/limits.ts', name)];
const lastGood = aDay(issuerKeys('lastGoodMs'));
const session = hours(sessionMs);
const stopMs = constant('src/cli/http-command.ts', 'graceMs') / 1000;
const redaction = (name: string) => constant('src/transport/redact.ts', name);
const typed = (name: string) => constant('src/changes/typed-name.ts', name);
const settings = readFileSync('docs/CONFIGURATION.md', 'utf8');
const planHours = /`CLOUDOPS_PLAN_HOURS` .*; default (\d+)/.exec(settings)?.[1];
const plansExpire = inMinutes(planInClientMs);
const duplicates = inMinutes(duplicateWindowMs);

/** Sentences with a figure, as the source has it. */
const figures: readonly (readonly [page: string, sentence: string])[] = [
  ['docs/DEPLOY.md', `| body of a request | ${kibibytes}, `],
  [
    'docs/DEPLOY.md',
    `| ${concurrentCalls} in all, ${callsOfCaller} for each caller; ${waitingCalls} more may wait for up to ${seconds(waitMs)}`,
  ],
  ['docs/DEPLOY.md', `| connections | ${connections.toLocaleString('en')} in all`],
  ['README.md', `For ${minutes} minutes, the same change needs \`allowRepeat\``],
  ['docs/CONSENT.md', `For ${minutes} minutes, \`confirm_change\` carries out no change that was declined`],
  ['docs/CONSENT.md', `An answer in less than ${aSecond} counts as automated`],
  ['docs/CONSENT.md', `A click in less than ${aSecond} does not count`],
  ['docs/OPERATE.md', `Wait ${minutes} minutes, the time in which a repetition would have been found`],
  ['docs/OPERATE.md', `${{ 10: 'ten' }[twice ?? '']} of ${sentWithStandby} changes were sent twice`],
  ['docs/SECURITY.md', `One read takes at most ${readLimits[1]}, ${readLimits[0]}, ${readLimits[2]} and ${readValues}`],
  [
    'docs/SECURITY.md',
    `take at most ${reads.toLocaleString('en')} reads, ${readsAtATime} at a time, in ${milliseconds / 1000} seconds`,
  ],
  ['docs/DEPLOY.md', `A server took ${soakMemory} at most in a soak test; the manifests allow ${memoryLimit} MiB`],
  ['CHANGELOG.md', `one call reads up to ${readLimits[0]}, ${readLimits[1]} or ${readLimits[2]}`],
  ['CHANGELOG.md', `tries ${situations.length} situations with a model`],
  ['eval/README.md', `in ${situations.length} situations`],
  [
    'docs/CONFIGURATION.md',
    `when a file has changed and all of them have been still for ${seconds(constant('src/signing/renew-keys.ts', 'quietMs'))}`,
  ],
  [
    'docs/CONFIGURATION.md',
    `${inMinutes(constant('src/signing/renew-keys.ts', 'earlyMs'))} before they expire, at most once ${inMinutes(constant('src/signing/key-origins.ts', 'programPauseMs'))}`,
  ],
  ['docs/CONFIGURATION.md', `(after ${plansExpire} or, with a page for decisions, \`CLOUDOPS_PLAN_HOURS\`)`],
  ['docs/TROUBLESHOOTING.md', `differ by more than ${aDay(constant('src/transport/retry.ts', 'maximumOffsetMs'))}`],
  ['docs/CONSENT.md', `It works within ${plansExpire}, for the client that made the plan`],
  ['docs/CONSENT.md', `Waits up to ${constant('src/runtime.ts', 'defaultWaitMs') / 1000} seconds for its end`],
  [
    'docs/CONSENT.md',
    `a name with more than ${typed('longestTyped')} characters, an ARN or a URL, the last ${typed('typedEnd')} characters are typed`,
  ],
  ['docs/CONSENT.md', `looks every ${seconds(constant('ui/page/host-page.ts', 'lookMs'))}`],
  ['docs/CONSENT.md', `**A refusal may have a reason** of at most ${longestReason} characters`],
  ['docs/CONSENT.md', `After ${refusals} refused changes of a caller (over stdio, of a client) within ${plansExpire}`],
  ['docs/CONSENT.md', `a plan waits ${planHours} hours (\`CLOUDOPS_PLAN_HOURS\`), at most ${plansWaiting} per caller`],
  ['docs/CONSENT.md', `or is still running, within the last ${duplicates}`],
  ['docs/DEPLOY.md', `It is read again within ${rereadTokens}`],
  ['docs/DEPLOY.md', `with address and reason, ${logins('loggedPerSecond')} a second in all`],
  [
    'docs/DEPLOY.md',
    `Keys are fetched at the start, after ${inMinutes(issuerKeys('freshMs'))}, and for a token with an unknown key, at most every ${issuerKeys('pauseMs') / 1000} s`,
  ],
  ['docs/DEPLOY.md', `known keys are good for ${lastGood}`],
  ['docs/DEPLOY.md', `A session lasts ${session}`],
  ['docs/DEPLOY.md', `one message with at most ${grouped(constant('src/mcp/messages.ts', 'maximumValues'))} values`],
  ['docs/DEPLOY.md', `A stopped pod gives running calls ${stopMs} s`],
  ['docs/DEPLOY.md', `${binary(defaultLimits.bodyBytes)}; ${grouped(mostJsonValues)} values of JSON`],
  [
    'docs/DEPLOY.md',
    `${binary(bytesOfAll)} and ${grouped(valuesOfAll)} values in all; ${binary(bytesAlways)} for each call in any case`,
  ],
  ['docs/DEPLOY.md', `requests at the same time | ${requests.toLocaleString('en')} in all |`],
  ['docs/DEPLOY.md', `requests that wait for the issuer's keys | ${issuerKeys('mostWaiting')} |`],
  [
    'docs/DEPLOY.md',
    `delay the end of the process by up to ${(constant('src/observe/telemetry.ts', 'flushMs') + constant('src/main.ts', 'lingerMs')) / 1000} s`,
  ],
  ['docs/OPERATE.md', `more than ${announced} in ${announcedWithin}`],
  ['docs/OPERATE.md', `tokens at ${constant('src/http/issuer.ts', 'clockToleranceSeconds')} s`],
  [
    'docs/OPERATE.md',
    `a server that is more than ${seconds(constant('src/changes/postgres.ts', 'warnAboveMs'))} off says so in its log, and one that is more than ${inMinutes(constant('src/changes/postgres.ts', 'toleratedMs'))} off refuses changes`,
  ],
  ['docs/OPERATE.md', `a change that is older than ${duplicates} may count as a repetition`],
  ['docs/OPERATE.md', `Let ${duplicates} pass before anybody repeats a change`],
  ['docs/MODELS.md', `an agent gets about ${grouped(answerBudget)} characters of JSON`],
  ['docs/MODELS.md', `and allows ${grouped(pickedBudget)} characters`],
  [
    'docs/MODELS.md',
    `If it stops after ${readLimits[1]}, ${readLimits[0]}, ${readLimits[2]} or ${readValues} (tags in XML), its answer`,
  ],
  ['docs/SANDBOX.md', `refuses a change that it sent in the last ${duplicates}`],
  ['docs/SANDBOX.md', `for ${constant('sandbox/cloud.ts', 'secondsToSettle')} seconds, then`],
  ['docs/SANDBOX.md', `the last ${constant('sandbox/sandbox.ts', 'keptRequests')} requests`],
  ['docs/SECURITY.md', `fetched at most once in ${seconds(issuerKeys('pauseMs'))}`],
  ['docs/SECURITY.md', `${signInWaiting} sign-ins that begin and ${signInWaiting} that end wait for the issuer`],
  ['docs/SECURITY.md', `An answer lists at most ${constant('src/calls/validate.ts', 'listedProblems')} problems`],
  [
    'docs/SECURITY.md',
    `${plansWaiting} plans wait for a person, ${unasked} wait otherwise, and ${announced} are announced in ${announcedWithin}. A stored change has at most ${row}`,
  ],
  [
    'docs/SECURITY.md',
    `for at most ${seconds(program('longestRunMs'))}, may print ${binary(program('maximumOutputBytes'))}`,
  ],
  ['docs/SECURITY.md', `its output is closed ${seconds(program('heldOutputMs'))} after the program's end`],
  ['docs/SECURITY.md', `if it waits ${aSecond}`],
  ['docs/SECURITY.md', `at most ${session} after the sign-in`],
  ['docs/SECURITY.md', `a key that it withdrew is good for ${lastGood}`],
  ['docs/SECURITY.md', `by ${constant('src/transport/retry.ts', 'maximumOffsetMs') / 3_600_000} hours at most`],
  ['docs/SECURITY.md', `the identical change in the last ${duplicates}`],
  [
    'docs/SECURITY.md',
    `the first or last ${redaction('endLength')} characters of a secret and of its lines of ${redaction('shortestLine')} characters or more`,
  ],
  ['docs/SECURITY.md', `a secret of less than ${numerals[redaction('shortestSecret')]} characters`],
  ['docs/TROUBLESHOOTING.md', `was wrong ${numerals[constant('src/changes/run-change.ts', 'maximumTries')]} times`],
  ['docs/TROUBLESHOOTING.md', `the answer came in less than ${aSecond}`],
  ['docs/TROUBLESHOOTING.md', `the click came in less than ${aSecond}`],
  [
    'docs/TROUBLESHOOTING.md',
    `[${refusals} changes were refused](CONSENT.md#rules-for-decisions) within ${plansExpire}`,
  ],
  ['docs/TROUBLESHOOTING.md', `${plansWaiting} plans of this caller wait for a decision`],
  ['docs/TROUBLESHOOTING.md', `the same change was accepted within ${duplicates}`],
];

/** Times and sizes that no number of the source decides, and why. */
const ofOthers: readonly (readonly [RegExp, string])[] = [
  [/^docs\/API\.md/, 'the page describes what other services do'],
  [/^docs\/COMPARISON\.md/, 'the page is about other servers'],
  [/alt="[^"]*$/, 'a picture shows it'],
  [
    /Signatures are refused at 15 minutes|from 15 minutes on, the server signs/,
    'the cloud refuses them; docs/API.md says so',
  ],
  [
    /`(?:slow-body:1000|oversized:32|429:1)` \| [^|]*\| (?:yes|no) \|.{0,40}$/,
    'the number stands in the name of the fault',
  ],
  [/more than one request a second has no good token/, 'deploy/prometheus/alerts.yaml; a test runs the rules'],
  [/idle connections (?:open for|after less than) a minute/, 'the default of CLOUDOPS_TIMEOUT_MS'],
  [/with a standby one second behind/, 'the bench made it so'],
  [/If it isn't ready after a minute|again in ten seconds|again in a minute/, 'advice with room to spare'],
];

test('README can be read in a few minutes', () => {
  expect(readFileSync('README.md', 'utf8').trimEnd().split('\n').length).toBeLessThanOrEqual(110);
});

const architecture = 'docs/ARCHITECTURE.md';

test('the pages can be read by a busy operator: at most 19,000 words, without ARCHITECTURE and the folded parts of TOOLS', () => {
  const unfolded = pages
    .filter((page) => page !== architecture)
    .map((page) => readFileSync(page, 'utf8').replaceAll(/<details>[\s\S]*?<\/details>/g, ''));
  expect(unfolded.join(' ').split(/\s+/).length).toBeLessThanOrEqual(19_000);
});

test('ARCHITECTURE has at most 2,000 words', () => {
  expect(read(architecture).split(' ').length).toBeLessThanOrEqual(2_000);
});

test.each(pages)('%s has no wall of text', (page) => {
  const prose = readFileSync(page, 'utf8').replaceAll(
    /<details>[\s\S]*?<\/details>|^ *```[\s\S]*?^ *```|<[^>]*>/gm,
    '\n\n',
  );
  const paragraphs = prose.split(/\n\s*\n|\n(?= *(?:[-|#]|\d+\.) )/);
  expect(paragraphs.filter((paragraph) => paragraph.trim().split(/\s+/).length > 85)).toEqual([]);
});

test.each(figures)('%s: %s', (page, sentence) => {
  expect(read(page)).toContain(sentence);
});

const amount =
  /\b(?:[\d,.]+|half an?|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty)/;
const timeOrSize = new RegExp(
  String.raw`${amount.source} (?:ms|milliseconds|seconds?|s|minutes?|hours?|days?|[KM]iB|kB|characters)\b(?! (?:person|server|tab|command|copy)|')`,
  'g',
);
const generated = ['docs/TOOLS.md', 'docs/CONFIGURATION.md', 'docs/ARCHITECTURE.md'];

test.each(pages.filter((page) => !generated.includes(page)))(
  'each time and size in %s is compared with the source',
  (page) => {
    const compared = figures.filter(([on]) => on === page).map(([, sentence]) => sentence);
    const prose = readFileSync(page, 'utf8')
      .replaceAll(/```[\s\S]*?```/g, ' ')
      .replaceAll(/\s+/g, ' ');
    const left = compared.reduce((text, sentence) => text.replaceAll(sentence, ' … '), prose);
    const found = [...left.matchAll(timeOrSize)].map(({ index, 0: figure }) => ({
      figure,
      context: `${page}: ${left.slice(Math.max(0, index - 200), index + figure.length + 40)}`,
    }));
    expect(found.filter(({ context }) => !ofOthers.some(([pattern]) => pattern.test(context)))).toEqual([]);
  },
);

/** Of the command line, where the message says it all. */
const ofCommands = ['Usage'];

test.each([...refusalCodes, ...Object.keys(httpFailures), ...knownCodes].filter((code) => !ofCommands.includes(code)))(
  'docs/TROUBLESHOOTING.md says what %s means',
  (code) => {
    expect(read('docs/TROUBLESHOOTING.md')).toContain(`\`${code}\``);
  },
);

/** Every file of these folders of the source, as one text. */
const sourceOf = (...folders: readonly string[]) =>
  folders
    .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))
    .filter((path) => path.endsWith('.ts'))
    .map((path) => readFileSync(path, 'utf8'))
    .join('\n');
const named = (text: string, pattern: RegExp) => [...new Set([...text.matchAll(pattern)].map(([, name]) => name))];

test.each([
  ['docs/TROUBLESHOOTING.md', named(sourceOf('src/calls', 'src/changes'), /\bcode: '([A-Z]\w+)'/g)],
  ['docs/CONSENT.md', Object.keys(decisionWays)],
  ['docs/CONSENT.md', states.filter((state) => !['waiting', 'approved', 'begun'].includes(state))],
  ['docs/OPERATE.md', resultSchemas().success.shape.outcome.unwrap().options],
  ['docs/OPERATE.md', named(sourceOf('src/observe'), /'(cloudops_\w+)'/g)],
])('%s has a row for each of %j', (page, names) => {
  expect(names.length).toBeGreaterThan(3);
  expect(names.filter((name) => !read(page).includes(`\`${name}\``))).toEqual([]);
});

const cannotAsk = { planOnly: false, question: 'none', hasView: false, agreed: false } as const;

const closed = { byForm: false, byClick: false, onPage: false, byConfirmation: false };

test.each<[mode: 'ask' | 'human', page: ConsentRequest['page'], Partial<ConsentStep>]>([
  ['ask', 'none', { kind: 'plan', options: { ...closed, byConfirmation: true } }],
  ['ask', 'signIn', { kind: 'plan', options: { ...closed, onPage: true } }],
  ['human', 'signIn', { kind: 'plan', options: { ...closed, onPage: true } }],
  ['human', 'none', { kind: 'refuse' }],
])("docs/SECURITY.md says what a client that can't ask gets: %s, a page: %s", (mode, page, step) => {
  expect(decideConsent({ ...cannotAsk, mode, page })).toMatchObject(step);
  expect(read('docs/SECURITY.md')).toContain(
    'with `ask`, a person decides on a page, else the agent can confirm the plan; with `human`, a person decides on a page or the call is refused',
  );
});

const tooStrong: readonly (readonly [RegExp, string])[] = [
  [/client that can't ask[^.]*never lets a change through/, 'with "ask", the agent of such a client can confirm'],
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
  expect(read('docs/CLIENTS.md').replaceAll('\n', ' ')).toContain('name a file that only you can read (mode 600)');
});
