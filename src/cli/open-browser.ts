import { accessSync, constants } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Terminal } from './command.js';

/** The program that opens a browser. */
const opener = (platform: NodeJS.Platform) => (platform === 'darwin' ? 'open' : 'xdg-open');

/** Variables that are set if the user of the client probably does not see the screen of this machine. */
const remoteVariables = ['SSH_CONNECTION', 'SSH_CLIENT', 'SSH_TTY', 'CI'];

/** True if the user of the client would see a browser that is opened on this machine. */
export function hasDesktop({ platform, env }: Pick<Terminal, 'platform' | 'env'>): boolean {
  if (remoteVariables.some((name) => env[name])) return false;
  if (platform === 'win32') return true;
  if (platform !== 'darwin' && !env.DISPLAY && !env.WAYLAND_DISPLAY) return false;
  return (env.PATH ?? '').split(delimiter).some((folder) => isExecutable(join(folder, opener(platform))));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Opens the browser, if the system can. Except on Windows, other users see the arguments of programs, so the browser gets the secret address
 * from a file that only this user can read. The file is in the home folder, because browsers that are snaps read no other folder. Resolves
 * with a function that removes the file, or with undefined if there is none.
 */
export async function openBrowser(
  url: string,
  platform: NodeJS.Platform,
): Promise<{ remove(): Promise<void> } | undefined> {
  // Loaded here to keep it out of the start of a server.
  const { spawn } = await import('node:child_process');
  const start = (command: string, ...args: readonly string[]) =>
    spawn(command, args, { stdio: 'ignore', detached: true })
      .on('error', () => undefined)
      .unref();
  if (platform === 'win32') {
    start('rundll32', 'url.dll,FileProtocolHandler', url);
    return undefined;
  }
  const folder = await mkdtemp(join(homedir(), 'cloudops-mcp-view-'));
  const file = join(folder, 'view.html');
  await writeFile(file, `<!doctype html><meta http-equiv="refresh" content="0; url=${url}">`, { mode: 0o600 });
  start(opener(platform), pathToFileURL(file).href);
  return { remove: () => rm(folder, { recursive: true, force: true }) };
}
