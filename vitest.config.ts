import { defineConfig } from 'vitest/config';

/** These put other modules in the place of Node's or of ours, which only a module graph of their own can bear. */
export const mocking = ['calls/validate', 'calls/secrets-race', 'journal/file-faults', 'journal/persistence'].map(
  (name) => `test/${name}.test.ts`,
);

/** What runs in this process: `npm test`. The files share what they import: loading it afresh for each took half of the time. */
export default defineConfig({
  test: {
    globalSetup: 'scripts/schemas.mjs',
    testTimeout: 30_000,
    maxWorkers: 2,
    projects: [
      {
        extends: true,
        test: {
          name: 'in process',
          include: ['test/**/*.test.ts'],
          exclude: ['test/**/*.process.test.ts', 'test/{s3,s3-clients,package,browser,clients}/**', ...mocking],
          isolate: false,
        },
      },
      { extends: true, test: { name: 'with mocks', include: mocking } },
    ],
  },
});
