// Bundles the server, because one file loads faster than hundreds of modules. Code that only some commands or calls need is in chunks
// that load on first use. Modules may be left out, but none is rewritten. Functions keep their names for stack traces. The first argument is
// the folder to build into, `dist` by default.
import { chmod, rm, writeFile } from 'node:fs/promises';
import { relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildViews } from './build-ui.mjs';
import { bundle } from './bundle.mjs';
import writeSchemas from './schemas.mjs';
import { writeThirdParties } from './third-parties.mjs';

const beside = (file) => fileURLToPath(new URL(file, import.meta.url));

const dist = resolve(process.argv[2] ?? 'dist');
// `.ci/run` names the folder that it has built, so that no later command builds it again.
if (process.env.BUILT_FOLDER === dist) process.exit();

const options = {
  platform: 'node',
  // An optional peer that only Node.js 20 needs. It has a native module.
  external: ['@photostructure/sqlite'],
  transform: { target: 'node20' },
  // The MCP SDK's package.json does not declare that its modules are free of side effects.
  treeshake: { moduleSideEffects: [{ test: /@modelcontextprotocol[\\/]server[\\/]dist/, sideEffects: false }] },
  resolve: {
    // Prefers the ES modules of a library, because the bundler can leave out their unused exports.
    mainFields: ['module', 'main'],
    alias: {
      undici: beside('undici-dispatchers.mjs'),
      // undici has its HTTP parser twice. The one without SIMD runs on every processor.
      '../llhttp/llhttp_simd-wasm.js': beside('../node_modules/undici/lib/llhttp/llhttp-wasm.js'),
      '@modelcontextprotocol/server/_shims': beside('sdk-shims.mjs'),
      './client-h2.js': beside('left-out.cjs'),
      // Makes bodies of form data and streams, while this server sends texts and bytes.
      '../web/fetch/body.js': beside('left-out.cjs'),
      './native': beside('left-out.cjs'),
      // Parts of prom-client that nothing uses.
      './lib/bucketGenerators': beside('left-out.cjs'),
      './lib/pushgateway': beside('left-out.cjs'),
      './lib/cluster': beside('left-out.cjs'),
      './lib/summary': beside('left-out.cjs'),
      '@smithy/core/event-streams': beside('no-event-streams.mjs'),
      './fromNodeProviderChain': beside('no-credential-chain.mjs'),
      './emitWarningIfUnsupportedVersion': beside('no-node-warning.mjs'),
    },
  },
};
const output = {
  dir: dist,
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
await rm(dist, { recursive: true, force: true });
const files = await bundle({
  ...options,
  input: { main: 'src/main.ts' },
  preserveEntrySignatures: 'allow-extension',
  output: {
    ...output,
    // One file has everything for the start, and one everything for the first call, because loading a file takes a millisecond.
    codeSplitting: {
      groups: [
        // The MCP SDK's HTTP server, which is in the same package as the code that every start needs.
        {
          name: 'sdk-http',
          test: /@modelcontextprotocol[\\/]server[\\/]dist[\\/]index\.mjs$/,
          priority: 3,
          includeDependenciesRecursively: false,
        },
        // Signing needs little of this library, and the protocols of models need the rest.
        {
          name: 'protocol',
          test: /@smithy[\\/]core[\\/]dist-es[\\/]submodules[\\/]serde[\\/](?!util-hex|util-utf8|is-array-buffer|util-buffer|writeKey)/,
          priority: 3,
          includeDependenciesRecursively: false,
        },
        // Keys from services of AWS, which most servers never need.
        {
          name: 'aws-keys',
          test: /src[\\/]signing[\\/]aws-keys\.ts$|@aws-sdk[\\/](?:credential-provider|nested-clients|token-providers)|@smithy[\\/](?:credential-provider-imds|node-http-handler)/,
          priority: 3,
          includeDependenciesRecursively: false,
        },
        { name: 'start', test: /src[\\/]cli[\\/]run\.ts$/, priority: 2 },
        { name: 'calls', test: /src[\\/]call-stack\.ts$/, priority: 1 },
      ],
    },
  },
});
await chmod(`${dist}/main.js`, 0o755);
const contents = files.map(({ fileName, facadeModuleId, imports, modules }) => ({
  file: fileName,
  ...(facadeModuleId !== null && { entry: pathOf(facadeModuleId) }),
  imports,
  modules: Object.keys(modules)
    .filter((module) => modules[module].renderedLength > 0)
    .map(pathOf),
}));
// Lists the modules of each file for test/package.
await writeFile(`${dist}/contents.json`, JSON.stringify(contents));
writeThirdParties(
  contents.flatMap(({ modules }) => modules),
  dist,
);
await Promise.all([
  buildViews(`${dist}/ui`),
  // The demo is not part of the package.
  bundle({ ...options, input: { demo: 'examples/demo.ts' }, output: { ...output, codeSplitting: false } }),
]);
