import { lstatSync, mkdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { textAt } from './objects.js';

export type CacheProcess = Pick<NodeJS.Process, 'platform' | 'getuid'> & {
  readonly env: Readonly<Record<string, string | undefined>>;
};

/** Makes the folder for caches. Undefined if others can write to it, because they could put code or lies into it. */
export function privateCacheFolder(process: CacheProcess): string | undefined {
  const { env, platform } = process;
  const configured = platform === 'win32' ? env.LOCALAPPDATA : env.XDG_CACHE_HOME;
  const usual: Readonly<Record<string, string>> = { win32: 'AppData/Local', darwin: 'Library/Caches' };
  try {
    const caches =
      configured !== undefined && isAbsolute(configured) ? configured : join(homedir(), usual[platform] ?? '.cache');
    const folder = join(caches, 'cloudops-mcp');
    makeFolder(folder);
    // A link would lead to a folder of somebody else. On Windows, the parent folder is already private.
    const status = lstatSync(folder);
    const user = process.getuid?.();
    const isPrivate = user === undefined || (status.uid === user && (status.mode & 0o077) === 0);
    return status.isDirectory() && isPrivate ? folder : undefined;
  } catch {
    return undefined;
  }
}

/** Node's option `recursive` never returns below /proc, where no folder can be made. */
export function makeFolder(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false }) !== undefined) return;
  if (dirname(folder) !== folder) makeFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (textAt(error, 'code') !== 'EEXIST') throw error;
  }
}

/** Lets Node cache compiled code. `enable` is missing before Node 22.1. */
export function enableCompileCache(enable: unknown, process: CacheProcess): void {
  if (typeof enable !== 'function') return;
  const folder = privateCacheFolder(process);
  if (folder === undefined) return;
  try {
    enable(folder);
  } catch {}
}
