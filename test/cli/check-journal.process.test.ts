import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasPostgres, type Postgres, password, startPostgres } from '../support/postgres.js';
import { runServer } from '../support/server-process.js';

/** What `doctor` and `journal` say of a database that cannot be used, and that they only read it. */
describe.skipIf(!hasPostgres())('of a database', () => {
  let postgres: Postgres;
  beforeAll(async () => {
    postgres = await startPostgres();
    postgres.sql('postgres', `create role worker login password '${decodeURIComponent(password)}'`);
  });
  afterAll(() => postgres.remove());

  const tablesOf = (database: string) =>
    postgres.sql(database, "select count(*) from pg_tables where schemaname = 'public'");
  const asWorker = (url: string) => url.replace('//cloudops:', '//worker:');

  async function examine(address: string) {
    const run = await runServer(['doctor', '--sandbox', '--json'], { env: { CLOUDOPS_JOURNAL: address } });
    expect(run.stdout + run.stderr).not.toContain('MARKER');
    const findings: { check: string }[] = JSON.parse(run.stdout);
    return { code: run.code, stderr: run.stderr, journal: findings.filter(({ check }) => check === 'journal') };
  }
  const readJournal = (address: string) => runServer(['journal'], { env: { CLOUDOPS_JOURNAL: address } });

  test('without tables, doctor warns and journal refuses, and neither makes a table', async () => {
    const address = postgres.url('empty');
    const { code, journal } = await examine(address);
    expect(code).toBe(0);
    expect(journal).toEqual([
      {
        check: 'journal',
        status: 'warning',
        detail: expect.stringMatching(/empty": it has no tables of a journal$/),
        remedy: expect.stringMatching(/^A server creates them when it starts/),
      },
    ]);
    expect(await readJournal(address)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^The journal cannot be read \(it has no tables of a journal\)\. A server creates/),
    });
    expect(tablesOf('empty')).toBe('0');
  });

  test('without tables, and with a role that may not make them, the owner is asked for', async () => {
    const { code, journal } = await examine(asWorker(postgres.url('poor')));
    expect(code).toBe(1);
    expect(journal).toMatchObject([
      { status: 'problem', remedy: expect.stringMatching(/^The role that owns the tables has to run .* migrate/) },
    ]);
    expect(tablesOf('poor')).toBe('0');
  });

  test('with a role without rights, the grant is named', async () => {
    const address = postgres.url('granted');
    await runServer(['journal', 'migrate'], { env: { CLOUDOPS_JOURNAL: address } });
    const { journal } = await examine(asWorker(address));
    const grant = /The owner of the tables has to grant the rights: see Upgrade, step 2, in docs\/OPERATE\.md\./;
    expect(journal).toMatchObject([
      { status: 'problem', detail: expect.stringContaining('lacks rights'), remedy: expect.stringMatching(grant) },
    ]);
    const { stderr } = await readJournal(asWorker(address));
    expect(stderr).toMatch(grant);
  });

  test.each([
    ['', '_missing', /3D000/, /name of the database/],
    ['', '?sslmode=require', /does not support SSL/, /^Turn on TLS in the database/],
    ['', '?sslrootcert=/nowhere/ca.pem', /"\/nowhere\/ca\.pem cannot be read: ENOENT"/, /^Correct sslrootcert/],
    ['', '?sslrootcert=/tmp', /sslrootcert, .* cannot be read: EISDIR/, /^Correct sslrootcert/],
    ['-wrong', '', /28P01/, /user and the password/],
  ])('with the address …%s…%s, the remedy fits', async (toPassword, toEnd, detail, remedy) => {
    const address = postgres.url('faulty').replace(password, password + toPassword) + toEnd;
    const { journal, stderr } = await examine(address);
    expect(stderr).toBe('');
    expect(journal).toMatchObject([
      { status: 'problem', detail: expect.stringMatching(detail), remedy: expect.stringMatching(remedy) },
    ]);
  });

  test('without a standby, nothing is said of replication', async () => {
    const address = postgres.url('single');
    await runServer(['journal', 'migrate'], { env: { CLOUDOPS_JOURNAL: address } });
    expect((await examine(address)).journal).toMatchObject([{ status: 'ok' }]);
    postgres.sql('single', "select pg_create_physical_replication_slot('standby')");
    expect((await examine(address)).journal).toMatchObject([
      { status: 'ok' },
      { status: 'warning', detail: expect.stringContaining('replication is not synchronous') },
    ]);
  });
});
