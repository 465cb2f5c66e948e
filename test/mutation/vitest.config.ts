import { defineConfig } from 'vitest/config';
import { mocking } from '../../vitest.config.js';

/**
 * The tests that run.mjs names: those that can notice what it mutates. As in vitest.config.ts, files share what they import, unless
 * they mock. Of all tests here, Stryker runs those that import what it mutates.
 */
export default defineConfig({
  test: {
    testTimeout: 30_000,
    maxWorkers: 1,
    projects: [
      {
        extends: true,
        test: {
          name: 'in process',
          include: (process.env.MUTATION_TESTS ?? '').split(' '),
          exclude: mocking,
          isolate: false,
        },
      },
      { extends: true, test: { name: 'with mocks', include: mocking } },
    ],
  },
});
