import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { changeLines } from '../../src/cli/journal-command.js';
import { localTimeIn } from '../../src/cli/layout.js';
import { runCommandLine } from '../../src/cli/run.js';
import { endingOf, intentAt } from '../support/journal.js';
import { fakeTerminal } from '../support/terminal.js';

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
  writeFileSync(path, `${JSON.stringify({ intent: intentAt(Date.now(), { client }) })}\n`);
  const { stdout } = await run(...args);
  expect(stdout).not.toMatch(/[\u202e\u009b]/);
  if (args.length > 0) expect(JSON.parse(stdout)).toMatchObject({ client });
});

test('for people a change is a row: when by their clock, what came of it, what it was, and who agreed', async () => {
  const time = Date.parse('2026-11-20T23:30:00Z');
  const agreed = intentAt(time, { what: 'Create DevOps server "wiki".', consent: 'asked', answeredAfterMs: 4_000 });
  const declined = { ...agreed, id: '2', nonce: '2', consent: 'clicked' };
  const entries = [
    { intent: agreed },
    { ending: { ...endingOf(time, agreed.id, 'rejected'), code: 'Client.Bad' } },
    { intent: declined },
    { ending: endingOf(time, '2', 'declined') },
    { intent: { ...agreed, id: '3' } },
  ];
  writeFileSync(path, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
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
  const lines = (more: object, ending: object = {}, width = 100) => {
    const intent = intentAt(now.getTime() - 300_000, {
      what: 'Create DevOps server "wiki".',
      consent: 'asked',
      ...more,
    });
    const change = { ...intent, ending: { ...endingOf(0, intent.id, 'accepted'), ...ending } };
    return changeLines(change, { width, paint, localTime: localTimeIn('Asia/Tokyo') }, now);
  };

  test('with its age and its sentence without escapes, and below them who agreed to what', () => {
    expect(lines({ account: 'prod' }, { outcome: 'rejected', code: 'Client.Bad' })).toEqual([
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
    ['no time', 'at an unknown time'],
  ])('of the time %s: %s', (time, shown) => {
    expect(lines({ time })[1]).toMatch(new RegExp(`^  accepted ${shown}, `));
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
  const people = { approver: 'alice@example.com', caller: 'bob@example.com', client: 'claude-code' };
  const change = intentAt(0, { what: 'Delete "a".', consent: 'page', tool: 'abort_multipart_upload', ...people });
  const layout = { width: 80, paint: (_format: unknown, text: string) => text, localTime: localTimeIn('UTC') };
  const lines = changeLines(change, layout, new Date());
  for (const name of Object.values(people)) expect(lines.join(' ')).toContain(name);
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
  const lines = changeLines(intentAt(0, { account: 'prod' }), page, new Date());
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
  const entries = Array.from({ length: 12_000 }, (_, index) => intentAt(noon + index * minute, { digest: `${index}` }));
  const idsOf = (stdout: string) =>
    stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line).digest);
  const write = () => {
    const lines = entries.flatMap((intent) => [
      { intent },
      ...(intent.digest === '0' ? [] : [{ ending: endingOf(noon, intent.id, 'accepted') }]),
    ]);
    writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  };

  test('is printed, however long it is: a line for each change, those without an outcome at the end', async () => {
    write();
    const { stdout } = await run('--json');
    const ids = idsOf(stdout);
    expect(ids).toHaveLength(12_000);
    expect([ids[0], ids.at(-1)]).toEqual(['1', '0']);
  });

  test('or what lies between two times', async () => {
    write();
    const { stdout } = await run('--json', '--since', '2026-11-20T12:05:00Z', '--until', '2026-11-20T12:08:00Z');
    expect(idsOf(stdout)).toEqual(['5', '6', '7']);
  });
});

test('a file needs no migration, and nothing else can be done to a journal', async () => {
  expect(await run('migrate')).toMatchObject({ code: 0 });
  expect(await run('erase')).toMatchObject({ code: 2 });
});
