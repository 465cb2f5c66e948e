import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { changeLines } from '../../src/cli/journal-command.js';
import { runCommandLine } from '../../src/cli/run.js';
import { endingOf, intentAt } from '../support/journal.js';
import { fakeTerminal } from '../support/terminal.js';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cloudops-'));
  path = join(folder, 'journal.jsonl');
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

test.each([
  ['a terminal', 100],
  ['anything else', Number.POSITIVE_INFINITY],
])('a change of an account with a name says which, on %s', (_where, width) => {
  const [account, paint] = ['prod', (_format: unknown, text: string) => text];
  const lines = changeLines(intentAt(0, { account }), { width, paint, timeZone: 'UTC' }).join('\n');
  expect(lines).toContain('"restore_instance" in account "prod"');
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
