import { type CacheProcess, privateCacheFolder } from '../util/cache-folder.js';

/** Lets Node cache compiled code. `enable` is missing before Node 22.1. */
export function enableCompileCache(enable: unknown, process: CacheProcess): void {
  if (typeof enable !== 'function') return;
  const folder = privateCacheFolder(process);
  if (folder === undefined) return;
  try {
    enable(folder);
  } catch {
    // Without a cache, each start takes a little longer.
  }
}
