import { createServer, request as forward, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { RecordedChange } from '../../src/journal/entry.js';
import { type HttpProcess, startHttpProcess } from '../support/http-process.js';
import { type CapturingServer, startServer } from '../support/http-server.js';
import { type Era, eras } from '../support/in-process.js';
import { printedChanges } from '../support/journal.js';
import { offeredBy, openPolicy } from '../support/operations.js';
import { readAsAPerson } from '../support/person.js';
import { hasPostgres, type Postgres, startPostgres } from '../support/postgres.js';
import { startRecoveringPostgres } from '../support/recovering-postgres.js';
import { runServer } from '../support/server-process.js';

/** Three replicas over HTTP behind a proxy that sends each request to the next one. */
describe.skipIf(!hasPostgres())('three replicas behind a round-robin proxy', () => {
  let postgres: Postgres;
  let cloud: CapturingServer;
  let hold: Promise<void> | undefined;
  let replicas: HttpProcess[];
  let proxy: Server;
  let proxied: URL;
  let reached: number[] = [];
  let number = 0;

  beforeAll(async () => {
    postgres = await startPostgres();
  }, 120_000);
  afterAll(() => postgres.remove());
  beforeEach(async () => {
    number += 1;
    hold = undefined;
    reached = [];
    cloud = await startServer((_request, response) => {
      void (hold ?? Promise.resolve()).then(() => response.end('{"instance":{"instanceId":"s"}}'));
    });
    replicas = [];
  });
  afterEach(async () => {
    proxy.close();
    proxy.closeAllConnections();
    for (const { child } of replicas) child.kill('SIGKILL');
    await Promise.all(replicas.map(({ ended }) => ended));
    await cloud.close();
  });

  const settings = (confirm: string) => ({
    CLOUDOPS_DEVOPS_URL: cloud.origin,
    CLOUDOPS_ACCESS_KEY_ID: 'AKIDTEST',
    CLOUDOPS_SECRET_ACCESS_KEY: 'test/secret+key',
    CLOUDOPS_STATE_KEY: 'k'.repeat(32),
    CLOUDOPS_JOURNAL: postgres.url(`fleet_http_${number}`),
    CLOUDOPS_CONFIRM: confirm,
  });
  const start = async (confirm: string) => {
    replicas = await Promise.all([0, 1, 2].map(() => startHttpProcess([], { env: settings(confirm) })));
    let next = 0;
    proxy = createServer((incoming, outgoing) => {
      const index = next % replicas.length;
      next += 1;
      if (incoming.method === 'POST') reached.push(index);
      const { port } = replicas[index] ?? { port: 0 };
      const headers = { ...incoming.headers, host: `127.0.0.1:${port}` };
      const onward = forward({ port, host: '127.0.0.1', path: incoming.url, method: incoming.method, headers });
      onward.on('response', (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      });
      onward.on('error', () => outgoing.writeHead(502).end());
      incoming.pipe(onward);
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    proxied = new URL(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`);
  };
  const connect = async (url: URL, era: Era, asks = false) => {
    const capabilities = asks ? { elicitation: { form: {} } } : {};
    const client = new Client({ name: 'test', version: '1' }, { capabilities, versionNegotiation: { mode: era } });
    if (asks)
      client.setRequestHandler('elicitation/create', async ({ params }) => {
        await readAsAPerson();
        return {
          action: 'accept',
          content: { decision: `Create server "${/server "([^"]*)"/.exec(params.message)?.[1]}" (costs money)` },
        };
      });
    await client.connect(new StreamableHTTPClientTransport(url));
    return client;
  };
  const restore = (client: Client, instanceId: string, more: Record<string, unknown> = {}) =>
    client.callTool({ name: 'restore_instance', arguments: { backupId: 'a'.repeat(32), instanceId, ...more } });
  const arrived = (instanceId: string) =>
    cloud.requests.filter(({ body }) => body !== '' && JSON.parse(body).instanceId === instanceId).length;
  const journal = async (): Promise<RecordedChange[]> =>
    printedChanges((await runServer(['journal', '--json'], { env: settings('off') })).stdout);

  test.each(eras)(
    'a client of %s gets a plan from one; another carries it out; a third tells so',
    async (_name, era) => {
      await start('ask');
      const client = await connect(proxied, era);
      expect((await client.listTools()).tools).toHaveLength(offeredBy(openPolicy).length);
      const { structuredContent } = await restore(client, 'planned');
      const planId = z.object({ planId: z.string() }).parse(structuredContent).planId;
      const [planner] = reached.slice(-1);
      expect((await restore(client, 'planned', { planId })).isError).not.toBe(true);
      expect(reached.at(-1)).not.toBe(planner);
      expect(arrived('planned')).toBe(1);
      expect((await restore(client, 'planned', { planId })).structuredContent).toMatchObject({ outcome: 'accepted' });
      expect(arrived('planned')).toBe(1);
      await client.close();
    },
  );

  test('the question of one is answered to another, and acts once', async () => {
    await start('human');
    const client = await connect(proxied, { pin: '2026-07-28' }, true);
    const before = reached.length;
    expect((await restore(client, 'asked')).isError).not.toBe(true);
    expect(new Set(reached.slice(before)).size).toBe(2);
    expect(await journal()).toMatchObject([{ consent: 'asked', ending: { outcome: 'accepted' } }]);
    expect(arrived('asked')).toBe(1);
    await client.close();
  });

  test('the same change sent to all at once is made once; one killed in the middle of a change leaves a truthful journal', async () => {
    await start('off');
    const clients = await Promise.all(replicas.map(({ url }) => connect(url, 'legacy')));
    for (const name of ['same-1', 'same-2', 'same-3']) {
      const answers = await Promise.all(clients.map((client) => restore(client, name)));
      expect(answers.filter(({ isError }) => isError !== true)).toHaveLength(1);
      expect(arrived(name)).toBe(1);
    }
    const [first, , third] = clients as [Client, Client, Client];
    let release = () => {};
    hold = new Promise((resolve) => {
      release = resolve;
    });
    const lost = restore(first, 'lost').then(
      () => 'an answer',
      () => 'no answer',
    );
    await expect.poll(() => arrived('lost'), { timeout: 20_000 }).toBe(1);
    replicas[0]?.child.kill('SIGKILL');
    expect(await lost).toBe('no answer');
    release();
    await restore(third, 'before');
    expect(JSON.stringify(await restore(third, 'after'))).toMatch(/ended without a known outcome/);
    const ends = (await journal()).filter(({ ending }) => ending?.outcome !== 'not sent');
    expect(ends.map(({ ending }) => ending?.outcome)).toEqual([
      'accepted',
      'accepted',
      'accepted',
      'unknown',
      'accepted',
      'accepted',
    ]);
  });

  test('a replica that is told to stop ends its change first, and what it wrote down is there', async () => {
    await start('off');
    const [first] = replicas as [HttpProcess, HttpProcess, HttpProcess];
    let release = () => {};
    hold = new Promise((resolve) => {
      release = resolve;
    });
    const client = await connect(first.url, 'legacy');
    const slow = restore(client, 'slow');
    await expect.poll(() => arrived('slow'), { timeout: 20_000 }).toBe(1);
    const ended = first.stop();
    release();
    expect((await slow).isError).not.toBe(true);
    expect(await ended).toBe(0);
    expect(await journal()).toMatchObject([{ ending: { outcome: 'accepted' } }]);
  });

  test('one that is started while the database recovers from a crash waits for it, and then gets ready', async () => {
    await start('off');
    const database = await startRecoveringPostgres(postgres.url(`fleet_http_${number}`));
    const replica = await startHttpProcess([], { env: { ...settings('off'), CLOUDOPS_JOURNAL: database.address } });
    replicas.push(replica);
    const ready = async () => (await fetch(`${replica.metricsOrigin}/readyz`)).status;
    await expect.poll(() => replica.stderr()).toContain('"error":"57P03"');
    expect(await ready()).toBe(503);
    const client = await connect(replica.url, 'legacy');
    expect(JSON.stringify(await restore(client, 'early'))).toContain('JournalUnavailable');
    database.recovered();
    await expect.poll(ready, { timeout: 20_000 }).toBe(200);
    expect((await restore(client, 'early')).isError).not.toBe(true);
    expect(arrived('early')).toBe(1);
    database.close();
  });
});
