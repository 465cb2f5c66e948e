import * as z from 'zod';
import type { Log } from '../util/log.js';
import { lazy, parseJson } from '../util/objects.js';
import { type SafeText, say, words } from '../util/safe-text.js';
import { areSameKeys, type KeySource, KeysUnavailable, keyText } from './keys.js';
import type { RunProgram } from './run-program.js';
import type { Credentials } from './sign.js';

interface ProcessKeysOptions {
  readonly id: string;
  readonly command: readonly string[];
  /** The setting that names the program. Messages begin with it. */
  readonly name: SafeText;
  readonly run: RunProgram;
  readonly now: () => Date;
  readonly log: Log;
}

const minuteMs = 60_000;
/** Within this time before the keys expire (milliseconds), a call starts the program again without waiting for it. */
const earlyMs = 5 * minuteMs;

/** A reason for missing keys, and the step that makes keys available. */
interface Failure {
  readonly kind: 'failed';
  readonly problem: SafeText;
  readonly remedy: SafeText;
}

/** The failure if keys had expired when they were printed, or have expired since. */
const haveExpired: Failure = {
  kind: 'failed',
  problem: words('printed keys that have expired'),
  remedy: words('Sign in again with the program that prints the keys.'),
};

/** The remedy if the program fails or prints something else. */
const runByHand = words('Run the program by hand: it has to print the keys as JSON, and end with exit code 0.');

/** The JSON that AWS defines as the output of `credential_process`. */
const outputSchema = lazy(() =>
  z.object({
    Version: z.literal(1),
    AccessKeyId: z.string().regex(keyText),
    SecretAccessKey: z.string().min(1),
    SessionToken: z.string().regex(keyText).nullish(),
    Expiration: z.iso.datetime({ offset: true }).nullish(),
  }),
);

interface PrintedKeys {
  readonly kind: 'printed';
  readonly credentials: Credentials;
  /** Time at which the keys expire (milliseconds). Infinity if they do not expire. */
  readonly expiresAt: number;
  /** The expiry as it was printed, for the log. */
  readonly expiration: string | undefined;
}

/**
 * A source of keys that a program prints. The program runs once for all calls that wait for it, again in the last five minutes before the
 * keys expire, and at most once a minute. If it fails, keys that have not expired stay in use.
 */
export function createProcessKeys({ id, command, name, run, now, log }: ProcessKeysOptions): KeySource {
  let printed: PrintedKeys | undefined;
  /** The failure of the last run. Undefined before the first run, and after a run that printed valid keys. */
  let failure: Failure | undefined;
  /** Time of the program's last start (milliseconds). */
  let startedAt: number | undefined;
  /** The run that has not ended yet. All calls share it. */
  let running: Promise<void> | undefined;

  const runProgramOnce = async (): Promise<void> => {
    const result = await run(command);
    const output = result.kind === 'failed' ? { ...result, remedy: runByHand } : readOutput(result.stdout, now());
    if (output.kind === 'failed') {
      failure = output;
      log('error', 'keys', { problem: say`${name} ${output.problem}` });
      return;
    }
    printed = output;
    failure = undefined;
    log('info', 'keys', { key: printed.credentials.accessKeyId, expires: printed.expiration });
  };

  /** Runs the program and waits for its end. Does not run it if its last start was less than a minute ago. Never rejects. */
  const refresh = async (): Promise<void> => {
    const time = now().getTime();
    // An absolute difference, because `startedAt` is in the future if the clock has been set back.
    const isDue = startedAt === undefined || Math.abs(time - startedAt) >= minuteMs;
    if (running === undefined && isDue) {
      startedAt = time;
      running = runProgramOnce().finally(() => {
        running = undefined;
      });
    }
    await running;
  };

  return {
    id,
    current: async () => {
      const remainingMs = (printed?.expiresAt ?? 0) - now().getTime();
      if (remainingMs <= 0) {
        await refresh();
      } else if (remainingMs < earlyMs) {
        // The keys are still valid, so this call does not wait for new ones.
        void refresh();
      }

      if (printed !== undefined && printed.expiresAt > now().getTime()) return printed.credentials;
      // Without a failure, the last run printed valid keys, which have expired since.
      const { problem, remedy } = failure ?? haveExpired;
      throw new KeysUnavailable(say`${name} ${problem}`, remedy);
    },
    renewed: async (refused) => {
      const areStillRefused = () => printed === undefined || areSameKeys(printed.credentials, refused);
      // The program need not run if another call has got new keys already.
      if (areStillRefused()) await refresh();
      return areStillRefused() ? undefined : printed?.credentials;
    },
  };
}

/** Reads the keys in the output of a program. Keys that have already expired are a failure. */
function readOutput(stdout: string, now: Date): PrintedKeys | Failure {
  const { data } = outputSchema().safeParse(parseJson(stdout));
  if (data === undefined) {
    const problem = words('printed something other than the JSON of credential_process, version 1');
    return { kind: 'failed', problem, remedy: runByHand };
  }

  const { AccessKeyId, SecretAccessKey, SessionToken, Expiration } = data;
  const expiresAt = Expiration ? Date.parse(Expiration) : Number.POSITIVE_INFINITY;
  if (expiresAt <= now.getTime()) return haveExpired;

  const credentials = {
    accessKeyId: AccessKeyId,
    secretAccessKey: SecretAccessKey,
    ...(SessionToken && { sessionToken: SessionToken }),
  };
  return { kind: 'printed', credentials, expiresAt, expiration: Expiration ?? undefined };
}
