import * as z from 'zod';
import type { Log } from '../util/log.js';
import { lazy, parseJson } from '../util/objects.js';
import { type SafeText, say, words } from '../util/safe-text.js';
import { areSameKeys, type KeySource, KeysUnavailable } from './keys.js';
import type { ProgramResult, RunProgram } from './run-program.js';
import type { Credentials } from './sign.js';

interface ProcessKeysOptions {
  readonly id: string;
  readonly command: readonly string[];
  /** The setting that names the program, for people. */
  readonly name: SafeText;
  readonly run: RunProgram;
  readonly now: () => Date;
  readonly log: Log;
}

const minuteMs = 60_000;
/** The program runs again this long before its keys expire. */
const earlyMs = 5 * minuteMs;

const headerText = /^[\x21-\x7e]+$/;

/** The keys had expired when they were printed, or have expired since. */
const haveExpired = words('printed keys that have expired');

const signInAgain = words('Sign in again with the program that prints the keys.');
const runByHand = words('Run the program by hand: it has to print the keys as JSON, and end with exit code 0.');

/** The output of a program as AWS defines it for `credential_process`. */
const outputSchema = lazy(() =>
  z.object({
    Version: z.literal(1),
    AccessKeyId: z.string().regex(headerText),
    SecretAccessKey: z.string().min(1),
    SessionToken: z.string().regex(headerText).nullish(),
    Expiration: z.iso.datetime({ offset: true }).nullish(),
  }),
);

/** Keys that a program printed, and the time at which they expire (milliseconds). */
interface Printed {
  readonly kind: 'printed';
  readonly credentials: Credentials;
  readonly expires: number;
  /** The expiry as it was printed. */
  readonly expiration: string | undefined;
}

/**
 * Keys that a program prints. The program runs once for all calls that wait for it, again five minutes before the keys expire, and at most
 * once a minute. If it fails, keys that have not expired stay in use.
 */
export function createProcessKeys({ id, command, name, run, now, log }: ProcessKeysOptions): KeySource {
  let printed: Printed | undefined;
  /** The reason for missing keys. */
  let problem = haveExpired;
  let startedAt: number | undefined;
  let running: Promise<void> | undefined;

  const runOnce = async (): Promise<void> => {
    const result = await run(command);
    const output = result.kind === 'failed' ? result : readOutput(result.stdout, now());
    if (output.kind === 'failed') {
      problem = output.problem;
      log('error', 'keys', { problem: say`${name} ${problem}` });
      return;
    }
    printed = output;
    problem = haveExpired;
    log('info', 'keys', { key: printed.credentials.accessKeyId, expires: printed.expiration });
  };
  /** Resolves when the program has ended, or at once if it was started less than a minute ago. */
  const refresh = async (): Promise<void> => {
    const time = now().getTime();
    const isDue = startedAt === undefined || Math.abs(time - startedAt) >= minuteMs;
    if (running === undefined && isDue) {
      startedAt = time;
      running = runOnce().finally(() => {
        running = undefined;
      });
    }
    await running;
  };
  return {
    id,
    current: async () => {
      const remainingMs = (printed?.expires ?? 0) - now().getTime();
      // Calls do not wait for new keys while the last keys are valid.
      if (remainingMs > 0 && remainingMs < earlyMs) void refresh();
      else if (remainingMs <= 0) await refresh();
      if (printed !== undefined && printed.expires > now().getTime()) return printed.credentials;
      throw new KeysUnavailable(say`${name} ${problem}`, problem === haveExpired ? signInAgain : runByHand);
    },
    renewed: async (refused) => {
      const areRefused = () => printed === undefined || areSameKeys(printed.credentials, refused);
      if (areRefused()) await refresh();
      return areRefused() ? undefined : printed?.credentials;
    },
  };
}

/** Reads the keys in the output of a program. */
function readOutput(stdout: string, now: Date): Printed | Extract<ProgramResult, { kind: 'failed' }> {
  const { data } = outputSchema().safeParse(parseJson(stdout));
  if (data === undefined) {
    const problem = words('printed something other than the JSON of credential_process, version 1');
    return { kind: 'failed', problem };
  }
  const { AccessKeyId, SecretAccessKey, SessionToken, Expiration } = data;
  const expires = Expiration ? Date.parse(Expiration) : Number.POSITIVE_INFINITY;
  if (expires <= now.getTime()) return { kind: 'failed', problem: haveExpired };
  const credentials = {
    accessKeyId: AccessKeyId,
    secretAccessKey: SecretAccessKey,
    ...(SessionToken && { sessionToken: SessionToken }),
  };
  return { kind: 'printed', credentials, expires, expiration: Expiration ?? undefined };
}
