import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { seededUpload } from '../../sandbox/sandbox.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { readAsAPerson } from '../support/person.js';
import { cleanEnv, serverPath } from '../support/server-process.js';
import { type Browser, findings, startBrowser } from './browser.js';
import { keepPicture } from './gallery.js';

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
  printed.length = 0;
  const lines = createInterface({ input: child.stdout }).on('line', (line) => printed.push(line));
  await Promise.race([once(lines, 'line'), once(lines, 'close')]);
  const [url] = printed;
  if (url === undefined) throw new Error('it printed nothing');
  return url;
}

/** What the command that ran last has printed. */
const printed: string[] = [];

/** Opens the view of a plan, and gives it the time that a person needs to read it. */
async function openPlan(url: string) {
  const view = (await browser.open(url)).frameLocator('iframe');
  await view.getByRole('button', { name: 'Do nothing' }).waitFor();
  await readAsAPerson();
  return view;
}

const { bucket, key: object, uploadId } = seededUpload;

test('an upload is shown in the browser, and refreshed', async () => {
  const page = await browser.open(await runView('list_parts', { bucket, object, uploadId }));
  const view = page.frameLocator('iframe');
  await view.getByRole('slider', { name: 'Part' }).waitFor();
  await view.getByText('96.0 MiB').waitFor();
  await view.getByRole('button', { name: 'Refresh' }).click();
  expect(await view.getByRole('heading', { level: 1 }).innerText()).toContain(bucket);
  expect(await page.title()).toBe(`Upload of ${object} – cloudops-mcp`);
});

describe.each(['light', 'dark'] as const)('%s', (colorScheme) => {
  test.each([420, 800])('the page can be used by everybody, before and after the click, %i px wide', async (width) => {
    const url = await runView(restoreInstance.name, restoreInstance.example);
    const page = await browser.another({ colorScheme, width });
    const check = async (name: string) => {
      for (const frame of page.frames()) expect(await findings(frame), name).toEqual([]);
      const backgrounds = await Promise.all(
        page.frames().map((frame) => frame.evaluate(() => getComputedStyle(document.body).backgroundColor)),
      );
      expect(new Set(backgrounds).size, 'the view has an edge').toBe(1);
      await keepPicture(`view-${name}-${colorScheme}-${width}`, await page.screenshot());
    };
    await page.goto(url);
    const view = page.frameLocator('iframe');
    await view.getByText('Sandbox: nothing real happens').waitFor();
    await check('before');
    expect(await page.title()).toMatch(/"restored-server" .*jp-east-1.* "demobackup0{21}1"\. – cloudops-mcp$/);
    expect(await page.getByRole('heading', { level: 1, name: 'A change to decide on' }).isVisible()).toBe(true);
    expect(await page.locator('link[rel=icon]').getAttribute('href')).toMatch(/^data:image\/svg/);
    await readAsAPerson();
    await view.getByRole('button', { name: /^Create server/ }).click();
    await view.getByRole('heading', { name: 'Accepted' }).waitFor();
    await check('after');
    const said = await view.getByRole('status').first().innerText();
    await page.reload();
    await view.getByRole('heading', { name: 'Accepted' }).waitFor();
    expect(await view.getByRole('status').first().innerText()).toBe(said);
    await view.getByText(/^The plan: .*"restored-server"/).waitFor();
    await page.context().close();
  });
});

test('a change is carried out by a click alone, whatever is set for agents', async () => {
  const url = await runView(restoreInstance.name, restoreInstance.example, '--confirm', 'off');
  const view = await openPlan(url);
  await view.getByRole('button', { name: /^Create server/ }).click();
  await view.getByRole('heading', { name: 'Accepted' }).waitFor();
});

test('the terminal says in one line what was decided, and the command ends', async () => {
  const view = await openPlan(await runView(restoreInstance.name, restoreInstance.example));
  const child = running.at(-1);
  const ended = child && once(child, 'exit');
  await view.getByRole('button', { name: /^Create server/ }).click();
  await view.getByRole('heading', { name: 'Accepted' }).waitFor();
  expect((await ended)?.[0]).toBe(0);
  expect(printed.slice(1)).toEqual([
    expect.stringMatching(/^Accepted: The cloud accepted the restore of DevOps server /),
  ]);
});

test('what the view cannot show is said at once, and the command ends', async () => {
  const ended = async (...args: readonly string[]) => {
    const child = spawn(process.execPath, [serverPath, 'view', ...args], {
      env: cleanEnv(),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running.push(child);
    const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    return { code, stderr };
  };
  const wrong = await ended(restoreInstance.name, '{}', '--sandbox', '--no-open');
  expect(wrong).toEqual({ code: 2, stderr: expect.stringContaining('backupId') });
  const { port } = new URL(await runView('list_parts', { bucket, object, uploadId }));
  const given = JSON.stringify({ bucket, object, uploadId });
  const taken = await ended('list_parts', given, '--sandbox', '--no-open', '--port', port);
  expect(taken).toEqual({ code: 1, stderr: expect.stringContaining('EADDRINUSE') });
});

test('a change under way when the command is ended comes to its end, and its page has the answer', async () => {
  const url = await runView(
    restoreInstance.name,
    restoreInstance.example,
    '--sandbox-fault',
    'latency=uniform(1500,1500)',
  );
  const view = await openPlan(url);
  await view.getByRole('button', { name: /^Create server/ }).click();
  await view.getByRole('button', { name: /^Create server/ }).waitFor({ state: 'hidden' });
  running.at(-1)?.kill('SIGINT');
  await view.getByRole('heading', { name: 'Accepted' }).waitFor();
});

describe('the exit code is that of call', () => {
  const reset = ['--sandbox-fault', 'restore_instance=reset-after-request'];
  const create = /^Create server/;
  test.each<[string, (readonly [button: string | RegExp, heading: string])[], string[], number]>([
    [
      'a change that was carried out, whoever clicks afterwards',
      [
        [create, 'Accepted'],
        [create, 'Accepted'],
      ],
      [],
      0,
    ],
    ['an unknown outcome', [[create, 'The outcome is not known']], reset, 4],
    ['a person who declines', [['Do nothing', 'Nothing was done']], [], 3],
    ['a person who does not decide', [], [], 3],
  ])('%s', async (_what, clicks, options, code) => {
    const url = await runView(restoreInstance.name, restoreInstance.example, ...options);
    // Each in a window of its own, opened before anybody clicks.
    const windows = await Promise.all(clicks.map(async (click) => [await openPlan(url), ...click] as const));
    for (const [view, button, heading] of windows) {
      await view.getByRole('button', { name: button }).click();
      await view.getByRole('heading', { name: heading }).waitFor();
    }
    const child = running.at(-1);
    child?.kill('SIGINT');
    expect(child && (await once(child, 'exit'))[0]).toBe(code);
  });
});

test.skipIf(process.platform === 'win32')('the browser gets the address from a file that is ours alone', async () => {
  const home = mkdtempSync(join(tmpdir(), 'view-home-'));
  // Stands for the program that opens browsers, and for the terminal.
  writeFileSync(
    join(home, 'xdg-open'),
    '#!/bin/sh\nprintf "%s\\n" "$1" > "$HOME/opened.part" && mv "$HOME/opened.part" "$HOME/opened"\n',
    { mode: 0o755 },
  );
  symlinkSync(join(home, 'xdg-open'), join(home, 'open'));
  const asTerminal = `data:text/javascript,process.stdout.isTTY=true`;
  const child = spawn(
    process.execPath,
    [
      `--import=${asTerminal}`,
      serverPath,
      'view',
      'list_parts',
      JSON.stringify({ bucket, object, uploadId }),
      '--sandbox',
    ],
    { env: { ...cleanEnv(), HOME: home, PATH: `${home}:${process.env.PATH}` }, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  running.push(child);
  const firstLine = async (input: Readable) => (await createInterface({ input })[Symbol.asyncIterator]().next()).value;
  const [hint, url] = await Promise.all([firstLine(child.stderr), firstLine(child.stdout)]);
  expect(hint).toBe('It is shown in the browser until you press Ctrl-C:');
  await vi.waitFor(() => expect(existsSync(join(home, 'opened'))).toBe(true), 5000);
  const opened = readFileSync(join(home, 'opened'), 'utf8').trim();
  expect(opened).toMatch(/^file:/);
  const file = fileURLToPath(opened);
  expect(readFileSync(file, 'utf8')).toContain(url);
  expect([file, dirname(file)].map((path) => statSync(path).mode & 0o777)).toEqual([0o600, 0o700]);
  child.kill();
  await once(child, 'exit');
  expect(existsSync(dirname(file))).toBe(false);
  rmSync(home, { recursive: true });
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
