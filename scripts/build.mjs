// Bundles the server: that starts sooner than loose modules. What only some commands or calls need is in files of its own,
// loaded when it is asked for. Names stay as they are, so that a stack trace says something.
import { chmod, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { buildViews } from './build-ui.mjs';
import writeSchemas from './schemas.mjs';
import { writeThirdParties } from './third-parties.mjs';

const beside = (file) => fileURLToPath(new URL(file, import.meta.url));

const options = {
  outdir: 'dist',
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'esm',
  // ES modules, where a library has both: what is not used can be left out.
  mainFields: ['module', 'main'],
  alias: {
    undici: beside('undici-dispatchers.mjs'),
    '@modelcontextprotocol/server/_shims': beside('sdk-shims.mjs'),
  },
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'none',
  // Dependencies that are CommonJS ask for `require`.
  banner: {
    js: "#!/usr/bin/env node\nconst require = process.getBuiltinModule('node:module').createRequire(import.meta.url);",
  },
  logLevel: 'warning',
};

await writeSchemas();
await rm('dist', { recursive: true, force: true });
const { metafile } = await build({
  ...options,
  entryPoints: { main: 'src/main.ts' },
  splitting: true,
  chunkNames: 'chunks/[name]-[hash]',
  metafile: true,
});
await chmod('dist/main.js', 0o755);
// For test/package: which modules are in which file.
await writeFile('dist/metafile.json', JSON.stringify(metafile));
writeThirdParties(metafile, 'dist');
await buildViews();
// For `npm run demo`; not part of the package.
await build({ ...options, entryPoints: { demo: 'examples/demo.ts' } });
