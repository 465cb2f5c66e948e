import { defineConfig } from 'vitest/config';

/** The storage suite against a real object store: run by test/s3/run.mjs, which starts one and says where it is. */
export default defineConfig({
  test: { include: ['test/s3/**/*.test.ts'], testTimeout: 120_000, hookTimeout: 120_000, fileParallelism: false },
});
