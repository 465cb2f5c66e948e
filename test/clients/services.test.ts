import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { CreateBucketCommand, ListMultipartUploadsCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { settingsOf, startReal } from '../s3/start.js';
import { freePort } from '../support/free-port.js';
import { readAsAPerson } from '../support/person.js';
import { agents } from './agents.js';
import type { ScriptedCall } from './scripted-model.js';
import { type Session, startSession } from './session.js';

/** An agent finds, describes and calls operations of Ceph's S3 with the four tools for whole services. Its user is asked about the change. */

const bucket = 'reports';
const film = 'film.mp4';
const script: readonly ScriptedCall[] = [
  { tool: 'find_operations', args: { words: 'list objects of a bucket; start a multipart upload' } },
  { tool: 'describe_operation', args: { name: 's3:CreateMultipartUpload' } },
  { tool: 'read_operation', args: { name: 's3:ListObjectsV2', arguments: { Bucket: bucket } } },
  { tool: 'change_operation', args: { name: 's3:CreateMultipartUpload', arguments: { Bucket: bucket, Key: film } } },
];

const folder = mkdtempSync(join(tmpdir(), 'cloudops-services-'));
let ceph: ReturnType<typeof startReal>;
let s3: S3Client;
beforeAll(async () => {
  const [port, monitorPort] = [await freePort(), await freePort()];
  ceph = startReal('radosgw', { S3_RUN: join(folder, 'radosgw'), S3_PORT: `${port}`, MON_PORT: `${monitorPort}` });
  s3 = new S3Client({ ...ceph, forcePathStyle: true, credentials: ceph });
  await s3.send(new CreateBucketCommand({ Bucket: bucket }));
  await s3.send(new PutObjectCommand({ Bucket: bucket, Key: '2026-q3.csv', Body: 'a,b\n' }));
  const services = { services: { s3: { model: resolve('examples/operations/storage-model.json') } } };
  writeFileSync(join(folder, 's3.operations.json'), JSON.stringify(services));
});
afterAll(async () => {
  s3?.destroy();
  await ceph?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** The block of `client-config`, with Ceph in place of the sandbox. */
const onCeph = (block: string) => {
  const { mcpServers } = JSON.parse(block);
  const { CLOUDOPS_SANDBOX: _, ...env } = mcpServers.cloudops.env;
  const operations = { CLOUDOPS_OPERATIONS: join(folder, 's3.operations.json') };
  const cloudops = { ...mcpServers.cloudops, env: { ...env, ...settingsOf(ceph), ...operations } };
  return JSON.stringify({ mcpServers: { cloudops } });
};

const uploadsOf = async () =>
  (await s3.send(new ListMultipartUploadsCommand({ Bucket: bucket }))).Uploads?.map(({ Key }) => Key) ?? [];

/** What a person does when the client asks. */
const accepts: Readonly<Record<string, (session: Session) => Promise<void>>> = {
  '@anthropic-ai/claude-code': async (session) => {
    await session.shows(/requests your input[\s\S]*film\.mp4[\s\S]*Decision/);
    await readAsAPerson();
    await session.pressUntil('Down', (seen) => /❯ Accept/.test(seen), 'the button');
    await session.pressUntil('Enter', () => session.model.results().length === script.length, 'the answer');
  },
  '@openai/codex': async (session) => {
    // It asks for calls that are not marked as reads, before the server does.
    await session.shows(/Allow the cloudops MCP server to run tool "change_operation"/);
    await session.press('Enter');
    await session.shows(/film\.mp4[\s\S]*2\. Do nothing/);
    await readAsAPerson();
    await session.type('1');
    await session.pressUntil('Enter', () => session.model.results().length === script.length, 'the answer');
  },
};

test.each(Object.keys(accepts))('%s', async (client) => {
  const agent = agents.find((one) => one.client === client);
  if (agent === undefined) throw new Error(`${client} is none of the agents`);
  const session = await startSession(agent, script, { edit: onCeph });
  closing.push(session.close);
  const before = (await uploadsOf()).length;
  await session.go();
  const accept = accepts[client];
  await accept?.(session);

  const [found, described, listed, changed] = session.model.results();
  expect(found).toContain('s3:ListObjectsV2');
  expect(described).toContain('call change_operation');
  expect(listed).toContain('2026-q3.csv');
  expect(changed).toContain('CreateMultipartUpload was accepted');
  expect(await uploadsOf()).toHaveLength(before + 1);
  for (const tool of script.map((call) => call.tool)) expect(session.model.tools.get(tool)?.description).toMatch(/\S/);
});
