import type { Cloud } from '../calls/endpoint.js';
import { isAllowed, type Policy } from '../calls/policy.js';
import { operations } from '../tools/index.js';
import type { Proxies } from '../transport/http-client.js';
import { isLoopback } from '../util/uri.js';
import { asksForTraces, defaultJournal, readProxies } from './environment.js';
import { type SettingValues, settingValues, variableName } from './settings.js';
import { type ConfigSources, type Gathered, gather, type Report } from './sources.js';

export type Config = ReturnType<typeof configOf>;

export type ConfigResult =
  | { readonly ok: true; readonly config: Config }
  /** All problems, one sentence each. No value of a secret is in them. */
  | { readonly ok: false; readonly problems: readonly string[] };

/** Reads the configuration. Reports every problem at once, misspelt names included. */
export function loadConfig(sources: ConfigSources): ConfigResult {
  const problems: string[] = [];
  const report = (problem: string) => void problems.push(problem);
  const gathered = gather(sources, report);
  const values = parse(gathered.texts, report);
  const proxies = readProxies(sources.env, report);
  reportContradictions(values, gathered.texts, report);
  return problems.length > 0
    ? { ok: false, problems }
    : { ok: true, config: configOf(values, gathered, proxies, sources) };
}

function configOf(values: SettingValues, { origins }: Gathered, proxies: Proxies, { env }: Pick<ConfigSources, 'env'>) {
  const cloud: Cloud = {
    region: values.REGION,
    regionIsConfigured: origins.some(({ name }) => name === 'CLOUDOPS_REGION'),
    credentials: {
      accessKeyId: values.ACCESS_KEY_ID,
      secretAccessKey: values.SECRET_ACCESS_KEY,
      sessionToken: values.SESSION_TOKEN,
    },
    endpoints: { storage: values.STORAGE_URL, catalog: values.CATALOG_URL, devops: values.DEVOPS_URL },
    signingServices: {
      storage: values.STORAGE_SERVICE,
      catalog: values.CATALOG_SERVICE,
      devops: values.DEVOPS_SERVICE,
    },
    storageHeaders: values.STORAGE_HEADERS,
  };
  return {
    sandbox: values.SANDBOX,
    sandboxOptions: { stateFile: values.SANDBOX_STATE, seed: values.SANDBOX_SEED, fault: values.SANDBOX_FAULT },
    cloud,
    policy: policyOf(values),
    confirm: values.CONFIRM,
    viewsForAll: values.VIEWS === 'on',
    /** Signs tokens that clients bring back; undefined means one of this process's own. */
    stateKey: values.STATE_KEY,
    secretsDir: values.SECRETS_DIR,
    /** Path of a file, or the address of a PostgreSQL database, which may hold a password. */
    journal: values.JOURNAL ?? defaultJournal(env, values.SANDBOX),
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
      /** With `audience`: the OAuth issuer whose tokens are accepted. */
      issuer: values.HTTP_ISSUER,
      audience: values.HTTP_AUDIENCE,
      allowedHosts: values.HTTP_ALLOWED_HOSTS ?? [],
      /** Calls per second for each caller. */
      rate: values.HTTP_RATE,
      metrics: values.HTTP_METRICS_PORT,
    },
    proxies,
    /** Every setting that was given, for people to read. */
    origins,
  };
}

const policyOf = ({ READ_ONLY, TOOLS, REGIONS, STORAGE_HEADERS }: SettingValues): Policy => ({
  readOnly: READ_ONLY,
  tools: TOOLS,
  regions: REGIONS,
  extensions: STORAGE_HEADERS === 'amz' ? ['s3'] : [],
});

type Texts = Gathered['texts'];

/** The values of all settings. One that cannot be parsed counts as not given, so that the others can be checked together. */
function parse(texts: Texts, report: Report): SettingValues {
  const parsed = settingValues.safeParse(texts);
  if (parsed.success) return parsed.data;
  const valid = { ...texts };
  for (const { path, message } of parsed.error.issues) {
    const name = String(path[0]);
    report(`${variableName(name)} ${message}.`);
    Reflect.deleteProperty(valid, name);
  }
  return settingValues.parse(valid);
}

/** Settings that are fine alone and not together. */
function reportContradictions(values: SettingValues, texts: Texts, report: Report): void {
  const { REGION: region, REGIONS: regions, ALLOW_HTTP: allowHttp } = values;
  for (const name of ['STORAGE_URL', 'CATALOG_URL', 'DEVOPS_URL', 'HTTP_ISSUER'] as const) {
    const isIssuer = name === 'HTTP_ISSUER';
    if ((allowHttp && !isIssuer) || !isPlainHttp(values[name])) continue;
    const remedy = isIssuer ? 'use https' : 'use https, or set CLOUDOPS_ALLOW_HTTP=1';
    report(`${variableName(name)} is not usable: plain http is for loopback only; ${remedy}.`);
  }
  if (regions?.includes(region) === false)
    report(`CLOUDOPS_REGIONS does not include ${region}, which is CLOUDOPS_REGION.`);
  if (!operations.some((operation) => isAllowed(policyOf(values), operation)))
    report('CLOUDOPS_TOOLS and CLOUDOPS_READ_ONLY together leave no tool to offer.');
  if ((texts.HTTP_ISSUER === undefined) !== (texts.HTTP_AUDIENCE === undefined))
    report('CLOUDOPS_HTTP_ISSUER and CLOUDOPS_HTTP_AUDIENCE go together; set both.');
  if (texts.HTTP_ISSUER !== undefined && texts.HTTP_TOKENS_FILE !== undefined)
    report('CLOUDOPS_HTTP_ISSUER and CLOUDOPS_HTTP_TOKENS_FILE are both set; set one.');
}

function isPlainHttp(url: string | undefined): boolean {
  if (url === undefined) return false;
  const { protocol, hostname } = new URL(url.replaceAll('{region}', 'region'));
  return protocol === 'http:' && !isLoopback(hostname);
}
