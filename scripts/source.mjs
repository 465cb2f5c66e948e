// For scripts that need parts of the source.
import { bundleLines } from './bundle.mjs';

/** Imports what a module of these lines exports; its paths start at the root of the repository. */
export async function importSource(contents) {
  const code = await bundleLines(contents, { platform: 'node', resolve: { mainFields: ['module', 'main'] } });
  return import(`data:text/javascript;base64,${Buffer.from(code).toString('base64')}`);
}
