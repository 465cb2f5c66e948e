import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Terminal } from './command.js';

/** The program that opens a browser. */
export const opener = (platform: NodeJS.Platform) => (platform === 'darwin' ? 'open' : 'xdg-open');

/** Variables that say that whoever sees this machine's screen is not the person at the client. */
const elsewhere = ['SSH_CONNECTION', 'SSH_CLIENT', 'SSH_TTY', 'CI'];

/** True if a browser that is opened here comes up before the person who works with the client. */
export function hasDesktop({ platform, env }: Pick<Terminal, 'platform' | 'env'>): boolean {
  if (elsewhere.some((name) => env[name])) return false;
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
