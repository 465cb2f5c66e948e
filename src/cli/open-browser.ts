import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Opens a secret address in the browser. The caller removes the returned file, which has the address, when the page is no longer needed. */
export async function openBrowser(url: string, program: string): Promise<{ remove(): Promise<void> } | undefined> {
  const startProgram = (...args: readonly string[]) =>
    spawn(program, args, { stdio: 'ignore', detached: true })
      .on('error', () => undefined)
      .unref();

  if (program === 'rundll32') {
    // Other users cannot see the arguments of a program on Windows.
    startProgram('url.dll,FileProtocolHandler', url);
    return undefined;
  }

  // Elsewhere, other users can see the arguments, so the program gets a file that only this user can read. It is in the home folder, because
  // browsers that are snaps can read no other folder.
  const folder = await mkdtemp(join(homedir(), 'cloudops-mcp-view-'));
  const file = join(folder, 'view.html');
  await writeFile(file, `<!doctype html><meta http-equiv="refresh" content="0; url=${url}">`, { mode: 0o600 });
  startProgram(pathToFileURL(file).href);
  return { remove: () => rm(folder, { recursive: true, force: true }) };
}
