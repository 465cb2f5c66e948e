import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { browserOpener } from './has-desktop.js';

/** Opens a secret address in the browser, if the system has one. Resolves with a function that removes the file that this needed, if any. */
export async function openBrowser(
  url: string,
  platform: NodeJS.Platform,
): Promise<{ remove(): Promise<void> } | undefined> {
  const startProgram = (command: string, ...args: readonly string[]) =>
    spawn(command, args, { stdio: 'ignore', detached: true })
      .on('error', () => undefined)
      .unref();

  if (platform === 'win32') {
    startProgram('rundll32', 'url.dll,FileProtocolHandler', url);
    return undefined;
  }

  // Other users would see the address in the arguments of the program. So it is in a file that only this user can read and that leads to
  // the address. The file is in the home folder, because browsers that are snaps can read no other folder.
  const folder = await mkdtemp(join(homedir(), 'cloudops-mcp-view-'));
  const file = join(folder, 'view.html');
  await writeFile(file, `<!doctype html><meta http-equiv="refresh" content="0; url=${url}">`, { mode: 0o600 });
  startProgram(browserOpener(platform), pathToFileURL(file).href);
  return { remove: () => rm(folder, { recursive: true, force: true }) };
}
