import { readFile, stat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../util/log.js';
import { words } from '../util/safe-text.js';
import { filesOfProfiles, openProfile, type ProfileFacts, parserOfProfiles } from './aws-profile.js';
import { areSameKeys, fixedKeys, type KeySource, KeysUnavailable, unreadableKeys } from './keys.js';
import { createProcessKeys } from './process-keys.js';
import { runProgram } from './run-program.js';
import type { Credentials } from './sign.js';
import { type FileAccess, watchFiles } from './watched-files.js';

/** The source of an account's keys, as the settings name it. */
export type KeySettings = FixedKeySettings | ProcessKeySettings | ProfileKeySettings;

interface FixedKeySettings {
  readonly kind: 'keys';
  /** The parts of the key at the start. A part that is not set is undefined. */
  readonly credentials: Partial<Record<keyof Credentials, string | undefined>>;
  /** Paths of the files that parts of the key come from. */
  readonly files: Partial<Record<keyof Credentials, string | undefined>>;
}

interface ProcessKeySettings {
  readonly kind: 'process';
  readonly command: readonly string[];
}

interface ProfileKeySettings {
  readonly kind: 'profile';
  readonly name: string;
}

export interface KeyDependencies {
  /** Environment variables of other programs, for programs that this server starts. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: () => Date;
  readonly log: Log;
  /** Aborts when no call needs keys any more, which ends the programs that still run. */
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
 * Opens a source of keys. Files and programs are read with the first call. A new source of keys adds a case here, its settings in
 * `config/key-settings.ts`, and a file of its own.
 * @throws KeysUnavailable if keys are missing
 */
export function openKeys(settings: KeySettings, { env, now, log, stop }: KeyDependencies): OpenKeys {
  const files: FileAccess = { now, log, stat, sleep: (milliseconds) => delay(milliseconds) };
  const run = (command: readonly string[]) => runProgram(command, { env, stop });
  switch (settings.kind) {
    case 'keys':
      return { keys: openFixedKeys(settings, files) };
    case 'process': {
      const { command } = settings;
      const id = `process ${JSON.stringify(command)}`;
      const name = words('CLOUDOPS_CREDENTIAL_PROCESS');
      return { keys: createProcessKeys({ id, command, name, run, now, log }) };
    }
    case 'profile': {
      const load = () => import('@smithy/shared-ini-file-loader').then(parserOfProfiles);
      return openProfile({ ...files, name: settings.name, files: filesOfProfiles(env), load, run });
    }
  }
}

/** Keys from settings and files. Keys in files are read again when the files change. */
function openFixedKeys({ credentials, files }: FixedKeySettings, access: FileAccess): KeySource {
  const initial = wholeCredentials(credentials);
  if (initial === undefined) throw new KeysUnavailable(words('keys are missing'), onlyTheKey);
  const pathsByPart = Object.entries(files).filter((entry): entry is [string, string] => entry[1] !== undefined);
  if (pathsByPart.length === 0) return fixedKeys(initial);
  const read = async () => {
    const texts = await Promise.all(pathsByPart.map(async ([part, path]) => [part, await readKeyFile(path)] as const));
    const keys = wholeCredentials({ ...credentials, ...Object.fromEntries(texts) });
    if (keys === undefined) throw new KeysUnavailable(words('a file of keys is empty'), onlyTheKey);
    return keys;
  };
  const watched = watchFiles({ ...access, paths: pathsByPart.map(([, path]) => path), initial, read });
  return {
    // If only the secret is in a file, the key ID still identifies the account.
    id: files.accessKeyId === undefined ? `key ${initial.accessKeyId}` : `file ${files.accessKeyId}`,
    current: watched.current,
    renewed: async (refused) => {
      const keys = await watched.settled();
      return areSameKeys(keys, refused) ? undefined : keys;
    },
  };
}

const onlyTheKey = words('Write the key, and nothing else, into the file.');

/** The maximum size of a file with a part of a key. Keys are much shorter. */
const maximumBytes = 64 * 1024;

/** The text of a file, without white space around it. */
async function readKeyFile(path: string): Promise<string> {
  const { size } = await stat(path);
  if (size > maximumBytes) throw new KeysUnavailable(words('a file of keys is larger than 64 KiB'), onlyTheKey);
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw unreadableKeys(error);
  });
  return text.trim();
}

/** Puts the parts of a key together. Undefined if the ID or the secret is missing or empty, or if a part cannot be sent in a header. */
function wholeCredentials({
  accessKeyId,
  secretAccessKey,
  sessionToken,
}: FixedKeySettings['credentials']): Credentials | undefined {
  if (!accessKeyId || !secretAccessKey) return undefined;
  if (!isHeaderText(accessKeyId) || (sessionToken !== undefined && !isHeaderText(sessionToken))) return undefined;
  return { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) };
}

const isHeaderText = (text: string) => /^[\x21-\x7e]+$/.test(text);
