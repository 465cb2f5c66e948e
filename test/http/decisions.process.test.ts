import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { browserOf } from '../support/decisions.js';
import { answerOf, post, toolCall } from '../support/http-in-process.js';
import { startHttpProcess } from '../support/http-process.js';
import { type CapturingServer, startServer } from '../support/http-server.js';
import { readAsAPerson } from '../support/person.js';
import { runServer } from '../support/server-process.js';

/** The page for decisions as it is deployed: several processes, one journal, one state key. */

const publicUrl = 'https://cloudops.example.com';
const args = { backupId: 'a'.repeat(32), instanceId: 'wiki' };
const line = (name: string, scope = '') => `${name} ${createHash('sha256').update(name).digest('hex')} ${scope}\n`;

let folder: string;
let cloud: CapturingServer;
let env: Record<string, string>;
const started: (() => Promise<unknown>)[] = [];
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cloudops-decisions-'));
  cloud = await startServer((_request, response) => response.end('{"instance":{"instanceId":"wiki"}}'));
  writeFileSync(join(folder, 'tokens'), line('alice') + line('bob', 'cloudops:approve'));
  env = {
    CLOUDOPS_DEVOPS_URL: cloud.origin,
    CLOUDOPS_ACCESS_KEY_ID: 'AKIDTEST',
    CLOUDOPS_SECRET_ACCESS_KEY: 'secret',
    CLOUDOPS_CONFIRM: 'approval',
    CLOUDOPS_STATE_KEY: 'k'.repeat(32),
    CLOUDOPS_HTTP_PUBLIC_URL: publicUrl,
    CLOUDOPS_JOURNAL: join(folder, 'journal.jsonl'),
  };
});
afterEach(async () => {
  for (const stop of started.splice(0)) await stop();
  await cloud.close();
  rmSync(folder, { recursive: true, force: true });
});

async function startReplica() {
  const server = await startHttpProcess([], { env: { ...env, CLOUDOPS_HTTP_TOKENS_FILE: join(folder, 'tokens') } });
  started.push(server.stop);
  const ask = async (given: object = {}): Promise<Record<string, unknown>> => {
    const message = toolCall('restore_instance', { ...args, ...given });
    const { result } = await answerOf(await post(server.url, message, { authorization: 'Bearer alice' }));
    return Object(result?.structuredContent);
  };
  return { ...server, ask };
}
const nonceIn = (text: unknown) => /\/decisions\/([0-9a-f]{16})\//.exec(String(text))?.[1] ?? '';

test('a plan survives the server that made it: another one has it decided, and gives the agent the answer', async () => {
  const first = await startReplica();
  const { outcome, planId, decideAt } = await first.ask();
  expect(outcome).toBe('waiting');
  expect(first.logged()).toContainEqual(expect.objectContaining({ event: 'decision needed', decideAt }));
  await first.stop();
  await readAsAPerson();
  const second = await startReplica();
  const browser = browserOf({ origin: second.origin, publicUrl });
  await browser.signIn('bob');
  expect((await browser.decide(nonceIn(decideAt), 'accept')).status).toBe(200);
  expect(await second.ask({ planId })).toMatchObject({
    outcome: 'accepted',
    answer: { instance: { instanceId: 'wiki' } },
  });
  expect(cloud.requests).toHaveLength(1);
  const printed = await runServer(['journal', '--json'], { env });
  expect(printed.stdout).toMatch(/"approver":\s*"bob"/);
});

test('a command on the same journal leaves its plan to the page', async () => {
  const server = await startReplica();
  const call = await runServer(['call', 'restore_instance', JSON.stringify(args), '--yes'], { env });
  expect([call.code, cloud.requests]).toEqual([3, []]);
  const waiting = await runServer(['call', 'restore_instance', JSON.stringify(args), '--json'], { env });
  expect(waiting.code).toBe(3);
  await readAsAPerson();
  const browser = browserOf({ origin: server.origin, publicUrl });
  await browser.signIn('bob');
  expect((await browser.decide(nonceIn(waiting.stdout), 'accept')).status).toBe(200);
  expect(cloud.requests).toHaveLength(1);
});

test('plans are in a folder beside the journal, and say nothing to who reads it', async () => {
  const { ask } = await startReplica();
  await ask();
  const files = readdirSync(join(folder, 'journal.jsonl.plans'));
  expect(files).toEqual([expect.stringMatching(/^[0-9a-f]{16}-[0-9a-f]{16}-\d{13}\.waiting$/)]);
});

test('without a way to sign in, the server does not start', async () => {
  await expect(startHttpProcess([], { env })).rejects.toThrow('nobody could sign in');
});
