// Bundles the server: that starts sooner than loose modules. What only some commands or calls need is in files of its own,
// loaded when it is asked for. Functions and classes keep their names, so that a stack trace says something.
import { chmod, rm, writeFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildViews } from './build-ui.mjs';
import { bundle } from './bundle.mjs';
import writeSchemas from './schemas.mjs';
import { writeThirdParties } from './third-parties.mjs';
import { withoutUnusedSchemas } from './unused-schemas.mjs';

const beside = (file) => fileURLToPath(new URL(file, import.meta.url));

const options = {
  platform: 'node',
  transform: { target: 'node20' },
  plugins: [withoutUnusedSchemas()],
  resolve: {
    // ES modules, where a library has both: what is not used can be left out.
    mainFields: ['module', 'main'],
    alias: {
      undici: beside('undici-dispatchers.mjs'),
      '@modelcontextprotocol/server/_shims': beside('sdk-shims.mjs'),
    },
  },
};
const output = {
  dir: 'dist',
  entryFileNames: '[name].js',
  chunkFileNames: 'chunks/[name]-[hash].js',
  minify: {
    compress: { keepNames: { function: true, class: true } },
    mangle: { keepNames: { function: true, class: true } },
    // V8 keeps and reads a text with any other character in twice the space.
    codegen: { removeWhitespace: true, asciiOnly: true },
  },
  comments: false,
};

/** Where a module is in the repository, on every system in the same way. */
const pathOf = (module) => relative(beside('..'), module).replaceAll('\\', '/');

await writeSchemas();
await rm('dist', { recursive: true, force: true });
const files = await bundle({
  ...options,
  input: { main: 'src/main.ts' },
  output: {
    ...output,
    // One file of what every start needs, and one of what the first call needs: each further one takes a millisecond.
    codeSplitting: {
      groups: [
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
// For test/package: which modules are in which file.
await writeFile('dist/contents.json', JSON.stringify(contents));
writeThirdParties(
  contents.flatMap(({ modules }) => modules),
  'dist',
);
await buildViews();
// For `npm run demo`; not part of the package.
await bundle({ ...options, input: { demo: 'examples/demo.ts' }, output: { ...output, codeSplitting: false } });
