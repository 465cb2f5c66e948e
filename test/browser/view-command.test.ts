import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { seededUpload } from '../../sandbox/sandbox.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { readAsAPerson } from '../support/person.js';
import { cleanEnv, serverPath } from '../support/server-process.js';
import { type Browser, seriousFindings, startBrowser } from './browser.js';

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

const running: ChildProcess[] = [];
afterEach(async () => {
  for (const child of running.splice(0)) {
    child.kill();
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
});

/** Runs `cloudops-mcp view`, and gives the address that it prints. */
async function runView(tool: string, args: object, ...options: string[]): Promise<string> {
  const command = [serverPath, 'view', tool, JSON.stringify(args), '--sandbox', '--no-open', ...options];
  const child = spawn(process.execPath, command, { env: cleanEnv(), stdio: ['ignore', 'pipe', 'inherit'] });
  running.push(child);
  for await (const line of createInterface({ input: child.stdout })) return line;
  throw new Error('it printed nothing');
}

const { bucket, key: object, uploadId } = seededUpload;

test('an upload is shown in the browser, and refreshed', async () => {
  const page = await browser.open(await runView('list_parts', { bucket, object, uploadId }));
  const view = page.frameLocator('iframe');
  await view.getByRole('slider').waitFor();
  await view.getByRole('button', { name: 'Refresh' }).click();
  expect(await view.getByRole('heading', { level: 1 }).innerText()).toContain(bucket);
  for (const frame of page.frames()) expect(await seriousFindings(frame)).toEqual([]);
});

test('a change is carried out by a click alone, whatever is set for agents', async () => {
  const url = await runView(restoreInstance.name, restoreInstance.example, '--confirm', 'off');
  const view = (await browser.open(url)).frameLocator('iframe');
  await view.getByRole('button', { name: 'Do nothing' }).waitFor();
  await readAsAPerson();
  await view.getByRole('button', { name: /^Create server/ }).click();
  await view.getByRole('heading', { name: 'Accepted' }).waitFor();
});

test('nothing else on the machine gets in', async () => {
  const url = await runView('list_parts', { bucket, object, uploadId });
  const json = { 'content-type': 'application/json' };
  const post = (path: string, headers: Record<string, string>, body: object = {}) =>
    fetch(new URL(path, url), { method: 'POST', headers, body: JSON.stringify(body) }).then(({ status }) => status);
  expect(await post('call', json)).toBe(200);
  expect(await post('call', { ...json, origin: 'https://attacker.example' })).toBe(403);
  expect(await post('call', { 'content-type': 'text/plain' })).toBe(415);
  expect(await post('/call', json)).toBe(404);
  expect(await post('tool', json, { name: 'restore_instance', arguments: {} })).toBe(500);
  expect((await fetch(new URL('/', url))).status).toBe(404);
});
