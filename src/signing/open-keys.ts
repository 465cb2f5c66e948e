import { readFile, stat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../util/log.js';
import { type SafeText, say, words } from '../util/safe-text.js';
import { filesOfProfiles, type Profile, type ProfileFacts, readProfile } from './aws-profile.js';
import { type KeyOrigin, type Platform, platformOrigin, program } from './key-origins.js';
import {
  areSameKeys,
  fixedKeys,
  type KeySource,
  KeysUnavailable,
  type TemporaryKeys,
  wholeCredentials,
} from './keys.js';
import { readProgramKeys } from './program-keys.js';
import { type Access, createRenewedValue, type RenewalOptions } from './renewed-value.js';
import { runProgram } from './run-program.js';
import type { Credentials } from './sign.js';

/** The settings that say where an account's keys come from. */
export type KeySettings =
  | KeyOrFileSettings
  | { readonly kind: 'process'; readonly command: readonly string[] }
  | { readonly kind: 'profile'; readonly name: string }
  | { readonly kind: 'platform'; readonly platform: Platform };

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
 * Opens a source of keys. Profiles are read, and programs and services are asked, at the first call that needs keys. To add another kind of
 * source, add its origin in `key-origins.ts`, its setting in `config/key-settings.ts`, and a file for its code.
 * @throws KeysUnavailable if the settings name keys or files, and keys are missing
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

/** What a kind of source adds to the rules for all keys. */
type Reading = Pick<RenewalOptions<TemporaryKeys>, 'paths' | 'initial' | 'read' | 'pauseMs'> & {
  /** The error of keys that have expired. Undefined if they do not expire. */
  readonly expired?: KeysUnavailable;
};

/** Makes a source of keys that are read again when they expire, when they are refused and when their files change. */
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

/** Least time between two runs of a program (milliseconds), because a program may open a browser. */
const programPauseMs = 60_000;
/** Least time between two questions to a service (milliseconds). */
const servicePauseMs = 5000;

/** Opens the source of an origin's keys. A role has a source of its own for the keys with which it is assumed. */
function openOrigin(id: string, origin: KeyOrigin, dependencies: KeyDependencies): KeySource {
  if (origin.use === 'keys') return { ...fixedKeys(origin.credentials), id };
  const { env, stop = new AbortController().signal } = dependencies;
  const expired = (problem: SafeText) => new KeysUnavailable(say`${origin.name} ${problem}`, origin.remedy);
  if (origin.use === 'program') {
    const read = () => readProgramKeys(origin, (command) => runProgram(command, { env, stop }));
    const reading = {
      paths: [],
      read,
      pauseMs: programPauseMs,
      expired: expired(words('printed keys that have expired')),
    };
    return openReading(id, reading, dependencies);
  }
  const opened = origin.use === 'role' ? { ...origin, source: openOrigin(id, origin.source, dependencies) } : origin;
  const read = async () => {
    const { readAwsKeys } = await import('./aws-keys.js');
    return readAwsKeys(opened, stop);
  };
  const reading = { paths: [], read, pauseMs: servicePauseMs, expired: expired(words('gave keys that have expired')) };
  return openReading(id, reading, dependencies);
}

/** Opens the keys, region and endpoint of a profile. If a file changes so that the profile is another one, its keys are looked for again. */
function openProfile(name: string, dependencies: KeyDependencies): OpenKeys {
  const { env } = dependencies;
  const id = `profile ${name}`;
  const files = filesOfProfiles(env);
  const paths = [files.config, files.credentials];
  const read = () => readProfile(name, files, env);
  const describe = () => ({ read: paths });
  const profiles = createRenewedValue({ ...accessOf(dependencies), paths, read, pauseMs: 0, describe });

  let last: { readonly origin: KeyOrigin; readonly source: KeySource } | undefined;
  // A source remembers its keys, so it is used until the profile changes. Until then, `profiles` returns the same object.
  const sourceOf = ({ keys: origin }: Profile): KeySource => {
    if (last?.origin !== origin) last = { origin, source: openOrigin(id, origin, dependencies) };
    return last.source;
  };
  const keys: KeySource = {
    id,
    current: async () => sourceOf(await profiles.current()).current(),
    renewed: async (refused) => {
      // Waits until the files have stopped changing, because new keys may just be written.
      const source = sourceOf((await profiles.renewed(() => false)) ?? (await profiles.current()));
      const current = await source.current();
      return areSameKeys(current, refused) ? source.renewed(refused) : current;
    },
  };
  return { keys, profile: () => profiles.current() };
}

/** Opens keys that the settings give directly or in files. */
function openKeysOrKeyFiles({ credentials, files }: KeyOrFileSettings, dependencies: KeyDependencies): KeySource {
  // `credentials` already holds what the files contained when this server started.
  const initial = wholeCredentials(credentials);
  if (initial === undefined) throw new KeysUnavailable(words('keys are missing'), keyFileRemedy);

  // Entries such as `['secretAccessKey', '/run/secrets/key']`.
  const entries = Object.entries(files).filter((entry): entry is [string, string] => entry[1] !== undefined);
  if (entries.length === 0) return fixedKeys(initial);

  const read = async () => {
    const texts = await Promise.all(entries.map(async ([part, path]) => [part, await readKeyFile(path)] as const));
    const keys = wholeCredentials({ ...credentials, ...Object.fromEntries(texts) });
    // The message names the usual cause. A key ID or token with white space inside, such as a second line, is refused too. The remedy fits both.
    if (keys === undefined) throw new KeysUnavailable(words('a file of keys is empty'), keyFileRemedy);
    return { credentials: keys, expiresAt: undefined };
  };
  // A key ID that is not in a file cannot change, so it identifies the source. Otherwise, the path of its file does.
  const id = files.accessKeyId === undefined ? `key ${initial.accessKeyId}` : `file ${files.accessKeyId}`;
  return openReading(
    id,
    {
      paths: entries.map(([, path]) => path),
      initial: { credentials: initial, expiresAt: undefined },
      read,
      pauseMs: 0,
    },
    dependencies,
  );
}

const keyFileRemedy = words('Write the key, and nothing else, into the file.');

/** Size limit of a file with a key ID, a secret or a session token (bytes). All three are much shorter. */
const maximumBytes = 64 * 1024;

/** Returns the text of a file without white space around it. */
async function readKeyFile(path: string): Promise<string> {
  const { size } = await stat(path);
  if (size > maximumBytes) throw new KeysUnavailable(words('a file of keys is larger than 64 KiB'), keyFileRemedy);
  return (await readFile(path, 'utf8')).trim();
}
