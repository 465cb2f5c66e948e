import { readFile, stat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../util/log.js';
import { words } from '../util/safe-text.js';
import { filesOfProfiles, openProfile, type ProfileFacts, parserOfProfiles } from './aws-profile.js';
import { areSameKeys, fixedKeys, type KeySource, KeysUnavailable, keyText, unreadableKeys } from './keys.js';
import { createProcessKeys } from './process-keys.js';
import { runProgram } from './run-program.js';
import type { Credentials } from './sign.js';
import { type FileAccess, FileWatcher } from './watched-files.js';

/** The settings that say where an account's keys come from. */
export type KeySettings =
  | KeyOrFileSettings
  | { readonly kind: 'process'; readonly command: readonly string[] }
  | { readonly kind: 'profile'; readonly name: string };

interface KeyOrFileSettings {
  readonly kind: 'keys';
  /** The key ID, secret and session token as they were when this server started: from the settings, or from the files below. */
  readonly credentials: Partial<Record<keyof Credentials, string | undefined>>;
  /** Paths of the files from which the key ID, the secret or the session token were read. Undefined for a part that is not in a file. */
  readonly files: Partial<Record<keyof Credentials, string | undefined>>;
}

export interface KeyDependencies {
  /** Environment variables without the settings of this server, for programs that this server starts. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: () => Date;
  readonly log: Log;
  /** Aborts when no call needs keys any more. Programs that still run are then killed. */
  readonly stop?: AbortSignal | undefined;
}

/** An account's keys, and the settings that come with them. */
export interface OpenKeys {
  readonly keys: KeySource;
  /** Reads the region and endpoint in a profile. Throws `KeysUnavailable` if the profile does not exist. */
  readonly profile?: () => Promise<ProfileFacts>;
}

/**
 * Opens a source of keys. Profiles are read and programs are run at the first call that needs keys. To add another kind of source, add a
 * case here, its settings in `config/key-settings.ts`, and a file for its code.
 * @throws KeysUnavailable if the settings name keys or files, and keys are missing
 */
export function openKeys(settings: KeySettings, { env, now, log, stop }: KeyDependencies): OpenKeys {
  const access: FileAccess = { now, log, stat, sleep: (milliseconds) => delay(milliseconds) };
  const run = (command: readonly string[]) => runProgram(command, { env, stop });
  switch (settings.kind) {
    case 'keys':
      return { keys: openKeysOrKeyFiles(settings, access) };
    case 'process': {
      const { command } = settings;
      const id = `process ${JSON.stringify(command)}`;
      const settingName = words('CLOUDOPS_CREDENTIAL_PROCESS');
      return { keys: createProcessKeys({ id, command, name: settingName, run, now, log }) };
    }
    case 'profile': {
      const loadParser = () => import('@smithy/shared-ini-file-loader').then(parserOfProfiles);
      return openProfile({ ...access, name: settings.name, files: filesOfProfiles(env), loadParser, run });
    }
  }
}

/** Opens keys that the settings give directly or in files. Keys in files are read again when the files change. */
function openKeysOrKeyFiles({ credentials, files }: KeyOrFileSettings, access: FileAccess): KeySource {
  // `credentials` already holds what the files contained when this server started.
  const initial = wholeCredentials(credentials);
  if (initial === undefined) throw new KeysUnavailable(words('keys are missing'), keyFileRemedy);

  // Entries such as `['secretAccessKey', '/run/secrets/key']`.
  const fileEntries = Object.entries(files).filter((entry): entry is [string, string] => entry[1] !== undefined);
  if (fileEntries.length === 0) return fixedKeys(initial);

  const readFromFiles = async () => {
    const texts = await Promise.all(fileEntries.map(async ([part, path]) => [part, await readKeyFile(path)] as const));
    const keys = wholeCredentials({ ...credentials, ...Object.fromEntries(texts) });
    // The message names the usual cause. A key ID or token with white space inside, such as a second line, is refused too. The remedy fits both.
    if (keys === undefined) throw new KeysUnavailable(words('a file of keys is empty'), keyFileRemedy);
    return keys;
  };
  const paths = fileEntries.map(([, path]) => path);
  const watched = new FileWatcher({ ...access, paths, initial, read: readFromFiles });

  return {
    // A key ID that is not in a file cannot change, so it identifies the source. Otherwise, the path of its file does.
    id: files.accessKeyId === undefined ? `key ${initial.accessKeyId}` : `file ${files.accessKeyId}`,
    current: () => watched.current(),
    renewed: async (refused) => {
      const keys = await watched.settled();
      return areSameKeys(keys, refused) ? undefined : keys;
    },
  };
}

const keyFileRemedy = words('Write the key, and nothing else, into the file.');

/** Size limit of a file with a key ID, a secret or a session token (bytes). All three are much shorter. */
const maximumBytes = 64 * 1024;

/** Returns the text of a file without white space around it. */
async function readKeyFile(path: string): Promise<string> {
  const { size } = await stat(path);
  if (size > maximumBytes) throw new KeysUnavailable(words('a file of keys is larger than 64 KiB'), keyFileRemedy);
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw unreadableKeys(error);
  });
  return text.trim();
}

/** The credentials. Undefined if the key ID or secret is missing or empty, or if the key ID or session token cannot be sent in a header. */
function wholeCredentials({
  accessKeyId,
  secretAccessKey,
  sessionToken,
}: KeyOrFileSettings['credentials']): Credentials | undefined {
  if (!accessKeyId || !secretAccessKey) return undefined;
  if (!keyText.test(accessKeyId) || (sessionToken !== undefined && !keyText.test(sessionToken))) return undefined;
  return { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) };
}
