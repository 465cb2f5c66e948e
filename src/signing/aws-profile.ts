import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { say, words } from '../util/safe-text.js';
import { areSameKeys, fixedKeys, type KeySource, KeysUnavailable } from './keys.js';
import { createProcessKeys } from './process-keys.js';
import type { RunProgram } from './run-program.js';
import type { Credentials } from './sign.js';
import { type FileAccess, watchFiles } from './watched-files.js';

/** The settings of a profile besides its keys. */
export interface ProfileFacts {
  readonly region: string | undefined;
  readonly endpointUrl: string | undefined;
}

/** Paths of the profile files that AWS tools share. */
interface ProfileFiles {
  readonly config: string;
  readonly credentials: string;
}

/** The paths from the environment variables of AWS, or else those in `~/.aws`. */
export function filesOfProfiles(env: Readonly<Record<string, string | undefined>>): ProfileFiles {
  const home = env.HOME || env.USERPROFILE || homedir();
  const inHome = (path: string) => (path.startsWith('~/') ? join(home, path.slice(2)) : path);
  return {
    config: inHome(env.AWS_CONFIG_FILE || '~/.aws/config'),
    credentials: inHome(env.AWS_SHARED_CREDENTIALS_FILE || '~/.aws/credentials'),
  };
}

/** Profiles by name. */
type Profiles = Readonly<Record<string, Readonly<Record<string, string | undefined>>>>;

/** Reads profiles: `parseKnownFiles` of `@smithy/shared-ini-file-loader`. */
type ParseProfiles = (init: {
  readonly profile: string;
  readonly configFilepath: string;
  readonly filepath: string;
  readonly ignoreCache: boolean;
}) => Promise<Profiles>;

/** The part of `@smithy/shared-ini-file-loader` that is used here. */
interface ProfileLoader {
  readonly parseKnownFiles: ParseProfiles;
  readonly externalDataInterceptor: { interceptFile(path: string, contents: string): void };
}

/** The header of a profile that the loader refuses, and with it all other profiles of the file. */
const unusableHeader = /^[^\S\n]*\[(?:profile\s)?__proto__\]/gm;

/** Reads profiles with the loader, which is given the files without profiles that it refuses. */
export const parserOfProfiles =
  ({ parseKnownFiles, externalDataInterceptor }: ProfileLoader): ParseProfiles =>
  async (init) => {
    for (const path of [init.configFilepath, init.filepath]) {
      // A missing file has no profiles.
      const text = await readFile(path, 'utf8').catch(() => '');
      // The loader skips sections of kinds that it does not know.
      externalDataInterceptor.interceptFile(path, text.replace(unusableHeader, '[unusable __proto__]'));
    }
    return parseKnownFiles(init);
  };

interface ProfileOptions extends FileAccess {
  readonly name: string;
  readonly files: ProfileFiles;
  /** Loads the parser, which most servers do not need. */
  readonly load: () => Promise<ParseProfiles>;
  readonly run: RunProgram;
}

/** Settings of profiles that sign in elsewhere. Only AWS's own tools support them. */
const federated = /^(role_arn|source_profile|credential_source|web_identity_token_file|login_session|sso_\w+)$/;

/** The settings of a profile that are used here. */
interface Profile extends ProfileFacts {
  readonly keys: Credentials | { readonly command: readonly string[] };
}

/** Opens the keys, region and endpoint of a profile. The files are read again when they change. */
export function openProfile(options: ProfileOptions): {
  readonly keys: KeySource;
  readonly profile: () => Promise<ProfileFacts>;
} {
  const { name, files, load, run, now, log } = options;
  const read = async (): Promise<Profile> => {
    const parseProfiles = await load();
    const init = { profile: name, configFilepath: files.config, filepath: files.credentials, ignoreCache: true };
    const profiles = await parseProfiles(init);
    const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
    if (profile === undefined)
      throw new KeysUnavailable(
        say`there is no profile ${name} in ${files.config} or ${files.credentials}`,
        words('Add the profile there, or name another one in CLOUDOPS_PROFILE.'),
      );
    return readProfile(name, profile);
  };
  const watched = watchFiles({ ...options, paths: [files.config, files.credentials], initial: undefined, read });
  const sourceOf = memoized(({ keys }: Profile) => {
    if (!('command' in keys)) return fixedKeys(keys);
    const { command } = keys;
    return createProcessKeys({ id: '', command, name: say`credential_process of ${name}`, run, now, log });
  });
  return {
    keys: {
      id: `profile ${name}`,
      current: async () => sourceOf(await watched.current()).current(),
      renewed: async (refused) => {
        const source = sourceOf(await watched.settled());
        const keys = await source.current();
        return areSameKeys(keys, refused) ? source.renewed(refused) : keys;
      },
    },
    profile: watched.current,
  };
}

const correctProfile = words('Correct the profile in ~/.aws/config or ~/.aws/credentials.');

/** @throws KeysUnavailable if the profile has neither keys nor a program that prints keys */
function readProfile(name: string, settings: Readonly<Record<string, string | undefined>>): Profile {
  const profile = say`${name}`;
  const { region, endpoint_url: endpointUrl, credential_process: program } = settings;
  const {
    aws_access_key_id: accessKeyId,
    aws_secret_access_key: secretAccessKey,
    aws_session_token: sessionToken,
  } = settings;
  if (Object.keys(settings).some((setting) => federated.test(setting)))
    throw new KeysUnavailable(
      say`the profile ${profile} signs in elsewhere; set CLOUDOPS_CREDENTIAL_PROCESS to ["aws", "configure", "export-credentials", "--profile", ${profile}, "--format", "process"], which is aws configure export-credentials --format process`,
      words('Set it, or give the account keys of its own.'),
    );
  if (accessKeyId !== undefined && secretAccessKey !== undefined)
    return { region, endpointUrl, keys: { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) } };
  const command = splitCommand(program ?? '');
  if (command === undefined)
    throw new KeysUnavailable(
      say`credential_process of the profile ${profile} has a quotation mark without its pair`,
      correctProfile,
    );
  if (command.length === 0)
    throw new KeysUnavailable(say`the profile ${profile} has no keys and no credential_process`, correctProfile);
  return { region, endpointUrl, keys: { command } };
}

/** Remembers the result of the last call, for as long as the argument stays the same. */
function memoized<Argument, Result>(make: (argument: Argument) => Result): (argument: Argument) => Result {
  let last: { readonly argument: Argument; readonly result: Result } | undefined;
  return (argument) => {
    if (last === undefined || last.argument !== argument) last = { argument, result: make(argument) };
    return last.result;
  };
}

/**
 * Splits a command line by the quoting that AWS documents for `credential_process`: words end at white space, and double quotation marks
 * keep a word together. Undefined if a quotation mark has no pair.
 */
export function splitCommand(text: string): readonly string[] | undefined {
  if ((text.match(/"/g) ?? []).length % 2 === 1) return undefined;
  return [...text.matchAll(/(?:"[^"]*"|[^\s"])+/g)].map(([word]) => word.replaceAll('"', ''));
}
