import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { say, words } from '../util/safe-text.js';
import { areSameKeys, fixedKeys, type KeySource, KeysUnavailable } from './keys.js';
import { createProcessKeys } from './process-keys.js';
import type { RunProgram } from './run-program.js';
import type { Credentials } from './sign.js';
import { type FileAccess, FileWatcher } from './watched-files.js';

/** Region and endpoint of a profile. The other settings are keys, or are not used here. */
export interface ProfileFacts {
  readonly region: string | undefined;
  readonly endpointUrl: string | undefined;
}

/** Paths of the profile files that AWS tools share. */
interface ProfileFiles {
  readonly config: string;
  readonly credentials: string;
}

/** Returns the paths of the profile files: from AWS's environment variables if they are set, and otherwise in `~/.aws`. */
export function filesOfProfiles(env: Readonly<Record<string, string | undefined>>): ProfileFiles {
  const home = env.HOME || env.USERPROFILE || homedir();
  const inHome = (path: string) => (path.startsWith('~/') ? join(home, path.slice(2)) : path);
  return {
    config: inHome(env.AWS_CONFIG_FILE || '~/.aws/config'),
    credentials: inHome(env.AWS_SHARED_CREDENTIALS_FILE || '~/.aws/credentials'),
  };
}

/** The settings of profiles, by the profile's name and the setting's name. */
type Profiles = Readonly<Record<string, Readonly<Record<string, string | undefined>>>>;

/** The type of `parseKnownFiles` of `@smithy/shared-ini-file-loader`, which reads the profiles of both files. */
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

/** The header of a profile named `__proto__`, which makes the loader refuse the whole file. */
const unusableHeader = /^[^\S\n]*\[(?:profile\s)?__proto__\]/gm;

/** Returns the function that reads profiles with the loader. It hides profiles named `__proto__` from the loader. */
export const parserOfProfiles =
  ({ parseKnownFiles, externalDataInterceptor }: ProfileLoader): ParseProfiles =>
  async (init) => {
    for (const path of [init.configFilepath, init.filepath]) {
      // A file that is missing or cannot be read counts as empty, because each of the two files is optional.
      const text = await readFile(path, 'utf8').catch(() => '');
      // The loader uses this text in place of the file. The new header has a section type that the loader skips.
      externalDataInterceptor.interceptFile(path, text.replace(unusableHeader, '[unusable __proto__]'));
    }
    return parseKnownFiles(init);
  };

interface ProfileOptions extends FileAccess {
  readonly name: string;
  readonly files: ProfileFiles;
  /** Loads the parser at the first use, because most servers have no profile. */
  readonly loadParser: () => Promise<ParseProfiles>;
  readonly run: RunProgram;
}

/** Settings for temporary keys by a role, single sign-on or a login. Only AWS's own tools can get these, so the profile is refused. */
const roleOrSignIn = /^(role_arn|source_profile|credential_source|web_identity_token_file|login_session|sso_\w+)$/;

/** The settings of a profile that are used here. */
interface Profile extends ProfileFacts {
  /** The keys themselves, or the program that prints them. */
  readonly keySetting: Credentials | { readonly command: readonly string[] };
}

/** Opens the keys, region and endpoint of a profile. The files are read again when they change. */
export function openProfile(options: ProfileOptions): {
  readonly keys: KeySource;
  readonly profile: () => Promise<ProfileFacts>;
} {
  const { name, files, loadParser, run, now, log } = options;
  const id = `profile ${name}`;

  const readFromFiles = async (): Promise<Profile> => {
    const parseProfiles = await loadParser();
    const init = { profile: name, configFilepath: files.config, filepath: files.credentials, ignoreCache: true };
    const profiles = await parseProfiles(init);
    const settings = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
    if (settings === undefined)
      throw new KeysUnavailable(
        say`there is no profile ${name} in ${files.config} or ${files.credentials}`,
        words('Add the profile there, or name another one in CLOUDOPS_PROFILE.'),
      );
    return readProfile(name, settings);
  };
  const paths = [files.config, files.credentials];
  // Without an initial value, the files are read at the first use.
  const watched = new FileWatcher({ ...options, paths, initial: undefined, read: readFromFiles });

  const openSource = ({ keySetting }: Profile): KeySource => {
    if (!('command' in keySetting)) return fixedKeys(keySetting);
    const { command } = keySetting;
    return createProcessKeys({ id, command, name: say`credential_process of ${name}`, run, now, log });
  };
  let last: { readonly profile: Profile; readonly source: KeySource } | undefined;
  // A source of process keys remembers the keys that the program has printed, so it is used until the profile changes. Until then, `watched`
  // returns the same `Profile` object.
  const sourceOf = (profile: Profile): KeySource => {
    if (last?.profile !== profile) last = { profile, source: openSource(profile) };
    return last.source;
  };

  return {
    keys: {
      id,
      current: async () => sourceOf(await watched.current()).current(),
      renewed: async (refused) => {
        // Waits until the files have stopped changing, because new keys may just be written.
        const source = sourceOf(await watched.settled());
        const keys = await source.current();
        // The keys have been renewed already if a file has changed, or if the program has printed new keys for another call.
        if (!areSameKeys(keys, refused)) return keys;
        // Otherwise, the source runs the program. A source of fixed keys returns undefined.
        return source.renewed(refused);
      },
    },
    profile: () => watched.current(),
  };
}

const correctProfile = words('Correct the profile in ~/.aws/config or ~/.aws/credentials.');

/**
 * Reads the keys, region and endpoint of a profile.
 * @throws KeysUnavailable if the profile needs a role or a sign-in, has neither keys nor a program that prints keys, or has a command with
 * a quotation mark without its pair
 */
function readProfile(name: string, settings: Readonly<Record<string, string | undefined>>): Profile {
  const { region, endpoint_url: endpointUrl, credential_process: commandLine = '' } = settings;
  const {
    aws_access_key_id: accessKeyId,
    aws_secret_access_key: secretAccessKey,
    aws_session_token: sessionToken,
  } = settings;

  // Only AWS's own tools can get keys by a role or a sign-in. Keys in such a profile are not used, because they may be meant only for getting
  // the keys of the role.
  const needsAwsTools = Object.keys(settings).some((setting) => roleOrSignIn.test(setting));
  if (needsAwsTools) {
    // The message has the command twice: as people know it, and as the JSON list for the setting, in which `say` quotes the profile's name.
    throw new KeysUnavailable(
      say`the profile ${name} signs in elsewhere; set CLOUDOPS_CREDENTIAL_PROCESS to ["aws", "configure", "export-credentials", "--profile", ${name}, "--format", "process"], which is aws configure export-credentials --format process`,
      words('Set CLOUDOPS_CREDENTIAL_PROCESS, or give the account keys of its own.'),
    );
  }

  // Keys in the profile have priority over `credential_process`. An ID without its secret, or a secret without its ID, counts as no keys.
  if (accessKeyId !== undefined && secretAccessKey !== undefined) {
    const keySetting = { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) };
    return { region, endpointUrl, keySetting };
  }

  // The words of the command. Without `credential_process`, the list is empty.
  const command = splitCommand(commandLine);
  if (command === undefined)
    throw new KeysUnavailable(
      say`credential_process of the profile ${name} has a quotation mark without its pair`,
      correctProfile,
    );
  if (command.length === 0)
    throw new KeysUnavailable(say`the profile ${name} has no keys and no credential_process`, correctProfile);
  return { region, endpointUrl, keySetting: { command } };
}

/** Splits a command at white space outside of double quotation marks, as AWS does. Undefined if a quotation mark has no pair. */
export function splitCommand(text: string): readonly string[] | undefined {
  if ((text.match(/"/g) ?? []).length % 2 === 1) return undefined;
  return [...text.matchAll(/(?:"[^"]*"|[^\s"])+/g)].map(([word]) => word.replaceAll('"', ''));
}
