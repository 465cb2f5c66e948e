import { defineConfig } from 'vitest/config';

/** What runs in this process: `npm test`. */
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/**/*.process.test.ts', 'test/{s3,s3-clients,package,browser,clients}/**'],
    globalSetup: 'scripts/schemas.mjs',
    testTimeout: 30_000,
    maxWorkers: 2,
  },
});
