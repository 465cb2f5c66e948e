import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { changeToolNames } from '../../src/mcp/server-tools.js';
import { changedTimers } from '../support/changed-timers.js';
import {
  type Fleet,
  fleetSettings,
  type HoldingCloud,
  journalOf,
  startFleet,
  startHoldingCloud,
} from '../support/fleet.js';
import { startHttpProcess } from '../support/http-process.js';
import { type Era, eras } from '../support/in-process.js';
import { offeredBy, openPolicy } from '../support/operations.js';
import { readAsAPerson } from '../support/person.js';
import { hasPostgres, type Postgres, startPostgres } from '../support/postgres.js';
import { startRecoveringPostgres } from '../support/recovering-postgres.js';

/** Three replicas over HTTP behind a proxy that sends each request to the next replica. */
describe.skipIf(!hasPostgres())('three replicas behind a round-robin proxy', () => {
  let postgres: Postgres;
  let cloud: HoldingCloud;
  let fleet: Fleet;
  let reached: number[] = [];
  let number = 0;

  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(() => postgres.remove());
  beforeEach(async () => {
    number += 1;
    reached = [];
    cloud = await startHoldingCloud();
  });
  afterEach(async () => {
    await fleet.close();
    await cloud.close();
  });

  const settings = (confirm: string) =>
    fleetSettings(cloud, postgres.url(`fleet_http_${number}`), { CLOUDOPS_CONFIRM: confirm });
  const start = async (confirm: string) => {
    fleet = await startFleet(settings(confirm), (replica) => reached.push(replica));
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
  const arrived = (instanceId: string) => cloud.arrived(instanceId);
  const journal = () => journalOf(settings('off'));

  test.each(eras)(
    'a client of %s gets a plan from one; another carries it out; a third tells so',
    async (_name, era) => {
      await start('ask');
      const client = await connect(fleet.url, era);
      const offered = offeredBy(openPolicy).filter(({ service }) => service === 'devops');
      expect((await client.listTools()).tools).toHaveLength(offered.length + changeToolNames.length);
      const { structuredContent } = await restore(client, 'planned');
      const { changeId } = z.object({ changeId: z.string() }).parse(structuredContent);
      const confirm = () => client.callTool({ name: 'confirm_change', arguments: { changeId, thing: 'planned' } });
      const [planner] = reached.slice(-1);
      expect((await confirm()).isError).not.toBe(true);
      expect(reached.at(-1)).not.toBe(planner);
      expect(arrived('planned')).toBe(1);
      expect((await confirm()).structuredContent).toMatchObject({ outcome: 'accepted' });
      expect(arrived('planned')).toBe(1);
      await client.close();
    },
  );

  test('the question of one is answered to another, and acts once', async () => {
    await start('human');
    const client = await connect(fleet.url, { pin: '2026-07-28' }, true);
    const before = reached.length;
    expect((await restore(client, 'asked')).isError).not.toBe(true);
    expect(new Set(reached.slice(before)).size).toBe(2);
    expect(await journal()).toMatchObject([{ decision: { way: 'asked' }, state: 'accepted' }]);
    expect(arrived('asked')).toBe(1);
    await client.close();
  });

  test('the same change sent to all at once is made once; one killed in the middle of a change leaves a truthful journal', async () => {
    await start('off');
    const clients = await Promise.all(fleet.replicas.map(({ url }) => connect(url, 'legacy')));
    for (const name of ['same-1', 'same-2', 'same-3']) {
      const answers = await Promise.all(clients.map((client) => restore(client, name)));
      expect(answers.filter(({ isError }) => isError !== true)).toHaveLength(1);
      expect(arrived(name)).toBe(1);
    }
    const [first, , third] = clients as [Client, Client, Client];
    const release = cloud.hold();
    const lost = restore(first, 'lost').then(
      () => 'an answer',
      () => 'no answer',
    );
    await expect.poll(() => arrived('lost')).toBe(1);
    fleet.replicas[0]?.child.kill('SIGKILL');
    expect(await lost).toBe('no answer');
    release();
    await restore(third, 'before');
    expect(JSON.stringify(await restore(third, 'after'))).toMatch(/ended without a known outcome/);
    const begun = (await journal()).filter(({ state }) => state !== 'not sent');
    const states = begun.map(({ what, state }) => [/server "([^"]*)"/.exec(what)?.[1], state] as const);
    expect(states).toHaveLength(6);
    expect(Object.fromEntries(states)).toEqual({
      'same-1': 'accepted',
      'same-2': 'accepted',
      'same-3': 'accepted',
      lost: 'unknown',
      before: 'accepted',
      after: 'accepted',
    });
  });

  test('a replica that is told to stop ends its change first, and what it wrote down is there', async () => {
    await start('off');
    const [first] = fleet.replicas;
    if (first === undefined) throw new Error('no replica was started');
    const release = cloud.hold();
    const client = await connect(first.url, 'legacy');
    const slow = restore(client, 'slow');
    await expect.poll(() => arrived('slow')).toBe(1);
    const ended = first.stop();
    release();
    expect((await slow).isError).not.toBe(true);
    expect(await ended).toBe(0);
    expect(await journal()).toMatchObject([{ state: 'accepted' }]);
  });

  test('one that is started while the database recovers from a crash waits for it, and then gets ready', async () => {
    await start('off');
    const database = await startRecoveringPostgres(postgres.url(`fleet_http_${number}`));
    const replica = await startHttpProcess([], { env: { ...settings('off'), CLOUDOPS_JOURNAL: database.address } });
    fleet.replicas.push(replica);
    const ready = async () => (await fetch(`${replica.metricsOrigin}/readyz`)).status;
    await expect.poll(() => replica.stderr()).toContain('"error":"57P03"');
    expect(await ready()).toBe(503);
    const client = await connect(replica.url, 'legacy');
    expect(JSON.stringify(await restore(client, 'early'))).toContain('JournalUnavailable');
    database.recovered();
    await expect.poll(ready).toBe(200);
    expect((await restore(client, 'early')).isError).not.toBe(true);
    expect(arrived('early')).toBe(1);
    database.close();
  });

  test('one shows at once that its database is read-only, and needs no restart for a new password', async () => {
    await start('off');
    const database = `fleet_http_${number}`;
    const folder = mkdtempSync(join(tmpdir(), 'cloudops-fleet-'));
    const file = join(folder, 'journal');
    const address = (secret: string) => postgres.url(database).replace(/\/\/.*@/, `//renewed:${secret}@`);
    writeFileSync(file, address('first'));
    const sql = (statement: string) => postgres.sql(database, statement);
    sql("create role renewed login password 'first'; grant create on schema public to renewed");
    sql('grant pg_read_all_data, pg_write_all_data to renewed');
    const { CLOUDOPS_JOURNAL: _, ...others } = settings('off');
    // The pause between two checks of a journal that fails is half a second in place of three.
    const env = { ...others, CLOUDOPS_JOURNAL_FILE: file, ...changedTimers({ 3000: 500 }) };
    const replica = await startHttpProcess([], { env });
    fleet.replicas.push(replica);
    const reachable = async () => /\ncloudops_journal_reachable (\d)/.exec(await replica.metrics())?.[1];
    await expect.poll(reachable).toBe('1');
    const client = await connect(replica.url, 'legacy');

    const cutOff = "select count(pg_terminate_backend(pid)) from pg_stat_activity where usename = 'renewed'";
    sql(`alter role renewed set default_transaction_read_only = on; ${cutOff}`);
    expect(JSON.stringify(await restore(client, 'refused'))).toContain('JournalUnavailable');
    await expect.poll(reachable).toBe('0');
    const reason = { event: 'journal', error: expect.stringMatching(/25006$/) };
    expect(replica.logged()).toContainEqual(expect.objectContaining(reason));

    sql(`alter role renewed reset default_transaction_read_only; alter role renewed password 'second'; ${cutOff}`);
    writeFileSync(file, address('second'));
    await expect.poll(reachable).toBe('1');
    expect((await restore(client, 'made')).isError).not.toBe(true);
    rmSync(folder, { recursive: true });
  });
});
