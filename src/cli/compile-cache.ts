import { lstatSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

type Process = Pick<NodeJS.Process, 'env' | 'platform' | 'getuid'>;

/**
 * Lets Node keep the compiled code of the modules that are loaded from now on, which the next start then loads. `enable` is
 * `enableCompileCache` of `node:module`, which Node 22.1 and newer have. Without a folder that is ours alone there is no cache:
 * somebody who can write there could run code as us.
 */
export function enableCompileCache(enable: unknown, process: Process): void {
  if (typeof enable !== 'function') return;
  try {
    const folder = join(cacheFolder(process), 'cloudops-mcp');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (isPrivate(folder, process.getuid?.())) enable(folder);
  } catch {
    // There is no home, or it cannot be written: starting takes a little longer.
  }
}

/** The system's folder for files that can be made anew. */
function cacheFolder({ env, platform }: Process): string {
  const named = platform === 'win32' ? env.LOCALAPPDATA : env.XDG_CACHE_HOME;
  if (named !== undefined && isAbsolute(named)) return named;
  const home = homedir();
  if (platform === 'win32') return join(home, 'AppData', 'Local');
  return platform === 'darwin' ? join(home, 'Library', 'Caches') : join(home, '.cache');
}

/** True for a folder, not a link, that belongs to this user and that no other can open. On Windows, its parent folder ensures that. */
function isPrivate(folder: string, user: number | undefined): boolean {
  const status = lstatSync(folder);
  return status.isDirectory() && (user === undefined || (status.uid === user && (status.mode & 0o077) === 0));
}
