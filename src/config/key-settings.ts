import type * as z from 'zod';
import type { KeySettings } from '../signing/open-keys.js';
import { anyText, choice, command, headerText, row } from './setting-schemas.js';

/** Where keys come from. A new source is also added in `signing/open-keys.ts`. */
export const keySettings = {
  ACCESS_KEY_ID: row('access key of the account', headerText, { file: true, account: true }),
  SECRET_ACCESS_KEY: row('its secret', anyText, { secret: true, file: true, account: true }),
  SESSION_TOKEN: row('session token of temporary credentials', headerText, { secret: true, file: true, account: true }),
  CREDENTIAL_PROCESS: row(
    'program that prints the keys as for credential_process of AWS: a JSON array of its name and arguments',
    command,
    { kind: 'command', account: true },
  ),
  PROFILE: row(
    'profile of ~/.aws/config and ~/.aws/credentials, for keys, region and endpoint_url (storage)',
    anyText,
    { account: true },
  ),
  CREDENTIAL_SOURCE: row(
    'platform that gives keys: web-identity, container or instance',
    choice(['web-identity', 'container', 'instance']),
    { account: true },
  ),
};

type KeySetting = keyof typeof keySettings;
type KeyValues = {
  readonly [Name in KeySetting]?: z.output<ReturnType<(typeof keySettings)[Name]['schema']>> | undefined;
};
type IsGiven = (setting: KeySetting) => boolean;

export const isKeySetting = (name: string): name is KeySetting => Object.hasOwn(keySettings, name);

/** Returns the source of an account's keys. Keys in `files` are read again when the files change. */
export function keysOf(values: KeyValues, files: Readonly<Partial<Record<KeySetting, string>>>): KeySettings {
  if (values.PROFILE !== undefined) return { kind: 'profile', name: values.PROFILE };
  if (values.CREDENTIAL_PROCESS !== undefined) return { kind: 'process', command: values.CREDENTIAL_PROCESS };
  if (values.CREDENTIAL_SOURCE !== undefined) return { kind: 'platform', platform: values.CREDENTIAL_SOURCE };
  return {
    kind: 'keys',
    credentials: {
      accessKeyId: values.ACCESS_KEY_ID,
      secretAccessKey: values.SECRET_ACCESS_KEY,
      sessionToken: values.SESSION_TOKEN,
    },
    files: {
      accessKeyId: files.ACCESS_KEY_ID,
      secretAccessKey: files.SECRET_ACCESS_KEY,
      sessionToken: files.SESSION_TOKEN,
    },
  };
}

const sources: readonly (readonly KeySetting[])[] = [
  ['ACCESS_KEY_ID', 'SECRET_ACCESS_KEY', 'SESSION_TOKEN'],
  ['CREDENTIAL_PROCESS'],
  ['PROFILE'],
  ['CREDENTIAL_SOURCE'],
];

/** The ID of one key would not match the secret of another. */
export const haveSeveralSources = (isGiven: IsGiven): boolean =>
  sources.filter((settings) => settings.some(isGiven)).length > 1;

export const isHalfKey = (isGiven: IsGiven): boolean =>
  isGiven('ACCESS_KEY_ID') !== isGiven('SECRET_ACCESS_KEY') || (isGiven('SESSION_TOKEN') && !isGiven('ACCESS_KEY_ID'));
