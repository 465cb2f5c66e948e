import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runCommandLine } from '../../src/cli/run.js';
import { intentAt } from '../support/journal.js';
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
  if (args.length > 0) expect(JSON.parse(stdout)).toMatchObject([{ client }]);
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
