import { readFileSync, statfsSync } from 'node:fs';
import { defineConfig } from 'vitest/config';

/** These put other modules in the place of Node's or of ours, or load ours afresh, which only a module graph of their own can bear. */
export const mocking = ['calls/secrets-race'].map((name) => `test/${name}.test.ts`);

const schemas = 'scripts/schemas.mjs';
const build = 'test/support/build.ts';

/**
 * Temporary files are in memory on systems that have 2 GiB there for files and programs. SQLite and PostgreSQL flush each write, for which a disk
 * takes longer than a test for all else.
 */
function temporaryFolder(): { readonly TMPDIR?: string } {
  const folder = '/dev/shm';
  try {
    const [, options = 'noexec'] =
      new RegExp(`^\\S+ ${folder} tmpfs (\\S+)`, 'm').exec(readFileSync('/proc/mounts', 'utf8')) ?? [];
    const { bavail, bsize } = statfsSync(folder);
    return options.split(',').includes('noexec') || bavail * bsize < 2 * 1024 ** 3 ? {} : { TMPDIR: folder };
  } catch {
    return {};
  }
}
const env = temporaryFolder();

const project = <T extends object>(name: string, include: string | readonly string[], test: T) => ({
  extends: true as const,
  test: { name, include: [include].flat(), ...test },
});

/**
 * These tests wait for servers that stall, or for a time to pass, so two workers would leave the cores idle for a quarter of the time. On CI,
 * properties make ten times as many runs, which keep two cores busy.
 */
const waiting = { globalSetup: schemas, env, maxWorkers: process.env.CI === undefined ? 4 : 2 };

/** These wait for the programs that they start. They run after the tests in process, because the programs need the cores. */
const starting = { globalSetup: build, env, maxWorkers: 4, sequence: { groupOrder: 1 } };

/** One file at a time, after all others of a run. */
const alone = { fileParallelism: false };

/** CONTRIBUTING.md says which command runs which project. */
export default defineConfig({
  test: {
    // End a test or a hook that hangs. The slowest test takes a minute on two cores with a load of 20.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    setupFiles: ['test/support/safe-text.ts', 'test/support/waiting.ts'],
    // As in test/support/waiting.ts.
    expect: { poll: { timeout: 60_000 } },
    projects: [
      project('unit', 'test/**/*.test.ts', {
        exclude: ['test/**/*.process.test.ts', 'test/{s3,s3-clients,package,browser,clients}/**', ...mocking],
        // The files share what they import: loading it afresh for each took half of the time.
        isolate: false,
        ...waiting,
      }),
      project('mocking', mocking, waiting),
      project('process', 'test/**/*.process.test.ts', starting),
      // `CHROMIUM` says where the browser is, if not in /usr/bin/chromium.
      project('browser', 'test/browser/**/*.test.ts', starting),
      project('package', 'test/package/**/*.test.ts', { ...starting, globalSetup: [build, 'test/support/pack.ts'] }),
      project('s3-clients', 'test/s3-clients/**/*.test.ts', starting),
      ...['swift', 'radosgw', 'sandbox'].map((store) =>
        project(`s3:${store}`, 'test/s3/**/*.test.ts', { globalSetup: [build, 'test/s3/start.ts'], ...alone }),
      ),
      // npm installs the clients first, which takes minutes.
      project('clients', 'test/clients/**/*.test.ts', { globalSetup: build, hookTimeout: 600_000, ...alone }),
    ],
  },
});
