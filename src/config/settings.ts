import './configure-zod.js';
import { consentModes } from '../consent/required-consent.js';
import { logLevels } from '../util/log.js';
import { own, type Said } from '../util/safe-text.js';
import * as values from './values.js';

/** One setting: a row of the table below. */
export interface Row {
  /**
   * A switch needs no value as an option; a path is made absolute for clients that start the server elsewhere. A list has commas between
   * its words; a command is a list in JSON.
   */
  readonly kind?: 'switch' | 'path' | 'list' | 'command';
  /** Its meaning, for `--help`, the configuration resource and docs/CONFIGURATION.md. */
  readonly help: string;
  readonly default?: string;
  /** True for a value that is never shown. It cannot be an option, which everybody on the machine could read. */
  readonly secret?: true;
  /** True if the value may also come from the file that the setting with `_FILE` after its name gives. */
  readonly file?: true;
  /** Set if each account may have its own. An account has all of its own keys, or none. */
  readonly account?: 'keys' | 'other';
  readonly value: values.ParseText<unknown>;
}

/** Every setting, without the prefix `CLOUDOPS_`, under the heading that documents give it. */
export const sections = {
  Account: {
    ACCESS_KEY_ID: { file: true, account: 'keys', help: 'access key of the account', value: values.headerText },
    SECRET_ACCESS_KEY: { secret: true, file: true, account: 'keys', help: 'its secret', value: values.anyText },
    SESSION_TOKEN: {
      secret: true,
      file: true,
      account: 'keys',
      help: 'session token of temporary credentials',
      value: values.headerText,
    },
    CREDENTIAL_PROCESS: {
      kind: 'command',
      account: 'keys',
      help: 'program that prints the keys as for credential_process of AWS: a JSON array of its name and arguments',
      value: values.command,
    },
    PROFILE: {
      account: 'keys',
      help: 'profile of ~/.aws/config and ~/.aws/credentials that has the keys, and perhaps region and endpoint_url (storage)',
      value: values.anyText,
    },
    REGION: {
      default: 'jp-east-1',
      account: 'other',
      help: 'region of calls that name none',
      value: values.regionName,
    },
    REGIONS: {
      kind: 'list',
      account: 'other',
      help: 'comma-separated regions that calls may use; any if not set',
      value: values.regions,
    },
    ACCOUNTS_FILE: {
      kind: 'path',
      help: 'JSON file of several accounts, each with settings of its own',
      value: values.anyText,
    },
  },
  Endpoints: {
    STORAGE_URL: {
      account: 'other',
      help: 'object storage endpoint; may contain {region}, followed by at least two labels, and a path',
      value: values.endpoint,
    },
    CATALOG_URL: { account: 'other', help: 'catalog API endpoint; same form', value: values.endpoint },
    DEVOPS_URL: { account: 'other', help: 'DevOps API endpoint; same form', value: values.endpoint },
    ALLOW_HTTP: { kind: 'switch', help: 'allow plain http to hosts other than loopback', value: values.onOff },
    STORAGE_HEADERS: {
      default: 'ext',
      account: 'other',
      help: 'signed headers: ext, or amz for any S3-compatible store',
      value: values.parseOneOf(['ext', 'amz']),
    },
    STORAGE_SERVICE: {
      default: 's3',
      account: 'other',
      help: 'signing name of object storage',
      value: values.serviceName,
    },
    CATALOG_SERVICE: {
      default: 'catalog',
      account: 'other',
      help: 'signing name of the catalog API',
      value: values.serviceName,
    },
    DEVOPS_SERVICE: {
      default: 'devops',
      account: 'other',
      help: 'signing name of the DevOps API',
      value: values.serviceName,
    },
  },
  'Tools and consent': {
    TOOLS: {
      kind: 'list',
      account: 'other',
      help: 'comma-separated tools to offer; all if not set',
      value: values.tools,
    },
    OPERATIONS: {
      kind: 'path',
      help: 'file, or folder of files, of further operations; the endpoint of an API that they name is CLOUDOPS_ENDPOINT_<NAME>_URL',
      value: values.anyText,
    },
    READ_ONLY: { kind: 'switch', account: 'other', help: 'offer only tools that read', value: values.onOff },
    CONFIRM: {
      default: 'ask',
      account: 'other',
      help: 'consent to changes: ask, human, approval, plan or off',
      value: values.parseOneOf(consentModes),
    },
    MAX_CHANGES: {
      account: 'other',
      help: 'changes that each caller may make in each account within a time, such as 5/1h; 0 only shows plans; any number if not set',
      value: values.budget,
    },
    VIEWS: {
      default: 'declared',
      help: 'clients that are offered views: declared for those that say they show them, or on for all',
      value: values.parseOneOf(['declared', 'on']),
    },
    OPEN_BROWSER: {
      default: 'on',
      help: 'over stdio on a desktop, open a page in the browser where a change would otherwise have no person to decide on it: on or off',
      value: values.parseOneOf(['on', 'off']),
    },
    STATE_KEY: {
      secret: true,
      file: true,
      help: 'key that signs plan IDs and consent, 32 characters or more; a file may hold several, one a line; random if not set, except that a key for plan IDs alone is kept beside a journal in a file',
      value: values.longSecrets(32),
    },
    PLAN_HOURS: {
      default: '24',
      help: 'hours that a plan waits for a person on the page for decisions',
      value: values.parseWholeNumber(1, 24 * 14),
    },
    DECISIONS_WEBHOOK: {
      secret: true,
      file: true,
      help: 'address to which each waiting plan is announced, such as a Slack webhook',
      value: values.endpoint,
    },
    DECISIONS_WEBHOOK_KEY: {
      secret: true,
      file: true,
      help: 'key that signs what is sent there, 32 characters or more',
      value: values.longSecret(32),
    },
    SECRETS_DIR: {
      kind: 'path',
      help: 'folder of secrets that an agent may name but never read',
      value: values.anyText,
    },
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
      value: values.parseWholeNumber(100, 3_600_000),
    },
    MAX_ATTEMPTS: { default: '4', help: 'attempts of a call that only reads', value: values.parseWholeNumber(1, 20) },
    LOG_LEVEL: {
      default: 'info',
      help: 'debug, info, warn or error; logs go to stderr',
      value: values.parseOneOf(logLevels),
    },
  },
  'HTTP server': {
    HTTP_TOKENS_FILE: {
      kind: 'path',
      help: 'file of callers, one per line: name, SHA-256 of the bearer token in hex, and its scopes if they are not cloudops:read cloudops:write',
      value: values.anyText,
    },
    HTTP_ISSUER: {
      help: 'OAuth issuer whose tokens (JWT) are accepted, instead of a tokens file',
      value: values.endpoint,
    },
    HTTP_AUDIENCE: {
      help: 'audience that the tokens must name: the public URL of this server, such as https://cloudops.example.com/mcp',
      value: values.anyText,
    },
    HTTP_SCOPE_CLAIM: {
      help: 'claim of the tokens that has the scopes, such as realm_access.roles for Keycloak; scope or scp if not set',
      value: values.someText,
    },
    HTTP_PUBLIC_URL: {
      help: 'address under which people reach this server, such as https://cloudops.example.com; it serves /decisions there',
      value: values.endpoint,
    },
    HTTP_CLIENT_ID: {
      help: 'client ID of this server at the issuer, with which people sign in to /decisions',
      value: values.headerText,
    },
    HTTP_CLIENT_SECRET: { secret: true, file: true, help: 'its secret', value: values.anyText },
    HTTP_ALLOWED_HOSTS: {
      help: 'comma-separated host names that clients use for the server; the host of the audience if not set',
      value: values.hostNames,
    },
    HTTP_RATE: {
      default: '50',
      help: 'calls per second for each caller; twice as many at once',
      value: values.parseWholeNumber(1, 1_000_000),
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
      value: values.anyText,
    },
    SANDBOX_SEED: {
      help: "text that determines the sandbox's keys and IDs; random if not set",
      value: values.anyText,
    },
    SANDBOX_FAULT: { help: 'failures that the sandbox simulates, such as list_parts=503*3', value: values.anyText },
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

export const prefix = 'CLOUDOPS_';
/** The help of a setting with its other source, if there is one, and its default. */
export function helpOf({ help, file, default: preset }: Row): string {
  return [help, ...(file ? ['also …_FILE'] : []), ...(preset === undefined ? [] : [`default ${preset}`])].join('; ');
}

/** The name of a setting in the environment: `CLOUDOPS_READ_ONLY` for `READ_ONLY`. */
export const variableName = (setting: string) => prefix + setting;
/** The same in a sentence. */
export const saidVariable = (setting: string): Said => own(variableName(setting));
/** The name of a setting on the command line: `--read-only` for `READ_ONLY`. */
export const optionName = (setting: string) => `--${setting.toLowerCase().replaceAll('_', '-')}`;

/** The names that can be set from outside: every setting, and `…_FILE` of those that may come from a file. */
export const inputs = settingNames.flatMap((setting) => {
  const { secret = false, file = false } = settings[setting];
  const own = { name: setting, setting, isFile: false, isSecret: secret };
  return file ? [own, { name: `${setting}_FILE`, setting, isFile: true, isSecret: false }] : [own];
});
