import { operations as builtIn } from '../tools/index.js';
import { defaultAccount } from '../transport/request.js';
import { distinct, own, type SafeText, say, words } from '../util/safe-text.js';
import {
  type AccountConfig,
  type AccountsConfig,
  accountsOfFile,
  isPlainHttp,
  keysOf,
  reportContradictions,
  reportKeySources,
} from './accounts.js';
import { asksForTraces, defaultJournal, readProxies } from './environment.js';
import { allOperations, noOwnOperations } from './own-operations.js';
import {
  type ConfigSources,
  type Report,
  readSettingFile,
  readSettings,
  type SettingValues,
  withDefaults,
} from './read-settings.js';
import { endpointSettings, isKeySetting, prefix, type Setting, safeVariableName } from './settings.js';

export type Config = ReturnType<typeof readConfig>;

export type ConfigResult =
  | { readonly ok: true; readonly config: Config }
  /** One sentence each, without the value of a secret. */
  | { readonly ok: false; readonly problems: readonly SafeText[] };

/** Loads and checks all settings. Returns the configuration, or all problems at once. */
export function loadConfig(sources: ConfigSources): ConfigResult {
  const problems: SafeText[] = [];
  const config = readConfig(sources, (problem) => void problems.push(words(problem)));
  // Each account that inherits a wrong setting reports the same problem.
  return problems.length === 0 ? { ok: true, config } : { ok: false, problems: distinct(problems) };
}

/** The result is of use only if no problem is reported. */
function readConfig(sources: ConfigSources, report: Report) {
  const { env, ownOperations = noOwnOperations } = sources;
  const { origins, files, explicit, endpoints } = readSettings(sources, report);
  const values = withDefaults(explicit);
  const keys = keysOf(explicit, files);
  const environment: AccountConfig = { name: defaultAccount, explicit, values, endpoints, keys };
  for (const problem of ownOperations.problems) report(problem);
  const operations = allOperations(builtIn, ownOperations);
  const tools = { operations, services: ownOperations.services ?? new Map() };
  const isGiven = (setting: Setting) => origins.some((origin) => origin.setting === setting);
  const keyVariables = words(
    'CLOUDOPS_ACCESS_KEY_ID, CLOUDOPS_CREDENTIAL_PROCESS, CLOUDOPS_PROFILE and CLOUDOPS_CREDENTIAL_SOURCE',
  );
  reportKeySources(isGiven, keyVariables, report);
  reportContradictions(environment, tools, safeVariableName, report);

  const { ACCOUNTS_FILE: path } = values;
  const content = path && readSettingFile(path, 'ACCOUNTS_FILE', safeVariableName('ACCOUNTS_FILE'), sources, report);
  const ofFile = content ? accountsOfFile(content, environment, tools, sources, report) : undefined;
  const accounts = ofFile ?? { all: [environment], byDefault: defaultAccount, areNamed: false };
  const proxies = readProxies(env, report);
  reportHttp(values, isGiven, accounts, report);
  return {
    ...tools,
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

function reportHttp(
  values: SettingValues,
  isGiven: (setting: Setting) => boolean,
  { all }: AccountsConfig,
  report: Report,
): void {
  for (const name of ['HTTP_ISSUER', 'HTTP_PUBLIC_URL', 'DECISIONS_WEBHOOK'] as const)
    if (isPlainHttp(values[name]))
      report(say`${safeVariableName(name)} is not usable: plain http is for loopback only; use https.`);
  const hasIssuer = isGiven('HTTP_ISSUER');
  if (hasIssuer !== isGiven('HTTP_AUDIENCE'))
    report('CLOUDOPS_HTTP_ISSUER and CLOUDOPS_HTTP_AUDIENCE go together; set both.');
  const claims = (['HTTP_SCOPE_CLAIM', 'HTTP_SCOPE_PREFIX', 'HTTP_PERSON_CLAIM'] as const).filter(isGiven);
  for (const name of hasIssuer ? [] : claims)
    report(say`${safeVariableName(name)} is of use only with CLOUDOPS_HTTP_ISSUER; set both, or neither.`);
  if (hasIssuer && isGiven('HTTP_TOKENS_FILE'))
    report('CLOUDOPS_HTTP_ISSUER and CLOUDOPS_HTTP_TOKENS_FILE are both set; set one.');

  const hasPage = values.HTTP_PUBLIC_URL !== undefined;
  const hasApproval = all.some((account) => account.values.CONFIRM === 'approval');
  if (hasPage && values.STATE_KEY === undefined)
    report(
      'CLOUDOPS_HTTP_PUBLIC_URL needs CLOUDOPS_STATE_KEY: without it, a restart ends the sessions of those who decide there.',
    );
  if (!hasPage && hasApproval)
    report('CLOUDOPS_CONFIRM=approval needs CLOUDOPS_HTTP_PUBLIC_URL: somebody else decides there.');
  if (values.HTTP_ISSUER !== undefined && values.HTTP_PERSON_CLAIM === undefined && hasApproval)
    report(
      'CLOUDOPS_CONFIRM=approval needs CLOUDOPS_HTTP_PERSON_CLAIM, the claim that names a person alike in all clients: an issuer may name people differently in each client, and they could then approve their own changes.',
    );
}

/** Settings that the sandbox replaces. Users may have forgotten that CLOUDOPS_SANDBOX is set. */
export const hiddenBySandbox = ({ values, origins }: Pick<Config, 'values' | 'origins'>): readonly SafeText[] =>
  origins
    // A variable without a setting is an endpoint that operation files add.
    .filter(({ setting = 'STORAGE_URL' }) => values.SANDBOX && isReplacedBySandbox(setting))
    .map(({ name }) => own(name));

const isReplacedBySandbox = (setting: Setting) =>
  isKeySetting(setting) || endpointSettings.some((endpoint) => endpoint === setting);
