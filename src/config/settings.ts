import './configure-zod.js';
import { consentModes, deleteConfirmations } from '../calls/account.js';
import { languages } from '../util/language.js';
import { logLevels } from '../util/log.js';
import { own, type SafeText } from '../util/safe-text.js';
import * as schemas from './setting-schemas.js';
import { type Row, row } from './setting-schemas.js';

/** Where keys come from. A new source is also added in `signing/open-keys.ts`. */
const keySettings = {
  ACCESS_KEY_ID: row('access key of the account', schemas.headerText, { file: true, account: true }),
  SECRET_ACCESS_KEY: row('its secret', schemas.anyText, { secret: true, file: true, account: true }),
  SESSION_TOKEN: row('session token of temporary credentials', schemas.headerText, {
    secret: true,
    file: true,
    account: true,
  }),
  CREDENTIAL_PROCESS: row(
    'program that prints the keys as for credential_process of AWS: a JSON array of its name and arguments',
    schemas.command,
    { secret: true, account: true },
  ),
  PROFILE: row(
    'profile of ~/.aws/config and ~/.aws/credentials, for keys, region and endpoint_url (storage)',
    schemas.anyText,
    { account: true },
  ),
  CREDENTIAL_SOURCE: row(
    'platform that gives keys: web-identity, container or instance',
    schemas.choice(['web-identity', 'container', 'instance']),
    { account: true },
  ),
};
export const isKeySetting = (name: string): name is keyof typeof keySettings => Object.hasOwn(keySettings, name);

const path = (help: string) => row(help, schemas.anyText, { kind: 'path' });

/** All settings, in sections for the help and the documentation. */
export const sections = {
  Account: {
    ...keySettings,
    REGION: row('region of calls that name none', schemas.regionName, { default: 'jp-east-1', account: true }),
    REGIONS: row('comma-separated regions that calls may use; any if not set', schemas.regions, { account: true }),
    ACCOUNTS_FILE: path('JSON file of several accounts, each with settings of its own'),
  },
  Endpoints: {
    STORAGE_URL: row(
      'object storage endpoint; may contain {region}, followed by at least two labels, and a path',
      schemas.endpoint,
      { account: true },
    ),
    CATALOG_URL: row('catalog API endpoint; same form', schemas.endpoint, { account: true }),
    DEVOPS_URL: row('DevOps API endpoint; same form', schemas.endpoint, { account: true }),
    ALLOW_HTTP: row('allow plain http to hosts other than loopback', schemas.onOff, { kind: 'switch' }),
    STORAGE_HEADERS: row('signed headers: ext, or amz for any S3-compatible store', schemas.choice(['ext', 'amz']), {
      default: 'ext',
      account: true,
    }),
    STORAGE_STYLE: row(
      'where the bucket stands: path, or virtual for the name of the host',
      schemas.choice(['path', 'virtual']),
      { default: 'path', account: true },
    ),
    STORAGE_SERVICE: row('signing name of object storage', schemas.serviceName, { default: 's3', account: true }),
    CATALOG_SERVICE: row('signing name of the catalog API', schemas.serviceName, { default: 'catalog', account: true }),
    DEVOPS_SERVICE: row('signing name of the DevOps API', schemas.serviceName, { default: 'devops', account: true }),
  },
  'Tools and consent': {
    TOOLS: row(
      'comma-separated tools to offer, and operations of services, such as ec2:Describe*; all if not set',
      schemas.tools,
      { account: true },
    ),
    OPERATIONS: path(
      'file, or folder of files, of further operations; the endpoint of an API that they name is CLOUDOPS_ENDPOINT_<NAME>_URL',
    ),
    MODELS: path(
      'folder of models, such as ec2.json, all of whose operations agents can find; the endpoint of each is CLOUDOPS_ENDPOINT_<NAME>_URL',
    ),
    READ_ONLY: row('offer only tools that read', schemas.onOff, { kind: 'switch', account: true }),
    CONFIRM: row('consent to changes: ask, human, approval, plan or off', schemas.choice(consentModes), {
      default: 'ask',
      account: true,
    }),
    CONFIRM_DELETE: row(
      'how a person agrees to a deletion: type the name of what is deleted, or click',
      schemas.choice(deleteConfirmations),
      { default: 'type', account: true },
    ),
    MAX_CHANGES: row(
      'changes of each caller in each account, such as 5/1h; 0 only shows plans; any number if not set',
      schemas.budget,
      { account: true },
    ),
    VIEWS: row(
      'clients that get views: declared for those that say they show them, or on for all',
      schemas.choice(['declared', 'on']),
      { default: 'declared' },
    ),
    LANGUAGE: row(
      "language of what people decide on: en or ja; if not set, English, and on the page the browser's",
      schemas.choice(languages),
    ),
    OPEN_BROWSER: row(
      'open a page in the browser of this machine if nobody else could decide on a change: on or off',
      schemas.choice(['on', 'off']),
      { default: 'on' },
    ),
    STATE_KEY: row(
      'key for sessions, and for plans with secrets or private values, 32 characters or more; a file may hold several, one a line; if not set, random, and for private values in a file beside the journal',
      schemas.longSecrets(32),
      { secret: true, file: true },
    ),
    PLAN_HOURS: row('hours that a plan waits for a person on the page for decisions', schemas.count(1, 24 * 14), {
      default: 24,
    }),
    DECISIONS_WEBHOOK: row(
      'address to which each waiting plan is announced, such as a Slack webhook',
      schemas.webAddress,
      { secret: true, file: true },
    ),
    DECISIONS_WEBHOOK_KEY: row('key that signs what is sent there, 32 characters or more', schemas.longSecret(32), {
      secret: true,
      file: true,
    }),
    SECRETS_DIR: path('folder of secrets that an agent may name but never read'),
  },
  'Journal, limits and log': {
    JOURNAL: row(
      "file that records changes, or postgres://…; in the user's state folder if not set",
      schemas.journalPlace,
      { kind: 'path', file: true },
    ),
    TIMEOUT_MS: row('time limit of a whole call in milliseconds, retries included', schemas.count(100, 3_600_000), {
      default: 60_000,
    }),
    MAX_ATTEMPTS: row('attempts of a call that only reads', schemas.count(1, 20), { default: 4 }),
    LOG_LEVEL: row('debug, info, warn or error; logs go to stderr', schemas.choice(logLevels), { default: 'info' }),
  },
  'HTTP server': {
    HTTP_TOKENS_FILE: path(
      'file of callers, one per line: name, SHA-256 of the token in hex, and its scopes if not cloudops:read cloudops:write',
    ),
    HTTP_ISSUER: row('OAuth issuer of accepted tokens (JWT), instead of a tokens file', schemas.webAddress),
    HTTP_AUDIENCE: row('audience that the tokens must name, such as https://cloudops.example.com/mcp', schemas.anyText),
    HTTP_SCOPE_CLAIM: row(
      'claim with the scopes, such as realm_access.roles for Keycloak; scope or scp if not set',
      schemas.anyText,
    ),
    HTTP_SCOPE_PREFIX: row(
      'text in front of the scopes at an issuer that knows only qualified scopes, such as api://cloudops/; that of an audience api://… if not set',
      schemas.scopePrefix,
    ),
    HTTP_PERSON_CLAIM: row(
      'claim that names a person alike in all clients and that people cannot change, such as oid or sub; with an issuer, approval needs it',
      schemas.anyText,
    ),
    HTTP_PUBLIC_URL: row(
      'address at which people reach this server and its /decisions, such as https://cloudops.example.com',
      schemas.publicAddress,
    ),
    HTTP_CLIENT_ID: row('client ID of this server at the issuer, for sign-in to /decisions', schemas.headerText),
    HTTP_CLIENT_SECRET: row('its secret', schemas.anyText, { secret: true, file: true }),
    HTTP_ALLOWED_HOSTS: row(
      "host names that clients use besides the public URL's, comma-separated; the audience's if not set",
      schemas.hostNames,
    ),
    HTTP_RATE: row('calls per second for each caller; twice as many at once', schemas.count(1, 1_000_000), {
      default: 50,
    }),
    HTTP_METRICS_PORT: row(
      'port, or address:port, that serves /metrics; a port alone listens on loopback; no metrics if not set',
      schemas.listenAddress,
    ),
  },
  Sandbox: {
    SANDBOX: row('use the built-in sandbox; no account needed', schemas.onOff, { kind: 'switch' }),
    SANDBOX_STATE: path('file that keeps the state of the sandbox; kept in memory if not set'),
    SANDBOX_SEED: row(
      "text that determines the sandbox's keys and IDs; if not set, those of the state file, or random",
      schemas.anyText,
    ),
    SANDBOX_FAULT: row('failures that the sandbox simulates, such as list_parts=503*3', schemas.anyText),
  },
};

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

/** The help of a setting, with its default. */
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

/** A name that users can set in the environment. */
export interface Input {
  readonly name: string;
  /** For the endpoint of an API that operation files add, a setting with the same rules. */
  readonly setting: Setting;
  /** The added API. */
  readonly service?: string;
  readonly isFile: boolean;
  readonly isSecret: boolean;
}

/** All names, including names with `_FILE`. */
export const inputs = settingNames.flatMap((setting): Input[] => {
  const { secret: isSecret = false, file } = settings[setting];
  const direct = { name: setting, setting, isFile: false, isSecret };
  return file ? [direct, { name: `${setting}_FILE`, setting, isFile: true, isSecret: false }] : [direct];
});
