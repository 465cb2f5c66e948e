import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import dynalite from 'dynalite';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import * as z from 'zod';
import { printedChanges } from '../support/journal.js';
import { type RawServer, startRaw, toolCall } from '../support/raw-client.js';
import { runServer } from '../support/server-process.js';

/** Operations of a model against a server of DynamoDB's API: plan, consent, journal, repetition and a killed process. */

let cloud: Server;
let folder: string;
let server: RawServer;
/** Called with the name of each operation, before the cloud gets the request. */
let arriving: (operation: string) => void;
beforeAll(async () => {
  const tables = dynalite({ createTableMs: 0, deleteTableMs: 0 });
  cloud = createServer((request, response) => {
    arriving(String(request.headers['x-amz-target']).replace('DynamoDB_20120810.', ''));
    tables.emit('request', request, response);
  });
  await new Promise<void>((resolve) => cloud.listen(0, '127.0.0.1', resolve));
});
afterAll(() => new Promise((resolve) => cloud.close(resolve)));
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cloudops-tables-'));
  arriving = () => undefined;
  server = startRaw(settings());
});
afterEach(async () => {
  server.child.kill();
  await server.ended;
  rmSync(folder, { recursive: true, force: true });
});

const settings = (changes: Record<string, string> = {}) => ({
  CLOUDOPS_OPERATIONS: 'test/fixtures/models/tables.operations.json',
  CLOUDOPS_ENDPOINT_TABLES_URL: `http://127.0.0.1:${Object(cloud.address() satisfies AddressInfo | string | null).port}`,
  CLOUDOPS_ACCESS_KEY_ID: 'AKIDTEST',
  CLOUDOPS_SECRET_ACCESS_KEY: 'test/secret+key',
  CLOUDOPS_REGION: 'us-east-1',
  CLOUDOPS_JOURNAL: join(folder, 'journal.db'),
  CLOUDOPS_CONFIRM: 'off',
  ...changes,
});

const answered = z.object({
  result: z.object({ isError: z.boolean().default(false), structuredContent: z.record(z.string(), z.unknown()) }),
});

let lastId = 0;
async function call(name: string, args: object, to = server) {
  lastId += 1;
  to.send(toolCall(lastId, name, args));
  const { result } = answered.parse(await to.response(lastId));
  return { isError: result.isError, ...result.structuredContent };
}

const table = (TableName: string) => ({
  TableName,
  AttributeDefinitions: [{ AttributeName: 'Id', AttributeType: 'S' }],
  KeySchema: [{ AttributeName: 'Id', KeyType: 'HASH' }],
  BillingMode: 'PAY_PER_REQUEST',
});
/** Creates a table without the server. The cloud requires a signature, and does not verify it. */
const createDirectly = (name: string) =>
  fetch(settings().CLOUDOPS_ENDPOINT_TABLES_URL, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': 'DynamoDB_20120810.CreateTable',
      'x-amz-date': '20261124T000000Z',
      authorization:
        'AWS4-HMAC-SHA256 Credential=a/20261124/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=b',
    },
    body: JSON.stringify(table(name)),
  }).then((response) => expect(response.status).toBe(200));
const readJournal = async () =>
  printedChanges((await runServer(['journal', '--json'], { env: settings() })).stdout).map(
    ({ tool, state, ending }) => [tool, state, ending?.code],
  );

test('a table is created, filled, read and deleted, and the journal has each change', async () => {
  expect(await call('tables_create_table', table('Books'))).toMatchObject({ isError: false });
  const Item = { Id: { S: '1' }, Pages: { N: '120' }, Cover: { B: 'aGk=' }, More: { M: { Lent: { BOOL: true } } } };
  expect(await call('tables_put_item', { TableName: 'Books', Item })).toMatchObject({ isError: false });
  expect(await call('tables_get_item', { TableName: 'Books', Key: { Id: { S: '1' } } })).toMatchObject({
    answer: { Item: { Pages: { N: '120' }, Cover: { B: 'aGk=' }, More: { M: { Lent: { BOOL: true } } } } },
  });
  expect(await call('tables_list_tables', {})).toMatchObject({ answer: { TableNames: ['Books'] } });
  expect(await call('tables_delete_table', { TableName: 'Books' })).toMatchObject({ isError: false });
  expect(await readJournal()).toEqual([
    ['tables_create_table', 'accepted', undefined],
    ['tables_put_item', 'accepted', undefined],
    ['tables_delete_table', 'accepted', undefined],
  ]);
});

test('a list of several pages is read to its end, with pages of the size that a call asks for', async () => {
  const names = Array.from({ length: 101 }, (_, index) => `Page-${index}`);
  await Promise.all(names.map(createDirectly));
  const pages: string[] = [];
  arriving = (operation) => pages.push(operation);
  const { answer } = z.object({ answer: z.unknown() }).parse(await call('tables_list_tables', {}));
  expect(pages).toEqual(['ListTables', 'ListTables']);
  expect(answer).not.toHaveProperty('LastEvaluatedTableName');
  pages.length = 0;
  expect(await call('tables_list_tables', { Limit: 40 })).toMatchObject({ isError: false, answer });
  expect(pages).toEqual(['ListTables', 'ListTables', 'ListTables']);
});

test('a refusal of the cloud is rejected with its code', async () => {
  await call('tables_create_table', table('Twice'));
  const second = await call('tables_create_table', { ...table('Twice'), allowRepeat: true });
  expect(second).toMatchObject({ serviceSays: { code: 'ResourceInUseException' }, mayHaveHappened: false });
});

test('the same change again is a repetition, and another operation with the same body is not', async () => {
  await call('tables_create_table', table('Once'));
  expect(await call('tables_create_table', table('Once'))).toMatchObject({ isError: true, code: 'Repeated' });
  expect(await call('tables_delete_table', { TableName: 'Once' })).toMatchObject({ isError: false });
});

test('a plan is made without a request, and carried out with its ID', async () => {
  const arrived: string[] = [];
  arriving = (operation) => arrived.push(operation);
  const planning = startRaw(settings({ CLOUDOPS_CONFIRM: 'plan' }));
  const planned = await call('tables_create_table', table('Planned'), planning);
  expect(planned).toMatchObject({ outcome: 'planned' });
  expect(arrived).toEqual([]);
  const { changeId } = z.object({ changeId: z.string() }).parse(planned);
  const done = await call('confirm_change', { changeId, thing: 'Planned' }, planning);
  expect(done).toMatchObject({ isError: false, outcome: 'accepted' });
  expect(arrived).toEqual(['CreateTable']);
  planning.child.kill();
  await planning.ended;
});

test('a process that is killed in flight leaves the change unknown, and its repetition is refused', async () => {
  const killed = startRaw(settings());
  arriving = () => killed.child.kill('SIGKILL');
  killed.send(toolCall(1, 'tables_create_table', table('Killed')));
  await killed.ended;
  arriving = () => undefined;
  const next = startRaw(settings());
  expect(await call('tables_create_table', table('Killed'), next)).toMatchObject({ isError: true, code: 'Repeated' });
  next.child.kill();
  await next.ended;
  expect(await readJournal()).toEqual([['tables_create_table', 'unknown', 'ProcessEnded']]);
});
