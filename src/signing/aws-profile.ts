import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { shownReason } from '../util/log.js';
import { own, type SafeText, say, words } from '../util/safe-text.js';
import { isLoopback } from '../util/uri.js';
import type { AwsClient } from './aws-keys.js';
import { type Options, parseIni } from './ini-file.js';
import {
  container,
  environmentKeys,
  givenKeys,
  instance,
  program,
  regionOf,
  service,
  servicePauseMs,
} from './key-origins.js';
import { type KeyOrigin, KeysUnavailable, wholeCredentials } from './keys.js';
import type { Credentials } from './sign.js';
import { splitWords } from './split-words.js';

/** Reads a profile of the files that AWS tools share, as botocore reads it. */

type Environment = Readonly<Record<string, string | undefined>>;

export interface ProfileFacts {
  readonly region: string | undefined;
  readonly endpointUrl: string | undefined;
}

/** From AWS's environment variables, or in `~/.aws`. */
export function filesOfProfiles(env: Environment) {
  const home = env.HOME || env.USERPROFILE || homedir();
  const pathOf = (path: string) => {
    const expanded = path.replace(/\$(?:(\w+)|\{([^}]+)\})/g, (all, plain, braced) => env[plain ?? braced] ?? all);
    return expanded.startsWith('~/') ? join(home, expanded.slice(2)) : expanded;
  };
  return {
    config: pathOf(env.AWS_CONFIG_FILE || '~/.aws/config'),
    credentials: pathOf(env.AWS_SHARED_CREDENTIALS_FILE || '~/.aws/credentials'),
  };
}

type Sections = ReadonlyMap<string, Options>;
const noOptions: Options = new Map();

const correctProfile = words('Correct the profile in ~/.aws/config or ~/.aws/credentials.');
const unusable = (problem: SafeText, remedy = correctProfile) => new KeysUnavailable(problem, remedy);

/** A missing file counts as empty, because each of the two files is optional. */
async function readSections(path: string): Promise<Sections> {
  const text = await readFile(path, 'utf8').catch(() => '');
  try {
    return parseIni(text);
  } catch (error) {
    throw unusable(say`${path} cannot be used: ${shownReason(error)}`);
  }
}

/** Sections such as `[services mine]`. The profile `default` needs no word before its name. */
function sectionsNamed(kind: string, config: Sections): Sections {
  const named = [...config].flatMap(([header, options]): [string, Options][] => {
    if (kind === 'profile' && header === 'default') return [[header, options]];
    const [, name, ...others] = header.startsWith(kind) ? (splitWords(header, 'linux') ?? []) : [];
    return name === undefined || others.length > 0 ? [] : [[name, options]];
  });
  return new Map(named);
}

interface Context {
  readonly config: Sections;
  readonly credentials: Sections;
  readonly sessions: Sections;
  readonly env: Environment;
  /** With the region and endpoint of the profile that was asked for. */
  readonly clientOf: (service: 'sso' | 'sts') => AwsClient;
}

/** @throws KeysUnavailable if the profile is missing or unusable */
export async function readProfile(
  name: string,
  files: ReturnType<typeof filesOfProfiles>,
  env: Environment,
): Promise<KeyOrigin & ProfileFacts> {
  const [file, credentials] = await Promise.all([readSections(files.config), readSections(files.credentials)]);
  const config = sectionsNamed('profile', file);
  const settings = settingsOf(name, { config, credentials });
  if (settings === undefined)
    throw unusable(
      say`there is no profile ${name} in ${files.config} or ${files.credentials}`,
      words('Add the profile there, or name another one in CLOUDOPS_PROFILE.'),
    );

  const services = sectionsNamed('services', file);
  const region = settings.get('region');
  const endpointUrl = endpointOf('s3', settings, services, env);
  const clientOf = (service: 'sso' | 'sts'): AwsClient => {
    const endpoint = endpointOf(service, settings, services, env);
    if (endpoint !== undefined && !isSafe(endpoint))
      throw unusable(say`the endpoint of ${own(service)} has to begin with https://`);
    return { region: region || regionOf(env), endpoint };
  };
  const context = { config, credentials, sessions: sectionsNamed('sso-session', file), env, clientOf };
  return { ...originOf(name, context, []), region, endpointUrl };
}

/** Encrypted, or on this machine. */
function isSafe(url: string): boolean {
  const { protocol, hostname } = URL.canParse(url) ? new URL(url) : { protocol: '', hostname: '' };
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}

/** If both files have a setting, `credentials` wins. */
function settingsOf(name: string, files: Pick<Context, 'config' | 'credentials'>): Options | undefined {
  const [config, credentials] = [files.config.get(name), files.credentials.get(name)];
  return config || credentials ? new Map([...(config ?? []), ...(credentials ?? [])]) : undefined;
}

/** The environment comes before the profile, and a setting for this service before a general one. */
function endpointOf(
  service: 's3' | 'sso' | 'sts',
  settings: Options,
  services: Sections,
  env: Environment,
): string | undefined {
  const ignore = env.AWS_IGNORE_CONFIGURED_ENDPOINT_URLS ?? settings.get('ignore_configured_endpoint_urls');
  if (ignore?.toLowerCase() === 'true') return undefined;
  const fromEnvironment = env[`AWS_ENDPOINT_URL_${service.toUpperCase()}`] || env.AWS_ENDPOINT_URL;
  if (fromEnvironment) return fromEnvironment;
  const section = settings.get('services');
  const ofServices = section === undefined ? noOptions : services.get(section);
  if (ofServices === undefined)
    throw unusable(say`there is no section [services ${section ?? ''}], which the profile names`);
  return ofServices.get(`${service}.endpoint_url`) || settings.get('endpoint_url') || undefined;
}

/**
 * Follows botocore's order.
 * @param users the profiles that use this one as their `source_profile`
 */
function originOf(name: string, context: Context, users: readonly string[]): KeyOrigin {
  const settings = settingsOf(name, context);
  if (settings === undefined)
    throw unusable(say`there is no profile ${name}, which source_profile of ${users.at(-1) ?? ''} names`);
  const hasKeys = settings.has('aws_access_key_id') || settings.has('aws_secret_access_key');
  const hasRole = settings.has('role_arn') && !settings.has('web_identity_token_file');
  // Keys in a profile with a role are for the profiles that use it as their source.
  if (hasRole && !(users.length > 0 && hasKeys)) return roleOf(name, settings, context, users);
  if (settings.get('web_identity_token_file')) return webIdentityOf(name, settings, context);
  if (settings.has('sso_role_name') || settings.has('sso_account_id')) return ssoOf(name, settings, context);
  const found =
    keysIn(context.credentials.get(name), name) ?? programOf(settings, name) ?? keysIn(context.config.get(name), name);
  if (found !== undefined) return found;
  // A secret without an ID is no key, but probably a mistake.
  if (settings.has('aws_secret_access_key')) required(settings, 'aws_access_key_id', name);
  return sourceOf(settings, name, context.env);
}

const required = (settings: Options, setting: string, profile: string): string => {
  const value = settings.get(setting);
  if (!value) throw unusable(say`the profile ${profile} has no ${own(setting)}`);
  return value;
};

function keysIn(settings: Options | undefined, profile: string): KeyOrigin | undefined {
  if (!settings?.has('aws_access_key_id')) return undefined;
  const credentials = wholeCredentials({
    accessKeyId: required(settings, 'aws_access_key_id', profile),
    secretAccessKey: required(settings, 'aws_secret_access_key', profile),
    sessionToken: (settings.get('aws_security_token') ?? settings.get('aws_session_token')) || undefined,
  });
  if (credentials === undefined) throw unusable(say`the keys of the profile ${profile} cannot be sent in a header`);
  return givenKeys(say`the profile ${profile}`, correctProfile, credentials);
}

function programOf(settings: Options, profile: string): KeyOrigin | undefined {
  if (settings.has('login_session')) throw needsAwsTools(profile);
  const line = settings.get('credential_process');
  if (line === undefined) return undefined;
  const name = say`credential_process of ${profile}`;
  const command = splitWords(line, process.platform);
  if (command === undefined)
    throw unusable(say`${name} has a quotation mark without its pair, or ends with a backslash`);
  if (command.length === 0) throw unusable(say`${name} is empty`);
  return program(name, command);
}

/** The command is there twice: as people know it, and as the JSON list for the setting. */
const needsAwsTools = (name: string) =>
  unusable(
    say`the profile ${name} asks a person to sign in; set CLOUDOPS_CREDENTIAL_PROCESS to ["aws", "configure", "export-credentials", "--profile", ${name}, "--format", "process"], which is aws configure export-credentials --format process`,
    words('Set CLOUDOPS_CREDENTIAL_PROCESS, or give the account keys of its own.'),
  );

function sourceOf(settings: Options, profile: string, env: Environment): KeyOrigin {
  const source = settings.get('credential_source')?.toLowerCase();
  if (source === 'environment') return environmentKeys(env);
  if (source === 'ecscontainer') return container;
  if (source === 'ec2instancemetadata') return instance;
  if (source !== undefined) throw unusable(say`credential_source of the profile ${profile} is not known`);
  if (env.AWS_CONTAINER_CREDENTIALS_RELATIVE_URI || env.AWS_CONTAINER_CREDENTIALS_FULL_URI) return container;
  if (env.AWS_EC2_METADATA_DISABLED?.toLowerCase() === 'true')
    throw unusable(say`the profile ${profile} has no keys and no credential_process`);
  return instance;
}

function roleOf(profile: string, settings: Options, context: Context, users: readonly string[]): KeyOrigin {
  if (settings.has('mfa_serial')) throw needsAwsTools(profile);
  const source = settings.get('source_profile');
  if ((source === undefined) === !settings.has('credential_source'))
    throw unusable(say`the profile ${profile} with role_arn needs either source_profile or credential_source`);
  if (users.includes(profile)) throw unusable(say`the profile ${profile} is its own source_profile`);
  const arn = required(settings, 'role_arn', profile);
  const seconds = Number(settings.get('duration_seconds'));
  const sessionName = settings.get('role_session_name');
  const client = context.clientOf('sts');
  const params = {
    RoleArn: arn,
    ...(sessionName && { RoleSessionName: sessionName }),
    ExternalId: settings.get('external_id'),
    DurationSeconds: Number.isInteger(seconds) ? seconds : undefined,
  };
  const name = say`the role ${arn}`;
  const remedy = say`Check the keys that the profile ${profile} assumes the role with, and who may assume it.`;
  const roleFor = (masterCredentials: Credentials) =>
    service(name, remedy, (sdk) =>
      sdk.fromTemporaryCredentials({ params, masterCredentials, ...sdk.optionsFor(client) })(),
    );
  const keys =
    source === undefined ? sourceOf(settings, profile, context.env) : originOf(source, context, [...users, profile]);
  return {
    name,
    remedy,
    pauseMs: Math.max(servicePauseMs, keys.pauseMs),
    // Asked for each time, because the keys may be others by then.
    read: async (options) => roleFor((await keys.read(options)).credentials).read(options),
  };
}

function webIdentityOf(profile: string, settings: Options, { clientOf }: Context): KeyOrigin {
  const sessionName = settings.get('role_session_name');
  const arn = required(settings, 'role_arn', profile);
  const client = clientOf('sts');
  const options = {
    roleArn: arn,
    webIdentityTokenFile: required(settings, 'web_identity_token_file', profile),
    ...(sessionName && { roleSessionName: sessionName }),
  };
  return service(
    say`the role ${arn}`,
    words('Check the token in web_identity_token_file, and who may assume the role.'),
    (sdk) => sdk.fromTokenFile({ ...options, ...sdk.optionsFor(client) })(),
  );
}

function ssoOf(profile: string, settings: Options, { sessions, clientOf }: Context): KeyOrigin {
  const session = settings.get('sso_session');
  const ofSession = session === undefined ? noOptions : sessions.get(session);
  if (ofSession === undefined)
    throw unusable(say`there is no section [sso-session ${session ?? ''}], which the profile ${profile} names`);
  for (const [name, value] of ofSession)
    if ((settings.get(name) ?? value) !== value)
      throw unusable(say`${own(name)} of the profile ${profile} is not that of its sso-session`);
  const merged = new Map([...settings, ...ofSession]);
  const ssoRegion = required(merged, 'sso_region', profile);
  const client = { ...clientOf('sso'), region: ssoRegion };
  const options = {
    profile,
    ssoStartUrl: required(merged, 'sso_start_url', profile),
    ssoRegion,
    ssoAccountId: required(merged, 'sso_account_id', profile),
    ssoRoleName: required(merged, 'sso_role_name', profile),
    ...(session && { ssoSession: session }),
  };
  return service(
    say`single sign-on of the profile ${profile}`,
    say`Sign in again: aws sso login --profile ${profile}`,
    (sdk) => sdk.fromSSO({ ...options, ...sdk.optionsFor(client) })(),
  );
}
