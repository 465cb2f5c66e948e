import { readFile, stat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../util/log.js';
import { regularFile } from '../util/regular-file.js';
import { words } from '../util/safe-text.js';
import { filesOfProfiles, type ProfileFacts, readProfile } from './aws-profile.js';
import { givenKeys, type Platform, platformOrigin, program } from './key-origins.js';
import {
  fixedKeys,
  type KeyOrigin,
  type KeyReadOptions,
  type KeySource,
  KeysUnavailable,
  wholeCredentials,
} from './keys.js';
import { type RenewalAccess, renewKeys } from './renew-keys.js';
import type { Credentials } from './sign.js';

export type KeySettings =
  | KeyOrFileSettings
  | { readonly kind: 'process'; readonly command: readonly string[] }
  | { readonly kind: 'profile'; readonly name: string }
  | { readonly kind: 'platform'; readonly platform: Platform };

interface KeyOrFileSettings {
  readonly kind: 'keys';
  /** As they were when this server started. */
  readonly credentials: Partial<Record<keyof Credentials, string | undefined>>;
  readonly files: Partial<Record<keyof Credentials, string | undefined>>;
}

export interface KeyDependencies extends Pick<KeyReadOptions, 'env'> {
  readonly now: () => Date;
  readonly log: Log;
  /** Aborts when no call needs keys any more. Running programs are then killed. */
  readonly stop?: AbortSignal | undefined;
}

interface OpenKeys {
  readonly keys: KeySource;
  /** @throws KeysUnavailable if the profile does not exist */
  readonly profile?: () => Promise<ProfileFacts>;
}

/**
 * Opens a source of keys. Profiles, programs and services are asked at the first call that needs keys.
 * @throws KeysUnavailable if keys in settings or files are missing
 */
export function openKeys(settings: KeySettings, dependencies: KeyDependencies): OpenKeys {
  const { env, stop = new AbortController().signal } = dependencies;
  const access: RenewalAccess = { ...dependencies, stop, stat, sleep: (milliseconds) => delay(milliseconds) };
  const renewed = (id: string, origin: KeyOrigin) => ({
    keys: renewKeys({ id, paths: [], findOrigin: async () => origin }, access),
  });
  switch (settings.kind) {
    case 'keys':
      return { keys: openKeysOrKeyFiles(settings, access) };
    case 'process': {
      const { command } = settings;
      return renewed(`process ${JSON.stringify(command)}`, program(words('CLOUDOPS_CREDENTIAL_PROCESS'), command));
    }
    case 'platform':
      return renewed(`platform ${settings.platform}`, platformOrigin(settings.platform, env));
    case 'profile': {
      const { name } = settings;
      const files = filesOfProfiles(env);
      const findOrigin = () => readProfile(name, files, env);
      const keys = renewKeys({ id: `profile ${name}`, paths: Object.values(files), findOrigin }, access);
      return { keys, profile: keys.origin };
    }
  }
}

function openKeysOrKeyFiles({ credentials, files }: KeyOrFileSettings, access: RenewalAccess): KeySource {
  const initial = wholeCredentials(credentials);
  if (initial === undefined) throw new KeysUnavailable(words('keys are missing'), keyFileRemedy);

  const entries = Object.entries(files).filter((entry): entry is [string, string] => entry[1] !== undefined);
  if (entries.length === 0) return fixedKeys(initial);

  const findOrigin = async () => {
    const texts = await Promise.all(entries.map(async ([part, path]) => [part, await readKeyFile(path)] as const));
    const keys = wholeCredentials({ ...credentials, ...Object.fromEntries(texts) });
    // White space inside a key ID or token is refused too.
    if (keys === undefined) throw new KeysUnavailable(words('a file of keys is empty'), keyFileRemedy);
    return givenKeys(words('a file of keys'), keyFileRemedy, keys);
  };
  // A key ID that is not in a file cannot change.
  const id = files.accessKeyId === undefined ? `key ${initial.accessKeyId}` : `file ${files.accessKeyId}`;
  const paths = entries.map(([, path]) => path);
  return renewKeys({ id, paths, initial: { credentials: initial, expiresAt: undefined }, findOrigin }, access);
}

const keyFileRemedy = words('Write the key, and nothing else, into the file.');

async function readKeyFile(path: string): Promise<string> {
  const { size = 0 } = regularFile(path) ?? {};
  if (size > 64 * 1024) throw new KeysUnavailable(words('a file of keys is larger than 64 KiB'), keyFileRemedy);
  return (await readFile(path, 'utf8')).trim();
}
