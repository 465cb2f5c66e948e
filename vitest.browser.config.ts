import { defineConfig } from 'vitest/config';

/** The views of ui/ in headless Chromium (`CHROMIUM`, otherwise /usr/bin/chromium), in a host made with the SDK's AppBridge. */
export default defineConfig({
  test: { include: ['test/browser/**/*.test.ts'], testTimeout: 60_000, hookTimeout: 60_000, fileParallelism: false },
});
