import { defineConfig } from 'vitest/config';

/** S3 clients that others wrote, against the sandbox. The AWS CLI, rclone and s3cmd have to be installed. */
export default defineConfig({
  test: {
    include: ['test/s3-clients/**/*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    fileParallelism: false,
  },
});
