import { defineConfig } from 'vitest/config';

/** What users install: packs it, installs it elsewhere, and runs it on every supported Node. */
export default defineConfig({
  test: { include: ['test/package/**/*.test.ts'], testTimeout: 120_000, hookTimeout: 120_000, fileParallelism: false },
});
