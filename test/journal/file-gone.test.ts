import { appendFileSync, mkdtempSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createFileJournal } from '../../src/journal/file.js';
import { endingOf, intentAt } from '../support/journal.js';

/** A running server keeps its changes when the journal's file disappears, and writes them into the new file. */

const noon = Date.parse('2026-11-20T12:00:00Z');
const day = 24 * 60 * 60_000;
let folder: string;
let path: string;
let logged: unknown[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cloudops-journal-'));
  path = join(folder, 'journal.jsonl');
  logged = [];
});
afterEach(() => rmSync(folder, { recursive: true }));

const openServer = () =>
  createFileJournal(
    path,
    () => new Date(noon),
    (level, event) => logged.push([level, event]),
  );
type Server = ReturnType<typeof openServer>;
const begin = async ({ begin }: Server, digest: string) =>
  (await begin(intentAt(noon, { digest, budget: 'one' }), { allowRepeat: false })).kind;
/** A change that the cloud accepted. */
async function send({ begin, end }: Server, digest: string): Promise<void> {
  const intent = intentAt(noon, { digest, budget: 'one' });
  await begin(intent, { allowRepeat: false });
  await end(endingOf(noon, intent.id, 'accepted'));
}
const other = intentAt(noon, { digest: 'of another server', budget: 'one' });
const lines = () => readFileSync(path, 'utf8').split('\n').filter(Boolean);

/** What operators and programs do to a file. */
const losses: Readonly<Record<string, () => void>> = {
  'it was removed': () => rmSync(path),
  'its folder was removed': () => rmSync(folder, { recursive: true }),
  'logrotate put it aside and created an empty one': () => {
    renameSync(path, `${path}.1`);
    writeFileSync(path, '');
  },
  'logrotate copied and truncated it': () => truncateSync(path),
  'another server began a new one': () => {
    rmSync(path);
    appendFileSync(path, `${JSON.stringify({ intent: other })}\n`);
  },
};

describe.each(Object.entries(losses))('%s', (_what, lose) => {
  test('and a change that was sent is refused as repeated, here and by a server that starts', async () => {
    const server = openServer();
    await send(server, 'sent');
    lose();
    expect(await begin(server, 'sent')).toBe('duplicate');
    expect(await begin(openServer(), 'sent')).toBe('duplicate');
    for (const each of [server, openServer()])
      expect(await each.findDuplicate('sent')).toMatchObject({ ending: { outcome: 'accepted' } });
    expect(await begin(server, 'new')).toBe('begun');
  });

  test('and a change in flight still is, with its outcome when that comes', async () => {
    const server = openServer();
    const intent = intentAt(noon, { digest: 'in flight' });
    await server.begin(intent, { allowRepeat: false });
    lose();
    expect(await begin(server, 'in flight')).toBe('duplicate');
    await server.end(endingOf(noon, intent.id, 'accepted'));
    for (const each of [server, openServer()])
      expect(await each.findDuplicate('in flight')).toMatchObject({ ending: { outcome: 'accepted' } });
  });

  test('and operators are told, in the log and by the check, what was written again', async () => {
    const server = openServer();
    await send(server, 'sent');
    expect([await server.healthCheck(), logged]).toEqual([[], []]);
    lose();
    const warning = expect.stringMatching(
      /^the file was removed, emptied or replaced .*: it wrote 2 lines .* again at/,
    );
    expect(await server.healthCheck()).toEqual([expect.objectContaining({ text: warning })]);
    expect(logged).toEqual([['error', 'journal']]);
    expect(lines().filter((line) => line.includes('"restored":"2026-11-20T12:00:00.000Z"'))).toHaveLength(2);
  });

  test('and of two servers that both remember, each entry is written once, and counts once', async () => {
    const servers = [openServer(), openServer()];
    for (const [index, server] of servers.entries()) await send(server, `of ${index}`);
    for (const server of servers) await server.findDuplicate('of 0');
    lose();
    for (const server of servers)
      for (const digest of ['of 0', 'of 1']) expect(await begin(server, digest)).toBe('duplicate');
    const before = lines().filter((line) => line.includes('"restored"'));
    expect(new Set(before).size).toBe(4);
    expect(before).toHaveLength(4);
    const spent = lines().some((line) => line.includes(other.id)) ? 3 : 2;
    for (const server of [...servers, openServer()])
      expect(await server.budgetState('one', { mostChanges: 10, windowMs: day })).toEqual({ left: 10 - spent });
  });
});

test('an entry that is written again keeps its place before the intents that came later', async () => {
  const [first, second] = [openServer(), openServer()];
  await send(first, 'sent');
  await second.findDuplicate('sent');
  rmSync(path);
  // Both write their intent into the new file before either has written what it remembers.
  const kinds = await Promise.all([begin(first, 'sent'), begin(second, 'sent')]);
  expect(kinds).toEqual(['duplicate', 'duplicate']);
});

test('more entries than one write takes are written again', async () => {
  const what = 'x'.repeat(4000);
  const server = openServer();
  for (let index = 0; index < 200; index += 1) {
    const intent = intentAt(noon, { digest: `${index}`, what });
    await server.begin(intent, { allowRepeat: false });
  }
  rmSync(path);
  expect(await server.findDuplicate('0')).toBeDefined();
  expect(await openServer().listUnfinished()).toHaveLength(200);
});

test('a server that has not read the file before takes the new one as it is', async () => {
  appendFileSync(path, `${JSON.stringify({ intent: other })}\n`);
  const server = openServer();
  rmSync(path);
  expect(await begin(server, other.digest)).toBe('begun');
  expect(logged).toEqual([]);
});

test.skipIf(process.platform !== 'linux')(
  'a folder that cannot be made is an error, not an endless attempt',
  async () => {
    const server = createFileJournal('/proc/x/y/journal.jsonl', () => new Date(noon));
    expect(await server.begin(intentAt(noon), { allowRepeat: false })).toMatchObject({ kind: 'unwritable' });
    await expect(server.healthCheck()).rejects.toThrow();
  },
);
