import { afterAll, beforeAll, describe } from 'vitest';
import { createPlanTable } from '../../src/consent/plan-table.js';
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
    const store = createPlanTable(
      postgres.url(`plans${databases}`),
      () => new Date(),
      () => undefined,
    );
    return () => store;
  });
});
