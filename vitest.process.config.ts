import { defineConfig } from 'vitest/config';

/** What starts programs, the built server before all, kills them, or needs a database: `npm run test:process`. */
export default defineConfig({
  test: {
    include: ['test/**/*.process.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Two cores: the programs run beside the workers.
    maxWorkers: 2,
  },
});
