import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from 'rolldown';

export interface StoreProgram {
  readonly path: string;
  remove(): void;
}

/** Bundles store-child.ts into a program, in the folder of the libraries, because it needs some that cannot be bundled. */
export async function buildStoreProgram(): Promise<StoreProgram> {
  const cache = resolve('node_modules/.cache');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'store-'));
  const path = join(folder, 'store.mjs');
  await build({
    input: 'test/support/store-child.ts',
    platform: 'node',
    transform: { target: 'node20' },
    resolve: { mainFields: ['module', 'main'] },
    external: ['pg-native', '@photostructure/sqlite'],
    output: { file: path, codeSplitting: false },
    logLevel: 'warn',
  });
  return { path, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
