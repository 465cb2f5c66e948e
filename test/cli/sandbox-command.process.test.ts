import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, expect, test } from 'vitest';
import * as z from 'zod';
import { seededUpload } from '../../sandbox/sandbox.js';
import { cleanEnv, runServer, serverPath } from '../support/server-process.js';

/** The sandbox as users start it: alone, and inside the server. */

const closing: (() => Promise<unknown>)[] = [];
afterAll(() => Promise.all(closing.map((close) => close())));

/** A server, its client, and what they can be asked. */
async function connect(args: readonly string[], env: Record<string, string> = {}) {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [serverPath, ...args],
      env: cleanEnv(env),
      stderr: 'ignore',
    }),
  );
  closing.push(() => client.close());
  return client;
}

const listSeeded = async (client: Client) => {
  const { bucket, key: object, uploadId } = seededUpload;
  const { structuredContent } = await client.callTool({ name: 'list_parts', arguments: { bucket, object, uploadId } });
  return z.object({ answer: z.unknown() }).parse(structuredContent).answer;
};

test('alone, it prints variables that point a server at it, and ends on a signal', async () => {
  const child = spawn(process.execPath, [serverPath, 'sandbox', '--json', '--seed', 'cli'], { env: cleanEnv() });
  const ended = once(child, 'exit');
  const [line] = await once(createInterface(child.stdout), 'line');
  const client = await connect([], JSON.parse(line));
  expect(await listSeeded(client)).toMatchObject({ partCount: 12, missing: [{ from: 5 }, { from: 11, to: 12 }] });
  const { resources } = await client.listResources();
  expect(resources.map(({ uri }) => uri)).not.toContain('cloudops://sandbox');
  child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
});

test.skipIf(process.platform !== 'linux')('output that cannot be written is no success', async () => {
  const full = openSync('/dev/full', 'w');
  const child = spawn(process.execPath, [serverPath, 'journal'], {
    env: cleanEnv({ CLOUDOPS_JOURNAL: join(tmpdir(), 'no-journal', 'j.jsonl') }),
    stdio: ['ignore', full, 'ignore'],
  });
  closeSync(full);
  expect(await once(child, 'exit')).toEqual([5, null]);
});

test('without --json the variables are lines for a shell', async () => {
  const child = spawn(process.execPath, [serverPath, 'sandbox'], { env: cleanEnv({ CLOUDOPS_SANDBOX_SEED: 'cli' }) });
  let printed = '';
  for await (const chunk of child.stdout) {
    printed += chunk;
    if (/CHECKSUM.*\n/.test(printed)) child.kill('SIGINT');
  }
  const own = ['ACCESS_KEY_ID', 'SECRET_ACCESS_KEY', 'STORAGE_URL', 'CATALOG_URL', 'DEVOPS_URL'];
  const others = ['ACCESS_KEY_ID', 'SECRET_ACCESS_KEY', 'ENDPOINT_URL_S3', 'REGION', 'DEFAULT_REGION'];
  const names = [...own.map((name) => `CLOUDOPS_${name}`), ...others.map((name) => `AWS_${name}`)];
  const lines = [...names, 'AWS_REQUEST_CHECKSUM_CALCULATION'].map((name) => `export ${name}=[\\w:/.-]+\n`);
  expect(printed).toMatch(new RegExp(`^${lines.join('')}$`));
});

test('inside the server, it is a resource for agents', async () => {
  const client = await connect(['--sandbox']);
  await listSeeded(client);
  const { contents } = await client.readResource({ uri: 'cloudops://sandbox' });
  const [{ text = '' } = {}] = contents as { text?: string }[];
  expect(text).toContain(`"${seededUpload.key}": bucket "demo-bucket", uploadId "demo-upload-in-progress", 12 parts`);
  expect(text).toMatch(/- \S+ sandbox-000001 list_parts: 200, GET /);
});

test.each<[string, string[], RegExp]>([
  ['a port that is none', ['sandbox', '--port', '99999'], /--port takes a number from 0 to 65535/],
  ['a state that cannot be used', ['sandbox', '--state', tmpdir()], /state .* cannot be used \(EISDIR\)/],
  [
    'a state of the server that cannot be used',
    ['--sandbox', `CLOUDOPS_SANDBOX_STATE=${tmpdir()}`],
    /cannot be used \(EISDIR\)/,
  ],
])('%s is a sentence and exit code 2', async (_what, args, sentence) => {
  const { code, stdout, stderr } = await runServer(args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(sentence);
  expect(stderr).not.toMatch(/^ +at /m);
});

test('a port that is taken is a sentence and exit code 2', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  closing.push(async () => taken.close());
  const port = String((taken.address() as AddressInfo).port);
  expect(await runServer(['sandbox', '--port', port])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`cannot listen on port ${port} of 127.0.0.1 (EADDRINUSE)`),
  });
});
