import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createPlanTable } from '../../src/journal/plan-table.js';
import { openDatabase } from '../../src/journal/postgres-database.js';
import { hasPostgres, type Postgres, startPostgres } from '../support/postgres.js';
import { describePlanStore } from './plan-store-contract.js';

describe.skipIf(!hasPostgres())('PostgreSQL', () => {
  let postgres: Postgres;
  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(() => postgres.remove());
  let databases = 0;
  describePlanStore('in a table', () => {
    databases += 1;
    const store = createPlanTable(openDatabase(postgres.url(`plans${databases}`), () => new Date()));
    return () => store;
  });

  test('the decided plan of an owner is listed, however many plans of others wait', async () => {
    const database = 'manyplans';
    const store = createPlanTable(openDatabase(postgres.url(database), () => new Date()));
    onTestFinished(() => store.close());
    const [nonce, owner] = ['a'.repeat(16), 'b'.repeat(16)];
    await store.add({ nonce, owner, expiresAt: Date.now() + 60_000, sealed: 'sealed' }, 20);
    await store.claim(nonce, 'claimed');
    postgres.sql(
      database,
      `insert into cloudops_plans (nonce, owner, expires, sealed)
       select lpad(to_hex(n), 16, '0'), lpad(to_hex(n), 16, '0'), now() + interval '1 day', '' from generate_series(1, 1000) n`,
    );
    expect(await store.list()).not.toContainEqual(expect.objectContaining({ nonce }));
    expect(await store.list(owner)).toMatchObject([{ nonce, sealed: 'claimed' }]);
  });
});
