import { readFile, stat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { type Log, shownReason } from '../util/log.js';
import { said, say, words } from '../util/safe-text.js';
import { filesOfProfiles, openProfile, type ProfileFacts } from './aws-profile.js';
import { areSameKeys, fixedKeys, type KeySource, KeysUnavailable } from './keys.js';
import { createProcessKeys } from './process-keys.js';
import { runProgram } from './run-program.js';
import type { Credentials } from './sign.js';
import { watchFiles } from './watched-files.js';

/** Where the settings say that the keys of an account come from. */
export type KeySettings =
  | {
      readonly kind: 'keys';
      /** As they were at the start. What is undefined is not set. */
      readonly credentials: { readonly [Part in keyof Credentials]?: string | undefined };
      /** Paths of the files that parts of them come from. */
      readonly files: { readonly [Part in keyof Credentials]?: string | undefined };
    }
  | { readonly kind: 'process'; readonly command: readonly string[] }
  | { readonly kind: 'profile'; readonly name: string };

export interface KeyDependencies {
  /** Variables of other programs, for those that are run. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: () => Date;
  readonly log: Log;
  /** Aborts when no call needs keys any more: then programs that run are ended. */
  readonly stop?: AbortSignal | undefined;
}

/** An account's keys, and the settings that come with them. */
export interface OpenKeys {
  readonly keys: KeySource;
  /**
   * Region and endpoint that a profile gives.
   * @throws KeysUnavailable if there is no such profile
   */
  readonly profile?: () => Promise<ProfileFacts>;
}

/**
 * Opens what settings name. Nothing is read or run yet.
 * @throws KeysUnavailable if keys are missing
 */
export function openKeys(settings: KeySettings, { env, now, log, stop }: KeyDependencies): OpenKeys {
  const run = (command: readonly string[]) => runProgram(command, { env, stop });
  const looking = { now, log, stat, sleep: (milliseconds: number) => delay(milliseconds) };
  if (settings.kind === 'process') {
    const id = `process ${JSON.stringify(settings.command)}`;
    return {
      keys: createProcessKeys({
        id,
        command: settings.command,
        name: said(words('CLOUDOPS_CREDENTIAL_PROCESS')),
        run,
        now,
        log,
      }),
    };
  }
  if (settings.kind === 'profile') {
    const load = async () => (await import('@smithy/shared-ini-file-loader')).parseKnownFiles;
    return openProfile({ ...looking, name: settings.name, files: filesOfProfiles(env), load, run });
  }
  const { credentials, files } = settings;
  const whole = wholeCredentials(credentials);
  if (whole === undefined) throw new KeysUnavailable(words('keys are missing'));
  const parts = Object.entries(files).filter((entry): entry is [string, string] => entry[1] !== undefined);
  if (parts.length === 0) return { keys: fixedKeys(whole) };
  const read = async () => {
    const texts = await Promise.all(parts.map(async ([part, path]) => [part, await readKeyFile(path)] as const));
    const found = wholeCredentials({ ...credentials, ...Object.fromEntries(texts) });
    if (found === undefined) throw new KeysUnavailable(words('a file of keys is empty'));
    return found;
  };
  // Where only the secret is in a file, the ID says which account it is.
  const id = files.accessKeyId === undefined ? `key ${whole.accessKeyId}` : `file ${files.accessKeyId}`;
  const watched = watchFiles({ ...looking, paths: parts.map(([, path]) => path), initial: whole, read });
  const renewed = async (refused: Credentials) => {
    const found = await watched.settled();
    return areSameKeys(found, refused) ? undefined : found;
  };
  return { keys: { id, current: watched.current, renewed } };
}

/** No key is longer (bytes). */
const maximumBytes = 64 * 1024;

/** The text of a file, which may be any text without line breaks or other characters that no header can have. */
async function readKeyFile(path: string): Promise<string> {
  const { size } = await stat(path);
  if (size > maximumBytes) throw new KeysUnavailable(words('a file of keys is larger than 64 KiB'));
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new KeysUnavailable(say`a file of keys cannot be read (${shownReason(error)})`);
  });
  return text.trim();
}

/** Credentials with an ID and a secret; undefined if one of them is missing or empty, or if a part fits in no header. */
function wholeCredentials({
  accessKeyId,
  secretAccessKey,
  sessionToken,
}: { readonly [Part in keyof Credentials]?: string | undefined }): Credentials | undefined {
  if (!accessKeyId || !secretAccessKey) return undefined;
  if (!isHeaderText(accessKeyId) || (sessionToken !== undefined && !isHeaderText(sessionToken))) return undefined;
  return { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) };
}

const isHeaderText = (text: string) => /^[\x21-\x7e]+$/.test(text);
