import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { JournalEntry } from '../../src/changes/change.js';
import { changeLines } from '../../src/cli/journal-command.js';
import { runCommandLine } from '../../src/cli/run.js';
import { newChange } from '../support/changes.js';
import { printedChanges } from '../support/journal.js';
import { writeChanges } from '../support/stored-changes.js';
import { fakeTerminal } from '../support/terminal.js';

/** A change of 1970 that was accepted. */
const entry: JournalEntry = {
  ...newChange(),
  state: 'accepted',
  madeAt: 0,
  expiresAt: 0,
  begunAt: 0,
  isExpired: false,
  ageMs: 0,
  decision: { kind: 'approved', way: 'asked' },
};

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cloudops-'));
  path = join(folder, 'journal.db');
});
afterEach(() => rmSync(folder, { recursive: true }));

async function run(...args: readonly string[]) {
  const { terminal, printed } = fakeTerminal({ env: { CLOUDOPS_JOURNAL: path } });
  return { code: await runCommandLine(['journal', ...args], terminal), ...printed };
}

test.each([[[]], [['--json']]])('what a client is called cannot change what a terminal shows: %j', async (args) => {
  const client = 'a\u202eb\u009bc';
  await writeChanges(path, [{ at: new Date(), change: { client } }]);
  const { stdout } = await run(...args);
  expect(stdout).not.toMatch(/[\u202e\u009b]/);
  if (args.length > 0) expect(JSON.parse(stdout)).toMatchObject({ client });
});

test('for people a change is two lines: when by their clock, what came of it and what it was, and who agreed', async () => {
  const at = (second: number) => new Date(Date.UTC(2026, 10, 20, 23, 30, second));
  const change = { what: 'Create DevOps server "wiki".' };
  const answeredAfterMs = 4_000;
  await writeChanges(path, [
    {
      at: at(0),
      change,
      decision: { kind: 'approved', way: 'asked', answeredAfterMs },
      end: { state: 'rejected', ending: { code: 'Client.Bad' } },
    },
    { at: at(1), change, decision: { kind: 'declined', way: 'clicked', answeredAfterMs } },
    { at: at(2), change },
  ]);
  const { terminal, printed } = fakeTerminal({ env: { CLOUDOPS_JOURNAL: path }, timeZone: 'Asia/Tokyo' });
  await runCommandLine(['journal'], terminal);
  const rows = printed.stdout.trimEnd().split('\n');
  expect(rows).toEqual([
    '2026-11-21 08:30:00 GMT+9  rejected (Client.Bad)  Create DevOps server "wiki".',
    expect.stringMatching(/^ {4}restore_instance, consent: asked after 4 s, client: "test 1", caller: \S+$/),
    '2026-11-21 08:30:01 GMT+9  declined  Create DevOps server "wiki".',
    expect.stringContaining('decision: clicked after 4 s'),
    '2026-11-21 08:30:02 GMT+9  no outcome yet  Create DevOps server "wiki".',
    expect.stringContaining('consent: option'),
  ]);
});

/** A change as it is printed on a terminal of 80 columns. */
function onTerminal(more: Partial<JournalEntry>): string[] {
  const { terminal } = fakeTerminal();
  const stdout = Object.assign(terminal.stdout, { isTTY: true, columns: 80 });
  return changeLines({ ...entry, ...more }, { ...terminal, stdout }).split('\n');
}

test('nothing is cut on a terminal of 80 columns: who decided, the caller and the client are there', () => {
  const people = { caller: 'bob@example.com', client: 'claude-code' };
  const decision = { kind: 'approved', way: 'page', person: 'alice@example.com' } as const;
  const lines = onTerminal({ what: 'Delete "a".', tool: 'abort_multipart_upload', decision, ...people });
  for (const name of [decision.person, ...Object.values(people)]) expect(lines.join(' ')).toContain(name);
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
});

test('nothing in a change moves the cursor or looks like another line', () => {
  const lines = onTerminal({ what: '\u001b[2J\naccepted' });
  expect(lines.join('\n')).toContain('\\u001b[2J\\naccepted');
  expect(lines.filter((line) => !line.startsWith('    '))).toHaveLength(1);
});

test.each([
  [['--until', '2026-11-20'], 'No changes in this time.'],
  [['--since', '2026-11-19'], 'No changes in this time.'],
  [[], 'No changes yet.'],
])('without a change, that is said: %j', async (args, text) => {
  const { terminal, printed } = fakeTerminal({ env: { CLOUDOPS_JOURNAL: path }, timeZone: 'UTC' });
  await runCommandLine(['journal', ...args], terminal);
  expect(printed.stdout).toContain(text);
});

test('in a file no line is broken, and an account that has a name is named', () => {
  expect(changeLines({ ...entry, account: 'prod' }, fakeTerminal().terminal)).toBe(
    '1970-01-01 00:00:00 UTC  accepted  A server "s" is created.\n    restore_instance in account prod, consent: asked, client: "test 1"',
  );
});

describe('since a time', () => {
  test.each([
    ['2030-01-01', 0],
    ['2030-01-01T12:00:00Z', 0],
    ['24h', 0],
    ['3', 2],
    ['May', 2],
    ['2030-99-99', 2],
  ])('%s', async (since, code) => {
    expect(await run('--since', since)).toMatchObject({ code });
  });
});

describe('all of a journal', () => {
  const noon = Date.parse('2026-11-20T12:00:00Z');
  const minute = 60_000;
  const written = Array.from({ length: 700 }, (_, index) => ({
    at: new Date(noon + index * minute),
    change: { what: String(index) },
    decision: { kind: 'withdrawn', way: 'withdrawn' } as const,
  }));
  const texts = (stdout: string) => printedChanges(stdout).map(({ what }) => what);

  test('is printed, however long it is: a line for each change', async () => {
    await writeChanges(path, written);
    const printed = texts((await run('--json')).stdout);
    expect(printed).toHaveLength(written.length);
    expect([printed[0], printed.at(-1)]).toEqual(['0', '699']);
  });

  test('or what lies between two times', async () => {
    await writeChanges(path, written.slice(0, 20));
    const { stdout } = await run('--json', '--since', '2026-11-20T12:05:00Z', '--until', '2026-11-20T12:08:00Z');
    expect(texts(stdout)).toEqual(['5', '6', '7']);
  });

  test('before a time is erased by its owner, without what has not ended', async () => {
    await writeChanges(path, written.slice(0, 20));
    expect(await run('prune', '--before', '2026-11-20T12:15:00Z')).toMatchObject({ code: 0 });
    expect(texts((await run('--json')).stdout)).toEqual(['15', '16', '17', '18', '19']);
  });
});

test('a file needs no migration, and nothing else can be done to a journal', async () => {
  expect(await run('migrate')).toMatchObject({ code: 0 });
  expect(await run('erase')).toMatchObject({ code: 2 });
});
