import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, test } from 'vitest';
import { listParts } from '../../src/tools/list-parts.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { member, smallModelJson } from '../models/small-model.js';
import { printedChanges } from '../support/journal.js';
import { cleanEnv, runServer, serverPath } from '../support/server-process.js';

/** An update that removes files under a running server, such as `npm install -g` of another version. */

const chunks = readdirSync(join(dirname(serverPath), 'chunks'));

/** A server of a copy of the files, connected before some of them go. */
async function startWithout(missing: readonly string[], variables: Record<string, string> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'cloudops-missing-'));
  cpSync(dirname(serverPath), folder, { recursive: true });
  // On Node.js 20, SQLite is a package beside the server.
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  const journal = join(folder, 'journal.db');
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [join(folder, 'main.js'), '--sandbox'],
      env: cleanEnv({ CLOUDOPS_CONFIRM: 'off', CLOUDOPS_JOURNAL: journal, ...variables }),
      stderr: 'ignore',
    }),
  );
  await client.listTools();
  for (const chunk of missing) rmSync(join(folder, 'chunks', chunk));
  return {
    client,
    /** The changes that were decided. */
    entries: async () => {
      const { stdout } = await runServer(['journal', '--json'], { env: { CLOUDOPS_JOURNAL: journal } });
      return printedChanges(stdout);
    },
    close: async () => {
      await client.close();
      rmSync(folder, { recursive: true });
    },
  };
}

test('there is more than one file', () => expect(chunks.length).toBeGreaterThan(10));

/** Makes the calls of a read and of a change. Each is answered, and nothing that was not sent is called unknown. Resolves with true if both succeeded. */
async function callWithout(missing: readonly string[], variables: Record<string, string> = {}): Promise<boolean> {
  const { client, entries, close } = await startWithout(missing, variables);
  const failed: string[] = [];
  try {
    for (const { name, example } of [listParts, restoreInstance]) {
      const { isError = false, structuredContent } = await client.callTool({ name, arguments: example });
      if (isError) failed.push(name);
      if (isError) expect(structuredContent).toMatchObject({ code: 'SenderUnavailable' });
      expect(structuredContent).not.toMatchObject({ mayHaveHappened: true });
      // Nothing is decided, and so nothing written, before all that sends is there.
      if (isError) expect(await entries()).toEqual([]);
    }
    expect((await client.listTools()).tools.length).toBeGreaterThan(0);
  } finally {
    await close();
  }
  return failed.length === 0;
}

/** The files that the calls load, as V8 counts them. */
async function loadedByCalls(): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'cloudops-loaded-'));
  await callWithout([], { NODE_V8_COVERAGE: folder });
  const reports = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
  rmSync(folder, { recursive: true });
  return chunks.filter((chunk) => reports.some((report) => report.includes(`/${chunk}"`)));
}
const loaded = await loadedByCalls();

test('without the files that these calls do not load, they succeed', async () => {
  expect(loaded.length).toBeGreaterThan(5);
  expect(await callWithout(chunks.filter((chunk) => !loaded.includes(chunk)))).toBe(true);
});

/** The name of a file without its hash, which differs between builds, and the file. */
const named = loaded.map((chunk, index) => [`${chunk.replace(/-[\w-]{8}\.js$/, '')} (${index})`, chunk] as const);

test.each(named)(
  'without %s every call is answered, and nothing that was not sent is called unknown',
  async (_, chunk) => {
    const succeeded = await callWithout([chunk]);
    if (chunk.startsWith('call-stack-')) expect(succeeded).toBe(false);
  },
);

test('without any of them, calls about operations of services say to start the server again, too', async () => {
  const models = mkdtempSync(join(tmpdir(), 'cloudops-models-'));
  const volume = { input: { VolumeId: member('String', { required: {} }) } };
  const model = smallModelJson({ DescribeVolume: volume, DeleteVolume: volume });
  writeFileSync(join(models, 'disks.json'), JSON.stringify(model));
  const { client, close } = await startWithout(chunks, {
    CLOUDOPS_MODELS: models,
    CLOUDOPS_ENDPOINT_DISKS_URL: 'http://127.0.0.1:1',
  });
  try {
    const args = { VolumeId: 'v' };
    const calls: readonly (readonly [string, Record<string, unknown>])[] = [
      ['find_operations', { words: 'volume' }],
      ['describe_operation', { name: 'disks:DeleteVolume' }],
      ['read_operation', { name: 'disks:DescribeVolume', arguments: args }],
      ['change_operation', { name: 'disks:DeleteVolume', arguments: args }],
      ['get_change', { changeId: 'A'.repeat(22) }],
      [listParts.name, listParts.example ?? {}],
    ];
    for (const [name, given] of calls)
      expect(await client.callTool({ name, arguments: given }), name).toMatchObject({
        isError: true,
        structuredContent: { code: 'SenderUnavailable' },
      });
  } finally {
    await close();
    rmSync(models, { recursive: true });
  }
});
