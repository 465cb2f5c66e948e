import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { seededBackupId, seededDevops } from '../../sandbox/devops.js';
import { faultKinds, parseFaults } from '../../sandbox/faults.js';
import { inventedWords } from '../../sandbox/operation.js';
import { seededEmptyUpload, seededGroup, seededLargeUpload, seededUpload } from '../../sandbox/seeds.js';
import { cleanEnv } from '../support/server-process.js';

const page = readFileSync('docs/SANDBOX.md', 'utf8');

/** The rows below a heading of the page, as lists of cells. */
function table(firstCell: string): string[][] {
  const [, rows = ''] = page.split(`| ${firstCell} |`);
  const [body = ''] = rows.split('\n\n');
  return body
    .split('\n')
    .slice(2)
    .map((row) =>
      row
        .split('|')
        .map((cell) => cell.trim())
        .filter(Boolean),
    );
}
const names = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);

test('the page explains every fault, and its examples are understood', () => {
  const documented = table('fault').flatMap(([cell]) => names(cell));
  expect(documented.map((name) => name.replace(/:.*/, '')).sort()).toEqual([...faultKinds].sort());
  for (const fault of documented) expect(parseFaults(`list_parts=${fault}`).faults).toHaveLength(1);
  const scenarios = [...page.matchAll(/```\n(list_parts=[^`]*)```/g)];
  expect(scenarios).toHaveLength(2);
  for (const [, text = ''] of scenarios) expect(parseFaults(text.trim()).faults).not.toEqual([]);
});

test('the page explains every word of x-sandbox-invented', () => {
  expect(Object.fromEntries(table('word').map(([word, meaning]) => [names(word)[0], meaning]))).toEqual(inventedWords);
});

test('the page names what is there from the start', () => {
  const uploads = [seededUpload, seededLargeUpload, seededEmptyUpload].flatMap((upload) => Object.values(upload));
  const names = [...Object.values(seededGroup), ...Object.values(seededDevops), seededBackupId, ...uploads];
  for (const name of names) expect(page).toContain(`\`${name}\``);
});

const restore = `client.callTool({
  name: 'restore_instance',
  arguments: { backupId: '${seededBackupId}', instanceId: 'wiki', allowRepeat: true },
})`;

test.each([
  ['one that leaves an unknown outcome alone', `await ${restore}`, 'passed'],
  ['one that tries again', `await ${restore}; await ${restore}`, 'failed: 2 restores were sent'],
])('the evaluation on the page works as it stands: %s', async (_agent, acts, verdict) => {
  const [, code = ''] = /```js\n(.*?)```/s.exec(page) ?? [];
  const agent = `const agent = async (client) => { ${acts} };`;
  const folder = mkdtempSync(join(tmpdir(), 'cloudops-evaluation-'));
  const script = code
    .replace("import { agent } from './your-agent.js';", agent)
    .replace("'evaluation-'", JSON.stringify(join(folder, 'run-')));
  const run = promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], { env: cleanEnv() });
  expect((await run).stdout.trim()).toBe(verdict);
  expect(readdirSync(folder)).toHaveLength(1);
  rmSync(folder, { recursive: true });
});
