// Bundles the server and the demonstration: that starts sooner than loose modules. What only some commands need is in files
// of its own, loaded when it is asked for.
import { chmod, rm } from 'node:fs/promises';
import { build } from 'esbuild';

await rm('dist', { recursive: true, force: true });
await build({
  entryPoints: { main: 'src/main.ts', demo: 'src/cli/demo.ts' },
  outdir: 'dist',
  bundle: true,
  splitting: true,
  chunkNames: 'chunks/[name]-[hash]',
  platform: 'node',
  target: 'node20',
  format: 'esm',
  sourcemap: true,
  legalComments: 'none',
  // Dependencies that are CommonJS ask for `require`.
  banner: {
    js: "#!/usr/bin/env node\nimport { createRequire as makeRequire } from 'node:module';\nconst require = makeRequire(import.meta.url);",
  },
  logLevel: 'warning',
});
await chmod('dist/main.js', 0o755);
