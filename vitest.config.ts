import { defineConfig } from 'vitest/config';

/** These put other modules in the place of Node's or of ours, or load ours afresh, which only a module graph of their own can bear. */
export const mocking = ['calls/secrets-race'].map((name) => `test/${name}.test.ts`);

const schemas = 'scripts/schemas.mjs';
const build = 'test/support/build.ts';

/** A project of a folder that starts programs of others: one file at a time, after all others of a run. */
const alone = (
  name: string,
  testTimeout: number,
  { folder = name, globalSetup = [build], hookTimeout = testTimeout } = {},
) => ({
  extends: true as const,
  test: {
    name,
    include: [`test/${folder}/**/*.test.ts`],
    globalSetup,
    testTimeout,
    hookTimeout,
    fileParallelism: false,
  },
});

/**
 * These tests wait for servers that stall, or for a time to pass, so two workers would leave the cores idle for a quarter of the time. On CI,
 * properties make ten times as many runs, which keep two cores busy.
 */
const waiting = { maxWorkers: process.env.CI === undefined ? 4 : 2 };

/** CONTRIBUTING.md says which command runs which project. */
export default defineConfig({
  test: {
    // End a test or a hook that hangs. The slowest test takes a minute on two cores with a load of 20.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // Two cores.
    maxWorkers: 2,
    setupFiles: ['test/support/safe-text.ts', 'test/support/waiting.ts'],
    // As in test/support/waiting.ts.
    expect: { poll: { timeout: 60_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/**/*.process.test.ts', 'test/{s3,s3-clients,package,browser,clients}/**', ...mocking],
          globalSetup: schemas,
          // The files share what they import: loading it afresh for each took half of the time.
          isolate: false,
          ...waiting,
        },
      },
      { extends: true, test: { name: 'mocking', include: mocking, globalSetup: schemas, ...waiting } },
      {
        extends: true,
        test: {
          name: 'process',
          include: ['test/**/*.process.test.ts'],
          globalSetup: build,
          // Not beside the tests in process: the programs need the cores.
          sequence: { groupOrder: 1 },
        },
      },
      // `CHROMIUM` says where the browser is, if not in /usr/bin/chromium.
      alone('browser', 120_000),
      alone('package', 120_000, { globalSetup: [build, 'test/support/pack.ts'] }),
      alone('s3-clients', 120_000),
      ...['swift', 'radosgw', 'sandbox'].map((store) =>
        alone(`s3:${store}`, 120_000, { folder: 's3', globalSetup: [build, 'test/s3/start.ts'] }),
      ),
      // npm installs the clients first, which takes minutes.
      alone('clients', 180_000, { hookTimeout: 600_000 }),
    ],
  },
});
