import { defineConfig } from 'vitest/config';

/** The MCP clients that people use, each as its makers publish it, against the built server. npm fetches them; all else is loopback. */
export default defineConfig({
  test: {
    include: ['test/clients/**/*.test.ts'],
    testTimeout: 180_000,
    hookTimeout: 600_000,
    fileParallelism: false,
  },
});
