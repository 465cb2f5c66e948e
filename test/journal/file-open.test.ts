import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createFileJournal } from '../../src/journal/file.js';
import { intentAt } from '../support/journal.js';

const noon = Date.parse('2026-11-20T12:00:00Z');
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cloudops-place-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const entry = `${JSON.stringify({ intent: intentAt(noon) })}\n`;
const at = (...names: readonly string[]) => join(folder, ...names);

/** What a check of the journal at some path says, and whether a change may begin then. */
test.skipIf(process.platform === 'win32').each<[what: string, path: string, make: () => void, problem: string]>([
  ['a journal', 'journal', () => writeFileSync(at('journal'), entry), ''],
  ['an empty file', 'journal', () => writeFileSync(at('journal'), ''), ''],
  ['no file yet', 'journal', () => undefined, ''],
  ['no folders yet', 'some/deeper/journal', () => undefined, ''],
  [
    'a link to a folder',
    'link/journal',
    () => {
      mkdirSync(at('folder'));
      symlinkSync('folder', at('link'));
    },
    '',
  ],
  ['a link to no folder', 'link/journal', () => symlinkSync('nowhere', at('link')), 'ENOENT'],
  ['a link to no folder, further up', 'link/deeper/journal', () => symlinkSync('nowhere', at('link')), 'ENOENT'],
  ['a file in place of the folder', 'file/journal', () => writeFileSync(at('file'), ''), 'ENOTDIR'],
  ['a file further up', 'file/deeper/journal', () => writeFileSync(at('file'), ''), 'ENOTDIR'],
  ['a folder', 'journal', () => mkdirSync(at('journal')), 'EISDIR'],
  ['a link', 'journal', () => symlinkSync('nowhere', at('journal')), 'it is a link'],
  ['a pipe', 'journal', () => execFileSync('mkfifo', [at('journal')]), 'it is not a regular file'],
  ['other text', 'journal', () => writeFileSync(at('journal'), 'minutes of a meeting\n'), 'it is not a journal'],
])(
  '%s: what a check says is what a change meets, and the check changes nothing',
  async (_what, name, make, problem) => {
    make();
    const before = readdirSync(folder, { recursive: true });
    const journal = createFileJournal(at(name), () => new Date(noon));
    const examined = journal.healthCheck().then(
      (warnings) => ({ warnings }),
      ({ code }) => ({ code }),
    );
    expect(await examined).toEqual(problem === '' ? { warnings: [] } : { code: problem });
    expect(readdirSync(folder, { recursive: true })).toEqual(before);
    const begun = await journal.begin(intentAt(noon, { digest: 'other' }), { allowRepeat: false });
    expect(begun.kind).toBe(problem === '' ? 'begun' : 'unwritable');
  },
);

test('a file that was put aside stays as it was, and comes after those that were before it, whatever the clock says', async () => {
  let time = noon;
  const journal = createFileJournal(at('journal'), () => new Date(time));
  const tooLarge = `${entry}${'x'.repeat(11 * 1024 * 1024)}\n`;
  const begin = async () => {
    writeFileSync(at('journal'), tooLarge);
    return journal.begin(intentAt(time), { allowRepeat: true });
  };
  expect(await begin()).toEqual({ kind: 'begun' });
  time -= 60_000;
  expect(await begin()).toEqual({ kind: 'begun' });
  const names = readdirSync(folder).sort().slice(1);
  expect(names).toEqual([
    expect.stringMatching(/^journal\.2026-11-20T12-00-00-000Z-[0-9a-f]{8}$/),
    expect.stringMatching(/^journal\.2026-11-20T12-00-00-001Z-[0-9a-f]{8}$/),
  ]);
  for (const name of names) expect(readFileSync(at(name), 'utf8') === tooLarge).toBe(true);
});
