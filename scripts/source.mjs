// For scripts that need parts of the source.
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/** Imports what a module of these lines exports; its paths start at the root of the repository. */
export async function importSource(contents) {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: fileURLToPath(new URL('..', import.meta.url)), loader: 'ts' },
    bundle: true,
    write: false,
    platform: 'node',
    format: 'esm',
    mainFields: ['module', 'main'],
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`);
}
