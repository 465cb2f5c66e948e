import type { Cloud } from '../calls/endpoint.js';
import { isAllowed } from '../calls/policy.js';
import { isAsStrict } from '../consent/required-consent.js';
import type { Operation, Service } from '../tools/define-operation.js';
import { defaultAccount } from '../transport/request.js';
import { namesOf, own, quoted, type Said, said, say, words } from '../util/safe-text.js';
import { isLoopback } from '../util/uri.js';
import { type AccountConfig, type AccountsConfig, parseAccount, policyOf } from './account-settings.js';
import { fieldOf, parseAccountsFile, type WrittenAccount } from './accounts-file.js';
import { ownServices } from './own-operations.js';
import { parseTexts, type SettingValues } from './setting-values.js';
import { type Setting, saidVariable, settingNames, settings } from './settings.js';
import { type ConfigSources, type Gathered, type Report, readSettingFile } from './sources.js';
import { endpoint } from './values.js';

/** Settings, parsed, with the texts and files that they come from. */
export interface Parsed extends Pick<Gathered, 'texts' | 'files'> {
  readonly values: SettingValues;
  /** By service, for those beside the three. */
  readonly endpoints: Cloud['endpoints'];
  /** All that there are, those from outside included. */
  readonly operations: readonly Operation[];
}

/** The name of a setting in a sentence about it. */
type NameOf = (setting: Setting) => Said;

/** The account of the environment alone. */
export const onlyAccount = (environment: Parsed): AccountsConfig => ({
  all: [parseAccount(defaultAccount, environment.values, environment)],
  byDefault: defaultAccount,
  areNamed: false,
});

/** The accounts of a file. What an account does not say comes from the environment. Undefined if there is a problem, which is reported. */
export function accountsOfFile(
  content: string,
  environment: Parsed,
  readFile: ConfigSources['readFile'],
  report: Report,
): AccountsConfig | undefined {
  const file = parseAccountsFile(content, report);
  if (file === undefined) return undefined;
  const [first, ...others] = file.accounts.map((account) => accountOfFile(account, environment, readFile, report));
  if (first === undefined) return undefined;
  const byDefault = file.byDefault ?? (others.length === 0 ? first.name : undefined);
  return { all: [first, ...others], byDefault, areNamed: true };
}

const isKey = (setting: Setting) => settings[setting].account === 'keys';

function accountOfFile(
  written: WrittenAccount,
  environment: Parsed,
  readFile: ConfigSources['readFile'],
  report: Report,
): AccountConfig {
  const { name, description, files } = written;
  const isOwn = (setting: Setting) => written.texts[setting] !== undefined || files[setting] !== undefined;
  const nameOf: NameOf = (setting) =>
    isOwn(setting) ? own(`accounts.${name}.${fieldOf(setting)}`) : saidVariable(setting);
  const hasKeys = settingNames.some((setting) => isKey(setting) && isOwn(setting));
  const inherited = <Text>(texts: Readonly<Partial<Record<Setting, Text>>>) => {
    const kept = Object.entries(texts).filter(([setting]) => !(hasKeys && isKey(setting as Setting)));
    return Object.fromEntries(kept) as Partial<Record<Setting, Text>>;
  };
  const read = Object.fromEntries(
    settingNames.flatMap((setting) => {
      const path = files[setting];
      const found = path && readSettingFile(setting, path, readFile, report, nameOf(setting));
      return found ? [[setting, found]] : [];
    }),
  );
  const texts = { ...inherited(environment.texts), ...written.texts, ...read };
  const values = parseTexts(texts, nameOf, report).values;
  const endpoints = { ...environment.endpoints, ...ownEndpoints(written, values, environment, report) };
  const parsed = { texts, files: { ...inherited(environment.files), ...files }, endpoints };
  if (hasKeys) reportKeys({ texts, files }, name, report);
  reportWidening(values, environment, isOwn, nameOf, report);
  reportContradictions(values, environment.operations, nameOf, report);
  return { ...parseAccount(name, values, parsed), description };
}

/** The endpoints that an account has for services beside the three. */
function ownEndpoints(
  { name, endpoints }: WrittenAccount,
  { ALLOW_HTTP: allowHttp }: SettingValues,
  { operations }: Parsed,
  report: Report,
): Cloud['endpoints'] {
  const nameOf = (service: Service) => said(say`${own(`accounts.${name}`)}.endpoints.${own(service)}`);
  const services = ownServices(operations);
  for (const service of Object.keys(endpoints))
    if (!services.includes(service)) report(say`${nameOf(service)} is for an API that no file of operations names.`);
  return parseEndpoints(endpoints, allowHttp, nameOf, report);
}

/** The endpoints that can be used, of services beside the three. They have the rules of all endpoints. */
export function parseEndpoints(
  texts: Cloud['endpoints'],
  allowHttp: boolean,
  nameOf: (service: Service) => Said,
  report: Report,
): Cloud['endpoints'] {
  const valid = Object.entries(texts).filter(([service, text]) => {
    const parsed = text === undefined ? undefined : endpoint(text);
    if (parsed?.kind === 'problems')
      for (const problem of parsed.problems) report(say`${nameOf(service)} ${said(problem)}.`);
    else if (!allowHttp && isPlainHttp(text)) report(say`${nameOf(service)} ${plainHttp}`);
    else return true;
    return false;
  });
  return Object.fromEntries(valid);
}

/** Keys come whole from one place. */
export function reportKeySources(texts: Gathered['texts'], what: Said, report: Report): void {
  const hasKey = texts.ACCESS_KEY_ID ?? texts.SECRET_ACCESS_KEY ?? texts.SESSION_TOKEN;
  const sources = [hasKey, texts.CREDENTIAL_PROCESS, texts.PROFILE].filter((source) => source !== undefined);
  if (sources.length > 1) report(say`${what}: set one of keys, a program that prints them, and a profile.`);
}

function reportKeys({ texts, files }: Pick<Parsed, 'texts' | 'files'>, name: string, report: Report): void {
  const where = own(`accounts.${name}`);
  reportKeySources(texts, where, report);
  const isWhole = files.ACCESS_KEY_ID !== undefined && files.SECRET_ACCESS_KEY !== undefined;
  const isOther = texts.CREDENTIAL_PROCESS !== undefined || texts.PROFILE !== undefined;
  if (!isWhole && !isOther)
    report(say`${where} needs both accessKeyIdFile and secretAccessKeyFile: keys are not inherited in part.`);
}

/** An account may do no more than the environment allows, and may ask for no less consent than it asks for. */
function reportWidening(
  values: SettingValues,
  environment: Parsed,
  isOwn: (setting: Setting) => boolean,
  nameOf: NameOf,
  report: Report,
): void {
  const given = environment.values;
  if (given.READ_ONLY && !values.READ_ONLY)
    report(say`${nameOf('READ_ONLY')} may not be false while ${saidVariable('READ_ONLY')} is set.`);
  for (const setting of ['TOOLS', 'REGIONS'] as const) {
    const allowed: readonly string[] | undefined = given[setting];
    const others = (values[setting] ?? []).filter((name) => allowed?.includes(name) === false);
    if (others.length > 0)
      report(say`${nameOf(setting)} names ${namesOf(others)}, which ${saidVariable(setting)} leaves out.`);
  }
  if (isOwn('CONFIRM') && environment.texts.CONFIRM !== undefined && !isAsStrict(values.CONFIRM, given.CONFIRM))
    report(
      say`${nameOf('CONFIRM')} may not be ${own(values.CONFIRM)} while ${saidVariable('CONFIRM')} is ${own(given.CONFIRM)}.`,
    );
}

/** Settings of an account that are fine alone and not together. */
export function reportContradictions(
  values: SettingValues,
  operations: readonly Operation[],
  nameOf: NameOf,
  report: Report,
): void {
  const { REGION: region, REGIONS: regions } = values;
  for (const setting of ['STORAGE_URL', 'CATALOG_URL', 'DEVOPS_URL'] as const)
    if (!values.ALLOW_HTTP && isPlainHttp(values[setting])) report(say`${nameOf(setting)} ${plainHttp}`);
  if (regions?.includes(region) === false)
    report(say`${nameOf('REGIONS')} does not include ${own(region)}, which is ${nameOf('REGION')}.`);
  const names = operations.map(({ name }) => name);
  const unknown = (values.TOOLS ?? []).filter((tool) => !names.includes(tool));
  for (const tool of unknown)
    report(say`${nameOf('TOOLS')} names ${quoted(tool, 60)}, which is not a tool; the tools are ${namesOf(names)}.`);
  if (unknown.length === 0 && !operations.some((operation) => isAllowed(policyOf(values), operation)))
    report(say`${nameOf('TOOLS')} and ${nameOf('READ_ONLY')} together leave no tool to offer.`);
}

const plainHttp = said(
  words('is not usable: plain http is for loopback only; use https, or set CLOUDOPS_ALLOW_HTTP=1.'),
);

export function isPlainHttp(url: string | undefined): boolean {
  if (url === undefined) return false;
  const { protocol, hostname } = new URL(url.replaceAll('{region}', 'region'));
  return protocol === 'http:' && !isLoopback(hostname);
}
