import { defineConfig } from 'vitest/config';

/** The tests that run.mjs names: those that can notice what it mutates. */
export default defineConfig({
  test: { include: (process.env.MUTATION_TESTS ?? '').split(' '), testTimeout: 30_000, maxWorkers: 1 },
});
