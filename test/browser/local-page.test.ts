import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { startHttpProcess } from '../support/http-process.js';
import { readAsAPerson } from '../support/person.js';
import { cleanEnv, serverPath } from '../support/server-process.js';
import { findings, startBrowser } from './browser.js';

/** With a client that cannot ask its user, on this machine: the page that opens by itself. */

const browser = await startBrowser();
afterAll(browser.close);

let home: string;
const clients: Client[] = [];
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'local-page-'));
  // Stands for the program that opens browsers.
  writeFileSync(join(home, 'xdg-open'), '#!/bin/sh\nprintf "%s\\n" "$1" >> "$HOME/opened"\n', { mode: 0o755 });
  symlinkSync(join(home, 'xdg-open'), join(home, 'open'));
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
  rmSync(home, { recursive: true, force: true });
});

/** The variables of a server on a desktop. The tests themselves run under CI, where no browser opens. */
const desktop = () => ({
  HOME: home,
  PATH: `${home}:${process.env.PATH}`,
  DISPLAY: ':0',
  CI: '',
  CLOUDOPS_SANDBOX: '1',
  CLOUDOPS_CONFIRM: 'human',
});

const connect = (env: Record<string, string> = {}) =>
  connectTo(
    new StdioClientTransport({
      command: process.execPath,
      args: [serverPath],
      env: { ...cleanEnv(), ...desktop(), ...env },
      stderr: 'ignore',
    }),
  );

async function connectTo(transport: Transport) {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport);
  clients.push(client);
  const call = async (args: object = {}) => {
    const result = await client.callTool({
      name: restoreInstance.name,
      arguments: { ...restoreInstance.example, ...args },
    });
    return Object(result.structuredContent);
  };
  const get = async (changeId: unknown) => {
    const result = await client.callTool({ name: 'get_change', arguments: { changeId } });
    return Object(result.structuredContent);
  };
  return { client, call, get };
}

/** The files that browsers were to open. */
const opened = () => {
  const path = join(home, 'opened');
  return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [];
};
const addressIn = (file: string) => /url=([^"]+)"/.exec(readFileSync(fileURLToPath(file), 'utf8'))?.[1] ?? '';

test('two changes are decided in one tab, one after the other, and the agent learns both', async () => {
  const { call, get } = await connect();
  const first = await call();
  expect(first).toMatchObject({ outcome: 'waiting' });
  await vi.waitFor(() => expect(opened()).toHaveLength(1));
  const page = await browser.open(addressIn(opened()[0] ?? ''));
  const view = page.frameLocator('iframe');
  await view.getByRole('button', { name: 'Do nothing' }).waitFor();
  const second = await call({ instanceId: 'second' });
  await readAsAPerson();
  await view.getByRole('button', { name: /^Create server/ }).click();
  await view.getByRole('heading', { name: 'Accepted' }).waitFor();
  await page.getByRole('link', { name: 'Show all changes' }).waitFor();
  for (const frame of page.frames()) expect(await findings(frame)).toEqual([]);
  await page.getByRole('link', { name: 'Show all changes' }).click();
  await page.getByRole('link', { name: /"second"/ }).click();
  await view.getByText('second').first().waitFor();
  await view.getByRole('button', { name: 'Do nothing' }).waitFor();
  await readAsAPerson();
  await view.getByRole('button', { name: 'Do nothing' }).click();
  await view.getByRole('heading', { name: 'Nothing was done' }).waitFor();
  expect(opened()).toHaveLength(1);
  expect(await get(first.changeId)).toMatchObject({ outcome: 'accepted' });
  expect(await get(second.changeId)).toMatchObject({ code: 'Declined' });
});

test('the file with the address is ours alone, and gone once the tab is up, which says when the server has ended', async () => {
  const { client, call } = await connect();
  await call();
  await vi.waitFor(() => expect(opened()).toHaveLength(1));
  const [file = ''] = opened();
  const path = fileURLToPath(file);
  expect([path, dirname(path)].map((one) => statSync(one).mode & 0o777)).toEqual([0o600, 0o700]);
  const page = await browser.open(addressIn(file));
  await page.frameLocator('iframe').getByRole('button', { name: 'Do nothing' }).waitFor();
  expect(existsSync(dirname(path))).toBe(false);
  await client.close();
  await page.getByText('has ended').waitFor();
});

test.each([
  ['under SSH', { SSH_CONNECTION: '192.0.2.1 1 192.0.2.2 22' }],
  ['where it is turned off', { CLOUDOPS_OPEN_BROWSER: 'off' }],
])('%s, nothing opens, and the change is refused', async (_where, env) => {
  const { call } = await connect(env);
  expect(await call()).toMatchObject({ code: 'NeedsHuman' });
  expect(opened()).toEqual([]);
});

test('over HTTP without authentication, the same page opens, and no answer or log line has its address', async () => {
  const server = await startHttpProcess([], { env: desktop() });
  try {
    const { call, get } = await connectTo(new StreamableHTTPClientTransport(server.url) as Transport);
    const waiting = await call();
    expect(waiting).toMatchObject({ outcome: 'waiting' });
    await vi.waitFor(() => expect(opened()).toHaveLength(1));
    const address = addressIn(opened()[0] ?? '');
    const page = await browser.open(address);
    const view = page.frameLocator('iframe');
    await view.getByRole('button', { name: 'Do nothing' }).waitFor();
    await readAsAPerson();
    await view.getByRole('button', { name: /^Create server/ }).click();
    await view.getByRole('heading', { name: 'Accepted' }).waitFor();
    const ended = await get(waiting.changeId);
    expect(ended).toMatchObject({ outcome: 'accepted' });
    expect(JSON.stringify([waiting, ended, server.stderr()])).not.toContain(address);
  } finally {
    await server.stop();
  }
});
