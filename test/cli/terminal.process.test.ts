import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { seededBackupId } from '../../sandbox/devops.js';
import { seededUpload } from '../../sandbox/sandbox.js';
import { widthOf } from '../../src/cli/layout.js';
import { onTerminal } from '../support/pty.js';
import { thingsFile } from '../support/things.js';

/** What a person sees who works at a terminal: a real one, of 80 and of 120 columns. */

const folder = mkdtempSync(join(tmpdir(), 'cloudops-terminal-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Operations with the longest names that the schema allows. */
const longOperation = { effect: 'read', name: `get_${'long_name_'.repeat(6)}` };
const longNames = thingsFile(folder, 'long', { GetThing: longOperation }, { api: 'long-service-of-many-characters' });
const longSettings = [
  `CLOUDOPS_OPERATIONS=${longNames}`,
  'CLOUDOPS_SANDBOX=0',
  'CLOUDOPS_ENDPOINT_LONG_SERVICE_OF_MANY_CHARACTERS_URL=https://api.test.invalid',
  'CLOUDOPS_ACCESS_KEY_ID=a',
  'CLOUDOPS_SECRET_ACCESS_KEY=b',
];

const { bucket, key: object, uploadId } = seededUpload;
const model = 'examples/operations/storage-model.json';
const upload = JSON.stringify({ bucket, object, uploadId });
const restore = JSON.stringify({ backupId: seededBackupId, instanceId: 'wiki', diskSize: 200 });
const sandbox = { CLOUDOPS_SANDBOX: '1', CLOUDOPS_JOURNAL: join(folder, 'journal.db'), TZ: 'Asia/Tokyo' };
const yes = [['type "yes"', 'yes\n']] as const;

/** What is meant for models, or for whoever reads logs, and what only they call so. */
const notForPeople = /the user\b(?!')|do not make them up|through the client|mayHaveHappened|to act:|"level":/i;

describe.each([80, 120])('at %i columns', (columns) => {
  test.each<[string, readonly string[], number, RegExp]>([
    ['help', ['--help'], 0, /Commands:/],
    ['help of a command', ['journal', '--help'], 0, /--since\s+24h/],
    ['help of a tool', ['call', 'restore_instance', '--help'], 0, /exactly 32 characters/],
    ['a wrong command', ['list_parts'], 2, /list_parts is not a command/],
    ['a wrong option', ['--bogus'], 2, /cloudops-mcp: --bogus is not an option/],
    ['doctor', ['doctor'], 0, /not checked: 2/],
    ['the journal', ['journal'], 0, /\S/],
    ['the tools', ['operations', ...longSettings], 0, /long_name_\s+\(long-service-/],
    ['the draft of a file of operations', ['operations', 'draft', model], 0, /"DeleteObjects": {/],
  ])('%s fits, and is written for people', async (_what, args, code, said) => {
    const shown = await onTerminal(args, columns, { env: sandbox });
    const text = shown.lines.join('\n');
    expect(text).toMatch(said);
    expect(text).not.toMatch(notForPeople);
    expect(text).not.toContain('cannot start');
    // Only what has to be copied as a whole, such as an address or a command, may be longer.
    const prose = shown.lines.filter((line) => !/^\s*(\S+|cloudops-mcp call .*)$|: \S+$/.test(line));
    for (const line of prose) expect(widthOf(line), line).toBeLessThanOrEqual(columns);
    expect(shown.code).toBe(code);
  });
});

test('who typed yes reads that they agreed, and the cost; the journal says the same', async () => {
  const { code, lines } = await onTerminal(['call', 'restore_instance', restore], 80, { env: sandbox, typed: yes });
  expect(code).toBe(0);
  const text = lines.join('\n');
  expect(text).toMatch(/^consent: the user was asked through the client and agreed$/m);
  expect(text).toMatch(/^effect: It is charged/m);

  const journal = await onTerminal(['journal'], 80, { env: sandbox });
  expect(journal.lines.join('\n')).toMatch(
    /^\S+ \S+ GMT\+9 {2}accepted {2}Create DevOps server "wiki"[\s\S]*restore_instance, consent: asked/m,
  );
});

test('every time in the plan of a question is by the clock of the person', async () => {
  const env = { ...sandbox, CLOUDOPS_STORAGE_HEADERS: 'amz' };
  const typed = [[`To go ahead, type "${object}"`, ctrlC]] as const;
  const { lines } = await onTerminal(['call', 'abort_multipart_upload', upload], 80, { env, typed });
  const text = lines.join('\n');
  expect(text).toMatch(/^As of \d{4}-\d\d-\d\d \d\d:\d\d:\d\d GMT\+9: /m);
  // In the question itself, times are relative.
  expect(text).toMatch(/^Still receiving: last part \d+ s ago\. This cannot be undone\.$/m);
  expect(text).not.toMatch(/\d\dT\d\d:/);
});

test('who typed no reads that nothing was sent, and no more', async () => {
  const no = [
    ['type "yes"', 'no\n'],
    ['Reason', '\n'],
  ] as const;
  const { code, lines } = await onTerminal(['call', 'restore_instance', restore], 80, { env: sandbox, typed: no });
  expect(code).toBe(3);
  expect(lines.filter((line) => line !== '').at(-1)).toBe('Nothing was sent: you did not agree to it.');
});

test('who aborts an upload types its name, is asked again after another, and can say no with a reason', async () => {
  const env = { ...sandbox, CLOUDOPS_STORAGE_HEADERS: 'amz' };
  const declining = [
    [`To go ahead, type "${object}"`, 'wrong\n'],
    ['That does not match.', 'no\n'],
    ['Reason', 'it is still needed\n'],
  ] as const;
  const declined = await onTerminal(['call', 'abort_multipart_upload', upload], 80, { env, typed: declining });
  expect(declined.code).toBe(3);
  const prompt = `To decline, type no. To go ahead, type "${object}"`;
  expect(declined.lines.filter((line) => line === prompt)).toHaveLength(2);
  // The last lines before the cursor are the question, in the order of all questions: what, the risk in red, where, and what to type.
  expect(declined.lines.join('\n')).toMatch(
    /\nAbort the upload .*\?\nStill receiving: last part \d+ s ago\. This cannot be undone\.[^?]*\nThe built-in sandbox, .*\.\nTo decline, type no\./,
  );
  expect(declined.raw).toContain('\x1b[31mStill receiving:');
  expect(declined.raw).toContain('\x1b[1mAbort the upload');
  const journal = await onTerminal(['journal'], 80, { env });
  expect(journal.lines.join('\n')).toMatch(
    /declined {2}Abort [\s\S]*abort_multipart_upload, [\s\S]*reason:\s+"it\s+is\s+still\s+needed"/m,
  );

  const agreeing = [[`To go ahead, type "${object}"`, `${object}\n`]] as const;
  const agreed = await onTerminal(['call', 'abort_multipart_upload', upload], 80, { env, typed: agreeing });
  expect(agreed.code).toBe(0);
});

test.each([
  ['at the question', [['type "yes"', '\x03']]],
  [
    'at the reason',
    [
      ['type "yes"', 'no\n'],
      ['Reason', '\x03'],
    ],
  ],
  ['at the question, by the end of the input', [['type "yes"', '\x04']]],
] as const)('who gives up %s reads on a line of its own that nothing was sent', async (_when, typed) => {
  const { lines } = await onTerminal(['call', 'restore_instance', restore], 80, { env: sandbox, typed });
  expect(lines).toContain('Nothing was sent: you did not agree to it.');
});

test('colours are for those who want them', async () => {
  const typed = [['type "yes"', '\x03']] as const;
  const rawWith = async (NO_COLOR: string) =>
    (await onTerminal(['call', 'restore_instance', restore], 80, { env: { ...sandbox, NO_COLOR }, typed })).raw;
  expect(await rawWith('1')).not.toContain('\x1b[1m');
  expect(await rawWith('')).toContain('\x1b[1m');
});

test.each([
  ['-V', /^\d+\.\d+\.\d+$/],
  ['--version', /^\d+\.\d+\.\d+$/],
])('%s prints the version', async (option, version) => {
  expect((await onTerminal([option], 80)).lines[0]).toMatch(version);
});

test('a server that a person starts tells them what it waits for, and keeps its log to itself', async () => {
  const typed = [['Waiting for', ctrlC]] as const;
  const { lines } = await onTerminal([], 80, { env: sandbox, typed });
  expect(lines[0]).toMatch(/^Waiting for an MCP client on stdin\./);
  expect(lines.join('\n')).not.toMatch(notForPeople);
});

const ctrlC = '\x03';

test('a server over HTTP tells its person where clients connect, and where people decide', async () => {
  const tokens = join(folder, 'tokens');
  const hash = createHash('sha256').update('a-token-of-alice-0123456789').digest('hex');
  writeFileSync(tokens, `alice ${hash}\n`, { mode: 0o600 });
  const env = {
    ...sandbox,
    CLOUDOPS_HTTP_TOKENS_FILE: tokens,
    CLOUDOPS_HTTP_PUBLIC_URL: 'https://cloudops.example.com',
    CLOUDOPS_STATE_KEY: 'k'.repeat(32),
    CLOUDOPS_CONFIRM: 'human',
  };
  const typed = [['Ctrl-C ends it.', ctrlC]] as const;
  const { lines } = await onTerminal(['http', '--port', '0'], 80, { env, typed });
  const text = lines.join('\n');
  expect(text).toMatch(/^Clients connect to http:\/\/127\.0\.0\.1:\d+\/mcp$/m);
  expect(text).toMatch(/^People decide on changes at https:\/\/cloudops\.example\.com\/decisions$/m);
  expect(text).not.toMatch(notForPeople);
});
