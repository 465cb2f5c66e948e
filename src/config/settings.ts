import './configure-zod.js';
import * as z from 'zod';
import { type Budget, consentModes, deleteConfirmations } from '../calls/account.js';
import { storePlace } from '../changes/store-place.js';
import { languages } from '../util/language.js';
import { logLevels } from '../util/log.js';
import { parseJson } from '../util/objects.js';
import { namesOf, own, quoted, type SafeText, say, type Wording, words } from '../util/safe-text.js';
import { signableRegion } from '../util/uri.js';

/** All settings: their texts, their rules and their defaults. */

// Schemas are functions, because building them is slow. Their messages show no secrets.

export const anyText = () => z.string('must be a text').trim().min(1, { error: 'must not be empty', abort: true });

/** Makes messages such as `is "soon"; it must be a whole number`. */
const mustBe = (rule: SafeText) => ({
  error: ({ input }: { readonly input?: unknown }) =>
    (typeof input === 'string' ? say`is ${quoted(input, 100)}; it must be ${rule}` : say`must be ${rule}`).text,
});

const matching = <const Rule extends string>(pattern: RegExp, rule: Wording<Rule>) =>
  anyText().regex(pattern, mustBe(words(rule)));

const switchWords: ReadonlyMap<unknown, boolean> = new Map(
  ['0', '1', 'false', 'true', 'no', 'yes', 'off', 'on'].map((word, index) => [word, index % 2 === 1]),
);

const inLowerCase = (value: unknown) => (typeof value === 'string' ? value.toLowerCase() : value);

/** Schemas take text, because variables are text. */
const onOff = () =>
  z.preprocess((value) => switchWords.get(inLowerCase(value)) ?? value, z.boolean(mustBe(words('true or false'))));

/** One of some words, in any case. */
const choice =
  <const Values extends readonly string[]>(values: Values) =>
  () =>
    z.preprocess(inLowerCase, z.enum(values, mustBe(say`${namesOf(values, ' or ')}`)));

/** A text that `parse` understands. */
const parsed = <Value>(parse: (text: string) => Value | undefined, rule: SafeText) =>
  anyText().transform((text, { issues }) => {
    const value = parse(text);
    if (value !== undefined) return value;
    issues.push({ code: 'custom', input: text, message: say`is ${quoted(text, 100)}; it must be ${rule}`.text });
    return z.NEVER;
  });

const count = (minimum: number, maximum: number) => () =>
  parsed(
    (text) => (/^\d+$/.test(text) && Number(text) >= minimum && Number(text) <= maximum ? Number(text) : undefined),
    say`a whole number from ${minimum} to ${maximum}`,
  );

const regionRule = 'a region name such as jp-east-1';
const serviceName = () => matching(/^[\w-]+$/, 'a service name');

/** Text for an HTTP header. It may be a secret, so messages do not show it. */
const headerText = () =>
  anyText().regex(/^[\x21-\x7e]*$/, 'has a character that no key has: a space, a line break or one that is not ASCII');

const minuteMs = 60_000;
const longestWindowMs = 24 * 60 * minuteMs;

/** The number of changes per time, such as `5/1h` for five changes an hour. */
const budget = () =>
  parsed((text): Budget | undefined => {
    if (text === '0') return { mostChanges: 0, windowMs: longestWindowMs };
    const [, changes = '', length = '', unit] = /^(\d{1,6})\/(\d{1,4})([mh])$/.exec(text) ?? [];
    const windowMs = Number(length) * (unit === 'h' ? 60 * minuteMs : minuteMs);
    const isRight = changes !== '' && windowMs >= minuteMs && windowMs <= longestWindowMs;
    return isRight ? { mostChanges: Number(changes), windowMs } : undefined;
  }, words('0, or changes and a time from 1m to 24h, such as 5/1h'));

const listOf = <const Kind extends string>(pattern: RegExp, kind: Wording<Kind>) => {
  const error = ({ input }: { readonly input?: unknown }) =>
    say`names ${quoted(String(input), 60)}, which is not ${words(kind)}`.text;
  const name = z.string('must be a list of texts').trim().regex(pattern, { error });
  // As people write lists: with commas, semicolons, spaces or lines, in quotation marks, or as JSON.
  const split = (value: unknown) => {
    if (typeof value !== 'string') return value;
    const list = parseJson(value);
    return Array.isArray(list) ? list : value.split(/[\s,;"']+/).filter((entry) => entry !== '');
  };
  return z.preprocess(split, z.array(name, 'must be a list of texts').min(1, 'must not be empty'));
};

/** Messages show only the problem, because the text may hold a password. */
const usable = (problemOf: (text: string) => SafeText | undefined) =>
  anyText().check(({ value, issues }) => {
    const problem = problemOf(value);
    if (problem !== undefined)
      issues.push({ code: 'custom', input: value, message: say`is not usable: ${problem}`.text });
  });

/** The URL of an API. Plain http is checked later, because `ALLOW_HTTP` may allow it. */
export const endpoint = () => usable(endpointProblem);

/** An address without `{region}`, such as an OAuth issuer. */
const webAddress = () =>
  usable((text) => (URL.canParse(text) ? endpointProblem(text) : say`it is not a URL such as https://example.com`));

/** A domain must follow `{region}`: agents choose the region, so with `https://{region}.com` they could choose the host. */
function endpointProblem(text: string): SafeText | undefined {
  // `URL` refuses braces in a host name.
  const regionLabel = 'region-stands-here';
  const withRegion = text.replaceAll('{region}', regionLabel);
  if (!URL.canParse(withRegion)) return say`it is not a URL such as https://storage.{region}.example.com`;

  const url = new URL(withRegion);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return say`it must begin with https://`;
  if (url.username !== '' || url.password !== '') return say`it must not hold a user name or password`;
  if (url.search !== '' || url.hash !== '') return say`it must not hold a query or fragment`;
  if (/[{}]/.test(withRegion)) return say`the only placeholder is {region}`;
  if (!url.hostname.includes(regionLabel)) return undefined;

  // For https://s3-{region}x.example.com, the fixed labels are "example" and "com".
  const textAfterRegion = url.hostname.split(regionLabel).at(-1) ?? '';
  const fixedLabels = textAfterRegion.replace(/\.$/, '').split('.').slice(1);
  // A top-level domain has a letter.
  const isDomain = fixedLabels.length >= 2 && !fixedLabels.includes('') && /[a-z]/.test(fixedLabels.at(-1) ?? '');
  if (isDomain) return undefined;
  return say`two fixed labels, such as .example.com, must follow {region}, so that a region cannot choose the host`;
}

export interface Row extends Flags {
  /** For `help settings`, the configuration resource and docs/CONFIGURATION.md. */
  readonly help: string;
  /** Called only if the setting is given, because building a schema is slow. */
  readonly schema: () => z.ZodType;
}

interface Flags {
  /** The command `client-config` makes a `path` absolute. */
  readonly kind?: 'switch' | 'path';
  readonly default?: string | number;
  /** True for a value that is never shown. */
  readonly secret?: true;
  /** True if the value may also come from a file. */
  readonly file?: true;
  readonly account?: true;
}

/** Makes a row whose type keeps the schema and the flags. */
const row = <Schema extends Row['schema'], const Given extends Flags = Record<never, never>>(
  help: string,
  schema: Schema,
  flags?: Given,
) => ({ help, schema, ...(flags as Given) });

const secret = <Schema extends Row['schema']>(help: string, schema: Schema) =>
  row(help, schema, { secret: true, file: true });
const path = (help: string) => row(help, anyText, { kind: 'path' });

/** Marks settings that an account may have of its own. */
const ofAccounts = <Rows extends object>(rows: Rows): Rows =>
  Object.fromEntries(Object.entries(rows).map(([name, each]) => [name, { ...each, account: true }])) as unknown as Rows;

/** Where keys come from. A new source is also added in `signing/open-keys.ts`. */
const keySettings = ofAccounts({
  ACCESS_KEY_ID: row('access key of the account', headerText, { file: true }),
  SECRET_ACCESS_KEY: secret('its secret', anyText),
  SESSION_TOKEN: secret('session token of temporary credentials', headerText),
  CREDENTIAL_PROCESS: row(
    'program that prints the keys as for credential_process of AWS: a JSON array of its name and arguments',
    () => {
      // Shows no argument, because it may be a secret.
      const rule = 'must be a JSON array of a program and its arguments, such as ["/usr/local/bin/keys", "--json"]';
      const argument = z.string(rule).regex(/^[^\0]*$/, rule);
      const list = z.tuple([argument.min(1, rule)], argument, rule);
      return z.preprocess((value) => (typeof value === 'string' ? (parseJson(value) ?? value) : value), list);
    },
    { secret: true },
  ),
  PROFILE: row('profile of ~/.aws/config and ~/.aws/credentials, for keys, region and endpoint_url (storage)', anyText),
  CREDENTIAL_SOURCE: row(
    'platform that gives keys: web-identity, container or instance',
    choice(['web-identity', 'container', 'instance']),
  ),
});
export const isKeySetting = (name: string): name is keyof typeof keySettings => Object.hasOwn(keySettings, name);

export const sections = {
  Account: {
    ...keySettings,
    ...ofAccounts({
      REGION: row('region of calls that name none', () => matching(signableRegion, regionRule), {
        default: 'jp-east-1',
      }),
      REGIONS: row('comma-separated regions that calls may use; any if not set', () =>
        listOf(signableRegion, regionRule),
      ),
    }),
    ACCOUNTS_FILE: path('JSON file of several accounts, each with settings of its own'),
  },
  Endpoints: {
    ALLOW_HTTP: row('allow plain http to hosts other than loopback', onOff, { kind: 'switch' }),
    ...ofAccounts({
      STORAGE_URL: row(
        'object storage endpoint; may contain {region}, followed by at least two labels, and a path',
        endpoint,
      ),
      CATALOG_URL: row('catalog API endpoint; same form', endpoint),
      DEVOPS_URL: row('DevOps API endpoint; same form', endpoint),
      STORAGE_HEADERS: row('signed headers: ext, or amz for any S3-compatible store', choice(['ext', 'amz']), {
        default: 'ext',
      }),
      STORAGE_STYLE: row(
        'where the bucket stands: path, or virtual for the name of the host',
        choice(['path', 'virtual']),
        { default: 'path' },
      ),
      STORAGE_SERVICE: row('signing name of object storage', serviceName, { default: 's3' }),
      CATALOG_SERVICE: row('signing name of the catalog API', serviceName, { default: 'catalog' }),
      DEVOPS_SERVICE: row('signing name of the DevOps API', serviceName, { default: 'devops' }),
    }),
  },
  'Tools and consent': {
    ...ofAccounts({
      TOOLS: row(
        'comma-separated tools to offer, and operations of services, such as ec2:Describe*; all if not set',
        () => listOf(/^[\s\S]{0,110}$/, 'a tool'),
      ),
      READ_ONLY: row('offer only tools that read', onOff, { kind: 'switch' }),
      CONFIRM: row('consent to changes: ask, human, approval, plan or off', choice(consentModes), { default: 'ask' }),
      CONFIRM_DELETE: row(
        'how a person agrees to a deletion: type the name of what is deleted, or click',
        choice(deleteConfirmations),
        { default: 'type' },
      ),
      MAX_CHANGES: row(
        'changes of each caller in each account, such as 5/1h; 0 only shows plans; any number if not set',
        budget,
      ),
    }),
    OPERATIONS: path(
      'file, or folder of files, of further operations; the endpoint of an API that they name is CLOUDOPS_ENDPOINT_<NAME>_URL',
    ),
    MODELS: path(
      'folder of models, such as ec2.json, all of whose operations agents can find; the endpoint of each is CLOUDOPS_ENDPOINT_<NAME>_URL',
    ),
    VIEWS: row(
      'clients that get views: declared for those that say they show them, or on for all',
      choice(['declared', 'on']),
      { default: 'declared' },
    ),
    LANGUAGE: row(
      "language of what people decide on: en or ja; if not set, English, and on the page the browser's",
      choice(languages),
    ),
    OPEN_BROWSER: row(
      'open a page in the browser of this machine if nobody else could decide on a change: on or off',
      choice(['on', 'off']),
      { default: 'on' },
    ),
    STATE_KEY: secret(
      'key for sessions, and for plans with secrets or private values, 32 characters or more; a file may hold several, one a line; if not set, random, and for private values in a file beside the journal',
      () => {
        const key = z.string().min(32, 'must have at least 32 characters in each line');
        return anyText()
          .transform((text) => text.split('\n').map((line) => line.trim()))
          .pipe(z.tuple([key], key));
      },
    ),
    PLAN_HOURS: row('hours that a plan waits for a person on the page for decisions', count(1, 24 * 14), {
      default: 24,
    }),
    DECISIONS_WEBHOOK: secret('address to which each waiting plan is announced, such as a Slack webhook', webAddress),
    DECISIONS_WEBHOOK_KEY: secret('key that signs what is sent there, 32 characters or more', () =>
      anyText().min(32, 'must have at least 32 characters'),
    ),
    SECRETS_DIR: path('folder of secrets that an agent may name but never read'),
  },
  'Journal, limits and log': {
    JOURNAL: row(
      "file that records changes, or postgres://…; in the user's state folder if not set",
      () => usable((text) => storePlace(text).problem),
      { kind: 'path', file: true },
    ),
    TIMEOUT_MS: row('time limit of a whole call in milliseconds, retries included', count(100, 3_600_000), {
      default: 60_000,
    }),
    MAX_ATTEMPTS: row('attempts of a call that only reads', count(1, 20), { default: 4 }),
    LOG_LEVEL: row(
      'debug, info, warn or error; logs go to stderr',
      () => z.preprocess((level) => (inLowerCase(level) === 'warning' ? 'warn' : level), choice(logLevels)()),
      { default: 'info' },
    ),
  },
  'HTTP server': {
    HTTP_TOKENS_FILE: path(
      'file of callers, one per line: name, SHA-256 of the token in hex, and its scopes if not cloudops:read cloudops:write',
    ),
    HTTP_ISSUER: row('OAuth issuer of accepted tokens (JWT), instead of a tokens file', webAddress),
    HTTP_AUDIENCE: row('audience that the tokens must name, such as https://cloudops.example.com/mcp', anyText),
    HTTP_SCOPE_CLAIM: row(
      'claim with the scopes, such as realm_access.roles for Keycloak; scope or scp if not set',
      anyText,
    ),
    HTTP_SCOPE_PREFIX: row(
      'text in front of the scopes at an issuer that knows only qualified scopes, such as api://cloudops/; that of an audience api://… if not set',
      // RFC 6749, section 3.3. A header has it in quotation marks.
      () =>
        matching(
          /^[\x21\x23-\x5b\x5d-\x7e]+$/,
          'the beginning of a scope, without spaces, quotation marks and backslashes',
        ),
    ),
    HTTP_PERSON_CLAIM: row(
      'claim that names a person alike in all clients and that people cannot change, such as oid or sub; with an issuer, approval needs it',
      anyText,
    ),
    HTTP_PUBLIC_URL: row(
      'address at which people reach this server and its /decisions, such as https://cloudops.example.com',
      () => webAddress().transform((text) => new URL(text).href.replace(/\/+$/, '')),
    ),
    HTTP_CLIENT_ID: row('client ID of this server at the issuer, for sign-in to /decisions', headerText),
    HTTP_CLIENT_SECRET: secret('its secret', anyText),
    HTTP_ALLOWED_HOSTS: row(
      "host names that clients use besides the public URL's, comma-separated; the audience's if not set",
      () =>
        listOf(
          /^([a-z0-9_.-]+|\[[0-9a-f:.]+\])$/i,
          'a host name; it takes host names without port, such as cloudops.example.com',
        ).transform((names) => names.map((name) => name.toLowerCase())),
    ),
    HTTP_RATE: row('calls per second for each caller; twice as many at once', count(1, 1_000_000), {
      default: 50,
    }),
    HTTP_METRICS_PORT: row(
      'port, or address:port, that serves /metrics; a port alone listens on loopback; no metrics if not set',
      () =>
        parsed((text) => {
          const [, host = '127.0.0.1', port = ''] = /^(?:\[?([a-z0-9.:-]+?)\]?:)?(\d{1,5})$/i.exec(text) ?? [];
          return port !== '' && Number(port) <= 65_535 ? { host, port: Number(port) } : undefined;
        }, words('a port, or address:port such as 0.0.0.0:9464')),
    ),
  },
  Sandbox: {
    SANDBOX: row('use the built-in sandbox; no account needed', onOff, { kind: 'switch' }),
    SANDBOX_STATE: path('file that keeps the state of the sandbox; kept in memory if not set'),
    SANDBOX_SEED: row(
      "text that determines the sandbox's keys and IDs; if not set, those of the state file, or random",
      anyText,
    ),
    SANDBOX_FAULT: row('failures that the sandbox simulates, such as list_parts=503*3', anyText),
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
export const settingNames = Object.keys(table).filter((name): name is Setting => Object.hasOwn(table, name));

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

export const endpointSettings = ['STORAGE_URL', 'CATALOG_URL', 'DEVOPS_URL'] as const;

/** A name that users can set in the environment. */
export interface Input {
  readonly name: string;
  /** For the endpoint of an API that operation files add, a setting with the same rules. */
  readonly setting: Setting;
  /** The added API. */
  readonly service?: string;
  readonly isFile: boolean;
}

/** All names, including names with `_FILE`. */
export const inputs = settingNames.flatMap((setting): Input[] => [
  { name: setting, setting, isFile: false },
  ...(settings[setting].file ? [{ name: `${setting}_FILE`, setting, isFile: true }] : []),
]);
