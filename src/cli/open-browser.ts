import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { browserOpener } from './has-desktop.js';

/**
 * Opens the browser, if the system can. Except on Windows, other users see the arguments of programs, so the browser gets the secret address
 * from a file that only this user can read. The file is in the home folder, because browsers that are snaps read no other folder. Resolves
 * with a function that removes the file, or with undefined if there is none.
 */
export async function openBrowser(
  url: string,
  platform: NodeJS.Platform,
): Promise<{ remove(): Promise<void> } | undefined> {
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
  start(browserOpener(platform), pathToFileURL(file).href);
  return { remove: () => rm(folder, { recursive: true, force: true }) };
}
