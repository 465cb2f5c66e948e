import { endpointSetting } from '../calls/endpoint.js';
import type { OwnOperations } from '../operations/load-operations.js';
import type { Service } from '../tools/define-operation.js';
import { operations as builtIn } from '../tools/index.js';
import type { Proxies } from '../transport/proxies.js';
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
import { asksForTraces, defaultJournal, readProxies, withHome } from './environment.js';
import { isKeySetting } from './key-settings.js';
import { addedServices, allOperations, noOwnOperations } from './own-operations.js';
import { parseSettings, type SettingValues, withDefaults } from './setting-values.js';
import { endpointSettings, isSetting, prefix, safeVariableName, settingNames, valueOfText } from './settings.js';
import { type ConfigSources, type GatheredSettings, gatherSettings, type Report, readSettingFile } from './sources.js';

export type Config = ReturnType<typeof configOf>;

export type ConfigResult =
  | { readonly ok: true; readonly config: Config }
  /** All problems, one sentence each. They show no value of a secret. */
  | { readonly ok: false; readonly problems: readonly SafeText[] };

/** Loads and checks all settings. Returns the configuration, or all problems at once, including misspelt names of settings. */
export function loadConfig(sources: ConfigSources): ConfigResult {
  const problems: SafeText[] = [];
  const report: Report = (problem) => void problems.push(words(problem));
  const gathered = gatherSettings(sources, report);
  const environment = parseEnvironment(gathered, sources.ownOperations ?? noOwnOperations, report);
  const proxies = readProxies(sources.env, report);
  reportHttp(environment.values, gathered.texts, report);
  const accounts = loadAccounts(environment, sources.readFile, report);
  reportDecisions(environment.values, accounts, report);
  if (problems.length === 0) return { ok: true, config: configOf(environment, accounts, gathered, proxies, sources) };
  // Each account that inherits a wrong setting reports the same problem again, so each problem is kept once.
  return { ok: false, problems: distinct(problems) };
}

/**
 * Checks the settings of the environment and the command line, and reports every problem. In the result, `explicit` has only the values that
 * are given, and `values` has the defaults too.
 */
function parseEnvironment(
  { texts, files, endpoints: endpointTexts }: GatheredSettings,
  ownOperations: OwnOperations,
  report: Report,
): ParsedEnvironment {
  for (const problem of ownOperations.problems) report(problem);
  const operations = allOperations(builtIn, ownOperations);

  const unchecked = Object.fromEntries(settingNames.map((setting) => [setting, valueOfText(setting, texts[setting])]));
  const explicit = parseSettings(unchecked, safeVariableName, report);
  const values = withDefaults(explicit);

  // The endpoints of services that operation files add, such as CLOUDOPS_ENDPOINT_BILLING_URL. Those of built-in services are in `values`.
  const urlsByService = Object.fromEntries(
    addedServices(ownOperations.operations).map((service) => [service, endpointTexts[endpointSetting(service)]]),
  );
  const variableOf = (service: Service) => safeVariableName(endpointSetting(service));
  const endpoints = parseEndpoints(urlsByService, values.ALLOW_HTTP, variableOf, report);

  reportContradictions(values, operations, safeVariableName, report);

  const keyVariables = words(
    'CLOUDOPS_ACCESS_KEY_ID, CLOUDOPS_CREDENTIAL_PROCESS, CLOUDOPS_PROFILE and CLOUDOPS_CREDENTIAL_SOURCE',
  );
  reportKeySources((setting) => explicit[setting] !== undefined, keyVariables, report);
  return { explicit, values, files, endpoints, operations };
}

/** Makes the configuration of the program from the values of settings, the accounts and some other environment variables. */
function configOf(
  { values, files, operations }: Pick<ParsedEnvironment, 'values' | 'files' | 'operations'>,
  accounts: AccountsConfig,
  { origins }: GatheredSettings,
  proxies: Proxies,
  { env }: Pick<ConfigSources, 'env'>,
) {
  return {
    /** Built-in operations, and operations from the files of CLOUDOPS_OPERATIONS. */
    operations,
    sandbox: values.SANDBOX,
    sandboxOptions: { stateFile: values.SANDBOX_STATE, seed: values.SANDBOX_SEED, fault: values.SANDBOX_FAULT },
    accounts,
    /** True if all clients get views, and not only the clients that say that they show views. */
    viewsForAll: values.VIEWS === 'on',
    /** The first key seals tokens that clients bring back, and all keys open them. Undefined if the process makes its own key. */
    stateKeys: values.STATE_KEY,
    opensBrowser: values.OPEN_BROWSER === 'on',
    /** How long a plan waits for a person on the page for decisions. */
    planLifetimeMs: values.PLAN_HOURS * 3_600_000,
    webhook:
      values.DECISIONS_WEBHOOK === undefined
        ? undefined
        : { url: values.DECISIONS_WEBHOOK, key: values.DECISIONS_WEBHOOK_KEY },
    /** Origin of the page for decisions, such as `https://cloudops.example.com`. If it is set, `stateKeys` is set, too. */
    publicUrl: values.HTTP_PUBLIC_URL === undefined ? undefined : new URL(values.HTTP_PUBLIC_URL).origin,
    secretsDir: values.SECRETS_DIR,
    /** Path of the journal's file, or address of its PostgreSQL database, which may hold a password. */
    journal: withHome(values.JOURNAL ?? defaultJournal(env, values.SANDBOX), env),
    /** The file from which `journal` comes, if it comes from a file. */
    journalFile: files.JOURNAL,
    /** Time limit of a whole call, with all its attempts. */
    timeoutMs: values.TIMEOUT_MS,
    maximumAttempts: values.MAX_ATTEMPTS,
    logLevel: values.LOG_LEVEL,
    /** True if the usual OTEL_* variables ask for traces. */
    telemetry: asksForTraces(env),
    /** True if NODE_TLS_REJECT_UNAUTHORIZED=0 makes Node accept any certificate. */
    insecureTls: env.NODE_TLS_REJECT_UNAUTHORIZED === '0',
    http: {
      tokensFile: values.HTTP_TOKENS_FILE,
      /** The OAuth issuer whose tokens are accepted, if they are for `audience`. */
      issuer: values.HTTP_ISSUER,
      audience: values.HTTP_AUDIENCE,
      scopeClaim: values.HTTP_SCOPE_CLAIM,
      scopePrefix: values.HTTP_SCOPE_PREFIX,
      personClaim: values.HTTP_PERSON_CLAIM,
      clientId: values.HTTP_CLIENT_ID,
      clientSecret: values.HTTP_CLIENT_SECRET,
      allowedHosts: values.HTTP_ALLOWED_HOSTS ?? [],
      /** Calls per second for each caller. */
      rate: values.HTTP_RATE,
      /** The address and port that serve /metrics. Undefined if /metrics is not served. */
      metrics: values.HTTP_METRICS_PORT,
    },
    proxies,
    /** Environment variables for programs that this server starts: all except its own settings. */
    otherVariables: Object.fromEntries(Object.entries(env).filter(([name]) => !name.toUpperCase().startsWith(prefix))),
    /** The settings that the user has given, for people to read. */
    origins,
  };
}

/** Loads the accounts of the accounts file. Without a usable account in a file, returns the account that the environment describes. */
function loadAccounts(
  environment: ParsedEnvironment,
  readFile: ConfigSources['readFile'],
  report: Report,
): AccountsConfig {
  const { ACCOUNTS_FILE: path } = environment.values;
  if (path === undefined) return onlyAccount(environment);
  const content = readSettingFile('ACCOUNTS_FILE', path, readFile, report, safeVariableName('ACCOUNTS_FILE'));
  const accounts = content === undefined ? undefined : accountsOfFile(content, environment, readFile, report);
  return accounts ?? onlyAccount(environment);
}

/** Reports settings for the HTTP server that contradict each other or are not usable. */
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

/** Reports settings of the page for decisions that contradict each other. */
function reportDecisions(values: SettingValues, { all }: AccountsConfig, report: Report): void {
  const { HTTP_PUBLIC_URL: publicUrl, STATE_KEY: stateKeys, HTTP_ISSUER: issuer } = values;
  const hasApproval = all.some(({ confirm }) => confirm === 'approval');
  if (publicUrl !== undefined && new URL(publicUrl).pathname !== '/')
    report('CLOUDOPS_HTTP_PUBLIC_URL must have no path.');
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

/** Settings that the sandbox replaces. Users are warned, because they may have forgotten that CLOUDOPS_SANDBOX is set. */
export const hiddenBySandbox = ({ sandbox, origins }: Pick<Config, 'sandbox' | 'origins'>): readonly SafeText[] =>
  sandbox ? origins.filter(({ name }) => isKeyOrEndpoint(name)).map(({ name }) => say`${own(name)}`) : [];

/** True for variables of keys and endpoints. Any variable outside the table of settings is an endpoint that operation files add. */
function isKeyOrEndpoint(variable: string): boolean {
  const name = variable.slice(prefix.length).replace(/_FILE$/, '');
  const isEndpoint = endpointSettings.some((setting) => setting === name);
  // In some names, such as ACCOUNTS_FILE, `_FILE` is a part of the setting itself.
  const isInTable = isSetting(name) || isSetting(`${name}_FILE`);
  return isEndpoint || isKeySetting(name) || !isInTable;
}
