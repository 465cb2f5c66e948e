import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/s3/**', 'test/package/**'],
    testTimeout: 30_000,
    // Two cores: real child processes run beside the workers.
    maxWorkers: 2,
  },
});
