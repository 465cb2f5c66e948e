import { connect, createServer, type Socket } from 'node:net';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { NewChange } from '../../src/changes/change.js';
import type { Changes } from '../../src/changes/store.js';
import { makeCertificate } from '../support/certificates.js';
import { newChange } from '../support/changes.js';
import { hasPostgres, type Postgres, password, startPostgres } from '../support/postgres.js';
import { impatient, openPostgresStore } from '../support/postgres-store.js';
import { describeStore } from './store.js';

describe.skipIf(!hasPostgres())('like every store', () => {
  describeStore(async () => {
    const postgres = await startPostgres();
    const database = 'rules';
    let last: string | undefined;
    return {
      open: (name, now, process) => {
        const url = postgres.url(database);
        // A database of its own for each test would take much longer.
        if (last !== undefined && name !== last)
          postgres.sql(database, 'truncate cloudops_changes, cloudops_processes');
        last = name;
        return openPostgresStore(url, now, { process, databaseTime: () => now().getTime() });
      },
      remove: postgres.remove,
    };
  });
});

/** The rules of a store in a database; those of every store are in store.ts. */
describe.skipIf(!hasPostgres())('a store in PostgreSQL', () => {
  let postgres: Postgres;
  let certificate: ReturnType<typeof makeCertificate>;
  let database: string;
  let opened: Changes[] = [];
  const cables: Awaited<ReturnType<typeof startCable>>[] = [];
  let number = 0;
  beforeAll(async () => {
    certificate = makeCertificate('127.0.0.1');
    postgres = await startPostgres(certificate);
  });
  afterAll(() => {
    postgres.remove();
    certificate.remove();
  });
  beforeEach(() => {
    number += 1;
    database = `store_${number}`;
  });
  afterEach(async () => {
    await Promise.all(opened.map((each) => each.close()));
    opened = [];
    for (const cable of cables.splice(0)) cable.cut();
  });

  const now = () => new Date();
  const open = (url = postgres.url(database), options = {}) => {
    const store = openPostgresStore(url, now, options);
    opened.push(store);
    return store;
  };
  const lifetimeMs = 600_000;
  const off = { kind: 'approved', way: 'off' } as const;
  /** A change that a store carries out, up to the moment at which it would be sent. */
  const begin = async (store: Changes, changes: Partial<NewChange> = {}) => {
    const change = newChange(changes);
    const added = await store.add(change, { lifetimeMs, approved: off });
    const begun = added.kind === 'added' ? await store.begin(change.id, { ifUnknown: {} }) : added;
    return { id: change.id, begun };
  };
  const kinds = (stores: readonly Changes[], changes: Partial<NewChange> = {}) =>
    Promise.all(stores.map(async (store) => (await begin(store, changes)).begun.kind));
  const different = () => ({ requestKey: newChange().id });
  const stateOf = async (id: string, store = open()) => (await store.find(id))?.state;
  const sql = (statement: string) => postgres.sql(database, statement);
  /** Another way to the database, which can be cut. */
  const openFar = async (options = {}) => {
    const cable = await startCable(Number(new URL(postgres.url(database)).port));
    cables.push(cable);
    return { cable, far: open(postgres.url(database).replace(/:\d+\//, `:${cable.port}/`), options) };
  };

  test('a budget is kept by the clock of the database, not by that of a server', async () => {
    const late = () => new Date(Date.now() - 50_000);
    const store = openPostgresStore(postgres.url(database), late);
    opened.push(store);
    await begin(store, { budget: 'b' });
    const budget = { mostChanges: 1, windowMs: 3_600_000 };
    const { nextAt = 0 } = await open().budgetState('b', budget);
    expect(Math.abs(nextAt - Date.now() - budget.windowMs)).toBeLessThan(20_000);
  });

  test.each([
    [
      'a role that may only read',
      'grant select on all tables in schema public to guest',
      /lacks rights: .*cloudops_changes insert/,
    ],
    [
      'a database that takes no changes, as a standby',
      'grant all on all tables in schema public to guest; alter role guest set default_transaction_read_only = on',
      /read-only/,
    ],
  ])('%s is told when the store is checked', async (_what, setUp, problem) => {
    await open().healthCheck();
    sql(`drop role if exists guest`);
    sql(`create role guest login password '${decodeURIComponent(password)}'; ${setUp}`);
    const guest = open(postgres.url(database).replace('cloudops:', 'guest:'));
    await expect(guest.healthCheck()).rejects.toThrow(problem);
    sql('drop owned by guest; drop role guest');
  });

  test('of 20 servers that start on an empty database at once, all can work, and one may send the same change', async () => {
    const stores = Array.from({ length: 20 }, () => open());
    expect((await kinds(stores)).sort()).toEqual(['begun', ...Array(19).fill('duplicate')]);
    expect(sql('select state, count(*) from cloudops_changes group by 1 order by 2')).toBe('begun|1\nnot sent|19');
  });

  test('20 changes of one server wait for their turn, and each goes ahead', async () => {
    const store = open();
    const begun = await Promise.all(Array.from({ length: 20 }, () => begin(store, different())));
    expect(begun.map(({ begun: { kind } }) => kind)).toEqual(Array(20).fill('begun'));
  });

  test('what was begun and what was ended outlives a crash of the database, though its default would not flush', async () => {
    const store = open();
    const [first, second] = [await begin(store), await begin(store, different())];
    await store.end(first.id, 'accepted', {});
    await postgres.stop();
    await postgres.start();
    expect(await stateOf(first.id)).toBe('accepted');
    expect(await stateOf(second.id)).toBe('begun');
  });

  test('while the database is away nothing begins, and when it is back the same process goes on', async () => {
    const store = open();
    const first = await begin(store);
    const waiting = newChange();
    await store.add(waiting, { lifetimeMs });
    await postgres.stop();
    const reason = expect.stringMatching(new RegExp(`/${database}": ECONNREFUSED$`));
    expect((await begin(store, different())).begun).toEqual({ kind: 'unwritable', reason });
    expect(await store.decide(waiting.id, off)).toEqual({ kind: 'unwritable', reason });
    await expect(store.newest({ limit: 1 })).rejects.toThrow();
    const ended = store.end(first.id, 'accepted', {});
    await postgres.start();
    await ended;
    expect(await stateOf(first.id)).toBe('accepted');
    expect(await kinds([store], different())).toEqual(['begun']);
    expect(await kinds([store])).toEqual(['duplicate']);
  });

  test('a decline that the database did not get binds this process, and is written when the database is back', async () => {
    const store = open();
    const change = newChange();
    await store.add(change, { lifetimeMs });
    await postgres.stop();
    // The change itself cannot be read either.
    expect(await store.decide(change.id, { kind: 'declined', way: 'asked' })).toMatchObject({ kind: 'unwritable' });
    expect(await store.decide(change.id, off)).toMatchObject({ kind: 'unwritable' });
    expect(store.unwritten()).toBe(1);
    await postgres.start();
    await expect.poll(() => stateOf(change.id)).toBe('declined');
    expect(await store.decide(change.id, off)).toMatchObject({ kind: 'late' });
  });

  test('who waits for another server does not wait for ever, and goes ahead when its connection is gone', async () => {
    const store = open();
    const { far, cable } = await openFar();
    await far.waiting({});
    const other = new pg.Client(postgres.url(database));
    other.on('error', () => undefined);
    await other.connect();
    await other.query("begin; select pg_advisory_xact_lock(hashtextextended('cloudops request same', 0))");
    expect(await kinds([open(postgres.url(database), impatient)])).toEqual(['unwritable']);
    // The servers of this test run in this process, so it must not stop for a program that runs SQL.
    const observer = new pg.Client(postgres.url(database));
    await observer.connect();
    const countWaiters = async () => {
      const { rows } = await observer.query(
        "select count(*)::int as waiters from pg_stat_activity where wait_event_type = 'Lock'",
      );
      return rows[0]?.waiters;
    };
    const waits = () => expect.poll(countWaiters).toBe(1);
    const cut = kinds([far]);
    await waits();
    cable.cut();
    expect(await cut).toEqual(['unwritable']);
    await expect.poll(countWaiters).toBe(0);
    const waiting = kinds([store]);
    await waits();
    await observer.query("select pg_terminate_backend(pid) from pg_stat_activity where state = 'idle in transaction'");
    expect(await waiting).toEqual(['begun']);
    await observer.end();
    await other.end().catch(() => undefined);
  });

  describe('a connection that is lost while', () => {
    /** Loses the connection of a server at the commit of a step, and so many that it makes after that. */
    const lose = async (
      step: (far: Changes, id: string) => Promise<{ readonly kind: string }>,
      isDelivered: Promise<boolean>,
      refused: number,
    ) => {
      const { far, cable } = await openFar();
      const change = newChange();
      await far.add(change, { lifetimeMs });
      if (step === beginIt) await far.decide(change.id, off);
      cable.cutAtCommit(isDelivered, refused);
      return { id: change.id, far, kind: step(far, change.id).then(({ kind }) => kind) };
    };
    const beginIt = (far: Changes, id: string) => far.begin(id, { ifUnknown: {} });
    const approve = (far: Changes, id: string) => far.decide(id, off);
    const decline = (far: Changes, id: string) => far.decide(id, { kind: 'declined', way: 'asked' });

    test.each([
      ['begun, after the database got the word', beginIt, true, 'not sent'],
      ['begun, before the database got the word', beginIt, false, 'not sent'],
      ['approved, after the database got the word', approve, true, 'not sent'],
      // Nobody decided, so a person can decide again.
      ['approved, before the database got the word', approve, false, 'waiting'],
      ['declined, after the database got the word', decline, true, 'declined'],
      ['declined, before the database got the word', decline, false, 'declined'],
    ])(
      'a change is %s: nothing is sent, and the store says so as soon as it can',
      async (_when, step, isDelivered, state) => {
        const { id, far, kind } = await lose(step, Promise.resolve(isDelivered), 2);
        expect(['unwritable', 'decided']).toContain(await kind);
        await expect.poll(() => far.unwritten()).toBe(0);
        expect(await stateOf(id)).toBe(state);
        expect(await far.begin(id, { ifUnknown: {} })).toEqual({ kind: 'notApproved' });
        expect(await kinds([open()])).toEqual(['begun']);
      },
    );

    test('a change is begun, and its commit is still under way', async () => {
      let deliver = (_isDelivered: boolean) => {};
      const delivered = new Promise<boolean>((resolve) => {
        deliver = resolve;
      });
      const { id, kind } = await lose(beginIt, delivered, 0);
      // The ending waits for the row.
      const waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'";
      await expect.poll(() => sql(waiting)).toBe('1');
      deliver(true);
      expect(await kind).toBe('unwritable');
      await expect.poll(() => stateOf(id)).toBe('not sent');
    });
  });

  test('readers of lists have two connections of their own, however many they are', async () => {
    const store = open();
    await Promise.all(Array.from({ length: 40 }, () => store.newest({ limit: 1 })));
    const inUse = () =>
      sql(
        "select count(*) from pg_stat_activity where application_name = 'cloudops-mcp' and datname = current_database()",
      );
    expect(inUse()).toBe('2');
    await Promise.all(Array.from({ length: 40 }, () => store.duplicateOf('same')));
    expect(inUse()).toBe('7');
  });

  test('a database that takes connections and says nothing is one that is away', async () => {
    const silent = await startCable(undefined);
    cables.push(silent);
    const { begun } = await begin(open(`postgres://u@127.0.0.1:${silent.port}/d`));
    expect(begun).toMatchObject({ kind: 'unwritable', reason: expect.stringContaining('timeout') });
  });

  test.each([
    ['no code', 'SERROR\0MMARKER\0\0'],
    ['a code that is a text', 'SERROR\0CMARKER\0MMARKER\0\0'],
  ])('an error with %s is not quoted: the text may be anything', async (_what, fields) => {
    const length = Buffer.alloc(4);
    length.writeInt32BE(4 + fields.length);
    const server = createServer((socket) => socket.once('data', () => socket.end(`E${length}${fields}`)));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const { begun } = await begin(open(`postgres://u@127.0.0.1:${port}/d`));
    expect(begun).toMatchObject({ kind: 'unwritable', reason: expect.stringMatching(/an error that has no code"$/) });
    server.close();
  });

  test.each([
    ['a wrong password', (url: string) => url.replace(password, `${password}-wrong`), /28P01$/],
    ['a database that is not there', (url: string) => `${url}_missing`, /3D000$/],
    [
      'a certificate that is not trusted',
      (url: string) => `${url}?sslmode=verify-full`,
      /UNABLE_TO_VERIFY_LEAF_SIGNATURE$/,
    ],
    [
      'a certificate file that is not there',
      (url: string) => `${url}?sslrootcert=/nowhere.pem`,
      /\/nowhere\.pem cannot be read: ENOENT"$/,
    ],
  ])('%s lets nothing begin, and the reason holds no password', async (_what, change, reason) => {
    const { begun } = await begin(open(change(postgres.url(database))));
    expect(begun).toMatchObject({ kind: 'unwritable', reason: expect.stringMatching(reason) });
    expect(JSON.stringify(begun)).not.toMatch(/MARKER/);
  });

  test('the address says how the connection is encrypted', async () => {
    const { authority } = certificate;
    const store = open(`${postgres.url(database)}?sslmode=verify-full&sslrootcert=${authority}`);
    expect(await kinds([store])).toEqual(['begun']);
    const encrypted =
      "select distinct ssl from pg_stat_ssl join pg_stat_activity using (pid) where application_name = 'cloudops-mcp'";
    expect(sql(encrypted)).toBe('t');
  });

  test('a row that is not understood lets the same change not begin: it may be in the way', async () => {
    const store = open();
    await begin(store);
    sql("update cloudops_changes set facts = '{}'");
    expect(await kinds([store])).toEqual(['unwritable']);
    expect(await kinds([store], different())).toEqual(['begun']);
    const read: string[] = [];
    for await (const { id } of store.read({})) read.push(id);
    // The two that ended as not sent or began later. The row that is not understood is left out.
    expect(read).toHaveLength(2);
  });

  test('of a change that was rejected ten thousand times, no row is read again', async () => {
    const writer = open();
    const first = await begin(writer);
    await writer.end(first.id, 'rejected', {});
    const columns = sql(
      "select string_agg(attname, ', ') from pg_attribute where attrelid = 'cloudops_changes'::regclass and attnum > 1 and not attisdropped",
    );
    sql(
      `insert into cloudops_changes (id, ${columns}) select 'copy-' || n, ${columns} from cloudops_changes, generate_series(1, 10000) n`,
    );
    const { far, cable } = await openFar();
    expect(await far.duplicateOf('same')).toBeUndefined();
    expect(await kinds([far])).toEqual(['begun']);
    expect(cable.answered()).toBeLessThan(30_000);
  });

  describe('a role that does not own the tables', () => {
    const asWorker = (url: string) => url.replace('//cloudops:', '//worker:');
    beforeEach(async () => {
      await open().waiting({});
      sql(
        `create role worker login password '${decodeURIComponent(password)}';
         grant select, insert, update, delete on all tables in schema public to worker`,
      );
    });
    afterEach(() => {
      sql('drop owned by worker; drop role worker');
    });
    const workerSql = async (statement: string) => {
      const client = new pg.Client(asWorker(postgres.url(database)));
      await client.connect();
      try {
        return (await client.query(statement)).rowCount;
      } finally {
        await client.end();
      }
    };

    test('works on tables that it may not create, and erases plans that expired', async () => {
      const store = open(asWorker(postgres.url(database)));
      const first = await begin(store);
      expect(first.begun.kind).toBe('begun');
      await store.end(first.id, 'unknown', {});
      await store.end(first.id, 'accepted', {});
      expect(await store.healthCheck()).toEqual([]);
      const expired = newChange();
      await store.add(expired, { lifetimeMs: -3_700_000 });
      await store.erase();
      expect(await store.find(expired.id)).toBeUndefined();
    });

    test('cannot erase or change what ended, except that an unknown outcome becomes known', async () => {
      const store = open(asWorker(postgres.url(database)));
      const ids = new Map<string, string>();
      for (const state of ['accepted', 'unknown', 'not sent'] as const) {
        const { id } = await begin(store, different());
        await store.end(id, state, {});
        ids.set(state, id);
      }
      for (const state of ids.keys())
        for (const statement of [
          `delete from cloudops_changes where state = '${state}'`,
          `update cloudops_changes set facts = '{}' where state = '${state}'`,
          `update cloudops_changes set state = 'begun' where state = '${state}'`,
          `update cloudops_changes set state = 'rejected', facts = '{}' where state = '${state}'`,
        ])
          await expect(workerSql(statement)).rejects.toMatchObject({ code: '42501' });
      await expect(store.prune(Date.now() + 1000)).rejects.toMatchObject({ code: '42501' });
      expect(await workerSql("update cloudops_changes set state = 'rejected' where state = 'unknown'")).toBe(1);
      expect(await open().prune(Date.now() + 1000)).toBe(3);
    });
  });

  test('a store of a newer version is refused', async () => {
    await open().waiting({});
    sql('update cloudops_store set schema_version = 3');
    const store = open();
    expect((await begin(store)).begun).toMatchObject({ kind: 'unwritable' });
    await expect(store.healthCheck()).rejects.toMatchObject({ kind: 'newer' });
  });
});

/** A way to a port that can be cut without a word; without a port, one that leads nowhere. */
async function startCable(to: number | undefined) {
  const sockets: Socket[] = [];
  let atCommit: { readonly isDelivered: Promise<boolean>; readonly refused: number } | undefined;
  let refused = 0;
  let answered = 0;
  const keep = (socket: Socket) => {
    sockets.push(socket.on('error', () => undefined));
    return socket;
  };
  const server = createServer((near) => {
    keep(near);
    if (to === undefined) return;
    if (refused > 0) {
      refused -= 1;
      near.destroy();
      return;
    }
    const far = keep(connect(to, '127.0.0.1'));
    far.pipe(near);
    far.on('data', ({ length }) => {
      answered += length;
    });
    const end = () => far.end();
    near.on('close', end);
    near.on('data', (bytes) => {
      if (atCommit === undefined || !bytes.includes('commit\0')) {
        far.write(bytes);
        return;
      }
      near.off('close', end);
      void atCommit.isDelivered.then((isDelivered) => (isDelivered ? far.end(bytes) : far.destroy()));
      refused = atCommit.refused;
      atCommit = undefined;
      far.unpipe(near);
      near.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    /** The number of bytes that came from there. */
    answered: () => answered,
    /** Loses the connection at the next commit, which is delivered all the same or not, and so many after it. */
    cutAtCommit: (isDelivered: Promise<boolean>, refusedAfter: number) => {
      atCommit = { isDelivered, refused: refusedAfter };
    },
    cut: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
