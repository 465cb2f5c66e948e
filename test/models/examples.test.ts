import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.js';
import { loadOperationFiles } from '../../src/cli/load-operation-files.js';
import { exampleOf } from '../../src/tools/define-operation.js';
import { memoryStore, never, testCaller } from '../support/caller.js';
import { startServer } from '../support/http-server.js';
import { openPolicy } from '../support/operations.js';

/** The files that documents give to those who write operations of their own. */

const examples = 'examples/operations';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ now: () => new Date() });
});
afterAll(() => sandbox.close());

describe.each(readdirSync(examples).filter((name) => name.endsWith('.operations.json')))('%s', (name) => {
  const path = join(examples, name);

  test('has at most 60 lines', () => {
    expect(readFileSync(path, 'utf8').trimEnd().split('\n').length).toBeLessThanOrEqual(60);
  });

  test('is loaded, and its examples succeed on the sandbox', async () => {
    const { operations, problems } = await loadOperationFiles(path);
    expect(problems).toEqual([]);
    const { call, close } = testCaller('', { cloud: sandbox.cloud, policy: openPolicy });
    for (const operation of operations) {
      const result = await call(operation, exampleOf(operation), { signal: never });
      expect(result.ok, result.text).toBe(true);
    }
    await close();
  });
});

describe('operations that only a model can describe in a few lines', () => {
  const storage = join(examples, 'storage.operations.json');
  const tables = 'test/fixtures/models/tables.operations.json';
  const multipart = {
    Bucket: 'films',
    Key: 'a.mov',
    uploadId: 'u-1',
    CompleteMultipartUpload: { Parts: [{ PartNumber: 1, ETag: '"e"' }] },
  };
  const twoKeys = { Bucket: 'films', Delete: { Objects: [{ Key: 'a' }, { Key: 'b' }] } };
  const failed = (...keys: readonly string[]) =>
    `<DeleteResult>${keys.map((key) => `<Error><Key>${key}</Key><Code>AccessDenied</Code></Error>`).join('')}</DeleteResult>`;

  test.each([
    [storage, 'CompleteMultipartUpload'],
    [storage, 'DeleteObjects'],
    [tables, 'ListTables'],
  ])('%s: %s takes at most ten lines of at most 100 characters', (path, name) => {
    const text = readFileSync(path, 'utf8');
    const ofOperation = new RegExp(`^ {4}"${name}": \\{(?:.*\\}|\\n(?: {6}.*\\n)+ {4}\\}),?$`, 'm');
    const lines = ofOperation.exec(text)?.[0].split('\n') ?? [];
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.length).toBeLessThanOrEqual(10);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(100);
  });

  const complete = { tool: 's3_complete_multipart_upload', args: multipart };
  const deletion = { tool: 's3_delete_objects', args: twoKeys };
  test.each([
    {
      ...complete,
      body: '<CompleteMultipartUploadResult><Key>a.mov</Key></CompleteMultipartUploadResult>',
      told: { outcome: 'accepted', answer: { Key: 'a.mov' } },
      ended: { state: 'accepted' },
    },
    {
      ...complete,
      body: '<Error><Code>InternalError</Code></Error>',
      told: { mayHaveHappened: true },
      ended: { state: 'unknown', ending: { code: 'InternalError' } },
    },
    {
      ...complete,
      body: '<Error><Code>InvalidPart</Code></Error>',
      told: { mayHaveHappened: false },
      ended: { state: 'rejected', ending: { code: 'InvalidPart' } },
    },
    { ...deletion, body: failed(), told: { outcome: 'accepted' }, ended: { state: 'accepted' } },
    {
      ...deletion,
      body: failed('b'),
      told: { outcome: 'partly', failed: { count: 1, names: ['"b"'] } },
      ended: { state: 'partly', ending: { failed: { count: 1, codes: ['AccessDenied'] } } },
    },
    {
      ...deletion,
      body: failed('a', 'b'),
      told: { code: 'AllEntriesFailed', mayHaveHappened: false },
      ended: { state: 'rejected', ending: { code: 'AccessDenied' } },
    },
    {
      ...deletion,
      body: failed('b').slice(0, -9),
      told: { code: 'UnreadableAnswer', mayHaveHappened: true },
      ended: { state: 'unknown' },
    },
    {
      tool: 'tables_list_tables',
      args: {},
      body: '{"TableNames":["Books"]}',
      told: { answer: { TableNames: ['Books'] } },
      ended: undefined,
    },
  ])('$tool that is answered with 200 and $body has the right outcome', async ({ tool, args, body, told, ended }) => {
    const { operations } = await loadOperationFiles(tool.startsWith('s3') ? storage : tables);
    const operation = operations.find(({ name }) => name === tool);
    if (operation === undefined) throw new Error('there is none');
    const server = await startServer((_request, response) => response.end(body));
    const store = memoryStore();
    const endpoints = { storage: server.origin, tables: server.origin };
    const { call, close } = testCaller('', { store, policy: openPolicy, cloud: { endpoints } });
    const result = await call(operation, args, { signal: never });
    const changes = await store.newest({ limit: 2 });
    await close();
    await server.close();
    expect(result.ok ? result.structured : result.failure).toMatchObject(told);
    expect(changes).toMatchObject(ended === undefined ? [] : [ended]);
  });
});
