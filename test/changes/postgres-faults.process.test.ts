import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { NewChange } from '../../src/changes/change.js';
import { openStore } from '../../src/changes/open-store.js';
import { migrate } from '../../src/changes/postgres.js';
import type { Changes } from '../../src/changes/store.js';
import { ShownError } from '../../src/util/log.js';
import { newChange } from '../support/changes.js';
import { hasPgBouncer, startPgBouncer } from '../support/pgbouncer.js';
import { hasPostgres, type Postgres, password, startPostgres } from '../support/postgres.js';
import { impatient, openPostgresStore } from '../support/postgres-store.js';
import { runServer } from '../support/server-process.js';

/** A database that hangs, lacks tables, or disagrees with its servers. */
describe.skipIf(!hasPostgres())('a store in PostgreSQL', () => {
  let postgres: Postgres;
  let database: string;
  let opened: Changes[] = [];
  let number = 0;
  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(() => postgres.remove());
  beforeEach(() => {
    number += 1;
    database = `faults_${number}`;
  });
  afterEach(async () => {
    await Promise.all(opened.map((each) => each.close()));
    opened = [];
  });

  const open = (url = postgres.url(database), offsetMs = 0, options = {}) => {
    const now = () => new Date(Date.now() + offsetMs);
    const store = openPostgresStore(url, now, options);
    opened.push(store);
    return store;
  };
  const begin = async (store: Changes, changes: Partial<NewChange> = {}) => {
    const change = newChange({ requestKey: newChange().id, ...changes });
    const added = await store.add(change, { lifetimeMs: 600_000, approved: { kind: 'approved', way: 'off' } });
    const begun = added.kind === 'added' ? await store.begin(change.id, { ifUnknown: {} }) : added;
    return { id: change.id, ...begun };
  };
  const asWorker = (url: string) => url.replace('//cloudops:', '//worker:');
  const sql = (statement: string) => postgres.sql(database, statement);

  test('takes the password of a new connection from the file of its address, and creates tables with it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'cloudops-address-'));
    const file = join(folder, 'journal');
    const address = (secret: string) => postgres.url(database).replace(/\/\/.*@/, `//rotating:${secret}@`);
    writeFileSync(file, address('first'));
    postgres.sql('postgres', "create role rotating login password 'first'");
    sql('grant create on schema public to rotating');
    const store = await openStore(address('first'), () => new Date(), { addressFile: file }).openChanges();
    opened.push(store);
    expect(await begin(store)).toMatchObject({ kind: 'begun' });

    const cutOff = "select count(pg_terminate_backend(pid)) from pg_stat_activity where usename = 'rotating'";
    sql(`alter role rotating password 'second'; ${cutOff}`);
    await expect.poll(async () => (await begin(store)).kind).toBe('unwritable');
    expect(await begin(store)).toMatchObject({ reason: expect.stringMatching(/28P01$/) });
    writeFileSync(file, address('second'));
    sql('drop table cloudops_changes, cloudops_store');
    expect(await begin(store)).toMatchObject({ kind: 'begun' });
    rmSync(folder, { recursive: true });
  });

  test.skipIf(!hasPgBouncer())('works through a PgBouncer that pools transactions', async () => {
    const bouncer = await startPgBouncer(postgres.url(database));
    const stores = [open(bouncer.through(postgres.url(database))), open(bouncer.through(postgres.url(database)))];
    const all = stores.flatMap((store) => Array.from({ length: 4 }, () => begin(store, { requestKey: 'same' })));
    const kinds = (await Promise.all(all)).map(({ kind }) => kind);
    expect(kinds.sort()).toEqual(['begun', ...Array(7).fill('duplicate')]);
    await Promise.all(opened.splice(0).map((store) => store.close()));
    await bouncer.stop();
  });

  describe('whose standby hangs', () => {
    const hang = (names: string) => {
      sql(`alter system set synchronous_standby_names = '${names}'`);
      sql('select pg_reload_conf()');
    };
    afterEach(() => hang(''));
    const inUse = () =>
      Number(sql("select count(*) from pg_stat_activity where application_name = 'cloudops-mcp' and state <> 'idle'"));

    test('takes no more connections than ever, refuses changes at once, and ends what it could not confirm as not sent', async () => {
      const store = open(postgres.url(database), 0, impatient);
      const first = await begin(store);
      const keys = ['a', 'b', 'c', 'd'];
      const approved = keys.map((requestKey) => newChange({ requestKey }));
      for (const change of approved)
        await store.add(change, { lifetimeMs: 600_000, approved: { kind: 'approved', way: 'off' } });
      hang('away');
      const ended = store.end(first.id, 'accepted', {});
      const begun = await Promise.all(approved.map(({ id }) => store.begin(id, { ifUnknown: {} })));
      expect(begun.map(({ kind }) => kind)).toEqual(keys.map(() => 'unwritable'));
      await expect.poll(inUse).toBe(5);
      for (let index = 0; index < 50; index += 1)
        expect(await begin(store)).toMatchObject({
          kind: 'unwritable',
          reason: expect.stringMatching(/does not confirm what was written on any connection"$/),
        });
      await delay(1000);
      expect(inUse()).toBe(5);
      hang('');
      await ended;
      await expect.poll(() => store.unwritten()).toBe(0);
      const states = sql(
        "select state || ' ' || request_key from cloudops_changes where length(request_key) = 1 order by 1",
      );
      expect(states.split('\n')).toEqual(keys.map((key) => `not sent ${key}`));
      expect(await store.find(first.id)).toMatchObject({ state: 'accepted' });
      expect(await begin(store, { requestKey: 'a' })).toMatchObject({ kind: 'begun' });
    });

    test('does not keep a server from ending', async () => {
      const store = open(postgres.url(database), 0, impatient);
      await store.waiting({});
      hang('away');
      expect((await begin(store)).kind).toBe('unwritable');
      await store.close();
      opened = [];
    });
  });

  test('without tables, and a role that may not make them, says who has to', async () => {
    postgres.url(database);
    sql(`create role worker login password '${decodeURIComponent(password)}'`);
    expect(await begin(open(asWorker(postgres.url(database))))).toMatchObject({
      kind: 'unwritable',
      reason: expect.stringMatching(/run "cloudops-mcp journal migrate" once as their owner$/),
    });
    const options = { env: { CLOUDOPS_JOURNAL: asWorker(postgres.url(database)) } };
    expect(await runServer(['journal', 'migrate'], options)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^The journal cannot be migrated \(this role may not\)\. The role that owns the tables has to run/,
      ),
    });
    await migrate(postgres.url(database));
    await expect(open(asWorker(postgres.url(database))).healthCheck()).rejects.toThrow();
    sql('grant select, insert, update, delete on cloudops_changes, cloudops_processes to worker');
    sql('grant select on cloudops_store to worker');
    // A slot of a standby that is away.
    sql("select pg_create_physical_replication_slot('standby')");
    const warnings = () => open(asWorker(postgres.url(database))).healthCheck();
    expect(await warnings()).toEqual([expect.stringMatching(/^replication is not synchronous/)]);
    sql("select pg_drop_replication_slot('standby')");
    expect(await warnings()).toEqual([]);
  });

  describe('whose servers have clocks', () => {
    test.each([
      [0, 'begun', 0],
      [5_000, 'begun', 1],
      [-5_000, 'begun', 1],
      [90_000, 'unwritable', 1],
      [-90_000, 'unwritable', 1],
    ])('%i ms off: %s', async (offsetMs, kind, warnings) => {
      const store = open(postgres.url(database), offsetMs);
      const { id, ...begun } = await begin(store);
      expect(begun).toMatchObject({ kind });
      const told = await store
        .healthCheck()
        .catch((error: unknown) => (error instanceof ShownError ? [error.shown] : []));
      expect(told.filter(({ text }) => text.startsWith('the clock of this server'))).toHaveLength(warnings);
      expect((await store.find(id))?.state).toBe(kind === 'begun' ? 'begun' : 'not sent');
    });

    test('that differ, decides what is recent by its own', async () => {
      const [fast, slow] = [open(postgres.url(database), 50_000), open(postgres.url(database), -50_000)];
      const { id } = await begin(fast, { requestKey: 'same' });
      await fast.end(id, 'accepted', {});
      const age = (minutes: number) =>
        sql(
          `update cloudops_changes set ended = extract(epoch from clock_timestamp() - interval '${minutes} minutes') * 1000`,
        );
      age(9.5);
      expect(await slow.duplicateOf('same')).toBeDefined();
      age(10.5);
      for (const store of [fast, slow]) expect(await store.duplicateOf('same')).toBeUndefined();
    });
  });
});
