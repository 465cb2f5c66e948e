import { type ChildProcess, spawn } from 'node:child_process';
import { own, type SafeText, say, words } from '../util/safe-text.js';

/** Outcome of a program. The program's stderr is not read, because it may hold a secret. */
export type ProgramResult =
  | { readonly kind: 'ended'; readonly stdout: string }
  /** `problem` is the rest of a sentence that begins with the program's name: `ended with exit code 1`. */
  | { readonly kind: 'failed'; readonly problem: SafeText };

const failed = (problem: SafeText): ProgramResult => ({ kind: 'failed', problem });

export type RunProgram = (command: readonly string[]) => Promise<ProgramResult>;

const longestRunMs = 10_000;
const maximumOutputBytes = 64 * 1024;

interface RunOptions {
  /** Environment variables of the program. The settings of this server are not among them, because they may hold other keys. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborts when no call waits for the program any more. The program is then killed. */
  readonly stop?: AbortSignal | undefined;
  readonly limitMs?: number;
}

/**
 * Runs a program without a shell. If it exceeds the limits of time or output, or is stopped, it is killed with all processes that it
 * started, except those that left its process group (setsid). On Windows, which has no process groups, only the program itself is killed.
 */
export async function runProgram([file = '', ...args]: readonly string[], options: RunOptions): Promise<ProgramResult> {
  if (options.stop?.aborted) return stopped;
  let child: ChildProcess;
  try {
    // On POSIX systems, a detached program gets its own process group, so it can be killed with its children.
    const detached = hasGroups;
    child = spawn(file, args, {
      env: { ...options.env },
      stdio: ['ignore', 'pipe', 'ignore'],
      detached,
      windowsHide: true,
    });
  } catch {
    // `spawn` throws if the file name or an argument is invalid on this system, for example if it has a null character.
    return failed(words('cannot be started'));
  }
  return waitForEnd(child, options);
}

const hasGroups = process.platform !== 'win32';

const stopped = failed(words('was stopped, because this server ends'));

/** How long the output of a program may stay open after the program's end (milliseconds). */
const heldOutputMs = 500;

/**
 * Waits for the end of a running program, and returns its outcome. Kills the program after `limitMs`, at `stop` or after too much output.
 *
 * The program has ended at the child's event `exit`. Its output has ended at the event `close`, which usually follows at once. But processes
 * that the program started may keep the output open. After `heldOutputMs`, they are killed, and the output so far counts as complete.
 */
function waitForEnd(child: ChildProcess, { limitMs = longestRunMs, stop }: RunOptions): Promise<ProgramResult> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    /** Runs from `exit` to `close`. */
    let outputTimer: NodeJS.Timeout | undefined;
    const resultOf = (code: number | null, signal: NodeJS.Signals | null): ProgramResult => {
      if (code === 0) return { kind: 'ended', stdout: Buffer.concat(chunks).toString('utf8') };
      return failed(signal ? say`was ended by ${own(signal)}` : say`ended with exit code ${own(String(code))}`);
    };

    const kill = () => killAll(child);
    // Called twice for a killed program: in `killAndFinish`, and at `close`. Only the first result counts. The second call clears the timer that
    // `exit` has started in between.
    const finish = (result: ProgramResult) => {
      clearTimeout(limitTimer);
      clearTimeout(outputTimer);
      stop?.removeEventListener('abort', onStop);
      process.off('exit', kill);
      resolve(result);
    };
    const killAndFinish = (result: ProgramResult) => {
      kill();
      // A process that left the group may hold the other end of the pipe, and an open pipe would keep this process from ending.
      child.stdout?.destroy();
      finish(result);
    };
    const killAndFail = (problem: SafeText) => killAndFinish(failed(problem));
    const onStop = () => killAndFinish(stopped);

    // A program with its own process group would outlive this process, so it is killed when this process exits.
    process.once('exit', kill);
    stop?.addEventListener('abort', onStop);
    const limitTimer = setTimeout(() => killAndFail(say`did not end within ${limitMs / 1000} seconds`), limitMs);
    child.stdout?.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes > maximumOutputBytes) killAndFail(say`printed more than ${maximumOutputBytes / 1024} KiB`);
    });
    // The program could not be started, so there is no process to kill. Of the error, only the code is shown (by `own`, without quotation
    // marks), because the message has the program's arguments.
    child.once('error', (error) => finish(failed(say`cannot be started (${own(codeOf(error))})`)));
    child.once('exit', (code, signal) => {
      outputTimer = setTimeout(() => killAndFinish(resultOf(code, signal)), heldOutputMs);
    });
    child.once('close', (code, signal) => finish(resultOf(code, signal)));
  });
}

const codeOf = (error: Error) => ('code' in error ? String(error.code) : error.name);

/** Kills a program and everything in its process group. */
function killAll(child: ChildProcess): void {
  const { pid } = child;
  if (pid === undefined) return;
  try {
    if (hasGroups) process.kill(-pid, 'SIGKILL');
    else child.kill('SIGKILL');
  } catch {
    // The program has ended already.
  }
}
