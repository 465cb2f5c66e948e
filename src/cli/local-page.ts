import { accessSync, constants } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { DecisionPage } from '../changes/required-consent.js';
import type { Config } from '../config/load-config.js';
import type { Runtime } from '../runtime.js';
import { type Log, reasonOf } from '../util/log.js';
import { attempt } from '../util/objects.js';
import { exact, say } from '../util/safe-text.js';
import type { Terminal } from './command.js';
import { printLine } from './layout.js';

type Open = (url: string) => Promise<{ remove(): Promise<void> } | undefined>;

/** Prepares the page for decisions in this machine's browser. `runtime` is called when a change waits. */
export function localPageFor(
  { values }: Config,
  terminal: Terminal,
  printsLink: boolean,
  log: Log,
  runtime: () => Runtime,
) {
  // With a public URL, people sign in there to decide.
  if (values.OPEN_BROWSER === 'off' || values.HTTP_PUBLIC_URL !== undefined) return undefined;
  const open = openFor(terminal, printsLink);
  if (open === undefined) return undefined;

  const startServer = async () => {
    const { serveLocalPage } = await import('../http/local-decision-page.js');
    const { store, server } = runtime();
    const { SANDBOX: isSandbox, LANGUAGE: language } = values;
    return serveLocalPage({ ...server, store, isSandbox, language, now: terminal.now, open, log });
  };
  /** Undefined until the first plan is shown, and after a failure to start. */
  let serverStart: ReturnType<typeof startServer> | undefined;
  const showChange = async (id: string): Promise<void> => {
    try {
      serverStart ??= startServer().catch((error: unknown) => {
        // The next change tries again.
        serverStart = undefined;
        throw error;
      });
      // Opens a browser tab, unless one is open.
      await (await serverStart).show(id);
    } catch (error) {
      log('warn', 'page', { error: reasonOf(error) });
    }
  };

  const page: DecisionPage = { kind: 'local', show: (id) => void showChange(id) };
  return {
    page,
    async close(): Promise<void> {
      const server = await serverStart?.catch(() => undefined);
      await server?.close();
    },
  };
}

function openFor(terminal: Terminal, printsLink: boolean): Open | undefined {
  const program = browserProgram(terminal);
  if (program !== undefined) return (url) => openBrowser(url, program);
  // A log file could be read by an agent, so the link is printed for a person only.
  if (!printsLink || !terminal.stderr.isTTY) return undefined;
  return async (url) => {
    printLine(terminal.stderr, say`A change waits for your decision at ${exact(url)}`);
    return undefined;
  };
}

/** The program that opens an address in the browser. Undefined if the user of this machine would probably not see it. */
export function browserProgram({ platform, env }: Pick<Terminal, 'platform' | 'env'>): string | undefined {
  // The user probably does not see the screen of a remote or automated machine.
  if (['SSH_CONNECTION', 'SSH_CLIENT', 'SSH_TTY', 'CI'].some((name) => env[name])) return undefined;
  if (platform === 'win32') return 'rundll32';
  if (platform !== 'darwin' && !env.DISPLAY && !env.WAYLAND_DISPLAY) return undefined;
  const program = platform === 'darwin' ? 'open' : 'xdg-open';
  const isExecutable = (path: string) => attempt(() => accessSync(path, constants.X_OK), false) !== false;
  const isInstalled = (env.PATH ?? '').split(delimiter).some((folder) => isExecutable(join(folder, program)));
  return isInstalled ? program : undefined;
}

/** Opens a secret address in the browser. The caller removes the returned file, which has the address, when the page is no longer needed. */
async function openBrowser(url: string, program: string): Promise<{ remove(): Promise<void> } | undefined> {
  // Few servers need it, and it would make each start slower.
  const { spawn } = await import('node:child_process');
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
