import { type ChildProcess, spawn } from 'node:child_process';
import { own, type Shown, say, words } from '../util/safe-text.js';

/** What came of running a program. What it printed to stderr is nowhere: it may hold a secret. */
export type ProgramResult =
  | { readonly kind: 'ended'; readonly stdout: string }
  /** The end of a sentence about the program. */
  | { readonly kind: 'failed'; readonly problem: Shown };

export type RunProgram = (command: readonly string[]) => Promise<ProgramResult>;

const longestRunMs = 10_000;
const mostBytes = 64 * 1024;

export interface RunOptions {
  /** Without the variables of this server, which may hold other keys. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborts when nobody waits for the program any more. */
  readonly stop?: AbortSignal | undefined;
  readonly limitMs?: number;
}

/**
 * Runs a program without a shell, within limits of time and output. One that goes beyond them, or is stopped, is ended with all that it
 * started: on Windows, which has no groups of processes, it alone.
 */
export function runProgram([file = '', ...args]: readonly string[], options: RunOptions): Promise<ProgramResult> {
  if (options.stop?.aborted) return Promise.resolve(stopped);
  return new Promise((resolve) => {
    try {
      const hasGroup = process.platform !== 'win32';
      const child = spawn(file, args, {
        env: { ...options.env },
        stdio: ['ignore', 'pipe', 'ignore'],
        detached: hasGroup,
        windowsHide: true,
      });
      watch(child, options, () => endAll(child, hasGroup), resolve);
    } catch {
      // A file name or an argument that no system takes.
      resolve({ kind: 'failed', problem: words('cannot be started') });
    }
  });
}

const stopped: ProgramResult = { kind: 'failed', problem: words('was stopped, because this server ends') };

/** Tells how a program ended. Whoever holds its output open counts as part of it. */
function watch(
  child: ChildProcess,
  { limitMs = longestRunMs, stop }: RunOptions,
  endProgram: () => void,
  resolve: (result: ProgramResult) => void,
): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const done = (result: ProgramResult) => {
    clearTimeout(timer);
    process.off('exit', endProgram);
    stop?.removeEventListener('abort', onStop);
    resolve(result);
  };
  const endWith = (result: ProgramResult) => {
    endProgram();
    child.stdout?.destroy();
    done(result);
  };
  const fail = (problem: Shown) => endWith({ kind: 'failed', problem });
  const onStop = () => endWith(stopped);
  const timer = setTimeout(() => fail(say`did not end within ${limitMs / 1000} seconds`), limitMs);
  // It would outlive this process, as it is in a group of its own.
  process.once('exit', endProgram);
  stop?.addEventListener('abort', onStop);
  child.stdout?.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    chunks.push(chunk);
    if (bytes > mostBytes) fail(say`printed more than ${mostBytes / 1024} KiB`);
  });
  // Never the error's message: it names the program with its arguments.
  child.once('error', (error) => done({ kind: 'failed', problem: say`cannot be started (${own(codeOf(error))})` }));
  child.once('close', (code, signal) => {
    if (code === 0) return done({ kind: 'ended', stdout: Buffer.concat(chunks).toString('utf8') });
    const problem = signal ? say`was ended by ${own(signal)}` : say`ended with exit code ${own(String(code))}`;
    return done({ kind: 'failed', problem });
  });
}

const codeOf = (error: Error) => ('code' in error ? String(error.code) : error.name);

/** Ends a program and everything in its group. */
function endAll(child: ChildProcess, hasGroup: boolean): void {
  const { pid } = child;
  if (pid === undefined) return;
  try {
    if (hasGroup) process.kill(-pid, 'SIGKILL');
    else child.kill('SIGKILL');
  } catch {
    // It has ended by itself.
  }
}
