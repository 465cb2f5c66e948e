import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

/** A program in a terminal of 80 columns, and what a person in front of it sees and types. */
export interface Screen {
  /** What is visible now, line by line. */
  lines(): Promise<readonly string[]>;
  /** The same with escape sequences for colours, as one text. */
  colored(): Promise<string>;
  /** Waits until something is visible, and gives the lines of then. */
  shows(what: RegExp): Promise<readonly string[]>;
  /** Waits until what is visible fulfils something. */
  until(isSo: (seen: string) => boolean, what: string): Promise<readonly string[]>;
  /** Types a text, or presses keys by the names that tmux has for them. */
  type(text: string): Promise<void>;
  press(key: string): Promise<void>;
  /** Presses a key until what is visible fulfils something: a program that is busy with what it shows may miss it. */
  pressUntil(key: string, isSo: (seen: string) => boolean, what: string): Promise<void>;
  close(): Promise<void>;
}

const longestWaitMs = 90_000;
const lookEveryMs = 200;
const pressAgainMs = 3000;
const mostPresses = 5;
const run = promisify(execFile);

/** Starts a program in a terminal that tmux makes, without the settings of whoever runs the tests. */
export async function openScreen(
  command: readonly string[],
  { cwd, env, columns = 80, rows = 45 }: ScreenOptions,
): Promise<Screen> {
  const folder = await mkdtemp(join(tmpdir(), 'cloudops-screen-'));
  const { TERM: _, NO_COLOR: __, ...kept } = env;
  const tmux = async (...args: readonly string[]) =>
    (
      await run('tmux', ['-S', join(folder, 'socket'), '-f', '/dev/null', ...args], {
        env: { ...kept, LANG: 'C.UTF-8' },
      })
    ).stdout;
  const size = ['-x', String(columns), '-y', String(rows)];
  await tmux('new-session', '-d', ...size, '-c', cwd, '--', ...command, ';', 'set-option', 'remain-on-exit', 'on');
  const lines = async () => (await tmux('capture-pane', '-p')).trimEnd().split('\n');
  const until = async (isSo: (seen: string) => boolean, what: string, longestMs = longestWaitMs) => {
    for (let waited = 0; waited < longestMs; waited += lookEveryMs) {
      const seen = await lines();
      if (isSo(seen.join('\n'))) return seen;
      await delay(lookEveryMs);
    }
    throw new Error(`${what} is not on the screen:\n${(await lines()).join('\n')}`);
  };
  const press = async (key: string) => void (await tmux('send-keys', key));
  return {
    lines,
    colored: () => tmux('capture-pane', '-p', '-e'),
    until,
    shows: (what) => until((seen) => what.test(seen), String(what)),
    type: async (text) => void (await tmux('send-keys', '-l', text)),
    press,
    async pressUntil(key, isSo, what) {
      for (let tries = 1; tries < mostPresses; tries += 1) {
        await press(key);
        const isDone = await until(isSo, what, pressAgainMs).catch(() => undefined);
        if (isDone !== undefined) return;
      }
      await until(isSo, what);
    },
    async close() {
      await tmux('kill-server').catch(() => undefined);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export interface TerminalSize {
  readonly columns?: number;
  readonly rows?: number;
}

interface ScreenOptions extends TerminalSize {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}
