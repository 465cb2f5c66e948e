import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { JournalEntry } from '../../src/changes/change.js';
import { type CapturingServer, startServer } from '../support/http-server.js';
import { printedChanges } from '../support/journal.js';
import { startRaw, toolCall } from '../support/raw-client.js';
import { runServer } from '../support/server-process.js';

/** Real processes, killed, raced and stopped: the journal and a counting server agree, or the journal says `unknown`. */

let folder: string;
let cloud: CapturingServer;
let answerAfterMs = 0;
const whenArrived = new Set<() => void>();
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cloudops-changes-'));
  answerAfterMs = 0;
  cloud = await startServer((_request, response) => {
    setTimeout(() => response.end('{"instance":{"instanceId":"s"}}'), answerAfterMs);
    for (const act of whenArrived) act();
  });
});
afterEach(async () => {
  await cloud.close();
  rmSync(folder, { recursive: true, force: true });
});

const settings = (changes: Record<string, string> = {}) => ({
  CLOUDOPS_DEVOPS_URL: cloud.origin,
  CLOUDOPS_ACCESS_KEY_ID: 'AKIDTEST',
  CLOUDOPS_SECRET_ACCESS_KEY: 'test/secret+key',
  CLOUDOPS_JOURNAL: join(folder, 'journal.db'),
  CLOUDOPS_CONFIRM: 'off',
  ...changes,
});
const restore = (instanceId: string) => toolCall(1, 'restore_instance', { backupId: 'a'.repeat(32), instanceId });
const readJournal = async (): Promise<JournalEntry[]> =>
  printedChanges((await runServer(['journal', '--json'], { env: settings() })).stdout);
const textOf = (response: Record<string, unknown> | undefined) => JSON.stringify(response ?? {});
const arrived = (instanceId: string) =>
  cloud.requests.filter(({ body }) => JSON.parse(body).instanceId === instanceId).length;

type Moment = 'before the intent' | 'at any time' | 'after sending' | 'after the answer';
const moments: readonly Moment[] = ['before the intent', 'at any time', 'after sending', 'after the answer'];

/** Starts a server, asks for changes at once, and kills it when the first `count` of them have come to a moment. */
async function killAt(moment: Moment, instanceIds: readonly string[], journal: string, count = 1): Promise<void> {
  const server = startRaw(settings({ CLOUDOPS_JOURNAL: journal, CLOUDOPS_LOG_LEVEL: 'error' }));
  const kill = () => server.child.kill('SIGKILL');
  const killIfSent = () => {
    if (moment === 'after sending' && instanceIds.filter((instanceId) => arrived(instanceId) > 0).length >= count)
      kill();
  };
  whenArrived.add(killIfSent);
  if (moment === 'before the intent') setTimeout(kill, 100 + Math.random() * 60);
  // Usually while the intents are written or sent.
  if (moment === 'at any time') void server.response(0).then(() => setTimeout(kill, Math.random() * 400));
  for (const [index, instanceId] of instanceIds.entries()) server.send({ ...restore(instanceId), id: index + 1 });
  if (moment === 'after the answer') {
    await Promise.all(instanceIds.slice(0, count).map((_, index) => server.response(index + 1)));
    kill();
  }
  await server.ended;
  whenArrived.delete(killIfSent);
}

test('200 changes of 50 servers that are killed at every step: the journal tells the truth, or says that it is unknown', async () => {
  answerAfterMs = 5;
  const rounds = Array.from({ length: 50 }, (_, round) => ({
    moment: moments[round % 4] ?? 'after sending',
    count: 1 + (Math.floor(round / 4) % 4),
    instanceIds: [0, 1, 2, 3].map((change) => `server-${round}-${change}`),
  }));
  const queue = [...rounds];
  const worker = async (journal: string) => {
    for (let round = queue.pop(); round !== undefined; round = queue.pop())
      await killAt(round.moment, round.instanceIds, journal, round.count);
  };
  const journals = [0, 1, 2].map((index) => join(folder, `journal-${index}.db`));
  await Promise.all(journals.map(worker));

  const changes: JournalEntry[] = [];
  for (const journal of journals) {
    // The next server settles what the killed ones left open.
    const env = settings({ CLOUDOPS_JOURNAL: journal });
    await runServer([], { env, stdin: '\n' });
    const { stdout } = await runServer(['journal', '--json'], { env });
    changes.push(...printedChanges(stdout));
  }
  // Every intent has an outcome; what arrived is accepted or unknown; what is accepted arrived; nothing arrived twice.
  expect(changes.filter(({ state }) => ['waiting', 'approved', 'begun'].includes(state))).toEqual([]);
  const counted = rounds.flatMap(({ instanceIds }) => instanceIds.map(arrived));
  expect(Math.max(...counted)).toBe(1);
  const acted = counted.filter((count) => count === 1).length;
  const by = (outcome: string) => changes.filter(({ state }) => state === outcome).length;
  expect(by('accepted') + by('unknown')).toBeGreaterThanOrEqual(acted);
  expect(by('accepted')).toBeLessThanOrEqual(acted);
  // So many at least, because 24 servers were killed for 1 to 4 changes that had arrived, half of them before the cloud answered the last.
  expect(acted).toBeGreaterThanOrEqual(60);
  expect(by('unknown')).toBeGreaterThanOrEqual(12);
});

test('what a killed process left open is told at the next start, and once to the agent', async () => {
  await killAt('after sending', ['left-open'], join(folder, 'journal.db'));
  const next = startRaw(settings());
  for (const id of [1, 2]) {
    next.send({ ...restore(`next-${id}`), id });
    await next.response(id);
  }
  const told = [1, 2].map(async (id) => textOf(await next.response(id)).includes('ended without a known outcome'));
  expect(await Promise.all(told)).toEqual([true, false]);
  expect(next.stderr().match(/"event":"unresolved"/g)).toHaveLength(1);
  next.send({ ...restore('left-open'), id: 3 });
  expect(textOf(await next.response(3))).toContain('code: Repeated');
  next.child.stdin.end();
  await next.ended;
});

test('a process that ends at the limit of its heap leaves the change under way as unknown, with the time at which it was sent', async () => {
  answerAfterMs = 60_000;
  // Such an end comes from anywhere in the process: here, a signal brings it about.
  const fill = "process.on('SIGUSR2',()=>{const all=[];for(;;)all.push(Array.from({length:1000},String))})";
  const options = `--max-old-space-size=64 --import=data:text/javascript,${encodeURIComponent(fill)}`;
  const server = startRaw(settings({ NODE_OPTIONS: options }));
  await server.response(0);
  const before = Date.now();
  server.send(restore('at-the-limit'));
  while (arrived('at-the-limit') === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  const after = Date.now();
  server.child.kill('SIGUSR2');
  await server.ended;
  expect(server.stderr()).toContain('heap');
  expect((await readJournal()).map(({ state }) => state)).toEqual(['begun']);

  const next = startRaw(settings());
  next.send({ ...restore('next'), id: 1 });
  answerAfterMs = 0;
  expect(textOf(await next.response(1))).toContain('ended without a known outcome');
  next.child.stdin.end();
  await next.ended;
  const [found] = (await readJournal()).filter(({ what }) => what.includes('at-the-limit'));
  expect(found).toMatchObject({ state: 'unknown', ending: { code: 'ProcessEnded' } });
  const sentAt = Date.parse(String(found?.begunAt));
  expect(sentAt).toBeGreaterThanOrEqual(before);
  expect(sentAt).toBeLessThanOrEqual(after);
});

test('two processes that race with the same change: one acts', async () => {
  // Two new pairs, because the first change of a process reads the whole journal and the later ones read on.
  for (let pair = 0; pair < 2; pair += 1) {
    const servers = [startRaw(settings()), startRaw(settings())];
    await Promise.all(servers.map((server) => server.response(0)));
    for (let id = 1; id <= 10; id += 1) {
      const instanceId = `raced-${pair}-${id}`;
      for (const server of servers) server.send({ ...restore(instanceId), id });
      const replies = await Promise.all(servers.map(async (server) => textOf(await server.response(id))));
      expect(arrived(instanceId)).toBe(1);
      expect(replies.filter((reply) => reply.includes('code: Repeated'))).toHaveLength(1);
    }
    for (const server of servers) server.child.stdin.end();
    await Promise.all(servers.map(({ ended }) => ended));
  }
});

describe.each(['SIGTERM', 'SIGINT', 'SIGHUP', 'end of stdin', 'stdout that breaks', 'stderr that breaks'] as const)(
  '%s',
  (how) => {
    test('a change under way gets its time, and its outcome is written down', async () => {
      answerAfterMs = 700;
      const server = startRaw(settings());
      await server.response(0);
      server.send(restore('slow'));
      while (arrived('slow') === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      if (how === 'end of stdin') server.child.stdin.end();
      else if (how === 'stdout that breaks') {
        server.child.stdout.destroy();
        server.send({ id: 9, method: 'ping' });
      } else if (how === 'stderr that breaks') {
        server.child.stderr.destroy();
        server.send(toolCall(9, 'list_parts', {}));
        await server.response(1);
        server.child.stdin.end();
      } else server.child.kill(how);
      await server.ended;
      expect((await readJournal()).map(({ state }) => state)).toEqual(['accepted']);
    });
  },
);

test('without a journal that can be written, nothing is changed and reading goes on', async () => {
  const server = startRaw(
    settings({ CLOUDOPS_JOURNAL: join(folder, 'no-folder-but-a-file', 'x'), CLOUDOPS_STORAGE_URL: cloud.origin }),
  );
  writeFileSync(join(folder, 'no-folder-but-a-file'), '');
  server.send(restore('s'));
  expect(textOf(await server.response(1))).toContain('code: JournalUnavailable');
  expect(cloud.requests).toEqual([]);
  server.send(toolCall(2, 'list_parts', { bucket: 'b', object: 'o', uploadId: 'u' }));
  await server.response(2);
  expect(cloud.requests).toHaveLength(1);
  server.child.stdin.end();
  await server.ended;
});

test('the journal is readable for people and machines, and as a resource', async () => {
  const server = startRaw(settings());
  server.send(restore('first'));
  await server.response(1);
  server.send({ id: 2, method: 'resources/read', params: { uri: 'cloudops://journal' } });
  expect(textOf(await server.response(2))).toMatch(
    /accepted {2}.*restore_instance.*: .*first.*POST .*consent: off {2}client: .*raw 1/,
  );
  server.child.stdin.end();
  await server.ended;
  const text = await runServer(['journal', '--since', '5m'], { env: settings() });
  expect(text.stdout).toMatch(
    /^\S+ \S+ \S+ {2}accepted {2}Create [^\n]*"first".*\n {4}restore_instance, consent: off, client: "raw 1"\n$/,
  );
  expect((await runServer(['journal', '--since=2030-01-01'], { env: settings() })).stdout).toMatch(
    /^No changes in this time\.\n$/,
  );
  for (const since of ['soon', '3']) {
    const refused = await runServer(['journal', '--since', since], { env: settings() });
    expect([refused.code, refused.stdout]).toEqual([2, '']);
  }
  const unreadable = await runServer(['journal'], { env: settings({ CLOUDOPS_JOURNAL: folder }) });
  expect(unreadable).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^The journal cannot be read \(it is a folder\)\. .*CLOUDOPS_JOURNAL\.\n$/),
  });
});

test('no secret is in anything that the process writes or answers', async () => {
  const marker = 'MARKERMARKERMARKER';
  const echo = await startServer((request, response) =>
    response
      .writeHead(400)
      .end(JSON.stringify({ code: 'Echo', message: request.body + marker + request.headers.authorization })),
  );
  const secrets = join(folder, 'secrets');
  const key = JSON.stringify({ private_key: `${marker}-key` });
  const { mkdirSync } = await import('node:fs');
  mkdirSync(secrets);
  writeFileSync(join(secrets, 'demo'), key);
  for (const confirm of ['off', 'plan']) {
    const env = settings({
      CLOUDOPS_CATALOG_URL: echo.origin,
      CLOUDOPS_DEVOPS_URL: echo.origin,
      CLOUDOPS_STORAGE_URL: echo.origin,
      CLOUDOPS_SECRET_ACCESS_KEY: marker,
      CLOUDOPS_SESSION_TOKEN: `${marker}-token`,
      CLOUDOPS_STATE_KEY: `${marker}-state-key-of-32-characters`,
      CLOUDOPS_SECRETS_DIR: secrets,
      CLOUDOPS_LOG_LEVEL: 'debug',
      CLOUDOPS_CONFIRM: confirm,
    });
    const server = startRaw(env);
    const calls = [
      toolCall(1, 'provision_kube_resource_group', {
        resourceGroupName: 'g',
        externalCloudConfig: { serviceAccountKey: key },
      }),
      toolCall(2, 'provision_kube_resource_group', {
        resourceGroupName: 'h',
        externalCloudConfig: { serviceAccountKeyName: 'demo' },
      }),
      toolCall(3, 'provision_kube_resource_group', {
        resourceGroupName: 'i',
        planOnly: true,
        externalCloudConfig: { serviceAccountKeyName: 'demo' },
      }),
      toolCall(4, 'provision_kube_resource_group', {
        resourceGroupName: '',
        externalCloudConfig: { serviceAccountKey: `{"private_key":"${marker}` },
      }),
      toolCall(5, 'list_parts', { bucket: 'b', object: 'o', uploadId: 'u' }),
      ...['configuration', 'journal', 'reference/list_parts', 'reference/provision_kube_resource_group'].map(
        (name, index) => ({
          id: 6 + index,
          method: 'resources/read',
          params: { uri: `cloudops://${name}` },
        }),
      ),
    ];
    for (const call of calls) {
      server.send(call);
      await server.response(call.id);
    }
    server.child.stdin.end();
    await server.ended;
    expect(server.stdout()).toContain('"id":9');
    expect(server.stdout()).not.toContain(marker);
    expect(server.stderr()).not.toContain(marker);
    expect(server.stdout() + server.stderr()).not.toMatch(/Signature=[0-9a-f]/);
  }
  expect(readFileSync(join(folder, 'journal.db'), 'utf8')).not.toMatch(/MARKER|Signature=/);
  await echo.close();
});
