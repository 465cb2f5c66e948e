import { bundleLines } from './bundle.mjs';

/** Imports a TypeScript module, given as text. Its imports are relative to the root of the repository. */
export async function importSource(contents) {
  const code = await bundleLines(contents, {
    platform: 'node',
    transform: { target: 'node20' },
    resolve: { mainFields: ['module', 'main'] },
  });
  return import(`data:text/javascript;base64,${Buffer.from(code).toString('base64')}`);
}
