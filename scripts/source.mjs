import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleLines } from './bundle.mjs';

/** Packages with binaries, which cannot be bundled. */
export const unbundled = ['pg-native', '@photostructure/sqlite'];

const settings = {
  platform: 'node',
  transform: { target: 'node20' },
  resolve: { mainFields: ['module', 'main'] },
};

/** Imports a TypeScript module, given as text. Its imports are relative to the root of the repository. */
export async function importSource(contents) {
  const code = await bundleLines(contents, settings);
  return import(`data:text/javascript;base64,${Buffer.from(code).toString('base64')}`);
}

/**
 * Writes such a module into an empty folder, and returns its path, from which several processes can import it. It can use the database libraries,
 * which need files of their own.
 */
export async function writeSource(contents, folder) {
  const path = join(folder, 'module.mjs');
  writeFileSync(path, await bundleLines(contents, { ...settings, external: unbundled }));
  linkPackages(folder);
  return path;
}

/** Lets modules in a folder import the packages of this repository. */
export function linkPackages(folder) {
  symlinkSync(fileURLToPath(new URL('../node_modules', import.meta.url)), join(folder, 'node_modules'));
}
