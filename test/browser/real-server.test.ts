import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CreateMultipartUploadCommand, S3Client, UploadPartCommand } from '@aws-sdk/client-s3';
import { type CallToolResult, Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { seededUpload, startSandbox } from '../../sandbox/sandbox.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { appsExtension, viewMimeType, viewUris } from '../../ui/contract/apps.js';
import { cleanEnv, serverPath } from '../support/server-process.js';
import { type Browser, type ShownView, startBrowser } from './browser.js';

/** The built server over stdio, behind a host that is made with the SDK, in front of a sandbox in this process. */

let browser: Browser;
let sandbox: Awaited<ReturnType<typeof startSandbox>>;
let client: Client;
let folder: string;

beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cloudops-views-'));
  sandbox = await startSandbox({ now: () => new Date() });
  client = await connect();
});
afterEach(async () => {
  await client.close();
  await sandbox.close();
  await rm(folder, { recursive: true, force: true });
});

async function connect(): Promise<Client> {
  const { credentials, endpoints } = sandbox.cloud;
  const env = cleanEnv({
    CLOUDOPS_ACCESS_KEY_ID: credentials.accessKeyId,
    CLOUDOPS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    CLOUDOPS_STORAGE_URL: endpoints.storage,
    CLOUDOPS_CATALOG_URL: endpoints.catalog,
    CLOUDOPS_DEVOPS_URL: endpoints.devops,
    CLOUDOPS_CONFIRM: 'human',
    CLOUDOPS_JOURNAL: join(folder, 'journal.jsonl'),
  });
  const capabilities = { extensions: { [appsExtension]: { mimeTypes: [viewMimeType] } } };
  const made = new Client({ name: 'test', version: '1' }, { capabilities });
  await made.connect(
    new StdioClientTransport({ command: process.execPath, args: [serverPath], env, stderr: 'ignore' }),
  );
  return made;
}

/** The view of a call, as a host shows it: HTML, arguments and result come from the server. */
async function showCall(name: 'upload' | 'change', tool: string, args: Record<string, unknown>): Promise<ShownView> {
  const result = await client.callTool({ name: tool, arguments: args });
  const { contents } = await client.readResource({ uri: viewUris[name] });
  const [content] = contents;
  if (content === undefined || !('text' in content)) throw new Error('the view is text');
  const answer = async (called: string, given: Readonly<Record<string, unknown>>) =>
    (await client.callTool({ name: called, arguments: { ...given } })) as CallToolResult;
  const shown = await browser.show(name, { html: content.text, answer });
  await shown.sendCall(args, result as CallToolResult);
  return shown;
}

const showPlan = () => showCall('change', restoreInstance.name, restoreInstance.example);
const acceptName = /^Create server/;

test('an upload is shown, and refreshed while an S3 client uploads', async () => {
  const { credentials, endpoints } = sandbox.cloud;
  const s3 = new S3Client({ region: 'jp-east-1', endpoint: endpoints.storage, forcePathStyle: true, credentials });
  const place = { Bucket: seededUpload.bucket, Key: 'live/object.bin' };
  const { UploadId = '' } = await s3.send(new CreateMultipartUploadCommand(place));
  const upload = async (number: number) =>
    s3.send(new UploadPartCommand({ ...place, UploadId, PartNumber: number, Body: Buffer.alloc(1000, number) }));
  await upload(1);
  const args = { bucket: place.Bucket, object: place.Key, uploadId: UploadId, expectedParts: 4 };
  const { view, told } = await showCall('upload', 'list_parts', args);
  const legend = view.getByRole('list', { name: 'Parts by state' });
  await view.getByRole('slider').waitFor();
  expect((await legend.innerText()).replaceAll(/\s+/g, ' ')).toContain('3 still to come');
  await upload(2);
  await upload(4);
  await view.getByRole('button', { name: 'Refresh' }).click();
  await legend.getByText('missing').waitFor();
  expect((await legend.innerText()).replaceAll(/\s+/g, ' ')).toContain('1 missing');
  await expect.poll(() => told.length).toBe(1);
  s3.destroy();
});

test('a click carries the change out, and the model is told', async () => {
  const shown = await showPlan();
  await shown.view.getByRole('button', { name: acceptName }).click();
  await shown.view.getByRole('heading', { name: 'Accepted' }).waitFor();
  expect(await shown.view.locator('dd').count()).toBeGreaterThan(0);
  await expect.poll(() => shown.told.length).toBe(1);
});

test('two views of one plan: the second click changes nothing', async () => {
  const plan = (await client.callTool({
    name: restoreInstance.name,
    arguments: restoreInstance.example,
  })) as CallToolResult;
  const answer = async (name: string, given: Readonly<Record<string, unknown>>) =>
    (await client.callTool({ name, arguments: { ...given } })) as CallToolResult;
  for (const heading of ['Accepted', 'Decided before']) {
    const shown = await browser.show('change', { answer });
    await shown.sendCall(restoreInstance.example, plan);
    await shown.view.getByRole('button', { name: acceptName }).click();
    await shown.view.getByRole('heading', { name: heading }).waitFor();
  }
});

test('"Do nothing" sends nothing, and is in the journal', async () => {
  const { view } = await showPlan();
  await view.getByRole('button', { name: 'Do nothing' }).click();
  await view.getByRole('heading', { name: 'Nothing was done' }).waitFor();
  const { contents } = await client.readResource({ uri: 'cloudops://journal' });
  expect(JSON.stringify(contents)).toContain('declined');
});

test('a server that goes away after the click leaves the outcome open', async () => {
  const shown = await showPlan();
  await client.close();
  await shown.view.getByRole('button', { name: acceptName }).click();
  await shown.view.getByRole('heading', { name: 'No answer came' }).waitFor();
});
