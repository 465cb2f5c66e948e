import { type ChildProcess, spawn } from 'node:child_process';
import * as z from 'zod';
import { lazy, parseJson, textAt } from '../util/objects.js';
import { readTime } from '../util/read-values.js';
import { defined, own, type SafeText, say, words } from '../util/safe-text.js';
import { type KeyReadOptions, KeysUnavailable, keyText, type NamedSource, type TemporaryKeys } from './keys.js';

/** Runs a program that prints keys as AWS defines it for `credential_process`. */

/** Like botocore, ignores other fields, and an empty session token. Messages follow the name of a field. */
const outputSchema = lazy(() => {
  const header = 'has to be printable ASCII without spaces';
  const secret = 'has to be a text that is not empty';
  const expiration = 'has to be a time with its zone, such as 2026-11-22T12:00:00Z';
  /** A time without a zone cannot be compared with the clock. */
  const parseTime = (text: string) => {
    const time = readTime(text, { needsZone: true });
    return time === undefined ? undefined : new Date(time);
  };
  return z.object(
    {
      Version: z.literal(1, 'has to be 1'),
      AccessKeyId: z.string(header).regex(keyText, header),
      SecretAccessKey: z.string(secret).min(1, secret),
      SessionToken: z
        .string(header)
        .regex(/^[\x21-\x7e]*$/, header)
        .nullish(),
      Expiration: z.string(expiration).transform(parseTime).pipe(z.date(expiration)).nullish(),
    },
    'has to be a JSON object',
  );
});

/**
 * Reads what the program printed, and never shows it.
 * @throws KeysUnavailable with the field that is missing or wrong
 */
export function readProgramKeys({ name, remedy }: NamedSource, result: ProgramResult): TemporaryKeys {
  if (result.kind === 'failed') throw new KeysUnavailable(say`${name} ${result.problem}`, remedy);
  const { data, error } = outputSchema().safeParse(parseJson(result.stdout));
  if (data === undefined) {
    const {
      path: [field],
      message,
    } = error.issues[0] ?? { path: [], message: '' };
    const subject = field === undefined ? words('the output') : own(String(field));
    throw new KeysUnavailable(say`${name} printed keys that cannot be used: ${subject} ${defined(message)}`, remedy);
  }

  const { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey, SessionToken, Expiration } = data;
  const credentials = { accessKeyId, secretAccessKey, ...(SessionToken && { sessionToken: SessionToken }) };
  return { credentials, expiresAt: Expiration ?? undefined };
}

/** The program's stderr is not read, because it may hold a secret. */
type ProgramResult =
  | { readonly kind: 'ended'; readonly stdout: string }
  /** `problem` is the end of a sentence: `ended with exit code 1`. */
  | { readonly kind: 'failed'; readonly problem: SafeText };

const failed = (problem: SafeText): ProgramResult => ({ kind: 'failed', problem });

const longestRunMs = 10_000;
const maximumOutputBytes = 64 * 1024;

/** Runs a program without a shell. At a limit or `stop`, kills it with its process group, or on Windows only the program. */
export async function runProgram(
  [file = '', ...args]: readonly string[],
  options: KeyReadOptions,
  limitMs = longestRunMs,
): Promise<ProgramResult> {
  if (options.stop.aborted) return stopped;
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
  return waitForEnd(child, options.stop, limitMs);
}

const hasGroups = process.platform !== 'win32';

const stopped = failed(words('was stopped, because this server ends'));

/** Milliseconds after the program's end. */
const heldOutputMs = 500;

/** The output usually ends (`close`) just after the program (`exit`). Processes that keep it open are killed after `heldOutputMs`. */
function waitForEnd(child: ChildProcess, stop: AbortSignal, limitMs: number): Promise<ProgramResult> {
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
      stop.removeEventListener('abort', onStop);
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
    stop.addEventListener('abort', onStop);
    const limitTimer = setTimeout(() => killAndFail(say`did not end within ${limitMs / 1000} seconds`), limitMs);
    child.stdout?.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes > maximumOutputBytes) killAndFail(say`printed more than ${maximumOutputBytes / 1024} KiB`);
    });
    // Only the error's code is shown, because the message has the program's arguments.
    child.once('error', (error) =>
      finish(failed(say`cannot be started (${own(textAt(error, 'code') ?? error.name)})`)),
    );
    child.once('exit', (code, signal) => {
      outputTimer = setTimeout(() => killAndFinish(resultOf(code, signal)), heldOutputMs);
    });
    child.once('close', (code, signal) => finish(resultOf(code, signal)));
  });
}

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
