import { readFile, stat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../util/log.js';
import { regularFile } from '../util/regular-file.js';
import { say, words } from '../util/safe-text.js';
import { filesOfProfiles, type Profile, type ProfileFacts, readProfile } from './aws-profile.js';
import { type Platform, platformOrigin, program } from './key-origins.js';
import {
  areSameKeys,
  fixedKeys,
  type KeyOrigin,
  type KeySource,
  KeysUnavailable,
  type TemporaryKeys,
  wholeCredentials,
} from './keys.js';
import { type Access, createRenewedValue, type RenewalOptions } from './renewed-value.js';
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

export interface KeyDependencies {
  /** Without the settings of this server. */
  readonly env: Readonly<Record<string, string | undefined>>;
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
  switch (settings.kind) {
    case 'keys':
      return { keys: openKeysOrKeyFiles(settings, dependencies) };
    case 'process': {
      const { command } = settings;
      const origin = program(words('CLOUDOPS_CREDENTIAL_PROCESS'), command);
      return { keys: openOrigin(`process ${JSON.stringify(command)}`, origin, dependencies) };
    }
    case 'platform': {
      const { platform } = settings;
      return { keys: openOrigin(`platform ${platform}`, platformOrigin(platform, dependencies.env), dependencies) };
    }
    case 'profile':
      return openProfile(settings.name, dependencies);
  }
}

type Reading = Pick<RenewalOptions<TemporaryKeys>, 'paths' | 'initial' | 'read' | 'pauseMs'> & {
  /** Undefined if the keys do not expire. */
  readonly expired?: KeysUnavailable;
};

function openReading(id: string, { expired, ...reading }: Reading, dependencies: KeyDependencies): KeySource {
  const keys = createRenewedValue<TemporaryKeys>({
    ...accessOf(dependencies),
    ...reading,
    ...(expired && { expiry: { of: ({ expiresAt }: TemporaryKeys) => expiresAt, error: expired } }),
    describe: ({ credentials, expiresAt }) => ({ key: credentials.accessKeyId, expires: expiresAt?.toISOString() }),
  });
  return {
    id,
    current: async () => (await keys.current()).credentials,
    renewed: async (refused) =>
      (await keys.renewed(({ credentials }) => areSameKeys(credentials, refused)))?.credentials,
  };
}

const accessOf = ({ now, log }: KeyDependencies): Access => ({
  now,
  log,
  stat,
  sleep: (milliseconds) => delay(milliseconds),
});

function openOrigin(id: string, origin: KeyOrigin, dependencies: KeyDependencies): KeySource {
  const { env, stop = new AbortController().signal } = dependencies;
  const { name, remedy, pauseMs } = origin;
  const expired = new KeysUnavailable(say`${name} gave keys that have expired`, remedy);
  return openReading(id, { paths: [], read: () => origin.read({ env, stop }), pauseMs, expired }, dependencies);
}

function openProfile(name: string, dependencies: KeyDependencies): OpenKeys {
  const { env } = dependencies;
  const id = `profile ${name}`;
  const files = filesOfProfiles(env);
  const paths = [files.config, files.credentials];
  const read = () => readProfile(name, files, env);
  const describe = () => ({ read: paths });
  const profiles = createRenewedValue({ ...accessOf(dependencies), paths, read, pauseMs: 0, describe });

  let last: { readonly origin: KeyOrigin; readonly source: KeySource } | undefined;
  // A source remembers its keys, so it is used until the profile changes.
  const sourceOf = ({ keys: origin }: Profile): KeySource => {
    if (last?.origin !== origin) last = { origin, source: openOrigin(id, origin, dependencies) };
    return last.source;
  };
  const keys: KeySource = {
    id,
    current: async () => sourceOf(await profiles.current()).current(),
    renewed: async (refused) => {
      // New keys may just be written, so this waits until the files have stopped changing.
      const source = sourceOf((await profiles.renewed(() => false)) ?? (await profiles.current()));
      const current = await source.current();
      return areSameKeys(current, refused) ? source.renewed(refused) : current;
    },
  };
  return { keys, profile: () => profiles.current() };
}

function openKeysOrKeyFiles({ credentials, files }: KeyOrFileSettings, dependencies: KeyDependencies): KeySource {
  const initial = wholeCredentials(credentials);
  if (initial === undefined) throw new KeysUnavailable(words('keys are missing'), keyFileRemedy);

  const entries = Object.entries(files).filter((entry): entry is [string, string] => entry[1] !== undefined);
  if (entries.length === 0) return fixedKeys(initial);

  const read = async () => {
    const texts = await Promise.all(entries.map(async ([part, path]) => [part, await readKeyFile(path)] as const));
    const keys = wholeCredentials({ ...credentials, ...Object.fromEntries(texts) });
    // White space inside a key ID or token is refused too.
    if (keys === undefined) throw new KeysUnavailable(words('a file of keys is empty'), keyFileRemedy);
    return { credentials: keys, expiresAt: undefined };
  };
  // A key ID that is not in a file cannot change.
  const id = files.accessKeyId === undefined ? `key ${initial.accessKeyId}` : `file ${files.accessKeyId}`;
  const paths = entries.map(([, path]) => path);
  const reading = { paths, initial: { credentials: initial, expiresAt: undefined }, read, pauseMs: 0 };
  return openReading(id, reading, dependencies);
}

const keyFileRemedy = words('Write the key, and nothing else, into the file.');

const maximumBytes = 64 * 1024;

async function readKeyFile(path: string): Promise<string> {
  const { size = 0 } = regularFile(path) ?? {};
  if (size > maximumBytes) throw new KeysUnavailable(words('a file of keys is larger than 64 KiB'), keyFileRemedy);
  return (await readFile(path, 'utf8')).trim();
}
