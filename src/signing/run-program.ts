import { type ExecFileException, execFile } from 'node:child_process';

/** What came of running a program. What it printed to stderr is nowhere: it may hold a secret. */
export type ProgramResult =
  | { readonly kind: 'ended'; readonly stdout: string }
  /** The end of a sentence about the program. */
  | { readonly kind: 'failed'; readonly problem: string };

export type RunProgram = (command: readonly string[]) => Promise<ProgramResult>;

const longestRunMs = 10_000;
const mostBytes = 64 * 1024;

/**
 * Runs a program without a shell, within limits of time and output.
 * @param env without the variables of this server, which may hold other keys
 */
export function runProgram(
  [file = '', ...args]: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  limitMs = longestRunMs,
): Promise<ProgramResult> {
  const options = {
    env: { ...env },
    timeout: limitMs,
    maxBuffer: mostBytes,
    killSignal: 'SIGKILL',
    windowsHide: true,
    encoding: 'utf8',
  } as const;
  return new Promise((resolve) => {
    try {
      const child = execFile(file, args, options, (error, stdout) =>
        resolve(error === null ? { kind: 'ended', stdout } : { kind: 'failed', problem: problemOf(error, limitMs) }),
      );
      child.stdin?.on('error', () => undefined).end();
    } catch {
      // A file name or an argument that no system takes.
      resolve({ kind: 'failed', problem: 'cannot be started' });
    }
  });
}

/** Never the error's message: it holds what the program printed. */
function problemOf({ code, killed, signal }: ExecFileException, limitMs: number): string {
  if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return `printed more than ${mostBytes / 1024} KiB`;
  if (killed) return `did not end within ${limitMs / 1000} seconds`;
  if (typeof code === 'number') return `ended with exit code ${code}`;
  return signal ? `was ended by ${signal}` : `cannot be started (${String(code)})`;
}
