import { isIP } from 'node:net';
import type { Account } from '../calls/account.js';
import type { Cloud } from '../calls/endpoint.js';
import { isAllowed, isNamedIn, matches, offersServices, type Policy } from '../calls/policy.js';
import { isAsStrict } from '../changes/required-consent.js';
import type { ServiceSources } from '../models/service-sources.js';
import type { KeySettings } from '../signing/open-keys.js';
import type { Operation, Service } from '../tools/define-operation.js';
import { defaultAccount } from '../transport/request.js';
import { defined, namesOf, own, quoted, type SafeText, say, words } from '../util/safe-text.js';
import { isLoopback, regionInHost } from '../util/uri.js';
import { fieldOf, parseAccountsFile, type WrittenAccount } from './accounts-file.js';
import { withHome } from './environment.js';
import { haveSeveralSources, isHalfKey, isKeySetting, keysOf } from './key-settings.js';
import { addedServices } from './own-operations.js';
import { endpoint } from './setting-schemas.js';
import { type ExplicitValues, type NameOf, parseSettings, type SettingValues, withDefaults } from './setting-values.js';
import { endpointSettings, type Setting, safeVariableName, settingNames, settings } from './settings.js';
import { type ConfigSources, type GatheredSettings, type Report, readSettingFile } from './sources.js';

/** The settings of an account, checked and with defaults. `openKeys` reads the keys. */
export interface AccountConfig
  extends Pick<Account, 'name' | 'description' | 'policy' | 'confirm' | 'confirmDelete' | 'budget'> {
  readonly cloud: Omit<Cloud, 'account' | 'keys'> & { readonly regionIsConfigured: boolean };
  /** True if plain http is allowed for hosts other than loopback. */
  readonly allowHttp: boolean;
  readonly keys: KeySettings;
}

export interface AccountsConfig {
  readonly all: readonly [AccountConfig, ...AccountConfig[]];
  readonly byDefault: string | undefined;
  readonly areNamed: boolean;
}

/** The parsed settings of the environment and the command line. */
export interface ParsedEnvironment extends Pick<GatheredSettings, 'files'> {
  readonly explicit: ExplicitValues;
  readonly values: SettingValues;
  readonly endpoints: Cloud['endpoints'];
  /** All operations, built in and from files. */
  readonly operations: readonly Operation[];
  readonly services: ServiceSources;
}

/** The account that the environment describes if there is no accounts file. */
export const onlyAccount = (environment: ParsedEnvironment): AccountsConfig => ({
  all: [accountOf(defaultAccount, environment, keysOf(environment.values, environment.files))],
  byDefault: defaultAccount,
  areNamed: false,
});

/** The accounts of the accounts file, which inherit missing settings from the environment. */
export function accountsOfFile(
  content: string,
  environment: ParsedEnvironment,
  sources: FileSources,
  report: Report,
): AccountsConfig | undefined {
  const file = parseAccountsFile(content, report);
  if (file === undefined) return undefined;
  const [first, ...others] = file.accounts.map((account) => accountOfFile(account, environment, sources, report));
  if (first === undefined) return undefined;
  const byDefault = file.defaultName ?? (others.length === 0 ? first.name : undefined);
  return { all: [first, ...others], byDefault, areNamed: true };
}

function accountOfFile(
  written: WrittenAccount,
  environment: ParsedEnvironment,
  sources: FileSources,
  report: Report,
): AccountConfig {
  const { name, description } = written;
  const isGiven = (setting: Setting) => written.values[setting] !== undefined;
  const nameOf: NameOf = (setting) =>
    isGiven(setting) ? own(`accounts.${name}.${fieldOf(setting)}`) : safeVariableName(setting);

  const keyFiles = readKeyFiles(written, nameOf, sources, report);
  const ownValues = parseSettings({ ...written.values, ...keyFiles.texts }, nameOf, report);
  const ownAndInherited: ExplicitValues = { ...environment.explicit, ...ownValues };
  const values = withDefaults(ownAndInherited);

  const givesKeys = settingNames.some((setting) => isKeySetting(setting) && isGiven(setting));
  // Problems of inherited keys are reported for the environment.
  if (givesKeys) reportKeySources(isGiven, own(`accounts.${name}`), report);
  if (isHalfKey(isGiven))
    report(
      say`accounts.${own(name)} needs both accessKeyIdFile and secretAccessKeyFile: keys are not inherited in part.`,
    );
  // An account that gives any key setting inherits none, because parts of two keys do not match.
  const keys = givesKeys ? keysOf(ownValues, keyFiles.paths) : keysOf(environment.values, environment.files);
  reportWidening(values, environment, nameOf, report);
  reportContradictions(values, environment, nameOf, report);

  const endpoints = { ...environment.endpoints, ...endpointsOf(written, values, environment, report) };
  return { ...accountOf(name, { explicit: ownAndInherited, values, endpoints }, keys), description };
}

/** The environment has the home folder. */
type FileSources = Pick<ConfigSources, 'env' | 'readFile'>;

function readKeyFiles({ values }: WrittenAccount, nameOf: NameOf, { env, readFile }: FileSources, report: Report) {
  const paths: Partial<Record<Setting, string>> = {};
  const texts: Partial<Record<Setting, string | undefined>> = {};
  for (const setting of settingNames) {
    const written = settings[setting].file ? values[setting] : undefined;
    if (typeof written !== 'string') continue;
    const path = withHome(written.trim(), env);
    paths[setting] = path;
    texts[setting] = path === '' ? undefined : readSettingFile(setting, path, readFile, report, nameOf(setting));
  }
  return { paths, texts };
}

function accountOf(
  name: string,
  { explicit, values, endpoints }: Pick<ParsedEnvironment, 'explicit' | 'values' | 'endpoints'>,
  keys: KeySettings,
): AccountConfig {
  return {
    name,
    cloud: {
      region: values.REGION,
      // A configured region wins over the region of a profile, but the default region does not.
      regionIsConfigured: explicit.REGION !== undefined,
      endpoints: { ...endpoints, storage: values.STORAGE_URL, catalog: values.CATALOG_URL, devops: values.DEVOPS_URL },
      signingServices: {
        storage: values.STORAGE_SERVICE,
        catalog: values.CATALOG_SERVICE,
        devops: values.DEVOPS_SERVICE,
      },
      storageHeaders: values.STORAGE_HEADERS,
      storageStyle: values.STORAGE_STYLE,
    },
    allowHttp: values.ALLOW_HTTP,
    keys,
    policy: policyOf(values),
    confirm: values.CONFIRM,
    confirmDelete: values.CONFIRM_DELETE,
    budget: values.MAX_CHANGES,
  };
}

const policyOf = ({ READ_ONLY, TOOLS, REGIONS, STORAGE_HEADERS, SANDBOX }: SettingValues): Policy => ({
  readOnly: READ_ONLY,
  tools: TOOLS,
  regions: REGIONS,
  // The sandbox takes both kinds of headers.
  extensions: STORAGE_HEADERS === 'amz' || SANDBOX ? ['s3'] : [],
});

function endpointsOf(
  { name, endpoints }: WrittenAccount,
  { ALLOW_HTTP: allowHttp }: SettingValues,
  environment: ParsedEnvironment,
  report: Report,
): Cloud['endpoints'] {
  const nameOf = (service: Service) => say`${own(`accounts.${name}`)}.endpoints.${own(service)}`;
  const services = addedServices(environment);
  for (const service of Object.keys(endpoints))
    if (!services.includes(service)) report(say`${nameOf(service)} is for an API that no file of operations names.`);
  return parseEndpoints(endpoints, allowHttp, nameOf, report);
}

/** Checks the endpoints of APIs that operation files add, and returns those without a problem. */
export function parseEndpoints(
  texts: Cloud['endpoints'],
  allowHttp: boolean,
  nameOf: (service: Service) => SafeText,
  report: Report,
): Cloud['endpoints'] {
  const usable = Object.entries(texts).filter(([service, text]) => {
    if (text === undefined) return true;
    const problem = problemOfEndpoint(text, allowHttp);
    if (problem !== undefined) report(say`${nameOf(service)} ${problem}.`);
    return problem === undefined;
  });
  return Object.fromEntries(usable);
}

/** Returns the problem of an endpoint, to follow the name of its setting in a sentence. */
export function problemOfEndpoint(url: string, allowHttp: boolean): SafeText | undefined {
  const [issue] = endpoint().safeParse(url).error?.issues ?? [];
  if (issue !== undefined) return say`${defined(issue.message)}`;
  return !allowHttp && isPlainHttp(url) ? plainHttp : undefined;
}

export function reportKeySources(isGiven: (setting: Setting) => boolean, subject: SafeText, report: Report): void {
  if (haveSeveralSources(isGiven))
    report(say`${subject}: set one of keys, a program that prints them, a profile, and a platform that gives them.`);
}

/** Reports settings by which an account may do more than the environment allows, or needs less consent. */
function reportWidening(values: SettingValues, environment: ParsedEnvironment, nameOf: NameOf, report: Report): void {
  // A default is no limit, so an account may need less consent than the default.
  const { explicit: limits } = environment;
  if (limits.READ_ONLY && !values.READ_ONLY)
    report(say`${nameOf('READ_ONLY')} may not be false while ${safeVariableName('READ_ONLY')} is set.`);

  for (const setting of ['TOOLS', 'REGIONS'] as const) {
    const allowed = limits[setting];
    // Without a list in the environment, every name is allowed.
    if (allowed === undefined) continue;
    // `values` lacks the list if the account's list is wrong, which has been reported.
    const isIn = (name: string) => (setting === 'TOOLS' ? isNamedIn(allowed, { name }) : allowed.includes(name));
    const excluded = (values[setting] ?? []).filter((name) => !isIn(name));
    if (excluded.length > 0)
      report(say`${nameOf(setting)} names ${namesOf(excluded)}, which ${safeVariableName(setting)} leaves out.`);
  }

  const reportWeaker = (setting: 'CONFIRM' | 'CONFIRM_DELETE', limit: string) =>
    report(
      say`${nameOf(setting)} may not be ${own(values[setting])} while ${safeVariableName(setting)} is ${own(limit)}.`,
    );
  const { CONFIRM: confirm, CONFIRM_DELETE: confirmDelete } = limits;
  if (confirm !== undefined && !isAsStrict(values.CONFIRM, confirm)) reportWeaker('CONFIRM', confirm);
  // `type` is stricter than `click`.
  if (confirmDelete === 'type' && values.CONFIRM_DELETE === 'click') reportWeaker('CONFIRM_DELETE', confirmDelete);
}

/** The tools, and the services whose operations are no tools. */
type Tools = Pick<ParsedEnvironment, 'operations' | 'services'>;

/** Reports settings of an account that contradict each other, and tools that do not exist. */
export function reportContradictions(values: SettingValues, environment: Tools, nameOf: NameOf, report: Report): void {
  for (const setting of endpointSettings)
    if (!values.ALLOW_HTTP && isPlainHttp(values[setting])) report(say`${nameOf(setting)} ${plainHttp}.`);
  const { STORAGE_STYLE: style, STORAGE_URL: storage } = values;
  if (style === 'virtual' && storage !== undefined && isAddress(storage))
    report(
      say`${nameOf('STORAGE_STYLE')} is virtual, but ${nameOf('STORAGE_URL')} has an IP address, before which no bucket can stand.`,
    );
  const { REGION: region, REGIONS: regions } = values;
  const named = [['REGION', region], ...(regions ?? []).map((name) => ['REGIONS', name] as const)] as const;
  const [setting, unusable] = named.find(([, name]) => !regionInHost.test(name)) ?? [];
  const withRegion = endpointSettings.find((endpointSetting) => values[endpointSetting]?.includes('{region}'));
  if (setting !== undefined && withRegion !== undefined)
    report(
      say`${nameOf(setting)} names ${quoted(unusable, 64)}, which cannot be the {region} in ${nameOf(withRegion)}: that takes lower-case letters, digits and hyphens.`,
    );
  if (regions?.includes(region) === false)
    report(say`${nameOf('REGIONS')} does not include ${own(region)}, which is ${nameOf('REGION')}.`);
  reportTools(values, environment, nameOf, report);
}

/** Reports tools that do not exist, and settings that leave none. */
function reportTools(values: SettingValues, { operations, services }: Tools, nameOf: NameOf, report: Report): void {
  const names = operations.map(({ name }) => name);
  // Only the service of a pattern is checked, because its model is not loaded yet.
  const isOfService = (tool: string) => {
    const [service = '', operation] = tool.split(':');
    return operation !== undefined && [...services.keys()].some((name) => matches(service, name));
  };
  const unknownTools = (values.TOOLS ?? []).filter((tool) => !names.includes(tool) && !isOfService(tool));
  for (const tool of unknownTools)
    report(
      say`${nameOf('TOOLS')} names ${quoted(tool, 60)}, which is not a tool; the tools are ${namesOf(names)}, and ${patternsFor([...services.keys()])}.`,
    );
  const policy = policyOf(values);
  const offersAny =
    operations.some((operation) => isAllowed(policy, operation)) || (services.size > 0 && offersServices(policy));
  if (unknownTools.length === 0 && !offersAny)
    report(say`${nameOf('TOOLS')} and ${nameOf('READ_ONLY')} together leave no tool to offer.`);
}

const mostServices = 12;

/** What may be named besides tools. */
function patternsFor(services: readonly string[]): SafeText {
  const [first] = services;
  if (first === undefined) return words('operations such as ec2:Describe* need CLOUDOPS_MODELS');
  const more = services.length > mostServices ? say` and ${services.length - mostServices} more` : say``;
  return say`patterns such as ${own(`${first}:Describe*`)} are for the services ${namesOf(services.slice(0, mostServices))}${more}`;
}

const plainHttp = words('is not usable: plain http is for loopback only; use https, or set CLOUDOPS_ALLOW_HTTP=1');

const parseUrl = (url: string) => new URL(url.replaceAll('{region}', 'region'));

const isAddress = (url: string): boolean => isIP(parseUrl(url).hostname.replace(/^\[|\]$/g, '')) !== 0;

export function isPlainHttp(url: string | undefined): boolean {
  if (url === undefined) return false;
  const { protocol, hostname } = parseUrl(url);
  return protocol === 'http:' && !isLoopback(hostname);
}
