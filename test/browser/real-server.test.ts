import { CreateMultipartUploadCommand, S3Client, UploadPartCommand } from '@aws-sdk/client-s3';
import type { CallToolResult } from '@modelcontextprotocol/client';
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import { seededUpload } from '../../sandbox/sandbox.js';
import { viewUris } from '../../src/mcp/views/view-contract.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { readProposedChange } from '../../ui/change/read-change.js';
import { readAsAPerson } from '../support/person.js';
import { type ShownView, startBrowser } from './browser.js';
import { type RealServer, startRealServer } from './real-server.js';

const browser = await startBrowser();
afterAll(browser.close);

let server: RealServer;
beforeEach(async () => {
  server = await startRealServer();
});
afterEach(() => server.close());

interface ShownCall extends ShownView {
  /** What the call that the view belongs to answered. */
  readonly result: CallToolResult;
  /** What the view's own calls answered, in order. */
  readonly answers: CallToolResult[];
}

/** The view of a call, as a host shows it: HTML, arguments and result come from the server. */
async function showCall(
  name: 'upload' | 'change',
  tool: string,
  args: Record<string, unknown>,
  prepare: (shown: ShownView) => Promise<unknown> = async () => undefined,
): Promise<ShownCall> {
  const { client, call } = server;
  const result = await call(tool, args);
  const { contents } = await client.readResource({ uri: viewUris[name] });
  const [content] = contents;
  if (content === undefined || !('text' in content)) throw new Error('the view is text');
  const answers: CallToolResult[] = [];
  const answer = async (called: string, given: Readonly<Record<string, unknown>>) => {
    const answered = await call(called, given);
    answers.push(answered);
    return answered;
  };
  const shown = await browser.show(name, { html: content.text, answer });
  await prepare(shown);
  await shown.sendCall(args, result);
  return { ...shown, result, answers };
}

const showPlan = async () => {
  const shown = await showCall('change', restoreInstance.name, restoreInstance.example);
  await readAsAPerson();
  return shown;
};
const acceptName = /^Create server/;

test('an upload is shown, refreshed while an S3 client uploads, and told to the model in the words of the tool', async () => {
  const { credentials, endpoints } = server.sandbox.cloud;
  const s3 = new S3Client({ region: 'jp-east-1', endpoint: endpoints.storage, forcePathStyle: true, credentials });
  const place = { Bucket: seededUpload.bucket, Key: 'live/object.bin' };
  const { UploadId = '' } = await s3.send(new CreateMultipartUploadCommand(place));
  const upload = async (number: number) =>
    s3.send(new UploadPartCommand({ ...place, UploadId, PartNumber: number, Body: Buffer.alloc(1000, number) }));
  await upload(1);
  const args = { bucket: place.Bucket, object: place.Key, uploadId: UploadId, expectedParts: 4 };
  const { page, view, told, answers } = await showCall('upload', 'list_parts', args, (shown) =>
    shown.page.clock.install(),
  );
  await view.getByRole('slider', { name: 'Part' }).waitFor();
  const legend = async () =>
    (await view.getByRole('list', { name: 'Parts by state' }).innerText()).replaceAll(/\s+/g, ' ').trim();
  expect(await legend()).toBe('1 too small 3 still to come');
  await upload(2);
  await page.clock.fastForward(10_000);
  await expect.poll(legend).toBe('2 too small 2 still to come');
  await upload(4);
  await view.getByRole('button', { name: 'Refresh' }).click();
  await expect.poll(legend).toBe('1 new since the last look 2 too small 1 missing');
  await expect.poll(() => told.length).toBe(2);
  expect(told).toEqual(answers.map(({ structuredContent }) => Object(structuredContent).summary));
  s3.destroy();
});

test('a click carries the change out, and the model is told, but not of the ticket', async () => {
  const shown = await showPlan();
  await shown.view.getByRole('button', { name: acceptName }).click();
  await shown.view.getByRole('heading', { name: 'Accepted' }).waitFor();
  expect(await shown.view.locator('dd').count()).toBeGreaterThan(0);
  await expect.poll(() => shown.told.length).toBe(1);
  expect(shown.answers[0]?.content).toEqual([{ type: 'text', text: shown.told[0] }]);
  const { ticket } = readProposedChange(shown.result._meta) ?? {};
  expect(ticket).toBeDefined();
  expect(JSON.stringify([shown.told, shown.answers])).not.toContain(ticket);
});

test('two views of one plan: the second click changes nothing, and shows what came of the first', async () => {
  const plan = await server.call(restoreInstance.name, restoreInstance.example);
  await readAsAPerson();
  for (const said of ['You agreed to it.', /^The user agreed at .* This click changed nothing\.$/]) {
    const shown = await browser.show('change', { answer: server.call });
    // Of an older plan the view would ask what came of it, and show that before a click.
    await shown.page.clock.setFixedTime(readProposedChange(plan._meta)?.issuedAt ?? '');
    await shown.sendCall(restoreInstance.example, plan);
    await shown.view.getByRole('button', { name: acceptName }).click();
    await shown.view.getByRole('heading', { name: 'Accepted' }).waitFor();
    expect(await shown.view.getByText(said).isVisible()).toBe(true);
  }
});

test('"Do nothing" sends nothing, and is in the journal', async () => {
  const { view } = await showPlan();
  await view.getByRole('button', { name: 'Do nothing' }).click();
  await view.getByRole('heading', { name: 'Nothing was done' }).waitFor();
  const { contents } = await server.client.readResource({ uri: 'cloudops://journal' });
  expect(JSON.stringify(contents)).toContain('declined');
});

test('a server that goes away after the click leaves the outcome open', async () => {
  const shown = await showPlan();
  await server.client.close();
  await shown.view.getByRole('button', { name: acceptName }).click();
  await shown.view.getByRole('heading', { name: 'No answer came' }).waitFor();
});
