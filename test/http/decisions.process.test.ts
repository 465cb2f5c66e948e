import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { browserOf } from '../support/decisions.js';
import { answerOf, post, toolCall } from '../support/http-in-process.js';
import { startHttpProcess } from '../support/http-process.js';
import { type CapturingServer, startServer } from '../support/http-server.js';
import { readAsAPerson } from '../support/person.js';
import { onTerminal } from '../support/pty.js';
import { runServer } from '../support/server-process.js';

/** The page for decisions as people deploy it, with several processes, one journal and one state key. */

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
    CLOUDOPS_JOURNAL: join(folder, 'journal.db'),
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
  const call = async (tool: string, given: object): Promise<Record<string, unknown>> => {
    const { result } = await answerOf(await post(server.url, toolCall(tool, given), { authorization: 'Bearer alice' }));
    return Object(result?.structuredContent);
  };
  const ask = () => call('restore_instance', args);
  const get = (changeId: unknown) => call('get_change', { changeId });
  return { ...server, call, ask, get };
}
const idIn = (text: unknown) => /\/decisions\/([\w-]{22})\//.exec(String(text))?.[1] ?? '';

test('a plan survives the server that made it: another one has it decided, and gives the agent the answer', async () => {
  const first = await startReplica();
  const { outcome, changeId, decideAt } = await first.ask();
  expect(outcome).toBe('waiting');
  expect(first.logged()).toContainEqual(expect.objectContaining({ event: 'decision needed', decideAt }));
  await first.stop();
  await readAsAPerson();
  const second = await startReplica();
  const browser = browserOf({ origin: second.origin, publicUrl });
  await browser.signIn('bob');
  expect((await browser.decide(idIn(decideAt), 'accept')).status).toBe(200);
  expect(await second.get(changeId)).toMatchObject({
    outcome: 'accepted',
    answer: { instance: { instanceId: 'wiki' } },
  });
  expect(cloud.requests).toHaveLength(1);
  const printed = await runServer(['journal', '--json'], { env });
  expect(printed.stdout).toMatch(/"person":\s*"bob"/);
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
  expect((await browser.decide(idIn(waiting.stdout), 'accept')).status).toBe(200);
  expect(cloud.requests).toHaveLength(1);
});

test('a person at a terminal reads, after the risk, that another plan for the same thing waits', async () => {
  const human = { ...env, CLOUDOPS_CONFIRM: 'human' };
  const waiting = await runServer(['call', 'restore_instance', JSON.stringify({ ...args, diskSize: 100 })], {
    env: human,
  });
  expect([waiting.code, idIn(waiting.stdout)]).toEqual([3, expect.stringMatching(/./)]);
  const call = ['call', 'restore_instance', JSON.stringify({ ...args, diskSize: 200 })];
  const { lines, code } = await onTerminal(call, 80, { env: human, typed: [['type "yes"', 'yes\n']] });
  const at = lines.findIndex((text) => text.startsWith('Create DevOps server "wiki"'));
  expect(lines.slice(at, at + 4).join(' ')).toMatch(
    /\? It costs money\. Another plan for "wiki" waits \(disk size 100 GB\), made .* ago\. Region /,
  );
  expect([code, cloud.requests.length]).toEqual([0, 1]);
});

test('without a way to sign in, the server does not start', async () => {
  await expect(startHttpProcess([], { env })).rejects.toThrow('nobody could sign in');
});

/** A plan with the name of a secret, and a plan whose endpoint comes from the configuration. */
const provision = {
  tool: 'provision_kube_resource_group',
  args: { resourceGroupName: 'team-blue', externalCloudConfig: { serviceAccountKeyName: 'key' } },
};
const restore = { tool: 'restore_instance', args };
test.each([
  ['the region', restore, () => Object.assign(env, { CLOUDOPS_REGION: 'jp-west-1' })],
  ['the address of the API', restore, () => Object.assign(env, { CLOUDOPS_DEVOPS_URL: `${cloud.origin}/v2` })],
  ['the key of the account', restore, () => Object.assign(env, { CLOUDOPS_ACCESS_KEY_ID: 'OTHER' })],
  ['the text of a secret', provision, () => writeFileSync(join(folder, 'secrets', 'key'), '{"project":"other"}')],
  ['nothing', provision, () => undefined],
])('%s is another than when the plan was shown', async (what, { tool, args: given }, change) => {
  mkdirSync(join(folder, 'secrets'));
  writeFileSync(join(folder, 'secrets', 'key'), '{"project":"one"}');
  Object.assign(env, { CLOUDOPS_SECRETS_DIR: join(folder, 'secrets'), CLOUDOPS_CATALOG_URL: cloud.origin });
  const first = await startReplica();
  const { changeId } = await first.call(tool, given);
  const id = String(changeId);
  await first.stop();
  change();
  await readAsAPerson();
  const second = await startReplica();
  const browser = browserOf({ origin: second.origin, publicUrl });
  await browser.signIn('bob');
  const { structuredContent } = Object(await (await browser.decide(id, 'accept')).json());
  const refused = what !== 'nothing';
  expect(structuredContent).toMatchObject(refused ? { code: 'PlanRefused' } : { outcome: 'accepted' });
  expect(cloud.requests).toHaveLength(refused ? 0 : 1);
  // The agent learns the refusal too.
  if (refused) expect(await second.get(id)).toMatchObject({ code: 'PlanRefused', outcome: 'not sent' });
});
