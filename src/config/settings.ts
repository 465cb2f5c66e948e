import * as z from 'zod';
import { consentModes } from '../consent/decision.js';
import { logLevels } from '../util/log.js';
import * as values from './values.js';

/** One setting: a row of the table below. */
export interface Row {
  /** A switch needs no value as an option; a path is made absolute for clients that start the server elsewhere. */
  readonly kind?: 'switch' | 'path';
  /** Its meaning, for `--help`, the configuration resource and docs/CONFIGURATION.md. */
  readonly help: string;
  readonly default?: string;
  /** True for a value that is never shown. It cannot be an option, which everybody on the machine could read. */
  readonly secret?: true;
  /** True if the value may also come from the file that the setting with `_FILE` after its name gives. */
  readonly file?: true;
  readonly value: z.ZodType<unknown, string>;
}

/** Every setting, without the prefix `CLOUDOPS_`, under the heading that documents give it. */
export const sections = {
  Account: {
    ACCESS_KEY_ID: { file: true, help: 'access key of the account', value: values.headerText },
    SECRET_ACCESS_KEY: { secret: true, file: true, help: 'its secret', value: z.string() },
    SESSION_TOKEN: {
      secret: true,
      file: true,
      help: 'session token of temporary credentials',
      value: values.headerText,
    },
    REGION: { default: 'jp-east-1', help: 'region of calls that name none', value: values.regionName },
    REGIONS: { help: 'comma-separated regions that calls may use; any if not set', value: values.regions },
  },
  Endpoints: {
    STORAGE_URL: {
      help: 'object storage endpoint; may contain {region}, followed by at least two labels, and a path',
      value: values.endpoint,
    },
    CATALOG_URL: { help: 'catalog API endpoint; same form', value: values.endpoint },
    DEVOPS_URL: { help: 'DevOps API endpoint; same form', value: values.endpoint },
    ALLOW_HTTP: { kind: 'switch', help: 'allow plain http to hosts other than loopback', value: values.onOff },
    STORAGE_HEADERS: {
      default: 'ext',
      help: 'signed headers: ext, or amz for any S3-compatible store',
      value: values.oneOf(['ext', 'amz']),
    },
    STORAGE_SERVICE: { default: 's3', help: 'signing name of object storage', value: values.serviceName },
    CATALOG_SERVICE: { default: 'catalog', help: 'signing name of the catalog API', value: values.serviceName },
    DEVOPS_SERVICE: { default: 'devops', help: 'signing name of the DevOps API', value: values.serviceName },
  },
  'Tools and consent': {
    TOOLS: { help: 'comma-separated tools to offer; all if not set', value: values.tools },
    READ_ONLY: { kind: 'switch', help: 'offer only tools that read', value: values.onOff },
    CONFIRM: { default: 'ask', help: 'consent to changes: ask, human, plan or off', value: values.oneOf(consentModes) },
    VIEWS: {
      default: 'declared',
      help: 'clients that are offered views: declared for those that say they show them, or on for all',
      value: values.oneOf(['declared', 'on']),
    },
    STATE_KEY: {
      secret: true,
      file: true,
      help: 'key that signs plan IDs and consent, 32 characters or more; random if not set',
      value: values.longSecret(32),
    },
    SECRETS_DIR: { kind: 'path', help: 'folder of secrets that an agent may name but never read', value: z.string() },
  },
  'Journal, limits and log': {
    JOURNAL: {
      kind: 'path',
      file: true,
      help: "file that records changes, or postgres://…; in the user's state folder if not set",
      value: values.journalPlace,
    },
    TIMEOUT_MS: {
      default: '60000',
      help: 'time limit of a whole call in milliseconds, retries included',
      value: values.wholeNumber(100, 3_600_000),
    },
    MAX_ATTEMPTS: { default: '4', help: 'attempts of a call that only reads', value: values.wholeNumber(1, 20) },
    LOG_LEVEL: {
      default: 'info',
      help: 'debug, info, warn or error; logs go to stderr',
      value: values.oneOf(logLevels),
    },
  },
  'HTTP server': {
    HTTP_TOKENS_FILE: {
      kind: 'path',
      help: 'file of callers, one per line: name, SHA-256 of the bearer token in hex, and its scopes if they are not cloudops:read cloudops:write',
      value: z.string(),
    },
    HTTP_ISSUER: {
      help: 'OAuth issuer whose tokens (JWT) are accepted, instead of a tokens file',
      value: values.endpoint,
    },
    HTTP_AUDIENCE: {
      help: 'audience that the tokens must name: the public URL of this server, such as https://cloudops.example.com/mcp',
      value: z.string(),
    },
    HTTP_ALLOWED_HOSTS: {
      help: 'comma-separated host names that clients use for the server; the host of the audience if not set',
      value: values.hostNames,
    },
    HTTP_RATE: {
      default: '50',
      help: 'calls per second for each caller; twice as many at once',
      value: values.wholeNumber(1, 1_000_000),
    },
    HTTP_METRICS_PORT: {
      help: 'port, or address:port, that serves /metrics; a port alone listens on loopback; no metrics if not set',
      value: values.listenAddress,
    },
  },
  Sandbox: {
    SANDBOX: { kind: 'switch', help: 'use the built-in sandbox; no account needed', value: values.onOff },
    SANDBOX_STATE: {
      kind: 'path',
      help: 'file that keeps the state of the sandbox; kept in memory if not set',
      value: z.string(),
    },
    SANDBOX_SEED: { help: "text that determines the sandbox's keys and IDs; random if not set", value: z.string() },
    SANDBOX_FAULT: { help: 'failures that the sandbox simulates, such as list_parts=503*3', value: z.string() },
  },
} as const satisfies Record<string, Record<string, Row>>;

const table = {
  ...sections.Account,
  ...sections.Endpoints,
  ...sections['Tools and consent'],
  ...sections['Journal, limits and log'],
  ...sections['HTTP server'],
  ...sections.Sandbox,
};

type Table = typeof table;
export type Setting = keyof Table;
export const settings: Readonly<Record<Setting, Row>> = table;
const isSetting = (name: string): name is Setting => Object.hasOwn(table, name);
export const settingNames = Object.keys(table).filter(isSetting);

export const prefix = 'CLOUDOPS_';
/** The help of a setting with its other source, if there is one, and its default. */
export function helpOf({ help, file, default: preset }: Row): string {
  return [help, ...(file ? ['also …_FILE'] : []), ...(preset === undefined ? [] : [`default ${preset}`])].join('; ');
}

/** The name of a setting in the environment: `CLOUDOPS_READ_ONLY` for `READ_ONLY`. */
export const variableName = (setting: string) => prefix + setting;
/** The name of a setting on the command line: `--read-only` for `READ_ONLY`. */
export const optionName = (setting: string) => `--${setting.toLowerCase().replaceAll('_', '-')}`;

/** The names that can be set from outside: every setting, and `…_FILE` of those that may come from a file. */
export const inputs = settingNames.flatMap((setting) => {
  const { secret = false, file = false } = settings[setting];
  const own = { name: setting, setting, isFile: false, isSecret: secret };
  return file ? [own, { name: `${setting}_FILE`, setting, isFile: true, isSecret: false }] : [own];
});

/** A switch that is not set is off; without a default, any other setting may be absent. */
type Shape = {
  [Name in Setting]: Table[Name] extends { default: string } | { kind: 'switch' }
    ? Table[Name]['value']
    : z.ZodOptional<Table[Name]['value']>;
};
function parserOf({ kind, value, default: preset = kind === 'switch' ? '0' : undefined }: Row) {
  return preset === undefined ? value.optional() : value.prefault(preset);
}

/** Parses the texts of all settings at once, defaults included. */
export const settingValues = z.object(
  // Object.fromEntries loses the type of each parser.
  Object.fromEntries(settingNames.map((name) => [name, parserOf(settings[name])])) as unknown as Shape,
);
export type SettingValues = z.output<typeof settingValues>;
