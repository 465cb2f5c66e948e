import { mkdirSync, mkdtempSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { listParts } from '../../src/tools/list-parts.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { changedTimers } from '../support/changed-timers.js';
import { startHttpProcess } from '../support/http-process.js';
import { startServer } from '../support/http-server.js';
import { printedChanges } from '../support/journal.js';
import { runServer } from '../support/server-process.js';

/** A server that is stopped while people decide ends at once. Running calls have 30 seconds to end, which is what it would wait for. */

const waitedForNothingMs = 20_000;
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cloudops-stop-'));
});
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  rmSync(folder, { recursive: true, force: true });
});

async function connect(env: Record<string, string>, args = ['--sandbox']) {
  const journal = { CLOUDOPS_JOURNAL: join(folder, 'journal.db') };
  const server = await startHttpProcess(args, { env: { ...env, ...journal } });
  // A client that shows views, in which people decide.
  const extensions = { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } };
  const client = new Client({ name: 'test', version: '1' }, { capabilities: { extensions } });
  const transport = new StreamableHTTPClientTransport(server.url);
  await client.connect(transport as Parameters<typeof client.connect>[0]);
  closing.push(() => client.close(), server.stop);
  const read = () => client.callTool({ name: listParts.name, arguments: { ...listParts.example } });
  const call = (args: object = {}) =>
    client.callTool({ name: restoreInstance.name, arguments: { ...restoreInstance.example, ...args } });
  const changes = async () => printedChanges((await runServer(['journal', '--json'], { env: journal })).stdout);
  const get = (changeId: unknown) => client.callTool({ name: 'get_change', arguments: { changeId } });
  return { server, call, get, read, changes, ping: () => client.ping() };
}

test('a call that waits for a decision is answered with where its plan stands', async () => {
  const env = {
    CLOUDOPS_STATE_KEY: 'k'.repeat(48),
    CLOUDOPS_DEVOPS_URL: 'http://127.0.0.1:1',
    CLOUDOPS_ACCESS_KEY_ID: 'AKIDTEST',
    CLOUDOPS_SECRET_ACCESS_KEY: 'test',
  };
  const { server, call, get, ping } = await connect({ ...env, CLOUDOPS_CONFIRM: 'human' }, []);
  const { structuredContent } = await call();
  const status = get(Object(structuredContent).changeId);
  await delay(1500);
  // The server has the request by then, because it has a later one.
  await ping();
  expect(await Promise.race([status, delay(10, 'waits')])).toBe('waits');
  const start = Date.now();
  await server.stop();
  expect(Date.now() - start).toBeLessThan(waitedForNothingMs);
  expect(await status).toMatchObject({ structuredContent: { outcome: 'waiting' } });
});

test('reads of a cloud that hangs are given up at once, and a change in flight keeps its time', async () => {
  let answerChange = () => {};
  const cloud = await startServer(({ method }, response) => {
    if (method === 'POST') answerChange = () => response.end('{"instance":{}}');
  });
  closing.push(cloud.close);
  const env = {
    CLOUDOPS_STORAGE_URL: cloud.origin,
    CLOUDOPS_DEVOPS_URL: cloud.origin,
    CLOUDOPS_ACCESS_KEY_ID: 'AKIDTEST',
    CLOUDOPS_SECRET_ACCESS_KEY: 'test',
    CLOUDOPS_CONFIRM: 'off',
  };
  const { server, call, read, changes } = await connect(env, []);
  const change = call();
  const reads = Array.from({ length: 12 }, read);
  await vi.waitFor(() => expect(cloud.requests.length).toBeGreaterThan(12));
  const start = Date.now();
  const ended = server.stop();
  for (const result of await Promise.all(reads))
    expect(result).toMatchObject({ structuredContent: { code: 'Stopping' } });
  expect(Date.now() - start).toBeLessThan(waitedForNothingMs);
  // The change has not been given up meanwhile.
  await delay(500);
  answerChange();
  expect(await change).toMatchObject({ structuredContent: { outcome: 'accepted' } });
  await ended;
  expect(await changes()).toMatchObject([{ state: 'accepted' }]);
  expect(server.stderr()).not.toContain('MaxListenersExceededWarning');
});

test('an outcome that the journal cannot take is written if the journal comes back before the server has to end', async () => {
  const path = join(folder, 'journal.db');
  const cloud = await startServer(({ method }, response) => {
    if (method === 'POST') {
      // The journal goes away while the change is at the cloud.
      renameSync(path, `${path}.away`);
      mkdirSync(path);
    }
    response.end('{"instance":{}}');
  });
  closing.push(cloud.close);
  const env = {
    CLOUDOPS_DEVOPS_URL: cloud.origin,
    CLOUDOPS_ACCESS_KEY_ID: 'AKIDTEST',
    CLOUDOPS_SECRET_ACCESS_KEY: 'test',
    CLOUDOPS_CONFIRM: 'off',
    // The call waits for the journal for one second in place of ten.
    ...changedTimers({ 10000: 1_000 }),
  };
  const { server, call, changes } = await connect(env, []);
  expect(await call()).toMatchObject({
    structuredContent: { outcome: 'accepted', notes: [expect.stringContaining('not in the journal yet')] },
  });
  const ended = server.stop();
  await delay(500);
  rmdirSync(path);
  renameSync(`${path}.away`, path);
  await ended;
  expect(await changes()).toMatchObject([{ state: 'accepted' }]);
});
