import { lstatSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

type Process = Pick<NodeJS.Process, 'env' | 'platform' | 'getuid'>;

/**
 * Lets Node cache compiled code in a folder that only this user can write to, because another user could put code into it. `enable` is missing
 * before Node 22.1.
 */
export function enableCompileCache(enable: unknown, process: Process): void {
  if (typeof enable !== 'function') return;
  try {
    const folder = join(cacheFolder(process), 'cloudops-mcp');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (isPrivate(folder, process.getuid?.())) enable(folder);
  } catch {
    // Without a cache, each start takes a little longer.
  }
}

function cacheFolder({ env, platform }: Process): string {
  const configured = platform === 'win32' ? env.LOCALAPPDATA : env.XDG_CACHE_HOME;
  if (configured !== undefined && isAbsolute(configured)) return configured;
  const home = homedir();
  if (platform === 'win32') return join(home, 'AppData', 'Local');
  return platform === 'darwin' ? join(home, 'Library', 'Caches') : join(home, '.cache');
}

/** True for a folder (and no link) of this user that others cannot open. On Windows, the parent folder is already private. */
function isPrivate(folder: string, user: number | undefined): boolean {
  const status = lstatSync(folder);
  return status.isDirectory() && (user === undefined || (status.uid === user && (status.mode & 0o077) === 0));
}
