import { isAllowed, type Policy } from '../calls/policy.js';
import { operations } from '../tools/index.js';
import { isLoopback } from '../util/uri.js';
import type { ConfigResult } from './config.js';
import { asksForTraces, defaultJournal, readProxies } from './environment.js';
import { type SettingValues, settingValues, variableName } from './settings.js';
import { type ConfigSources, type Gathered, gather } from './sources.js';

/** Reads the configuration. Reports every problem at once, misspelt names included. */
export function loadConfig(sources: ConfigSources): ConfigResult {
  const { env } = sources;
  const { texts, origins, problems: unclear } = gather(sources);
  const { values, problems: unusable } = parse(texts);
  const { proxies, problems: unusableProxies } = readProxies(env);
  const problems = [...unclear, ...unusable, ...unusableProxies, ...contradictions(values, texts)];
  if (problems.length > 0) return { ok: false, problems };
  const config = {
    sandbox: values.SANDBOX,
    sandboxOptions: { stateFile: values.SANDBOX_STATE, seed: values.SANDBOX_SEED, fault: values.SANDBOX_FAULT },
    cloud: {
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
    },
    policy: policyOf(values),
    confirm: values.CONFIRM,
    stateKey: values.STATE_KEY,
    secretsDir: values.SECRETS_DIR,
    journal: values.JOURNAL ?? defaultJournal(env, values.SANDBOX),
    timeoutMs: values.TIMEOUT_MS,
    maximumAttempts: values.MAX_ATTEMPTS,
    logLevel: values.LOG_LEVEL,
    telemetry: asksForTraces(env),
    insecureTls: env.NODE_TLS_REJECT_UNAUTHORIZED === '0',
    http: {
      tokensFile: values.HTTP_TOKENS_FILE,
      issuer: values.HTTP_ISSUER,
      audience: values.HTTP_AUDIENCE,
      allowedHosts: values.HTTP_ALLOWED_HOSTS ?? [],
      rate: values.HTTP_RATE,
      metrics: values.HTTP_METRICS_PORT,
    },
    proxies,
    origins,
  };
  return { ok: true, config };
}

const policyOf = ({ READ_ONLY, TOOLS, REGIONS, STORAGE_HEADERS }: SettingValues): Policy => ({
  readOnly: READ_ONLY,
  tools: TOOLS,
  regions: REGIONS,
  extensions: STORAGE_HEADERS === 'amz' ? ['s3'] : [],
});

type Texts = Gathered['texts'];

/** The values of all settings. One that cannot be parsed counts as not given, so that the others can be checked together. */
function parse(texts: Texts): { readonly values: SettingValues; readonly problems: readonly string[] } {
  // Each is parsed once or twice: zod need not compile them.
  const once = { jitless: true };
  const parsed = settingValues.safeParse(texts, once);
  if (parsed.success) return { values: parsed.data, problems: [] };
  const invalid = parsed.error.issues.map(({ path }) => String(path[0]));
  const valid = Object.fromEntries(Object.entries(texts).filter(([name]) => !invalid.includes(name)));
  return {
    values: settingValues.parse(valid, once),
    problems: parsed.error.issues.map(({ path, message }) => `${variableName(String(path[0]))} ${message}.`),
  };
}

/** Settings that are fine alone and not together. */
function contradictions(values: SettingValues, texts: Texts): string[] {
  const { REGION: region, REGIONS: regions } = values;
  const endpoints = ['STORAGE_URL', 'CATALOG_URL', 'DEVOPS_URL', 'HTTP_ISSUER'] as const;
  const problems = endpoints.flatMap((name) => {
    const allowed = values.ALLOW_HTTP && name !== 'HTTP_ISSUER';
    if (allowed || !isPlainHttp(values[name])) return [];
    const remedy = name === 'HTTP_ISSUER' ? 'use https' : 'use https, or set CLOUDOPS_ALLOW_HTTP=1';
    return [`${variableName(name)} is not usable: plain http is for loopback only; ${remedy}.`];
  });
  if (regions !== undefined && !regions.includes(region))
    problems.push(`CLOUDOPS_REGIONS does not include ${region}, which is CLOUDOPS_REGION.`);
  if (operations.every((operation) => !isAllowed(policyOf(values), operation)))
    problems.push('CLOUDOPS_TOOLS and CLOUDOPS_READ_ONLY together leave no tool to offer.');
  if ((texts.HTTP_ISSUER === undefined) !== (texts.HTTP_AUDIENCE === undefined))
    problems.push('CLOUDOPS_HTTP_ISSUER and CLOUDOPS_HTTP_AUDIENCE go together; set both.');
  if (texts.HTTP_ISSUER !== undefined && texts.HTTP_TOKENS_FILE !== undefined)
    problems.push('CLOUDOPS_HTTP_ISSUER and CLOUDOPS_HTTP_TOKENS_FILE are both set; set one.');
  return problems;
}

function isPlainHttp(url: string | undefined): boolean {
  if (url === undefined) return false;
  const { protocol, hostname } = new URL(url.replaceAll('{region}', 'region'));
  return protocol === 'http:' && !isLoopback(hostname);
}
