import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Terminal } from './command.js';

/** The program that opens a browser. */
export const browserOpener = (platform: NodeJS.Platform) => (platform === 'darwin' ? 'open' : 'xdg-open');

/** Variables that are set if the user of the client probably does not see the screen of this machine. */
const remoteVariables = ['SSH_CONNECTION', 'SSH_CLIENT', 'SSH_TTY', 'CI'];

/** True if the user of the client would see a browser that is opened on this machine. */
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
