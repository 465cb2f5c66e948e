import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Terminal } from './command.js';

/** The program that opens an address in the browser, except on Windows. */
export const browserOpener = (platform: NodeJS.Platform) => (platform === 'darwin' ? 'open' : 'xdg-open');

/** Variables of remote and automated machines, whose screen the user probably does not see. */
const remoteVariables = ['SSH_CONNECTION', 'SSH_CLIENT', 'SSH_TTY', 'CI'];

/** True if a browser can be opened on this machine, and its user would probably see it. */
export function hasDesktop({ platform, env }: Pick<Terminal, 'platform' | 'env'>): boolean {
  if (remoteVariables.some((name) => env[name])) return false;
  if (platform === 'win32') return true;
  if (platform !== 'darwin' && !env.DISPLAY && !env.WAYLAND_DISPLAY) return false;
  return (env.PATH ?? '').split(delimiter).some((folder) => isExecutable(join(folder, browserOpener(platform))));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
