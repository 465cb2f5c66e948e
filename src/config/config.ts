import { join } from 'node:path';
import { isAllowed, type Policy } from '../calls/call-tool.js';
import type { Cloud } from '../calls/endpoint.js';
import { type ConsentMode, consentModes } from '../consent/decision.js';
import { databaseName, databaseUrlProblem, holdsPassword, isDatabaseUrl } from '../journal/database-url.js';
import { operations } from '../tools/index.js';
import type { Proxies } from '../transport/http-client.js';
import { didYouMean } from '../util/did-you-mean.js';
import { type LogLevel, logLevels } from '../util/log.js';
import { isLoopback } from '../util/loopback.js';
import { quote, quoteName } from '../util/quote.js';

/** Everything the server is told from outside. */
export interface Config {
  readonly sandbox: boolean;
  readonly sandboxOptions: {
    readonly stateFile: string | undefined;
    readonly seed: string | undefined;
    readonly fault: string | undefined;
  };
  readonly cloud: Cloud;
  readonly policy: Policy;
  readonly confirm: ConsentMode;
  readonly secretsDir: string | undefined;
  /** Path of a file, or the address of a PostgreSQL database, which may hold a password. */
  readonly journal: string;
  /** Signs tokens that clients bring back; undefined means one of this process's own. */
  readonly stateKey: string | undefined;
  /** For a whole call, its attempts included. */
  readonly timeoutMs: number;
  readonly maximumAttempts: number;
  readonly logLevel: LogLevel;
  /** Whether the usual OTEL_* variables ask for traces. */
  readonly telemetry: boolean;
  readonly http: HttpSettings;
  /** From the usual variables HTTPS_PROXY, HTTP_PROXY and NO_PROXY, in either case. */
  readonly proxies: Proxies;
  /** What was set and where, for people to read. Secrets are named, never shown. */
  readonly origins: readonly Origin[];
}

/** Who may reach the HTTP server, and how often. */
export interface HttpSettings {
  readonly tokensFile: string | undefined;
  /** With `audience`: the OAuth issuer whose tokens are accepted. */
  readonly issuer: string | undefined;
  readonly audience: string | undefined;
  /** Host names without port. */
  readonly allowedHosts: readonly string[];
  /** Calls a second for each caller. */
  readonly rate: number;
  readonly metrics: { readonly host: string; readonly port: number } | undefined;
}

/** A setting that is not left to its default. */
export interface Origin {
  readonly name: string;
  readonly value: string;
  readonly from: string;
}

export type ConfigResult =
  | { readonly ok: true; readonly config: Config }
  /** All problems, one sentence each. No value of a secret is in them. */
  | { readonly ok: false; readonly problems: readonly string[] };

export interface ConfigSources {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Command-line flags: `--region jp-east-1`, `--region=jp-east-1`, `--sandbox`. They win over the environment. */
  readonly flags: readonly string[];
  /** Options that are not settings: they may be what a misspelt one was meant to be. */
  readonly otherFlags?: readonly string[];
  /** Reads a text file. */
  readonly readFile: (path: string) => string;
}

type Kind = 'text' | 'switch' | 'secret';

/** Every setting, without the prefix `CLOUDOPS_`, with what `--help` says of it. */
export const settings = {
  SANDBOX: { kind: 'switch', help: 'use the built-in sandbox; no account needed' },
  SANDBOX_STATE: { kind: 'text', help: 'file that keeps what the sandbox holds; gone with the process if not set' },
  SANDBOX_SEED: { kind: 'text', help: "text that the sandbox's keys and IDs follow from; random if not set" },
  SANDBOX_FAULT: { kind: 'text', help: 'how the sandbox is to fail, such as list_parts=503*3' },
  ACCESS_KEY_ID: { kind: 'text', help: 'access key of the account; also …_FILE' },
  SECRET_ACCESS_KEY: { kind: 'secret', help: 'its secret; also …_FILE' },
  SESSION_TOKEN: { kind: 'secret', help: 'session token of temporary credentials; also …_FILE' },
  REGION: { kind: 'text', help: 'region', fallback: 'jp-east-1' },
  STORAGE_URL: { kind: 'text', help: 'object storage endpoint; may hold {region} and a path' },
  CATALOG_URL: { kind: 'text', help: 'catalog API endpoint; may hold {region} and a path' },
  DEVOPS_URL: { kind: 'text', help: 'DevOps API endpoint; may hold {region} and a path' },
  STORAGE_SERVICE: { kind: 'text', help: 'signing service of object storage', fallback: 's3' },
  CATALOG_SERVICE: { kind: 'text', help: 'signing service of the catalog API', fallback: 'catalog' },
  DEVOPS_SERVICE: { kind: 'text', help: 'signing service of the DevOps API', fallback: 'devops' },
  STORAGE_HEADERS: { kind: 'text', help: 'ext, or amz for any S3-compatible store', fallback: 'ext' },
  TOOLS: { kind: 'text', help: 'comma-separated tools to offer; all if not set' },
  READ_ONLY: { kind: 'switch', help: 'offer only tools that read' },
  CONFIRM: { kind: 'text', help: 'consent to changes: ask, human, plan or off', fallback: 'ask' },
  STATE_KEY: {
    kind: 'secret',
    help: 'key of planId and consent, 32 characters or more; also …_FILE; random if not set',
  },
  SECRETS_DIR: { kind: 'text', help: 'folder whose files an agent may name as secrets but never read' },
  JOURNAL: {
    kind: 'text',
    help: "file that changes are written down in, or postgres://… (also …_FILE); in the user's state folder if not set",
  },
  TIMEOUT_MS: { kind: 'text', help: 'time for a whole call in milliseconds', fallback: '60000' },
  MAX_ATTEMPTS: { kind: 'text', help: 'attempts for reads', fallback: '4' },
  LOG_LEVEL: { kind: 'text', help: 'debug, info, warn or error; logs go to stderr', fallback: 'info' },
  ALLOW_HTTP: { kind: 'switch', help: 'allow plain http to hosts other than loopback' },
  HTTP_TOKENS_FILE: {
    kind: 'text',
    help: 'http: file of callers, a line each: name, SHA-256 of its bearer token, and cloudops:read or cloudops:write if it may do only one',
  },
  HTTP_ISSUER: {
    kind: 'text',
    help: 'http: OAuth issuer whose tokens (JWT) let callers in, in place of a tokens file',
  },
  HTTP_AUDIENCE: {
    kind: 'text',
    help: 'http: audience that its tokens must be for: the public URL of this server, such as https://cloudops.example.com/mcp',
  },
  HTTP_ALLOWED_HOSTS: {
    kind: 'text',
    help: 'http: comma-separated host names by which clients reach the server; that of the audience if not set',
  },
  HTTP_RATE: { kind: 'text', help: 'http: calls a second for each caller', fallback: '50' },
  HTTP_METRICS_PORT: {
    kind: 'text',
    help: 'http: port, or address:port, that serves /metrics; on loopback if only a port, nowhere if not set',
  },
} as const satisfies Record<string, { kind: Kind; help: string; fallback?: string }>;

export type Setting = keyof typeof settings;
export const settingNames = Object.keys(settings) as Setting[];
/** Settings with a default. */
type Defaulted = { [Name in Setting]: (typeof settings)[Name] extends { fallback: string } ? Name : never }[Setting];
const fallbackOf = (setting: Setting): string | undefined => {
  const definition = settings[setting];
  return 'fallback' in definition ? definition.fallback : undefined;
};

/** What `--help` says of a setting. */
export function helpOf(setting: Setting): string {
  const fallback = fallbackOf(setting);
  return settings[setting].help + (fallback === undefined ? '' : `; default ${fallback}`);
}

const prefix = 'CLOUDOPS_';
/** Settings whose value may also come from a file. */
const fromFile: readonly string[] = ['ACCESS_KEY_ID', 'SECRET_ACCESS_KEY', 'SESSION_TOKEN', 'STATE_KEY', 'JOURNAL'];

/** `--read-only` for `READ_ONLY`. */
export const flagName = (setting: string) => `--${setting.toLowerCase().replaceAll('_', '-')}`;

/** Whether an option is a setting that needs no value. */
export const isSwitch = (flag: string) =>
  settingNames.some((name) => flagName(name) === flag && settings[name].kind === 'switch');

/** Reads the configuration. Reports every problem at once, misspelt names included. */
export function loadConfig(sources: ConfigSources): ConfigResult {
  const problems: string[] = [];
  const report = (problem: string) => {
    problems.push(problem);
  };
  const { values: given, origins } = collect(sources, report);
  const read = reader(given, report);

  const allowHttp = read.switch('ALLOW_HTTP');
  for (const name of ['ACCESS_KEY_ID', 'SESSION_TOKEN'] as const) read.headerText(name);
  const config: Config = {
    sandbox: read.switch('SANDBOX'),
    sandboxOptions: { stateFile: given.SANDBOX_STATE, seed: given.SANDBOX_SEED, fault: given.SANDBOX_FAULT },
    cloud: {
      region: read.matching('REGION', /^[a-z0-9]+(-[a-z0-9]+)*$/, 'a region name such as jp-east-1'),
      credentials: {
        accessKeyId: given.ACCESS_KEY_ID,
        secretAccessKey: given.SECRET_ACCESS_KEY,
        sessionToken: given.SESSION_TOKEN,
      },
      endpoints: {
        storage: read.endpoint('STORAGE_URL', allowHttp),
        catalog: read.endpoint('CATALOG_URL', allowHttp),
        devops: read.endpoint('DEVOPS_URL', allowHttp),
      },
      signingServices: {
        storage: read.matching('STORAGE_SERVICE', /^[\w-]+$/, 'a service name'),
        catalog: read.matching('CATALOG_SERVICE', /^[\w-]+$/, 'a service name'),
        devops: read.matching('DEVOPS_SERVICE', /^[\w-]+$/, 'a service name'),
      },
      storageHeaders: read.oneOf('STORAGE_HEADERS', ['ext', 'amz']),
    },
    confirm: read.oneOf('CONFIRM', consentModes),
    stateKey: read.longSecret('STATE_KEY', 32),
    secretsDir: given.SECRETS_DIR,
    journal: read.journal('JOURNAL') ?? defaultJournal(sources.env, read.switch('SANDBOX')),
    policy: { readOnly: read.switch('READ_ONLY'), tools: read.tools('TOOLS') },
    timeoutMs: read.number('TIMEOUT_MS', 100, 3_600_000),
    maximumAttempts: read.number('MAX_ATTEMPTS', 1, 20),
    logLevel: read.oneOf('LOG_LEVEL', logLevels),
    telemetry: asksForTraces(sources.env),
    http: {
      tokensFile: given.HTTP_TOKENS_FILE,
      issuer: read.endpoint('HTTP_ISSUER', false),
      audience: given.HTTP_AUDIENCE,
      allowedHosts: read.hosts('HTTP_ALLOWED_HOSTS'),
      rate: read.number('HTTP_RATE', 1, 1_000_000),
      metrics: read.address('HTTP_METRICS_PORT'),
    },
    proxies: {
      httpProxy: proxy('http_proxy', sources.env, report),
      httpsProxy: proxy('https_proxy', sources.env, report),
      noProxy: usual('no_proxy', sources.env),
    },
    origins,
  };
  if (operations.every((operation) => !isAllowed(config.policy, operation)))
    report('CLOUDOPS_TOOLS and CLOUDOPS_READ_ONLY together leave no tool to offer.');
  if ((given.HTTP_ISSUER === undefined) !== (given.HTTP_AUDIENCE === undefined))
    report('CLOUDOPS_HTTP_ISSUER and CLOUDOPS_HTTP_AUDIENCE go together; set both.');
  if (given.HTTP_ISSUER !== undefined && given.HTTP_TOKENS_FILE !== undefined)
    report('CLOUDOPS_HTTP_ISSUER and CLOUDOPS_HTTP_TOKENS_FILE are both set; set one.');
  return problems.length === 0 ? { ok: true, config } : { ok: false, problems };
}

type Given = { [Name in Setting]?: string };
type Report = (problem: string) => void;

/** Values by setting: environment, then files, then flags. An empty value counts as none, as hosts send it. */
function collect(
  { env, flags, otherFlags = [], readFile }: ConfigSources,
  report: Report,
): { values: Given; origins: Origin[] } {
  const fromEnvironment: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith(prefix) || value === undefined) continue;
    const setting = name.slice(prefix.length);
    const known = knownNames.map((candidate) => prefix + candidate);
    if (!knownNames.includes(setting)) report(`${name} is not a setting${hint(name, known)}`);
    else if (value.startsWith('__encrypted__:'))
      report(`${name} arrived still encrypted: enter it again in the settings that your client keeps for this server.`);
    else if (/^(\$\{[^{}]*\}|\$[A-Z_]+)$/.test(value.trim()))
      report(
        `${name} is a placeholder that your client did not replace: give it a value in the client's settings for this server, or take it out of them.`,
      );
    else if (value.trim() !== '') fromEnvironment[setting] = value.trim();
  }
  const fromFlags = parseFlags(flags, otherFlags, report);
  const { JOURNAL: journal = '' } = fromFlags;
  if (isDatabaseUrl(journal) && holdsPassword(journal)) report(secretFlag('JOURNAL'));
  const values: Record<string, string> = { ...fromEnvironment, ...fromFlags };
  const origins = Object.entries(values).map(([setting, value]) => ({
    name: prefix + setting,
    value: shown(setting, value),
    from: Object.hasOwn(fromFlags, setting) ? `option ${flagName(setting)}` : 'environment',
  }));
  for (const setting of fromFile) {
    const path = values[`${setting}_FILE`];
    if (path === undefined) continue;
    if (values[setting] !== undefined)
      report(`${prefix}${setting} and ${prefix}${setting}_FILE are both set; set one.`);
    try {
      values[setting] = readFile(path).trim();
      if (values[setting] === '') report(`The file that ${prefix}${setting}_FILE names is empty.`);
      else if (setting === 'JOURNAL' && !isDatabaseUrl(values[setting]))
        report(
          `The file that ${prefix}JOURNAL_FILE names must hold postgres://…; a journal in a file is ${prefix}JOURNAL.`,
        );
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
      report(`The file that ${prefix}${setting}_FILE names cannot be read (${code}).`);
    }
  }
  return { values, origins };
}

const knownNames = [...settingNames, ...fromFile.map((setting) => `${setting}_FILE`)];

function parseFlags(flags: readonly string[], others: readonly string[], report: Report): Record<string, string> {
  const values: Record<string, string> = {};
  const names = new Map(knownNames.map((name) => [flagName(name), name]));
  for (let index = 0; index < flags.length; index += 1) {
    const [flag = '', inline] = splitOnce(flags[index] ?? '');
    const name = names.get(flag);
    const next = flags[index + 1];
    const follows = inline === undefined && next !== undefined && !next.startsWith('--') ? next : undefined;
    if (name === undefined) {
      // What is not an option may be the value of a misspelt one, and so a secret.
      if (flag.startsWith('-'))
        report(`${quoteName(flag)} is not an option${hint(flag, [...names.keys(), ...others])}`);
      else report('There is an argument too many; options begin with --.');
      if (flag.startsWith('-') && follows !== undefined) index += 1;
      continue;
    }
    const kind: Kind = isSetting(name) ? settings[name].kind : 'text';
    if (kind === 'secret') {
      report(secretFlag(name));
      if (follows !== undefined) index += 1;
    } else if (kind === 'switch') values[name] = inline ?? '1';
    else if (inline !== undefined) values[name] = inline;
    else if (follows === undefined) report(`${flag} needs a value.`);
    else {
      values[name] = follows;
      index += 1;
    }
  }
  return values;
}

const secretFlag = (name: string) =>
  `${flagName(name)} would show the secret to everybody on this machine: use ${prefix}${name} or ${flagName(name)}-file.`;

/** A value for people to read. */
function shown(setting: string, value: string): string {
  if (isSecret(prefix + setting)) return 'set, not shown';
  return setting === 'JOURNAL' && isDatabaseUrl(value) ? databaseName(value) : value;
}

const isSetting = (name: string): name is Setting => Object.hasOwn(settings, name);

/** Whether the value of a variable is never shown. */
export function isSecret(variable: string): boolean {
  const setting = variable.slice(prefix.length);
  return isSetting(setting) && settings[setting].kind === 'secret';
}

function splitOnce(flag: string): [string, string | undefined] {
  const at = flag.indexOf('=');
  return at < 0 ? [flag, undefined] : [flag.slice(0, at), flag.slice(at + 1)];
}

function hint(given: string, known: readonly string[]): string {
  const meant = didYouMean(given, known);
  return meant === undefined ? '; --help lists them all' : `; did you mean ${meant}?`;
}

function reader(given: Given, report: Report) {
  const wrong = (name: Setting, rule: string) =>
    report(`${prefix}${name} is ${quote(given[name] ?? '', 100)}; it must be ${rule}.`);
  const chosen = (name: Defaulted) => given[name] ?? settings[name].fallback;
  return {
    switch(name: Setting): boolean {
      const value = given[name]?.toLowerCase();
      if (value === undefined || ['0', 'false', 'no', 'off'].includes(value)) return false;
      if (!['1', 'true', 'yes', 'on'].includes(value)) wrong(name, '1 or 0');
      return true;
    },
    matching(name: Defaulted, pattern: RegExp, called: string): string {
      const value = chosen(name);
      if (!pattern.test(value)) wrong(name, called);
      return value;
    },
    oneOf<const Value extends string>(name: Defaulted, values: readonly [Value, ...Value[]]): Value {
      const found = values.find((candidate) => candidate === chosen(name));
      if (found === undefined) wrong(name, values.join(' or '));
      return found ?? values[0];
    },
    number(name: Defaulted, minimum: number, maximum: number): number {
      const value = chosen(name);
      const number = Number(value);
      const valid = /^\d+$/.test(value) && number >= minimum && number <= maximum;
      if (!valid) wrong(name, `a whole number from ${minimum} to ${maximum}`);
      return number;
    },
    /** The value goes into a header as it is. It is not shown: it may be a secret. */
    headerText(name: Setting): void {
      if (/[^\x21-\x7e]/.test(given[name] ?? ''))
        report(`${prefix}${name} has a character that no key has: a space, a line break or one that is not ASCII.`);
    },
    longSecret(name: Setting, minimum: number): string | undefined {
      const value = given[name];
      if (value !== undefined && value.length < minimum)
        report(`${prefix}${name} must have at least ${minimum} characters.`);
      return value;
    },
    tools(name: Setting): readonly string[] | undefined {
      const tools = given[name]?.split(',').map((tool) => tool.trim());
      const known = operations.map((operation) => operation.name);
      for (const tool of tools ?? [])
        if (!known.includes(tool))
          report(`${prefix}${name} names ${quote(tool, 60)}, which is not a tool; the tools are ${known.join(', ')}.`);
      return tools;
    },
    /** The value is not shown: it may hold a password. */
    journal(name: Setting): string | undefined {
      const value = given[name];
      if (value === undefined) return undefined;
      const problem = isDatabaseUrl(value) ? databaseUrlProblem(value) : undefined;
      if (problem !== undefined) report(`${prefix}${name} is not usable: ${problem}.`);
      return value;
    },
    hosts(name: Setting): readonly string[] {
      const hosts = given[name]?.toLowerCase().split(',') ?? [];
      const names = hosts.map((host) => host.trim());
      if (names.some((host) => !/^([a-z0-9_.-]+|\[[0-9a-f:.]+\])$/.test(host)))
        wrong(name, 'host names without port, such as cloudops.example.com');
      return names;
    },
    address(name: Setting): { host: string; port: number } | undefined {
      const value = given[name];
      if (value === undefined) return undefined;
      const [, host = '127.0.0.1', port = ''] = /^(?:\[?([a-z0-9.:-]+?)\]?:)?(\d{1,5})$/i.exec(value) ?? [];
      if (port === '' || Number(port) > 65_535) wrong(name, 'a port, or address:port such as 0.0.0.0:9464');
      return { host, port: Number(port) };
    },
    endpoint(name: Setting, allowHttp: boolean): string | undefined {
      const value = given[name];
      if (value === undefined) return undefined;
      const problem = endpointProblem(value, allowHttp);
      if (problem !== undefined) report(`${prefix}${name} is not usable: ${problem}.`);
      return value;
    },
  };
}

/** The value is not shown: an address may hold a password. */
function endpointProblem(value: string, allowHttp: boolean): string | undefined {
  let url: URL;
  try {
    url = new URL(value.replaceAll('{region}', 'region'));
  } catch {
    return 'it is not a URL such as https://storage.{region}.example.com';
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'it must begin with https://';
  if (url.username !== '' || url.password !== '') return 'it must not hold a user name or password';
  if (url.search !== '' || url.hash !== '') return 'it must not hold a query or fragment';
  if (/[{}]/.test(value.replaceAll('{region}', ''))) return 'the only placeholder is {region}';
  if (/^[^/]*\/\/[^/]*\{region\}(?![^/]*\.[^/{}]*[a-z][^/{}]*(\/|$))/i.test(value))
    return 'a fixed domain must follow {region}, so that a region cannot choose the host';
  if (url.protocol === 'http:' && !allowHttp && !isLoopback(url.hostname))
    return 'plain http is for loopback only; use https, or set CLOUDOPS_ALLOW_HTTP=1';
  return undefined;
}

/** The effective configuration as Markdown: every setting, its value, and where it comes from. No secrets. */
export function describeConfig({ origins, sandbox }: Config): string {
  const byName = new Map(origins.map((origin) => [origin.name, origin]));
  const rows = settingNames.map((setting) => {
    const name = prefix + setting;
    const [direct, file] = [byName.get(name), byName.get(`${name}_FILE`)];
    const value =
      direct?.value ?? (file === undefined ? (fallbackOf(setting) ?? 'not set') : `read from ${quote(file.value)}`);
    return `| ${name} | ${value.replaceAll('|', '\\|')} | ${(direct ?? file)?.from ?? 'default'} | ${settings[setting].help} |`;
  });
  return [
    '# Configuration',
    '',
    sandbox
      ? 'The built-in sandbox is in use: its own endpoints and credentials replace those below. Nothing leaves this machine.'
      : 'The endpoints and credentials below are in use.',
    '',
    '| setting | value | from | meaning |',
    '|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

/** By the variables of OpenTelemetry's SDK. None of them asks for traces by default here. */
function asksForTraces(env: ConfigSources['env']): boolean {
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === 'true') return false;
  if (env.OTEL_TRACES_EXPORTER) return env.OTEL_TRACES_EXPORTER.split(',').includes('otlp');
  return Boolean(env.OTEL_EXPORTER_OTLP_ENDPOINT || env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT);
}

/** A variable that other programs read too, in lower or upper case. */
const usual = (name: string, env: ConfigSources['env']) => env[name] || env[name.toUpperCase()] || undefined;

/** The address of a proxy. It is not shown: it may hold a password. */
function proxy(name: string, env: ConfigSources['env'], report: Report): string | undefined {
  const value = usual(name, env);
  if (value === undefined) return undefined;
  try {
    const { protocol, username, password } = new URL(value);
    decodeURIComponent(username + password);
    if (/^(https?|socks5?):$/.test(protocol)) return value;
  } catch {
    // Reported below.
  }
  report(`${name.toUpperCase()} is not the address of a proxy, such as http://proxy.example.com:3128.`);
  return undefined;
}

/** In the user's state folder, where each system has it. The sandbox's changes are not among the real ones. */
function defaultJournal(env: ConfigSources['env'], sandbox: boolean): string {
  const home = env.HOME ?? env.USERPROFILE ?? '.';
  const state = env.XDG_STATE_HOME || env.LOCALAPPDATA || join(home, '.local', 'state');
  return join(state, 'cloudops-mcp', sandbox ? 'journal-sandbox.jsonl' : 'journal.jsonl');
}
