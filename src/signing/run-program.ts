import { type ChildProcess, spawn } from 'node:child_process';
import { own, type SafeText, say, words } from '../util/safe-text.js';

/** The program's stderr is not read, because it may hold a secret. */
type ProgramResult =
  | { readonly kind: 'ended'; readonly stdout: string }
  /** `problem` is the end of a sentence: `ended with exit code 1`. */
  | { readonly kind: 'failed'; readonly problem: SafeText };

const failed = (problem: SafeText): ProgramResult => ({ kind: 'failed', problem });

export type RunProgram = (command: readonly string[]) => Promise<ProgramResult>;

const longestRunMs = 10_000;
const maximumOutputBytes = 64 * 1024;

interface RunOptions {
  /** Without the settings of this server, which may hold other keys. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborting kills the program. */
  readonly stop?: AbortSignal | undefined;
  readonly limitMs?: number;
}

/** Runs a program without a shell. At a limit or `stop`, kills it with its process group, or on Windows only the program. */
export async function runProgram([file = '', ...args]: readonly string[], options: RunOptions): Promise<ProgramResult> {
  if (options.stop?.aborted) return stopped;
  let child: ChildProcess;
  try {
    const detached = hasGroups;
    child = spawn(file, args, {
      env: { ...options.env },
      stdio: ['ignore', 'pipe', 'ignore'],
      detached,
      windowsHide: true,
    });
  } catch {
    // `spawn` throws for an invalid file name or argument.
    return failed(words('cannot be started'));
  }
  return waitForEnd(child, options);
}

const hasGroups = process.platform !== 'win32';

const stopped = failed(words('was stopped, because this server ends'));

/** Milliseconds after the program's end. */
const heldOutputMs = 500;

/** The output usually ends (`close`) just after the program (`exit`). Processes that keep it open are killed after `heldOutputMs`. */
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
    // A killed program calls this twice. Only the first result counts.
    const finish = (result: ProgramResult) => {
      clearTimeout(limitTimer);
      clearTimeout(outputTimer);
      stop?.removeEventListener('abort', onStop);
      process.off('exit', kill);
      resolve(result);
    };
    const killAndFinish = (result: ProgramResult) => {
      kill();
      // A process that left the group may hold the pipe, which would keep this process from ending.
      child.stdout?.destroy();
      finish(result);
    };
    const killAndFail = (problem: SafeText) => killAndFinish(failed(problem));
    const onStop = () => killAndFinish(stopped);

    // A program with its own process group would outlive this process.
    process.once('exit', kill);
    stop?.addEventListener('abort', onStop);
    const limitTimer = setTimeout(() => killAndFail(say`did not end within ${limitMs / 1000} seconds`), limitMs);
    child.stdout?.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes > maximumOutputBytes) killAndFail(say`printed more than ${maximumOutputBytes / 1024} KiB`);
    });
    // Only the error's code is shown, because the message has the program's arguments.
    child.once('error', (error) => finish(failed(say`cannot be started (${own(codeOf(error))})`)));
    child.once('exit', (code, signal) => {
      outputTimer = setTimeout(() => killAndFinish(resultOf(code, signal)), heldOutputMs);
    });
    child.once('close', (code, signal) => finish(resultOf(code, signal)));
  });
}

const codeOf = (error: Error) => ('code' in error ? String(error.code) : error.name);

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
