import { endpointSetting } from '../calls/endpoint.js';
import type { OwnOperations } from '../models/load-operations.js';
import type { Service } from '../tools/define-operation.js';
import { operations as builtIn } from '../tools/index.js';
import type { Proxies } from '../transport/connections.js';
import { distinct, own, type SafeText, say, words } from '../util/safe-text.js';
import {
  type AccountsConfig,
  accountsOfFile,
  isPlainHttp,
  onlyAccount,
  type ParsedEnvironment,
  parseEndpoints,
  reportContradictions,
  reportKeySources,
} from './accounts.js';
import { asksForTraces, defaultJournal, readProxies } from './environment.js';
import { isKeySetting } from './key-settings.js';
import { addedServices, allOperations, noOwnOperations } from './own-operations.js';
import { parseSettings, type SettingValues, withDefaults } from './setting-values.js';
import { endpointSettings, prefix, type Setting, safeVariableName } from './settings.js';
import { type ConfigSources, type GatheredSettings, gatherSettings, type Report, readSettingFile } from './sources.js';

export type Config = ReturnType<typeof configOf>;

export type ConfigResult =
  | { readonly ok: true; readonly config: Config }
  /** One sentence each, without the value of a secret. */
  | { readonly ok: false; readonly problems: readonly SafeText[] };

/** Loads and checks all settings. Returns the configuration, or all problems at once. */
export function loadConfig(sources: ConfigSources): ConfigResult {
  const problems: SafeText[] = [];
  const report: Report = (problem) => void problems.push(words(problem));
  const gathered = gatherSettings(sources, report);
  const environment = parseEnvironment(gathered, sources.ownOperations ?? noOwnOperations, report);
  const proxies = readProxies(sources.env, report);
  reportHttp(environment.values, gathered.texts, report);
  const accounts = loadAccounts(environment, sources, report);
  reportDecisions(environment.values, accounts, report);
  if (problems.length === 0) return { ok: true, config: configOf(environment, accounts, gathered, proxies, sources) };
  // Each account that inherits a wrong setting reports the same problem.
  return { ok: false, problems: distinct(problems) };
}

/** In the result, `explicit` has only the given values, and `values` has the defaults too. */
function parseEnvironment(
  { texts, files, endpoints: endpointTexts }: GatheredSettings,
  ownOperations: OwnOperations,
  report: Report,
): ParsedEnvironment {
  for (const problem of ownOperations.problems) report(problem);
  const operations = allOperations(builtIn, ownOperations);

  const explicit = parseSettings(texts, safeVariableName, report);
  const values = withDefaults(explicit);

  const urlsByService = Object.fromEntries(
    addedServices(ownOperations).map((service) => [service, endpointTexts[endpointSetting(service)]]),
  );
  const variableOf = (service: Service) => safeVariableName(endpointSetting(service));
  const endpoints = parseEndpoints(urlsByService, values.ALLOW_HTTP, variableOf, report);

  const services = ownOperations.services ?? new Map();
  reportContradictions(values, { operations, services }, safeVariableName, report);

  const keyVariables = words(
    'CLOUDOPS_ACCESS_KEY_ID, CLOUDOPS_CREDENTIAL_PROCESS, CLOUDOPS_PROFILE and CLOUDOPS_CREDENTIAL_SOURCE',
  );
  reportKeySources((setting) => explicit[setting] !== undefined, keyVariables, report);
  return { explicit, values, files, endpoints, operations, services };
}

function configOf(
  { values, files, operations, services }: Pick<ParsedEnvironment, 'values' | 'files' | 'operations' | 'services'>,
  accounts: AccountsConfig,
  { origins }: GatheredSettings,
  proxies: Proxies,
  { env }: Pick<ConfigSources, 'env'>,
) {
  return {
    operations,
    services,
    accounts,
    proxies,
    origins,
    /** All settings, with their defaults. */
    values: { ...values, JOURNAL: values.JOURNAL ?? defaultJournal(env, values.SANDBOX) },
    /** The file from which the address of the journal was read. */
    journalFile: files.JOURNAL,
    telemetry: asksForTraces(env),
    insecureTls: env.NODE_TLS_REJECT_UNAUTHORIZED === '0',
    /** Environment variables for programs that this server starts: all except its own settings. */
    otherVariables: Object.fromEntries(Object.entries(env).filter(([name]) => !name.toUpperCase().startsWith(prefix))),
  };
}

/** Without a usable account in a file, returns the account that the environment describes. */
function loadAccounts(environment: ParsedEnvironment, sources: ConfigSources, report: Report): AccountsConfig {
  const { ACCOUNTS_FILE: path } = environment.values;
  if (path === undefined) return onlyAccount(environment);
  const content = readSettingFile('ACCOUNTS_FILE', path, sources.readFile, report, safeVariableName('ACCOUNTS_FILE'));
  const accounts = content === undefined ? undefined : accountsOfFile(content, environment, sources, report);
  return accounts ?? onlyAccount(environment);
}

function reportHttp(values: SettingValues, texts: GatheredSettings['texts'], report: Report): void {
  const { HTTP_ISSUER: issuer, HTTP_AUDIENCE: audience, HTTP_TOKENS_FILE: tokensFile } = texts;
  for (const name of ['HTTP_ISSUER', 'HTTP_PUBLIC_URL', 'DECISIONS_WEBHOOK'] as const)
    if (isPlainHttp(values[name]))
      report(say`${safeVariableName(name)} is not usable: plain http is for loopback only; use https.`);
  if ((issuer === undefined) !== (audience === undefined))
    report('CLOUDOPS_HTTP_ISSUER and CLOUDOPS_HTTP_AUDIENCE go together; set both.');
  for (const name of ['HTTP_SCOPE_CLAIM', 'HTTP_SCOPE_PREFIX', 'HTTP_PERSON_CLAIM'] as const)
    if (issuer === undefined && texts[name] !== undefined)
      report(say`${safeVariableName(name)} is of use only with CLOUDOPS_HTTP_ISSUER; set both, or neither.`);
  if (issuer !== undefined && tokensFile !== undefined)
    report('CLOUDOPS_HTTP_ISSUER and CLOUDOPS_HTTP_TOKENS_FILE are both set; set one.');
}

function reportDecisions(values: SettingValues, { all }: AccountsConfig, report: Report): void {
  const { HTTP_PUBLIC_URL: publicUrl, STATE_KEY: stateKeys, HTTP_ISSUER: issuer } = values;
  const hasApproval = all.some(({ confirm }) => confirm === 'approval');
  if (publicUrl !== undefined && stateKeys === undefined)
    report(
      'CLOUDOPS_HTTP_PUBLIC_URL needs CLOUDOPS_STATE_KEY: without it, a restart ends the sessions of those who decide there.',
    );
  if (publicUrl === undefined && hasApproval)
    report('CLOUDOPS_CONFIRM=approval needs CLOUDOPS_HTTP_PUBLIC_URL: somebody else decides there.');
  if (issuer !== undefined && values.HTTP_PERSON_CLAIM === undefined && hasApproval)
    report(
      'CLOUDOPS_CONFIRM=approval needs CLOUDOPS_HTTP_PERSON_CLAIM, the claim that names a person alike in all clients: an issuer may name people differently in each client, and they could then approve their own changes.',
    );
}

/** Settings that the sandbox replaces. Users may have forgotten that CLOUDOPS_SANDBOX is set. */
export const hiddenBySandbox = ({ values, origins }: Pick<Config, 'values' | 'origins'>): readonly SafeText[] =>
  values.SANDBOX ? origins.filter(({ setting }) => isReplaced(setting)).map(({ name }) => own(name)) : [];

/** A variable without a setting is an endpoint that operation files add. */
const isReplaced = (setting: Setting | undefined) =>
  setting === undefined || isKeySetting(setting) || endpointSettings.some((endpoint) => endpoint === setting);
