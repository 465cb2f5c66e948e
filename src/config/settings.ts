import './configure-zod.js';
import type * as z from 'zod';
import { consentModes, deleteConfirmations } from '../calls/account.js';
import { logLevels } from '../util/log.js';
import { parseJson } from '../util/objects.js';
import { own, type SafeText } from '../util/safe-text.js';
import { keySettings } from './key-settings.js';
import * as schemas from './setting-schemas.js';

/** A row of the table of settings (`sections`), which describes a setting. */
export interface Row {
  /**
   * `switch`: on or off. `path`: the command `client-config` makes it absolute. `list`: commas separate the elements.
   * `command`: a program and its arguments, as a JSON array.
   */
  readonly kind?: 'switch' | 'path' | 'list' | 'command';
  /** The meaning of the setting, for `--help`, the configuration resource and docs/CONFIGURATION.md. */
  readonly help: string;
  readonly default?: string | number;
  /** True for a value that is never shown. It cannot be an option, because everybody on the machine could read it. */
  readonly secret?: true;
  /** True if the value may also come from a file. A setting with `_FILE` after the name gives the path. */
  readonly file?: true;
  /** True if each account may have its own value. */
  readonly account?: true;
  /**
   * Makes the schema of the value, the same for the environment, the command line and the accounts file. Called only if the setting is
   * given.
   */
  readonly schema: () => z.ZodType;
}

/** All settings by their names without the prefix `CLOUDOPS_`, in sections whose headings stand in the help and the documentation. */
export const sections = {
  Account: {
    ...keySettings,
    REGION: {
      default: 'jp-east-1',
      account: true,
      help: 'region of calls that name none',
      schema: schemas.regionName,
    },
    REGIONS: {
      kind: 'list',
      account: true,
      help: 'comma-separated regions that calls may use; any if not set',
      schema: schemas.regions,
    },
    ACCOUNTS_FILE: {
      kind: 'path',
      help: 'JSON file of several accounts, each with settings of its own',
      schema: schemas.anyText,
    },
  },
  Endpoints: {
    STORAGE_URL: {
      account: true,
      help: 'object storage endpoint; may contain {region}, followed by at least two labels, and a path',
      schema: schemas.endpoint,
    },
    CATALOG_URL: { account: true, help: 'catalog API endpoint; same form', schema: schemas.endpoint },
    DEVOPS_URL: { account: true, help: 'DevOps API endpoint; same form', schema: schemas.endpoint },
    ALLOW_HTTP: { kind: 'switch', help: 'allow plain http to hosts other than loopback', schema: schemas.onOff },
    STORAGE_HEADERS: {
      default: 'ext',
      account: true,
      help: 'signed headers: ext, or amz for any S3-compatible store',
      schema: schemas.choice(['ext', 'amz']),
    },
    STORAGE_STYLE: {
      default: 'path',
      account: true,
      help: 'where the bucket stands: path, or virtual for the name of the host',
      schema: schemas.choice(['path', 'virtual']),
    },
    STORAGE_SERVICE: {
      default: 's3',
      account: true,
      help: 'signing name of object storage',
      schema: schemas.serviceName,
    },
    CATALOG_SERVICE: {
      default: 'catalog',
      account: true,
      help: 'signing name of the catalog API',
      schema: schemas.serviceName,
    },
    DEVOPS_SERVICE: {
      default: 'devops',
      account: true,
      help: 'signing name of the DevOps API',
      schema: schemas.serviceName,
    },
  },
  'Tools and consent': {
    TOOLS: {
      kind: 'list',
      account: true,
      help: 'comma-separated tools to offer; all if not set',
      schema: schemas.tools,
    },
    OPERATIONS: {
      kind: 'path',
      help: 'file, or folder of files, of further operations; the endpoint of an API that they name is CLOUDOPS_ENDPOINT_<NAME>_URL',
      schema: schemas.anyText,
    },
    READ_ONLY: { kind: 'switch', account: true, help: 'offer only tools that read', schema: schemas.onOff },
    CONFIRM: {
      default: 'ask',
      account: true,
      help: 'consent to changes: ask, human, approval, plan or off',
      schema: schemas.choice(consentModes),
    },
    CONFIRM_DELETE: {
      default: 'type',
      account: true,
      help: 'how a person agrees to a deletion: type the name of what is deleted, or click',
      schema: schemas.choice(deleteConfirmations),
    },
    MAX_CHANGES: {
      account: true,
      help: 'changes of each caller in each account, such as 5/1h; 0 only shows plans; any number if not set',
      schema: schemas.budget,
    },
    VIEWS: {
      default: 'declared',
      help: 'clients that get views: declared for those that say they show them, or on for all',
      schema: schemas.choice(['declared', 'on']),
    },
    OPEN_BROWSER: {
      default: 'on',
      help: 'open a page in the browser of this machine if nobody else could decide on a change: on or off',
      schema: schemas.choice(['on', 'off']),
    },
    STATE_KEY: {
      secret: true,
      file: true,
      help: 'key for sessions, and for plans with secrets or private values, 32 characters or more; a file may hold several, one a line; random if not set',
      schema: schemas.longSecrets(32),
    },
    PLAN_HOURS: {
      default: 24,
      help: 'hours that a plan waits for a person on the page for decisions',
      schema: schemas.count(1, 24 * 14),
    },
    DECISIONS_WEBHOOK: {
      secret: true,
      file: true,
      help: 'address to which each waiting plan is announced, such as a Slack webhook',
      schema: schemas.webAddress,
    },
    DECISIONS_WEBHOOK_KEY: {
      secret: true,
      file: true,
      help: 'key that signs what is sent there, 32 characters or more',
      schema: schemas.longSecret(32),
    },
    SECRETS_DIR: {
      kind: 'path',
      help: 'folder of secrets that an agent may name but never read',
      schema: schemas.anyText,
    },
  },
  'Journal, limits and log': {
    JOURNAL: {
      kind: 'path',
      file: true,
      help: "file that records changes, or postgres://…; in the user's state folder if not set",
      schema: schemas.journalPlace,
    },
    TIMEOUT_MS: {
      default: 60_000,
      help: 'time limit of a whole call in milliseconds, retries included',
      schema: schemas.count(100, 3_600_000),
    },
    MAX_ATTEMPTS: { default: 4, help: 'attempts of a call that only reads', schema: schemas.count(1, 20) },
    LOG_LEVEL: {
      default: 'info',
      help: 'debug, info, warn or error; logs go to stderr',
      schema: schemas.choice(logLevels),
    },
  },
  'HTTP server': {
    HTTP_TOKENS_FILE: {
      kind: 'path',
      help: 'file of callers, one per line: name, SHA-256 of the token in hex, and its scopes if not cloudops:read cloudops:write',
      schema: schemas.anyText,
    },
    HTTP_ISSUER: {
      help: 'OAuth issuer of accepted tokens (JWT), instead of a tokens file',
      schema: schemas.webAddress,
    },
    HTTP_AUDIENCE: {
      help: 'audience that the tokens must name, such as https://cloudops.example.com/mcp',
      schema: schemas.anyText,
    },
    HTTP_SCOPE_CLAIM: {
      help: 'claim with the scopes, such as realm_access.roles for Keycloak; scope or scp if not set',
      schema: schemas.anyText,
    },
    HTTP_SCOPE_PREFIX: {
      help: 'text in front of the scopes at an issuer that knows only qualified scopes, such as api://cloudops/',
      schema: schemas.scopePrefix,
    },
    HTTP_PERSON_CLAIM: {
      help: 'claim that names a person alike in all clients and that people cannot change, such as oid or sub; with an issuer, approval needs it',
      schema: schemas.anyText,
    },
    HTTP_PUBLIC_URL: {
      help: 'address at which people reach this server and its /decisions, such as https://cloudops.example.com',
      schema: schemas.webAddress,
    },
    HTTP_CLIENT_ID: {
      help: 'client ID of this server at the issuer, for sign-in to /decisions',
      schema: schemas.headerText,
    },
    HTTP_CLIENT_SECRET: { secret: true, file: true, help: 'its secret', schema: schemas.anyText },
    HTTP_ALLOWED_HOSTS: {
      kind: 'list',
      help: "host names that clients use besides the public URL's, comma-separated; the audience's if not set",
      schema: schemas.hostNames,
    },
    HTTP_RATE: {
      default: 50,
      help: 'calls per second for each caller; twice as many at once',
      schema: schemas.count(1, 1_000_000),
    },
    HTTP_METRICS_PORT: {
      help: 'port, or address:port, that serves /metrics; a port alone listens on loopback; no metrics if not set',
      schema: schemas.listenAddress,
    },
  },
  Sandbox: {
    SANDBOX: { kind: 'switch', help: 'use the built-in sandbox; no account needed', schema: schemas.onOff },
    SANDBOX_STATE: {
      kind: 'path',
      help: 'file that keeps the state of the sandbox; kept in memory if not set',
      schema: schemas.anyText,
    },
    SANDBOX_SEED: {
      help: "text that determines the sandbox's keys and IDs; random if not set",
      schema: schemas.anyText,
    },
    SANDBOX_FAULT: { help: 'failures that the sandbox simulates, such as list_parts=503*3', schema: schemas.anyText },
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

export type Table = typeof table;
export type Setting = keyof Table;
export const settings: Readonly<Record<Setting, Row>> = table;
export const isSetting = (name: string): name is Setting => Object.hasOwn(table, name);
export const settingNames = Object.keys(table).filter(isSetting);

/** Converts the text of a list or command to an array, and of a switch to a boolean. Other text stays, and the schema may refuse it. */
export function valueOfText(setting: Setting, text: string): unknown {
  const { kind } = settings[setting];
  if (kind === 'list') return text.split(',');
  if (kind === 'command') return parseJson(text) ?? text;
  if (kind !== 'switch') return text;
  const word = text.toLowerCase();
  if (['1', 'true', 'yes', 'on'].includes(word)) return true;
  return ['0', 'false', 'no', 'off'].includes(word) ? false : text;
}

export const prefix = 'CLOUDOPS_';

/** The help of a setting, with its default, and with a hint if its value may also come from a file. */
export function helpOf({ help, file, default: defaultValue }: Row): string {
  return [
    help,
    ...(file ? ['also …_FILE'] : []),
    ...(defaultValue === undefined ? [] : [`default ${defaultValue}`]),
  ].join('; ');
}

/** The name of a setting in the environment: `CLOUDOPS_READ_ONLY` for `READ_ONLY`. */
export const variableName = (setting: string) => prefix + setting;
export const safeVariableName = (setting: string): SafeText => own(variableName(setting));

/** The settings of the endpoints of built-in APIs. */
export const endpointSettings = ['STORAGE_URL', 'CATALOG_URL', 'DEVOPS_URL'] as const;

/** All names that users can set. A setting that may come from a file has a second name with `_FILE`. */
export const inputs = settingNames.flatMap((setting) => {
  const { secret = false, file = false } = settings[setting];
  const direct = { name: setting, setting, isFile: false, isSecret: secret };
  return file ? [direct, { name: `${setting}_FILE`, setting, isFile: true, isSecret: false }] : [direct];
});
