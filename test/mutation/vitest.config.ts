import { defineConfig } from 'vitest/config';
import { mocking } from '../../vitest.config.js';

/** The tests that run.mjs names: those that can notice what it mutates. */
const named = (process.env.MUTATION_TESTS ?? '').split(' ');

/** As in vitest.config.ts, test files share what they import, unless they mock. */
export default defineConfig({
  test: {
    testTimeout: 30_000,
    maxWorkers: 1,
    setupFiles: ['test/support/safe-text.ts', 'test/support/waiting.ts'],
    projects: [
      { extends: true, test: { name: 'in process', include: named, exclude: mocking, isolate: false } },
      { extends: true, test: { name: 'with mocks', include: mocking.filter((file) => named.includes(file)) } },
    ],
  },
});
