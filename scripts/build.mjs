// Bundles the server, which starts faster than from separate modules. Code that only some commands or calls need is in chunks,
// loaded on first use. Functions keep their names for stack traces.
import { chmod, rm, writeFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { asciiOnly } from './ascii.mjs';
import { buildViews } from './build-ui.mjs';
import { builtinsAsUsed } from './builtins.mjs';
import { bundle } from './bundle.mjs';
import writeSchemas from './schemas.mjs';
import { writeThirdParties } from './third-parties.mjs';
import { writeTypes } from './types.mjs';
import { withoutUnusedLocales } from './unused-locales.mjs';
import { withoutUnusedSchemas } from './unused-schemas.mjs';

const beside = (file) => fileURLToPath(new URL(file, import.meta.url));

const options = {
  platform: 'node',
  transform: { target: 'node20' },
  plugins: [builtinsAsUsed(), withoutUnusedSchemas(), withoutUnusedLocales(), asciiOnly()],
  // The MCP SDK does not say of itself that loading it has no effects.
  treeshake: { moduleSideEffects: [{ test: /@modelcontextprotocol[\\/]server[\\/]dist/, sideEffects: false }] },
  resolve: {
    // Unused code can be left out of ES modules, so they are preferred where a library has both.
    mainFields: ['module', 'main'],
    alias: {
      undici: beside('undici-dispatchers.mjs'),
      // The parser of HTTP is there twice. The one without SIMD runs on every processor.
      '../llhttp/llhttp_simd-wasm.js': beside('../node_modules/undici/lib/llhttp/llhttp-wasm.js'),
      '@modelcontextprotocol/server/_shims': beside('sdk-shims.mjs'),
    },
  },
};
const output = {
  dir: 'dist',
  entryFileNames: '[name].js',
  chunkFileNames: 'chunks/[name]-[hash].js',
  minify: {
    compress: { keepNames: { function: true, class: false } },
    mangle: { keepNames: { function: true, class: false } },
    codegen: { removeWhitespace: true },
  },
  comments: false,
};

/** A module's path in the repository, with slashes on every system. */
const pathOf = (module) => relative(beside('..'), module).replaceAll('\\', '/');

await writeSchemas();
await rm('dist', { recursive: true, force: true });
const files = await bundle({
  ...options,
  input: { main: 'src/main.ts' },
  preserveEntrySignatures: 'allow-extension',
  output: {
    ...output,
    // One file of what every start needs, and one of what the first call needs: each further one takes a millisecond.
    codeSplitting: {
      groups: [
        // Needed before the rest, which Node keeps compiled.
        { name: 'builtins', test: /^\0builtin:node:(?:module|fs|os|path|url)$/, priority: 4 },
        // Files of operations are given zod as a whole.
        {
          name: 'all-of-zod',
          test: /zod[\\/](?:index|v4[\\/](?:classic[\\/](?:external|from-json-schema|deep-partial|in-out)|core[\\/](?:index|compile|visit)|locales[\\/]index))\.js$/,
          priority: 3,
          includeDependenciesRecursively: false,
        },
        // The MCP SDK's server for HTTP, which shares a package with what every start needs.
        {
          name: 'sdk-http',
          test: /@modelcontextprotocol[\\/]server[\\/]dist[\\/]index\.mjs$/,
          priority: 3,
          includeDependenciesRecursively: false,
        },
        { name: 'start', test: /src[\\/]cli[\\/]run\.ts$/, priority: 2 },
        { name: 'sender', test: /src[\\/]calls[\\/]sender\.ts$/, priority: 1 },
      ],
    },
  },
});
await chmod('dist/main.js', 0o755);
const contents = files.map(({ fileName, facadeModuleId, imports, modules }) => ({
  file: fileName,
  ...(facadeModuleId !== null && { entry: pathOf(facadeModuleId) }),
  imports,
  modules: Object.keys(modules)
    .filter((module) => modules[module].renderedLength > 0)
    .map(pathOf),
}));
// test/package reads the modules of each file here.
await writeFile('dist/contents.json', JSON.stringify(contents));
writeThirdParties(
  contents.flatMap(({ modules }) => modules),
  'dist',
);
await buildViews();
writeTypes();
// For `npm run demo`; not part of the package.
await bundle({ ...options, input: { demo: 'examples/demo.ts' }, output: { ...output, codeSplitting: false } });
