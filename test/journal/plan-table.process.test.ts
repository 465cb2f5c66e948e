import { afterAll, beforeAll, describe } from 'vitest';
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
});
