// Bundles the server: that starts sooner than loose modules. What only some commands or calls need is in files of its own,
// loaded when it is asked for. Libraries are minified; our own code keeps its names, so that a stack trace says something,
// and has a source map for `node --enable-source-maps`.
import { chmod, readFile, rm } from 'node:fs/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, transform } from 'esbuild';
import { buildViews } from './build-ui.mjs';
import { writeThirdParties } from './third-parties.mjs';

const beside = (file) => fileURLToPath(new URL(file, import.meta.url));

/** Ends a file with a source map that says nothing of its lines, so that esbuild leaves it out of ours. */
function unmapped(code) {
  const map = { version: 3, sources: [''], mappings: `${';'.repeat(code.split('\n').length)}AAAA` };
  return `${code}\n//# sourceMappingURL=data:application/json;base64,${Buffer.from(JSON.stringify(map)).toString('base64')}`;
}

const libraries = {
  name: 'libraries',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^undici$/ }, () => ({ path: beside('undici-dispatchers.mjs') }));
    onResolve({ filter: /^@modelcontextprotocol\/server\/_shims$/ }, () => ({ path: beside('sdk-shims.mjs') }));
    onLoad({ filter: /[\\/]node_modules[\\/].*\.[cm]?js$/ }, async ({ path }) => {
      const { code } = await transform(await readFile(path, 'utf8'), { minify: true, legalComments: 'none' });
      return { contents: unmapped(code), loader: 'js' };
    });
  },
};

/** Loads these modules of Node without their ES module facades, which evaluate every export: stdout, web cryptography, streams. */
const builtins = {
  name: 'builtins',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^(node:)?(process|crypto|stream)$/ }, ({ path, kind }) =>
      kind === 'import-statement' ? { path, namespace: 'builtin' } : undefined,
    );
    onLoad({ filter: /./, namespace: 'builtin' }, ({ path }) => ({
      contents: unmapped(`module.exports = process.getBuiltinModule("${path}");`),
    }));
  },
};

const options = {
  outdir: 'dist',
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'esm',
  // ES modules, where a library has both: what is not used can be left out.
  mainFields: ['module', 'main'],
  plugins: [builtins, libraries],
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'none',
  // Dependencies that are CommonJS ask for `require`.
  banner: {
    js: "#!/usr/bin/env node\nconst require = process.getBuiltinModule('node:module').createRequire(import.meta.url);",
  },
  logLevel: 'warning',
};

/** The schemas of the tools, worked out once for all starts: see `toolSchemas` in src/server.ts. */
async function prepareSchemas() {
  const contents = "export { operations } from './src/tools/index.js'; export { toolSchemas } from './src/server.js';";
  const stdin = { contents, resolveDir: beside('..'), loader: 'ts' };
  const outfile = beside('../dist/schemas.mjs');
  await build({ ...options, outdir: undefined, outfile, stdin });
  const { operations, toolSchemas } = await import(pathToFileURL(outfile));
  await rm(outfile);
  return JSON.stringify(Object.fromEntries(operations.map((operation) => [operation.name, toolSchemas(operation)])));
}

await rm('dist', { recursive: true, force: true });
const { metafile } = await build({
  ...options,
  define: { preparedSchemas: await prepareSchemas() },
  entryPoints: { main: 'src/main.ts' },
  splitting: true,
  chunkNames: 'chunks/[name]-[hash]',
  sourcemap: true,
  sourcesContent: false,
  metafile: true,
});
await chmod('dist/main.js', 0o755);
writeThirdParties(metafile, 'dist');
await buildViews();
// For `npm run demo`; not part of the package.
await build({ ...options, entryPoints: { demo: 'examples/demo.ts' } });
