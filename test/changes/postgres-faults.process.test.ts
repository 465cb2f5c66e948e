import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { abandonedMs, OtherVersion } from '../../src/changes/conflict.js';
import type { Journal } from '../../src/changes/journal.js';
import { openStore } from '../../src/changes/open-store.js';
import { migrate } from '../../src/changes/postgres-tables.js';
import { endingOf, intentAt } from '../support/journal.js';
import { hasPostgres, type Postgres, password, startPostgres } from '../support/postgres.js';
import { impatient, openPostgresJournal } from '../support/postgres-journal.js';
import { runServer } from '../support/server-process.js';
import { testFirstRelease } from './first-release.js';
import { testKeptVersion } from './kept-version.js';

/** A database that hangs, is of an earlier version, or disagrees with its servers. */
describe.skipIf(!hasPostgres())('a journal in PostgreSQL', () => {
  let postgres: Postgres;
  let database: string;
  let opened: Journal[] = [];
  let number = 0;
  beforeAll(async () => {
    postgres = await startPostgres();
  }, 120_000);
  afterAll(() => postgres.remove());
  beforeEach(() => {
    number += 1;
    database = `faults_${number}`;
  });
  afterEach(async () => {
    await Promise.all(opened.map((each) => each.close()));
    opened = [];
  });

  const events: unknown[][] = [];
  const open = (url = postgres.url(database), offsetMs = 0, options = {}) => {
    const now = () => new Date(Date.now() + offsetMs);
    const journal = openPostgresJournal(url, now, { ...options, log: (...event) => events.push(event) });
    opened.push(journal);
    return journal;
  };
  const intent = (changes: Parameters<typeof intentAt>[1] = {}) => intentAt(Date.now(), changes);
  const begin = (journal: Journal, changes: Parameters<typeof intentAt>[1] = {}) =>
    journal.begin(intent(changes), { allowRepeat: false });
  const asWorker = (url: string) => url.replace('//cloudops:', '//worker:');
  const sql = (statement: string) => postgres.sql(database, statement);

  test('takes the password of a new connection from the file of its address, and creates tables with it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'cloudops-address-'));
    const file = join(folder, 'journal');
    const address = (secret: string) => postgres.url(database).replace(/\/\/.*@/, `//rotating:${secret}@`);
    writeFileSync(file, address('first'));
    postgres.sql('postgres', "create role rotating login password 'first'");
    sql('grant create on schema public to rotating');
    const journal = await openStore(address('first'), () => new Date(), { addressFile: file }).openJournal();
    opened.push(journal);
    expect(await begin(journal, { digest: 'a' })).toEqual({ kind: 'begun' });

    const cutOff = "select count(pg_terminate_backend(pid)) from pg_stat_activity where usename = 'rotating'";
    sql(`alter role rotating password 'second'; ${cutOff}`);
    await expect.poll(async () => (await begin(journal, { digest: 'b' })).kind).toBe('unwritable');
    expect(await begin(journal, { digest: 'b' })).toMatchObject({ reason: expect.stringMatching(/28P01$/) });
    writeFileSync(file, address('second'));
    sql('drop table cloudops_mutations');
    expect(await begin(journal, { digest: 'c' })).toEqual({ kind: 'begun' });
    rmSync(folder, { recursive: true });
  });

  describe('whose standby hangs', () => {
    const hang = (names: string) => {
      sql(`alter system set synchronous_standby_names = '${names}'`);
      sql('select pg_reload_conf()');
    };
    const inUse = () =>
      Number(sql("select count(*) from pg_stat_activity where application_name = 'cloudops-mcp' and state <> 'idle'"));

    test('takes no more connections than ever, refuses changes at once, and ends what it could not confirm as not sent', async () => {
      const journal = open(postgres.url(database), 0, impatient);
      const first = intent({ digest: 'first' });
      await journal.begin(first, { allowRepeat: false });
      hang('away');
      const ended = journal.end(endingOf(Date.now(), first.id, 'accepted'));
      const digests = ['a', 'b', 'c', 'd'];
      const kinds = await Promise.all(digests.map(async (digest) => (await begin(journal, { digest })).kind));
      expect(kinds).toEqual(digests.map(() => 'unwritable'));
      await expect.poll(inUse).toBe(5);
      const started = Date.now();
      for (let index = 0; index < 50; index += 1)
        expect(await begin(journal, { digest: 'e' })).toMatchObject({
          kind: 'unwritable',
          reason: expect.stringMatching(/does not confirm what was written on any connection$/),
        });
      expect(Date.now() - started).toBeLessThan(1000);
      await delay(1000);
      expect(inUse()).toBe(5);
      hang('');
      await ended;
      await expect.poll(() => journal.listUnfinished(), { timeout: 20_000 }).toEqual([]);
      const outcomes = sql("select outcome || ' ' || (intent ->> 'digest') from cloudops_mutations order by 1");
      expect(outcomes.split('\n')).toEqual(['accepted first', ...digests.map((digest) => `not sent ${digest}`)]);
      expect(await begin(journal, { digest: 'a' })).toEqual({ kind: 'begun' });
    }, 60_000);

    test('does not keep a server from ending', async () => {
      const journal = open(postgres.url(database), 0, impatient);
      await journal.list({});
      hang('away');
      const begun = begin(journal);
      expect((await begun).kind).toBe('unwritable');
      await journal.close();
      opened = [];
      hang('');
    }, 60_000);
  });

  describe('with tables of an earlier version', () => {
    const rows = 200_000;
    const earlier = 'earlier_version';
    beforeAll(async () => {
      const journal = openPostgresJournal(postgres.url(earlier), () => new Date());
      const sample = intent({ digest: 'sample' });
      await journal.begin(sample, { allowRepeat: false });
      await journal.end(endingOf(Date.now(), sample.id, 'accepted'));
      await journal.close();
      // Without `unlogged`, the database also writes the rows to its log, which takes half of the time.
      postgres.sql(
        earlier,
        `drop index cloudops_mutations_digest_idx;
         alter table cloudops_mutations drop column key_format;
         alter table cloudops_mutations set unlogged;
         insert into cloudops_mutations (id, digest, time, intent, outcome, ended, ending)
         select 'old ' || n, 'old ' || n, time - interval '3 hours', replace(intent::text, digest, 'old ' || n)::json, outcome, ended - interval '3 hours', ending from cloudops_mutations, generate_series(1, ${rows}) n;
         delete from cloudops_mutations where digest = 'sample'`,
      );
    }, 60_000);
    beforeEach(() => {
      postgres.copy(earlier, database);
      // No statement of a migration may be under limits that anybody has set for servers.
      sql(`alter database ${database} set statement_timeout = '50ms'`);
    });
    const isValid = () =>
      sql("select indisvalid from pg_index where indexrelid = to_regclass('cloudops_mutations_digest_idx')");

    test('a server adds what is needed, writes at once, and builds indexes meanwhile', async () => {
      expect(await begin(open(), { digest: 'old 17' })).toMatchObject({ kind: 'begun' });
      expect(await begin(open(), { digest: 'old 17' })).toMatchObject({ kind: 'duplicate' });
      await expect.poll(isValid, { timeout: 30_000 }).toBe('t');
    }, 60_000);

    test('so does the command, which also repairs an index whose building was interrupted', async () => {
      await migrate(postgres.url(database));
      expect(isValid()).toBe('t');
      sql("update pg_index set indisvalid = false where indexrelid = 'cloudops_mutations_digest_idx'::regclass");
      expect(await open().healthCheck()).toContainEqual(expect.stringMatching(/^indexes are missing/));
      await migrate(postgres.url(database));
      expect(isValid()).toBe('t');
    }, 60_000);

    test('two at once are not in the way of each other', async () => {
      await Promise.all([1, 2].map(() => migrate(postgres.url(database))));
      expect(isValid()).toBe('t');
    }, 60_000);
  });

  describe('of the first release, with a million rows', () => {
    const release = 'first_release';
    beforeAll(() => {
      postgres.url(release);
      const firstRelease = readFileSync('test/fixtures/journal/first-release.sql', 'utf8');
      // The rows are made without a log, and the indexes after them, with memory. Otherwise this takes four times as long.
      const rows = firstRelease.slice(0, firstRelease.indexOf('ALTER TABLE ONLY'));
      postgres.sql(release, rows.replaceAll('CREATE TABLE', 'CREATE UNLOGGED TABLE'));
      postgres.sql(
        release,
        `insert into cloudops_mutations (number, id, digest, time, intent, outcome, ended, ending) overriding system value
         select -n, 'copy ' || n, 'copy ' || n, time - interval '1 year', intent, outcome, ended - interval '1 year', ending
         from cloudops_mutations, generate_series(1, 1000000) n where outcome = 'accepted'`,
      );
      postgres.sql(release, `set maintenance_work_mem = '1GB'; ${firstRelease.slice(rows.length)}`);
    }, 240_000);

    testFirstRelease((now) => openPostgresJournal(postgres.url(release), now, { databaseTime: () => now().getTime() }));
  });

  describe('of this format of keys', () => {
    testKeptVersion((now) => {
      postgres.url(database);
      sql(readFileSync('test/fixtures/journal/format-1.sql', 'utf8'));
      return openPostgresJournal(postgres.url(database), now, { databaseTime: () => now().getTime() });
    });
  });

  test('without tables, and a role that may not make them, says who has to', async () => {
    postgres.url(database);
    sql(`create role worker login password '${decodeURIComponent(password)}'`);
    expect(await begin(open(asWorker(postgres.url(database))))).toMatchObject({
      kind: 'unwritable',
      reason: expect.stringMatching(/run "cloudops-mcp journal migrate" once as their owner$/),
    });
    await migrate(postgres.url(database));
    await expect(open(asWorker(postgres.url(database))).healthCheck()).rejects.toThrow();
    sql('grant select, insert, update on all tables in schema public to worker');
    // A slot of a standby that is away.
    sql("select pg_create_physical_replication_slot('standby')");
    const warnings = () => open(asWorker(postgres.url(database))).healthCheck();
    expect(await warnings()).toEqual([
      expect.stringMatching(/^replication is not synchronous/),
      'the role of this server lacks rights to ask people over HTTP: cloudops_messages delete, cloudops_plans delete',
    ]);
    sql('grant delete on all tables in schema public to worker');
    expect(await warnings()).toHaveLength(1);
    sql("select pg_drop_replication_slot('standby')");
    expect(await warnings()).toEqual([]);
    sql('drop index cloudops_mutations_digest_idx');
    expect(await warnings()).toContainEqual(
      expect.stringMatching(/^indexes are missing .*migrate builds them, if cloudops runs it, who owns the tables$/),
    );
    const options = { env: { CLOUDOPS_JOURNAL: asWorker(postgres.url(database)) } };
    expect(await runServer(['journal', 'migrate'], options)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^The journal cannot be migrated \(this role may not\)\. The role that owns the tables has to run/,
      ),
    });
  });

  test.each([
    ['an older version', 'null'],
    ['a newer version', '2'],
  ])('with a recent entry of %s refuses changes and says until when, and can be read', async (_what, format) => {
    const journal = open();
    await begin(journal);
    const begun = Date.parse(sql(`update cloudops_mutations set key_format = ${format} returning time`));
    const until = new Date(begun + abandonedMs).toISOString();
    expect(await begin(journal, { digest: 'other' })).toMatchObject({
      kind: 'unwritable',
      reason: expect.stringContaining(`changes are refused until ${until.slice(0, 19)}`),
    });
    expect(await journal.list({})).toHaveLength(1);
    await expect(journal.healthCheck()).rejects.toThrow(OtherVersion);
    sql("update cloudops_mutations set outcome = 'accepted', ended = now() - interval '9 minutes'");
    expect(await begin(journal, { digest: 'other' })).toMatchObject({ kind: 'unwritable' });
    sql("update cloudops_mutations set ended = now() - interval '11 minutes'");
    expect(await begin(journal, { digest: 'other' })).toEqual({ kind: 'begun' });
    expect(await journal.healthCheck()).toHaveLength(0);
  });

  describe('whose servers have clocks', () => {
    test.each([
      [0, 'begun', 0],
      [5_000, 'begun', 1],
      [-5_000, 'begun', 1],
      [90_000, 'unwritable', 1],
      [-90_000, 'unwritable', 1],
    ])('%i ms off: %s', async (offsetMs, kind, warnings) => {
      events.length = 0;
      expect(await begin(open(postgres.url(database), offsetMs))).toMatchObject({ kind });
      expect(events.filter(([level, event]) => level === 'warn' && event === 'clock')).toHaveLength(warnings);
    });

    test('that differ, decides what is recent by its own', async () => {
      const [fast, slow] = [open(postgres.url(database), 50_000), open(postgres.url(database), -50_000)];
      const first = intentAt(Date.now() + 50_000);
      await fast.begin(first, { allowRepeat: false });
      await fast.end(endingOf(Date.now() + 50_000, first.id, 'accepted'));
      const age = (minutes: number) =>
        sql(`update cloudops_mutations set ended = clock_timestamp() - interval '${minutes} minutes'`);
      age(9.5);
      expect(await slow.findDuplicate('same')).toBeDefined();
      age(10.5);
      for (const journal of [fast, slow]) expect(await journal.findDuplicate('same')).toBeUndefined();
    });
  });

  test('is read as a stream, in pages, and followed', async () => {
    const journal = open();
    const sample = intent();
    await journal.begin(sample, { allowRepeat: false });
    await journal.end(endingOf(Date.now(), sample.id, 'unknown'));
    sql(
      `insert into cloudops_mutations (id, digest, time, intent, outcome, ended, ending, key_format)
       select 'copy ' || n, digest, time, jsonb_set(intent::jsonb, '{id}', to_jsonb('copy ' || n)), outcome, ended, ending, key_format from cloudops_mutations, generate_series(1, 2500) n`,
    );
    let polls = 0;
    const follow = async () => {
      polls += 1;
      if (polls === 1) await journal.end(endingOf(Date.now(), sample.id, 'accepted'));
      if (polls === 2) await begin(journal, { digest: 'open' });
      return polls < 4;
    };
    const outcomes: (string | undefined)[] = [];
    for await (const { ending } of journal.read({ follow })) outcomes.push(ending?.outcome);
    expect(outcomes).toHaveLength(2503);
    expect(outcomes.slice(-2)).toEqual(['accepted', undefined]);
  });
});
