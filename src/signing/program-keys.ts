import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import * as z from 'zod';
import { parseJson, textAt } from '../util/objects.js';
import { readTime } from '../util/read-values.js';
import { defined, own, type SafeText, say, words } from '../util/safe-text.js';
import { type KeyReadOptions, keySourceError, keyText, type NamedSource, type TemporaryKeys } from './keys.js';

/** Runs a program that prints keys as AWS defines it for `credential_process`. */

/** Like botocore, ignores other fields, and an empty session token. Messages follow the name of a field. */
const outputSchema = () => {
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
};

/**
 * Reads what the program printed, and never shows it.
 * @throws KeysUnavailable with the field that is missing or wrong
 */
export function readProgramKeys(source: NamedSource, stdout: string): TemporaryKeys {
  const { data, error } = outputSchema().safeParse(parseJson(stdout));
  if (data === undefined) {
    const [issue] = error.issues;
    const field = issue?.path[0];
    const subject = field === undefined ? words('the output') : own(String(field));
    throw keySourceError(source, say`printed keys that cannot be used: ${subject} ${defined(issue?.message ?? '')}`);
  }

  const { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey, SessionToken, Expiration } = data;
  const credentials = { accessKeyId, secretAccessKey, ...(SessionToken && { sessionToken: SessionToken }) };
  return { credentials, expiresAt: Expiration ?? undefined };
}

const longestRunMs = 10_000;
const maximumOutputBytes = 64 * 1024;
/** Milliseconds after the program's end. */
const heldOutputMs = 500;
const stopped = words('was stopped, because this server ends');
const hasGroups = process.platform !== 'win32';

/**
 * Runs a program without a shell, and returns its output. The program's stderr is not read, because it may hold a secret.
 * At a limit or `stop`, kills the program with its process group, or on Windows only the program.
 * @throws KeysUnavailable
 */
export async function runProgram(
  source: NamedSource,
  [file = '', ...args]: readonly string[],
  { env, stop }: KeyReadOptions,
  limitMs = longestRunMs,
): Promise<string> {
  if (stop.aborted) throw keySourceError(source, stopped);
  let child: ChildProcess;
  try {
    const stdio: StdioOptions = ['ignore', 'pipe', 'ignore'];
    child = spawn(file, args, { env: { ...env }, stdio, detached: hasGroups, windowsHide: true });
  } catch {
    // `spawn` throws for an invalid file name or argument.
    throw keySourceError(source, words('cannot be started'));
  }
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    /** Runs from `exit` to `close`. */
    let outputTimer: NodeJS.Timeout | undefined;
    const problemOf = (code: number | null, signal: NodeJS.Signals | null): SafeText | undefined => {
      if (code === 0) return undefined;
      return signal ? say`was ended by ${own(signal)}` : say`ended with exit code ${own(String(code))}`;
    };

    const kill = () => killAll(child);
    // A killed program calls this twice. Only the first result counts.
    const finish = (problem: SafeText | undefined) => {
      clearTimeout(limitTimer);
      clearTimeout(outputTimer);
      stop.removeEventListener('abort', onStop);
      process.off('exit', kill);
      if (problem === undefined) resolve(Buffer.concat(chunks).toString('utf8'));
      else reject(keySourceError(source, problem));
    };
    const killAndFinish = (problem: SafeText | undefined) => {
      kill();
      // A process that left the group may hold the pipe, which would keep this process from ending.
      child.stdout?.destroy();
      finish(problem);
    };
    const onStop = () => killAndFinish(stopped);

    // A program with its own process group would outlive this process.
    process.once('exit', kill);
    stop.addEventListener('abort', onStop);
    const limitTimer = setTimeout(() => killAndFinish(say`did not end within ${limitMs / 1000} seconds`), limitMs);
    child.stdout?.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes > maximumOutputBytes) killAndFinish(say`printed more than ${maximumOutputBytes / 1024} KiB`);
    });
    // Only the error's code is shown, because the message has the program's arguments.
    child.once('error', (error) => finish(say`cannot be started (${own(textAt(error, 'code') ?? error.name)})`));
    // The output usually ends (`close`) just after the program (`exit`). Processes that keep it open are killed.
    child.once('exit', (code, signal) => {
      outputTimer = setTimeout(() => killAndFinish(problemOf(code, signal)), heldOutputMs);
    });
    child.once('close', (code, signal) => finish(problemOf(code, signal)));
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
