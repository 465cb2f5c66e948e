import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Ending, JournalEntry } from '../../src/changes/change.js';
import { changeLines } from '../../src/cli/journal-command.js';
import { localTimeIn } from '../../src/cli/layout.js';
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

test('for people a change is a row: when by their clock, what came of it, what it was, and who agreed', async () => {
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
    expect.stringMatching(
      /^2026-11-21 08:30:00 GMT\+9 {2}rejected {4}"Create DevOps server \\"wiki\\"\." \("Client\.Bad"\) .* agreed when asked after 4 s /,
    ),
    expect.stringMatching(/ declined {4}"Create DevOps server \\"wiki\\"\." .* declined with a click after 4 s /),
    expect.stringMatching(/ no outcome {2}"Create DevOps server \\"wiki\\"\." /),
  ]);
});

describe('on a terminal a change has a line, and below it its facts', () => {
  const paint = (_format: unknown, text: string) => text;
  const now = new Date('2026-11-21T12:00:00Z');
  const lines = (more: Partial<JournalEntry>, ending: Ending = {}, width = 100) => {
    const change = {
      ...entry,
      begunAt: now.getTime() - 300_000,
      what: 'Create DevOps server "wiki".',
      ...more,
      ending,
    };
    return changeLines(change, { width, paint, localTime: localTimeIn('Asia/Tokyo') }, now);
  };

  test('with its age and its sentence without escapes, and below them who agreed to what', () => {
    expect(lines({ account: 'prod', state: 'rejected' }, { code: 'Client.Bad' })).toEqual([
      '"Create DevOps server \'wiki\'."',
      expect.stringMatching(
        /^ {2}rejected 5 min ago, code "Client\.Bad", "restore_instance" in account "prod", agreed when asked,$/,
      ),
      '    client "test 1"',
    ]);
  });

  test.each([
    ['2026-11-21T11:59:30Z', 'just now'],
    ['2026-11-21T10:00:00Z', '2 h ago'],
    ['2026-11-18T10:00:00Z', '3 days 2 h ago'],
    ['2026-10-18T20:00:00Z', '2026-10-19 05:00:00 GMT\\+9'],
    ['2026-12-01T00:00:00Z', '2026-12-01 09:00:00 GMT\\+9'],
  ])('of the time %s: %s', (time, shown) => {
    expect(lines({ begunAt: Date.parse(time) })[1]).toMatch(new RegExp(`^  accepted ${shown}, `));
  });

  test('of at most the width of the terminal, and nothing in it moves the cursor or looks like another line', () => {
    const what = `${'x'.repeat(300)}\n\u001b[2Jaccepted`;
    const shown = lines({ what, client: 'c'.repeat(200) }, {}, 80);
    expect(shown).toHaveLength(4);
    for (const line of shown) expect(line.length).toBeLessThanOrEqual(80);
    expect(shown.filter((line) => /^ {2}\S/.test(line))).toHaveLength(1);
    expect(lines({ what: '\u001b[2J\naccepted' }).join('\n')).toContain('\\u001b[2J\\naccepted');
  });
});

test('nothing is cut on a terminal of 80 columns: who decided, the caller and the client are there', () => {
  const people = { caller: 'bob@example.com', client: 'claude-code' };
  const decision = { kind: 'approved', way: 'page', person: 'alice@example.com' } as const;
  const change = { ...entry, what: 'Delete "a".', tool: 'abort_multipart_upload', decision, ...people };
  const layout = { width: 80, paint: (_format: unknown, text: string) => text, localTime: localTimeIn('UTC') };
  const lines = changeLines(change, layout, new Date());
  for (const name of [decision.person, ...Object.values(people)]) expect(lines.join(' ')).toContain(name);
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
});

test.each([
  [['--until', '2026-11-20'], 'No changes before 2026-11-20 '],
  [['--since', '2026-11-19', '--until', '2026-11-20'], 'No changes from 2026-11-19 '],
  [[], 'No changes yet.'],
])('without a change, the span is named: %j', async (args, text) => {
  const { terminal, printed } = fakeTerminal({ env: { CLOUDOPS_JOURNAL: path }, timeZone: 'UTC' });
  await runCommandLine(['journal', ...args], terminal);
  expect(printed.stdout).toContain(text);
});

test('in a file a change is one line with its time, its address and its account', () => {
  const paint = (_format: unknown, text: string) => text;
  const page = { width: Number.POSITIVE_INFINITY, paint, localTime: localTimeIn('UTC') };
  const lines = changeLines({ ...entry, account: 'prod' }, page, new Date());
  expect(lines).toEqual([
    expect.stringMatching(/^1970-01-01 00:00:00 UTC .*"restore_instance" in account "prod" .*https:/),
  ]);
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
