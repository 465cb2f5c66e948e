import { isIP } from 'node:net';
import * as z from 'zod';
import { isAccountName } from '../calls/account.js';
import { endpointSetting } from '../calls/endpoint.js';
import { isAllowed, isNamedIn, matches, offersServices, type Policy } from '../calls/policy.js';
import { isAsStrict } from '../changes/required-consent.js';
import type { ServiceSources } from '../models/service-sources.js';
import type { KeySettings } from '../signing/open-keys.js';
import type { Operation } from '../tools/define-operation.js';
import { didYouMean } from '../util/did-you-mean.js';
import { isObject, lazy, parseJson, textAt } from '../util/objects.js';
import { defined, namesOf, own, quoted, type SafeText, say, words } from '../util/safe-text.js';
import { isLoopback, regionInHost } from '../util/uri.js';
import { withHome } from './environment.js';
import { addedServices } from './own-operations.js';
import {
  type ConfigSources,
  type ExplicitValues,
  parseSetting,
  type Report,
  readSettingFile,
  type SettingValues,
  withDefaults,
} from './read-settings.js';
import {
  anyText,
  endpoint,
  endpointSettings,
  isKeySetting,
  type Setting,
  safeVariableName,
  settingNames,
  settings,
} from './settings.js';

/** The settings of the environment, or of an account of the file with what it inherits. */
export interface AccountConfig {
  readonly name: string;
  readonly description?: string | undefined;
  readonly explicit: ExplicitValues;
  readonly values: SettingValues;
  /** Endpoints of added APIs. */
  readonly endpoints: Readonly<Record<string, string>>;
  readonly keys: KeySettings;
}

export interface AccountsConfig {
  readonly all: readonly AccountConfig[];
  readonly byDefault: string | undefined;
  readonly areNamed: boolean;
}

/** All operations, built in and from files, and the services whose operations are no tools. */
interface Tools {
  readonly operations: readonly Operation[];
  readonly services: ServiceSources;
}

/** The name of a setting, or of the endpoint of an API, as the user wrote it. */
type NameOf = (setting: string) => SafeText;

/** The accounts of the accounts file, which inherit missing settings from the environment. */
export function accountsOfFile(
  content: string,
  environment: AccountConfig,
  tools: Tools,
  sources: ConfigSources,
  report: Report,
): AccountsConfig | undefined {
  const file = parseAccountsFile(content, report);
  if (file === undefined) return undefined;
  const all = file.accounts.flatMap(([name, json]) => accountOfFile(name, json, environment, tools, sources, report));
  const byDefault = file.defaultName ?? (all.length === 1 ? all[0]?.name : undefined);
  return { all, byDefault, areNamed: true };
}

/** Returns no account if a value in it is wrong. */
function accountOfFile(
  name: string,
  json: unknown,
  environment: AccountConfig,
  tools: Tools,
  sources: ConfigSources,
  report: Report,
): AccountConfig[] {
  const { data } = accountSchema().safeParse(json);
  if (data === undefined) return [];
  const { description, endpoints: ownEndpoints = {} } = data;
  const written: Readonly<Record<string, unknown>> = data;
  const given = [...settingsByField].filter(([field]) => written[field] !== undefined);
  const isGiven = (setting: Setting) => given.some(([, each]) => each === setting);
  // zod leaves out an API named `__proto__`, which is reported as unknown.
  const apis = Object.keys(isObject(json) && isObject(json.endpoints) ? json.endpoints : {});
  const ownName = own(`accounts.${name}`);
  const fields = new Map<string, string>([
    ...given.map(([field, setting]) => [setting, field] as const),
    ...apis.map((api) => [endpointSetting(api), `endpoints.${api}`] as const),
  ]);
  const nameOf: NameOf = (setting) => {
    const field = fields.get(setting);
    return field === undefined ? safeVariableName(setting) : say`${ownName}.${own(field)}`;
  };

  const files: Partial<Record<Setting, string>> = {};
  const entries = given.map(([field, setting]) => {
    if (!settings[setting].file) return [setting, written[field]];
    const path = withHome(String(written[field]), sources.env);
    files[setting] = path;
    const text = readSettingFile(path, setting, nameOf(setting), sources, report);
    return [setting, text && parseSetting(setting, text, nameOf(setting), report)];
  });
  const ownValues: ExplicitValues = Object.fromEntries(entries);
  const explicit = { ...environment.explicit, ...ownValues };
  const givesKeys = given.some(([, setting]) => isKeySetting(setting));
  const account = {
    name,
    description,
    explicit,
    values: withDefaults(explicit),
    endpoints: { ...environment.endpoints, ...ownEndpoints },
    // An account that gives any key setting inherits none, because parts of two keys do not match.
    keys: givesKeys ? keysOf(ownValues, files) : environment.keys,
  };

  // Problems of inherited keys are reported for the environment.
  reportKeySources(isGiven, ownName, report);
  const isHalfKey =
    isGiven('ACCESS_KEY_ID') !== isGiven('SECRET_ACCESS_KEY') ||
    (isGiven('SESSION_TOKEN') && !isGiven('ACCESS_KEY_ID'));
  if (isHalfKey)
    report(say`${ownName} needs both accessKeyIdFile and secretAccessKeyFile: keys are not inherited in part.`);
  const known = addedServices(tools);
  for (const api of apis)
    if (!known.includes(api))
      report(say`${nameOf(endpointSetting(api))} is for an API that no file of operations names.`);
  reportWidening(account.values, environment, nameOf, report);
  reportContradictions(account, tools, nameOf, report);
  return [account];
}

export const policyOf = ({ READ_ONLY, TOOLS, REGIONS, STORAGE_HEADERS, SANDBOX }: SettingValues): Policy => ({
  readOnly: READ_ONLY,
  tools: TOOLS,
  regions: REGIONS,
  // The sandbox takes both kinds of headers.
  extensions: STORAGE_HEADERS === 'amz' || SANDBOX ? ['s3'] : [],
});

/** Returns the source of an account's keys. Keys in `files` are read again when the files change. */
export function keysOf(values: ExplicitValues, files: { readonly [Name in KeyPart]?: string }): KeySettings {
  if (values.PROFILE !== undefined) return { kind: 'profile', name: values.PROFILE };
  if (values.CREDENTIAL_PROCESS !== undefined) return { kind: 'process', command: values.CREDENTIAL_PROCESS };
  if (values.CREDENTIAL_SOURCE !== undefined) return { kind: 'platform', platform: values.CREDENTIAL_SOURCE };
  const each = <Value>(from: { readonly [Name in KeyPart]?: Value }) => ({
    accessKeyId: from.ACCESS_KEY_ID,
    secretAccessKey: from.SECRET_ACCESS_KEY,
    sessionToken: from.SESSION_TOKEN,
  });
  return { kind: 'keys', credentials: each(values), files: each(files) };
}

type KeyPart = 'ACCESS_KEY_ID' | 'SECRET_ACCESS_KEY' | 'SESSION_TOKEN';

/** The ID of one key would not match the secret of another. */
export function reportKeySources(isGiven: (setting: Setting) => boolean, subject: SafeText, report: Report): void {
  const hasKeys = (['ACCESS_KEY_ID', 'SECRET_ACCESS_KEY', 'SESSION_TOKEN'] as const).some(isGiven);
  const others = (['CREDENTIAL_PROCESS', 'PROFILE', 'CREDENTIAL_SOURCE'] as const).filter(isGiven);
  if (others.length + Number(hasKeys) > 1)
    report(say`${subject}: set one of keys, a program that prints them, a profile, and a platform that gives them.`);
}

/** Reports settings by which an account may do more than the environment allows, or needs less consent. */
function reportWidening(
  values: SettingValues,
  { explicit: limits }: AccountConfig,
  nameOf: NameOf,
  report: Report,
): void {
  // A default is no limit, so an account may need less consent than the default.
  if (limits.READ_ONLY && !values.READ_ONLY)
    report(say`${nameOf('READ_ONLY')} may not be false while ${safeVariableName('READ_ONLY')} is set.`);

  for (const setting of ['TOOLS', 'REGIONS'] as const) {
    const allowed = limits[setting];
    // Without a list in the environment, every name is allowed.
    if (allowed === undefined) continue;
    const isIn = (name: string) => (setting === 'TOOLS' ? isNamedIn(allowed, { name }) : allowed.includes(name));
    const excluded = (values[setting] ?? []).filter((name) => !isIn(name));
    if (excluded.length > 0)
      report(say`${nameOf(setting)} names ${namesOf(excluded)}, which ${safeVariableName(setting)} leaves out.`);
  }

  const { CONFIRM: confirm, CONFIRM_DELETE: confirmDelete } = limits;
  const weaker = {
    CONFIRM: confirm !== undefined && !isAsStrict(values.CONFIRM, confirm),
    // `type` is stricter than `click`.
    CONFIRM_DELETE: confirmDelete === 'type' && values.CONFIRM_DELETE === 'click',
  };
  for (const setting of ['CONFIRM', 'CONFIRM_DELETE'] as const)
    if (weaker[setting])
      report(
        say`${nameOf(setting)} may not be ${own(values[setting])} while ${safeVariableName(setting)} is ${own(limits[setting] ?? '')}.`,
      );
}

export function reportContradictions(
  { values, endpoints }: AccountConfig,
  tools: Tools,
  nameOf: NameOf,
  report: Report,
): void {
  const { STORAGE_STYLE: style, STORAGE_URL: storage, REGION: region, REGIONS: regions = [region] } = values;
  const urls = [
    ...endpointSettings.map((setting) => [setting, values[setting]] as const),
    ...Object.entries(endpoints).map(([api, url]) => [endpointSetting(api), url] as const),
  ];
  for (const [setting, url] of urls)
    if (!values.ALLOW_HTTP && isPlainHttp(url)) report(say`${nameOf(setting)} ${plainHttp}.`);
  if (style === 'virtual' && storage !== undefined && isIP(parseUrl(storage).hostname.replace(/^\[|\]$/g, '')) !== 0)
    report(
      say`${nameOf('STORAGE_STYLE')} is virtual, but ${nameOf('STORAGE_URL')} has an IP address, before which no bucket can stand.`,
    );
  const unusable = [region, ...regions].find((name) => !regionInHost.test(name));
  const [withRegion] = endpointSettings.filter((setting) => values[setting]?.includes('{region}'));
  if (unusable !== undefined && withRegion !== undefined)
    report(
      say`${nameOf(unusable === region ? 'REGION' : 'REGIONS')} names ${quoted(unusable, 64)}, which cannot be the {region} in ${nameOf(withRegion)}: that takes lower-case letters, digits and hyphens.`,
    );
  if (!regions.includes(region))
    report(say`${nameOf('REGIONS')} does not include ${own(region)}, which is ${nameOf('REGION')}.`);
  reportTools(values, tools, nameOf, report);
}

function reportTools(values: SettingValues, { operations, services }: Tools, nameOf: NameOf, report: Report): void {
  const names = operations.map(({ name }) => name);
  const serviceNames = [...services.keys()];
  // Only the service of a pattern is checked, because its model is not loaded yet.
  const isOfService = (tool: string) =>
    tool.includes(':') && serviceNames.some((name) => matches(tool.split(':')[0] ?? '', name));
  const unknownTools = (values.TOOLS ?? []).filter((tool) => !names.includes(tool) && !isOfService(tool));
  const more = serviceNames.length > 12 ? say` and ${serviceNames.length - 12} more` : say``;
  const patterns =
    serviceNames.length === 0
      ? words('operations such as ec2:Describe* need CLOUDOPS_MODELS')
      : say`patterns such as ${own(`${serviceNames[0]}:Describe*`)} are for the services ${namesOf(serviceNames.slice(0, 12))}${more}`;
  for (const tool of unknownTools)
    report(
      say`${nameOf('TOOLS')} names ${quoted(tool, 60)}, which is not a tool; the tools are ${namesOf(names)}, and ${patterns}.`,
    );
  const policy = policyOf(values);
  const offersAny =
    operations.some((operation) => isAllowed(policy, operation)) || (services.size > 0 && offersServices(policy));
  if (unknownTools.length === 0 && !offersAny)
    report(say`${nameOf('TOOLS')} and ${nameOf('READ_ONLY')} together leave no tool to offer.`);
}

/** Follows the name of a setting. */
export const plainHttp = words(
  'is not usable: plain http is for loopback only; use https, or set CLOUDOPS_ALLOW_HTTP=1',
);

const parseUrl = (url: string) => new URL(url.replaceAll('{region}', 'region'));

export function isPlainHttp(url: string | undefined): boolean {
  if (url === undefined) return false;
  const { protocol, hostname } = parseUrl(url);
  return protocol === 'http:' && !isLoopback(hostname);
}

const mostAccounts = 32;

/** The settings of an account. For an access key, the field has the path of its file. */
const settingsByField: ReadonlyMap<string, Setting> = new Map(
  settingNames
    .filter((setting) => settings[setting].account)
    .map((setting) => {
      const camelCase = setting.toLowerCase().replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
      return [settings[setting].file ? `${camelCase}File` : camelCase, setting];
    }),
);

const accountSchema = lazy(() => {
  const settingFields = Array.from(settingsByField, ([field, setting]) => {
    const { file: isInOwnFile, help, schema } = settings[setting];
    // In the accounts file, a list is a JSON array.
    const meaning = help.replace(/^comma-separated /, '');
    const fieldSchema = isInOwnFile
      ? anyText().describe(`${meaning}, in a file of this name`)
      : schema().describe(meaning);
    return [field, fieldSchema.optional()];
  });
  const fields: Record<string, z.ZodType> = Object.fromEntries(settingFields);
  return z.strictObject(
    {
      description: anyText()
        .max(200, 'must have at most 200 characters')
        .describe('a few words by which people and agents tell this account from others')
        .optional(),
      endpoints: z
        .record(z.string(), endpoint(), 'must be an object of endpoints by API')
        .describe('endpoints of the APIs that files of operations name')
        .optional(),
      ...fields,
    },
    'must be an object',
  );
});

export const accountsFileSchema = lazy(() =>
  z.strictObject(
    {
      // `anyText` would refuse an empty text.
      $schema: z.string('must be a text').optional(),
      default: anyText().describe('account of calls that name none').optional(),
      accounts: z.record(z.string(), accountSchema(), 'must be an object of accounts by name'),
    },
    'must be an object',
  ),
);

/** Parses the accounts file, and reports everything in it that is wrong but contradictions. */
function parseAccountsFile(content: string, reportSentence: Report) {
  const report = (problem: SafeText) => reportSentence(say`The accounts file: ${problem}.`);
  // Almost all characters of such a file are one byte.
  if (content.length > 1024 * 1024) return report(say`it is larger than 1 MiB`);
  const json = parseJson(content);
  if (json === undefined) return report(say`it is not JSON`);
  // Either value of a repeated field may be meant, so nothing else is checked.
  const repeated = repeatedFields(content);
  for (const path of repeated) report(say`${path} is there twice`);
  if (repeated.length > 0) return undefined;

  for (const issue of accountsFileSchema().safeParse(json).error?.issues ?? []) reportIssue(issue, report);
  if (!isObject(json) || !isObject(json.accounts)) return undefined;
  const names = Object.keys(json.accounts);
  const defaultName = textAt(json, 'default')?.trim();
  for (const name of names)
    if (!isAccountName(name))
      report(
        say`${own(name)} must be a name of at most 31 lower-case letters, digits and hyphens that begins with a letter`,
      );
  if (names.length === 0) report(say`it has no accounts`);
  if (names.length > mostAccounts) report(say`it has more than ${mostAccounts} accounts`);
  if (defaultName !== undefined && !names.includes(defaultName))
    report(say`default is ${own(defaultName)}, which is not one of its accounts`);
  return { accounts: Object.entries(json.accounts), defaultName };
}

const jsonToken = /("(?:[^"\\]|\\.)*")(\s*:)?|[[\]{}]/g;

/** Returns the paths of repeated fields, because `JSON.parse` silently keeps the last value. */
function repeatedFields(json: string): SafeText[] {
  const containers: { readonly names: Set<string>; currentName: string | undefined }[] = [];
  const repeated = new Map<string, SafeText>();
  for (const [token, text, colon] of json.matchAll(jsonToken)) {
    const container = containers.at(-1);
    if (token === '{' || token === '[') {
      containers.push({ names: new Set(), currentName: undefined });
    } else if (token === '}' || token === ']') {
      containers.pop();
    } else if (text !== undefined && colon !== undefined && container !== undefined) {
      // The current names of all containers are the path of this field.
      const name = String(JSON.parse(text));
      container.currentName = name;
      const path = containers.map(({ currentName }) => currentName).filter((step) => step !== undefined);
      if (container.names.has(name)) repeated.set(JSON.stringify(path), namesOf(path, '.'));
      container.names.add(name);
    }
  }
  return [...repeated.values()];
}

/** Shows no value of an unknown field, because it may be a secret. */
function reportIssue(issue: z.core.$ZodIssue, report: (problem: SafeText) => void): void {
  // Without the positions in lists.
  const path = issue.path.filter((step) => typeof step === 'string');
  if (issue.code !== 'unrecognized_keys') {
    report(say`${path.length === 0 ? say`it` : namesOf(path, '.')} ${defined(issue.message)}`);
    return;
  }
  for (const field of issue.keys) {
    const name = namesOf([...path, field], '.');
    const isTop = path.length === 0;
    const knownFields = isTop ? ['accounts', 'default'] : ['description', 'endpoints', ...settingsByField.keys()];
    const similarField = didYouMean(field, knownFields);
    const hint = similarField === undefined ? say`` : say` (did you mean ${own(similarField)}?)`;
    report(
      settingsByField.has(`${field}File`)
        ? say`${name} must not be in it: use ${own(`${field}File`)}, credentialProcess or profile`
        : say`${name} is not a setting of ${words(isTop ? 'the file' : 'an account')}${hint}`,
    );
  }
}
