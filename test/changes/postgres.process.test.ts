import { connect, createServer, type Socket } from 'node:net';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Journal } from '../../src/changes/journal.js';
import { makeCertificate } from '../support/certificates.js';
import { endingOf, intentAt } from '../support/journal.js';
import { hasPostgres, type Postgres, password, startPostgres } from '../support/postgres.js';
import { impatient, openPostgresJournal } from '../support/postgres-journal.js';
import { describeJournal } from './contract.js';

describe.skipIf(!hasPostgres())('like every journal', () => {
  describeJournal(async () => {
    const postgres = await startPostgres();
    return {
      open: (name, now) => openPostgresJournal(postgres.url(name), now, { databaseTime: () => now().getTime() }),
      warnings: [],
      remove: postgres.remove,
    };
  });
});

/** The rules of a journal in a database; those of every journal are in contract.ts. */
describe.skipIf(!hasPostgres())('a journal in PostgreSQL', () => {
  let postgres: Postgres;
  let certificate: ReturnType<typeof makeCertificate>;
  let database: string;
  let opened: Journal[] = [];
  const cables: Awaited<ReturnType<typeof startCable>>[] = [];
  let number = 0;
  beforeAll(async () => {
    certificate = makeCertificate('127.0.0.1');
    postgres = await startPostgres(certificate);
  }, 120_000);
  afterAll(() => {
    postgres.remove();
    certificate.remove();
  });
  beforeEach(() => {
    number += 1;
    database = `journal_${number}`;
  });
  afterEach(async () => {
    await Promise.all(opened.map((each) => each.close()));
    opened = [];
    for (const cable of cables.splice(0)) cable.cut();
  });

  const now = () => new Date();
  const open = (url = postgres.url(database), options = {}) => {
    const journal = openPostgresJournal(url, now, options);
    opened.push(journal);
    return journal;
  };
  const intent = (changes: Parameters<typeof intentAt>[1] = {}) => intentAt(Date.now(), changes);
  const kinds = async (
    journals: readonly Journal[],
    changes: Parameters<typeof intentAt>[1],
    allowRepeat: string | boolean = false,
  ) =>
    (await Promise.all(journals.map((journal) => journal.begin(intent(changes), { allowRepeat })))).map(
      ({ kind }) => kind,
    );

  test('a journal of an earlier version gets what it lacks, and its changes count against no budget', async () => {
    await open().begin(intent({ budget: 'b' }), { allowRepeat: false });
    postgres.sql(database, 'alter table cloudops_mutations drop column budget');
    const budget = { mostChanges: 1, windowMs: 3_600_000 };
    const journal = open();
    expect(await journal.budgetState('b', budget)).toEqual({ left: 1 });
    const begun = await journal.begin(intent({ digest: 'other', budget: 'b' }), { allowRepeat: false, budget });
    expect(begun).toEqual({ kind: 'begun' });
    expect(await journal.budgetState('b', budget)).toMatchObject({ left: 0 });
  });

  test('a budget is kept by the clock of the database, not by that of a server', async () => {
    const late = () => new Date(Date.now() - 50_000);
    const journal = openPostgresJournal(postgres.url(database), late);
    opened.push(journal);
    const budget = { mostChanges: 1, windowMs: 3_600_000 };
    await journal.begin(intentAt(late().getTime(), { budget: 'b' }), { allowRepeat: false, budget });
    const { nextAt = 0 } = await open().budgetState('b', budget);
    expect(Math.abs(nextAt - Date.now() - budget.windowMs)).toBeLessThan(20_000);
  });

  test.each([
    [
      'a role that may only read',
      'grant select on all tables in schema public to guest',
      /lacks rights: .*cloudops_guards insert/,
    ],
    [
      'a database that takes no changes, as a standby',
      'grant all on all tables in schema public to guest; alter role guest set default_transaction_read_only = on',
      /read-only/,
    ],
  ])('%s is told when the journal is checked', async (_what, setUp, problem) => {
    await open().healthCheck();
    postgres.sql(database, `drop role if exists guest`);
    postgres.sql(database, `create role guest login password '${decodeURIComponent(password)}'; ${setUp}`);
    const guest = open(postgres.url(database).replace('cloudops:', 'guest:'));
    await expect(guest.healthCheck()).rejects.toThrow(problem);
    postgres.sql(database, 'drop owned by guest; drop role guest');
  });

  test('of 20 servers that start on an empty database at once, all can work, and one may send the same change', async () => {
    const journals = Array.from({ length: 20 }, () => open());
    expect((await kinds(journals, {})).sort()).toEqual(['begun', ...Array(19).fill('duplicate')]);
    expect(
      postgres.sql(
        database,
        "select coalesce(outcome, 'open'), count(*) from cloudops_mutations group by 1 order by 2",
      ),
    ).toBe('open|1\nnot sent|19');
  });

  test('one consent brought to 20 servers at once is used once, again and again', async () => {
    const journals = Array.from({ length: 20 }, () => open());
    for (const nonce of ['a', 'b', 'c']) {
      const found = await kinds(journals, { nonce, digest: nonce }, 'other');
      expect(found.sort()).toEqual(['begun', ...Array(19).fill('consentUsed')]);
    }
  });

  test('20 changes of one server wait for their turn, and each goes ahead', async () => {
    const journal = open();
    const changes = Array.from({ length: 20 }, (_, index) => intent({ digest: `digest ${index}` }));
    const begun = await Promise.all(changes.map((change) => journal.begin(change, { allowRepeat: false })));
    expect(begun).toEqual(Array(20).fill({ kind: 'begun' }));
  });

  test('two open intents with one consent are impossible even for one who goes round the code', async () => {
    await open().begin(intent({ nonce: 'n' }), { allowRepeat: false });
    const copy = `insert into cloudops_mutations (id, digest, nonce, time, intent) select 'copy', digest, nonce, time, intent from cloudops_mutations`;
    expect(() => postgres.sql(database, copy)).toThrow('duplicate key');
  });

  test('what was begun and what was ended outlives a crash of the database, though its default would not flush', async () => {
    const journal = open();
    const first = intent();
    await journal.begin(first, { allowRepeat: false });
    await journal.end(endingOf(Date.now(), first.id, 'accepted'));
    const second = intent({ digest: 'other' });
    await journal.begin(second, { allowRepeat: false });
    await postgres.stop();
    await postgres.start();
    expect(await open().list({})).toMatchObject([{ ending: { outcome: 'accepted' } }, { id: second.id }]);
  }, 120_000);

  test('while the database is away nothing begins, and when it is back the same process goes on', async () => {
    const journal = open();
    const first = intent();
    await journal.begin(first, { allowRepeat: false });
    await postgres.stop();
    expect(await journal.begin(intent({ digest: 'other' }), { allowRepeat: false })).toEqual({
      kind: 'unwritable',
      reason: expect.stringMatching(new RegExp(`^postgres://127\\.0\\.0\\.1:\\d+/${database}: ECONNREFUSED$`)),
    });
    await expect(journal.list({})).rejects.toThrow();
    await expect(journal.tryEnd(endingOf(Date.now(), first.id, 'accepted'))).rejects.toThrow();
    await postgres.start();
    expect(await journal.begin(intent({ digest: 'other' }), { allowRepeat: false })).toEqual({ kind: 'begun' });
    expect(await kinds([journal], {})).toEqual(['duplicate']);
  }, 120_000);

  test('who waits for another server does not wait for ever, and goes ahead when its connection is gone', async () => {
    const journal = open(postgres.url(database), impatient);
    await journal.list({});
    const other = new pg.Client(postgres.url(database));
    other.on('error', () => undefined);
    await other.connect();
    await other.query("begin; insert into cloudops_guards values ('digest same')");
    expect(await kinds([journal], {})).toEqual(['unwritable']);
    const waiters = "from pg_stat_activity where wait_event_type = 'Lock'";
    const waits = () =>
      expect.poll(() => postgres.sql(database, `select count(*) ${waiters}`), { timeout: 4000 }).toBe('1');
    const cable = await startCable(Number(new URL(postgres.url(database)).port));
    const far = open(postgres.url(database).replace(/:\d+\//, `:${cable.port}/`), impatient);
    const cut = kinds([far], {});
    await waits();
    cable.cut();
    expect(await cut).toEqual(['unwritable']);
    await expect.poll(() => postgres.sql(database, `select count(*) ${waiters}`), { timeout: 8000 }).toBe('0');
    const waiting = kinds([journal], {});
    await waits();
    postgres.sql(
      database,
      "select pg_terminate_backend(pid) from pg_stat_activity where state = 'idle in transaction'",
    );
    expect(await waiting).toEqual(['begun']);
    await other.end().catch(() => undefined);
  });

  describe('a connection that is lost while an intent is committed', () => {
    /** Loses the connection of a server at the commit of its intent, and so many that it makes after that. */
    const beginAndLose = async (isDelivered: Promise<boolean>, refused: number) => {
      const cable = await startCable(Number(new URL(postgres.url(database)).port));
      cables.push(cable);
      const far = open(postgres.url(database).replace(/:\d+\//, `:${cable.port}/`));
      await far.findDuplicate('same');
      cable.cutAtCommit(isDelivered, refused);
      return far.begin(intent({ nonce: 'n' }), { allowRepeat: false });
    };
    const isEndedAsNotSent = () =>
      expect
        .poll(() => open().list({}), { timeout: 10_000 })
        .toMatchObject([{ ending: { outcome: 'not sent', code: 'unwritable' } }]);

    test.each([
      ['after the database got the word', true],
      ['before the database got the word', false],
    ])(
      '%s: as soon as the database can be reached, the journal says that nothing was sent',
      async (_when, isDelivered) => {
        expect((await beginAndLose(Promise.resolve(isDelivered), 2)).kind).toBe('unwritable');
        await isEndedAsNotSent();
        expect(await kinds([open()], { nonce: 'n' })).toEqual(['begun']);
      },
    );

    test('so does an intent whose commit is still under way', async () => {
      await open().listUnfinished();
      let deliver = (_isDelivered: boolean) => {};
      const begun = beginAndLose(
        new Promise((resolve) => {
          deliver = resolve;
        }),
        0,
      );
      const waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'";
      await expect.poll(() => postgres.sql(database, waiting), { timeout: 4000 }).toBe('1');
      deliver(true);
      expect((await begun).kind).toBe('unwritable');
      await isEndedAsNotSent();
    });
  });

  test('an outcome is written as soon as the database is back', async () => {
    const journal = open();
    const first = intent();
    await journal.begin(first, { allowRepeat: false });
    await postgres.stop();
    const ended = journal.end(endingOf(Date.now(), first.id, 'accepted'));
    await expect(journal.tryEnd(endingOf(Date.now(), first.id, 'accepted'))).rejects.toThrow();
    await postgres.start();
    await ended;
    expect(await open().list({})).toMatchObject([{ ending: { outcome: 'accepted' } }]);
  }, 120_000);

  test('readers of the list have two connections of their own, however many they are', async () => {
    const journal = open();
    await Promise.all(Array.from({ length: 40 }, () => journal.list({})));
    const inUse = () =>
      postgres.sql(
        database,
        "select count(*) from pg_stat_activity where application_name = 'cloudops-mcp' and datname = current_database()",
      );
    expect(inUse()).toBe('2');
    await Promise.all(Array.from({ length: 40 }, () => journal.findDuplicate('same')));
    expect(inUse()).toBe('7');
  });

  test('a database that takes connections and says nothing is one that is away', async () => {
    const silent = await startCable(undefined);
    const started = Date.now();
    const begun = await open(`postgres://u@127.0.0.1:${silent.port}/d`).begin(intent(), { allowRepeat: false });
    expect(begun).toMatchObject({ kind: 'unwritable', reason: expect.stringContaining('timeout') });
    expect(Date.now() - started).toBeLessThan(10_000);
    silent.cut();
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
    const begun = await open(`postgres://u@127.0.0.1:${port}/d`).begin(intent(), { allowRepeat: false });
    expect(begun).toMatchObject({ kind: 'unwritable', reason: expect.stringMatching(/an error that has no code$/) });
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
      /\/nowhere\.pem cannot be read: ENOENT$/,
    ],
  ])('%s lets nothing begin, and the reason holds no password', async (_what, change, reason) => {
    const begun = await open(change(postgres.url(database))).begin(intent(), { allowRepeat: false });
    expect(begun).toMatchObject({ kind: 'unwritable', reason: expect.stringMatching(reason) });
    expect(JSON.stringify(begun)).not.toMatch(/MARKER/);
  });

  test('the address says how the connection is encrypted', async () => {
    const { authority } = certificate;
    const journal = open(`${postgres.url(database)}?sslmode=verify-full&sslrootcert=${authority}`);
    expect(await kinds([journal], {})).toEqual(['begun']);
    const encrypted =
      "select ssl from pg_stat_ssl join pg_stat_activity using (pid) where application_name = 'cloudops-mcp'";
    expect(postgres.sql(database, encrypted)).toBe('t');
  });

  test('an entry that is not understood lets nothing begin: it may be one that stands in the way', async () => {
    const journal = open();
    await journal.begin(intent(), { allowRepeat: false });
    postgres.sql(database, "update cloudops_mutations set intent = '{}'");
    expect(await kinds([journal], {})).toEqual(['unwritable']);
    expect(await kinds([journal], { digest: 'other' })).toEqual(['begun']);
  });

  test('of a change that was refused ten thousand times, no refusal is read again', async () => {
    const first = intent();
    const writer = open();
    await writer.begin(first, { allowRepeat: false });
    await writer.end(endingOf(Date.now(), first.id, 'rejected'));
    const columns = 'digest, time, intent, outcome, ended, ending, key_format';
    postgres.sql(
      database,
      `insert into cloudops_mutations (id, ${columns})
       select 'copy ' || n, ${columns} from cloudops_mutations, generate_series(1, 10000) n`,
    );
    const cable = await startCable(Number(new URL(postgres.url(database)).port));
    cables.push(cable);
    const far = open(postgres.url(database).replace(/:\d+\//, `:${cable.port}/`));
    expect(await far.findDuplicate(first.digest)).toBeUndefined();
    expect(await kinds([far], {})).toEqual(['begun']);
    expect(cable.answered()).toBeLessThan(20_000);
  });

  test('a role that may not create tables works on those that are there', async () => {
    await open().list({});
    postgres.sql(
      database,
      `create role worker login password '${decodeURIComponent(password)}';
       grant select, insert, update on all tables in schema public to worker`,
    );
    const journal = open(postgres.url(database).replace('//cloudops:', '//worker:'));
    const first = intent();
    expect(await journal.begin(first, { allowRepeat: false })).toEqual({ kind: 'begun' });
    await journal.end(endingOf(Date.now(), first.id, 'rejected'));
  });

  test('what is known is not made unknown by a server that took another to be gone', async () => {
    const journal = open();
    const first = intent();
    await journal.begin(first, { allowRepeat: false });
    await journal.end(endingOf(Date.now(), first.id, 'accepted'));
    await journal.end(endingOf(Date.now(), first.id, 'unknown'));
    expect(await journal.list({})).toMatchObject([{ ending: { outcome: 'accepted' } }]);
  });

  test('the end of an intent that a database has lost is an error, not a success', async () => {
    await expect(open().end(endingOf(Date.now(), 'lost', 'unknown'))).rejects.toThrow('not in the journal');
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
