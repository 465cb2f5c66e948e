import * as z from 'zod';
import type { Budget } from '../calls/account.js';
import { storePlace } from '../changes/store-place.js';
import { parseJson } from '../util/objects.js';
import { namesOf, quoted, type SafeText, say, type Wording, words } from '../util/safe-text.js';
import { signableRegion } from '../util/uri.js';

/** Schemas of settings, as functions, because building them is slow. Messages show no secrets. */

export const anyText = () => z.string('must be a text').trim().min(1, { error: 'must not be empty', abort: true });

/** Makes messages such as `is "soon"; it must be a whole number`. */
const mustBe = (rule: SafeText) => ({
  error: ({ input }: { readonly input?: unknown }) =>
    (typeof input === 'string' ? say`is ${quoted(input, 100)}; it must be ${rule}` : say`must be ${rule}`).text,
});

const matching = <const Rule extends string>(pattern: RegExp, rule: Wording<Rule>) =>
  anyText().regex(pattern, mustBe(words(rule)));

const switchWords: ReadonlyMap<unknown, boolean> = new Map([
  ...['1', 'true', 'yes', 'on'].map((word) => [word, true] as const),
  ...['0', 'false', 'no', 'off'].map((word) => [word, false] as const),
]);

const inLowerCase = (value: unknown) => (typeof value === 'string' ? value.toLowerCase() : value);

/** Schemas take text, because variables are text. */
export const onOff = () =>
  z.preprocess((value) => switchWords.get(inLowerCase(value)) ?? value, z.boolean(mustBe(words('true or false'))));

/** One of some words, in any case. */
export const choice =
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

export const count = (minimum: number, maximum: number) => () =>
  parsed(
    (text) => (/^\d+$/.test(text) && Number(text) >= minimum && Number(text) <= maximum ? Number(text) : undefined),
    say`a whole number from ${minimum} to ${maximum}`,
  );

const regionRule = 'a region name such as jp-east-1';
export const regionName = () => matching(signableRegion, regionRule);
export const serviceName = () => matching(/^[\w-]+$/, 'a service name');

/** Text for an HTTP header. It may be a secret, so messages do not show it. */
export const headerText = () =>
  anyText().regex(/^[\x21-\x7e]*$/, 'has a character that no key has: a space, a line break or one that is not ASCII');

/** The beginning of a scope (RFC 6749, section 3.3), which a header has in quotation marks. */
export const scopePrefix = () =>
  matching(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'the beginning of a scope, without spaces, quotation marks and backslashes');

export const longSecret = (minimum: number) => () =>
  anyText().min(minimum, say`must have at least ${minimum} characters`.text);

/** Several secrets, one per line. */
export const longSecrets = (minimum: number) => () => {
  const secret = z.string().min(minimum, say`must have at least ${minimum} characters in each line`.text);
  return anyText()
    .transform((text) => text.split('\n').map((line) => line.trim()))
    .pipe(z.tuple([secret], secret));
};

/** A program and its arguments. Messages show no argument, because it may be a secret. */
export const command = () => {
  const rule = 'must be a JSON array of a program and its arguments, such as ["/usr/local/bin/keys", "--json"]';
  const argument = z.string(rule).regex(/^[^\0]*$/, rule);
  const list = z.tuple([argument.min(1, rule)], argument, rule);
  return z.preprocess((value) => (typeof value === 'string' ? (parseJson(value) ?? value) : value), list);
};

const minuteMs = 60_000;
const longestWindowMs = 24 * 60 * minuteMs;

/** The number of changes per time, such as `5/1h` for five changes an hour. */
export const budget = () =>
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
  const split = (value: unknown) =>
    typeof value === 'string'
      ? value
          .split(',')
          .map((entry) => entry.trim())
          .filter((entry) => entry !== '')
      : value;
  return z.preprocess(split, z.array(name, 'must be a list of texts').min(1, 'must not be empty'));
};

/** Names of tools, and patterns for operations of services. */
export const tools = () => listOf(/^[\s\S]{0,110}$/, 'a tool');
export const regions = () => listOf(signableRegion, regionRule);
export const hostNames = () =>
  listOf(
    /^([a-z0-9_.-]+|\[[0-9a-f:.]+\])$/i,
    'a host name; it takes host names without port, such as cloudops.example.com',
  ).transform((names) => names.map((name) => name.toLowerCase()));

/** A port on loopback, or `address:port`. */
export const listenAddress = () =>
  parsed((text) => {
    const [, host = '127.0.0.1', port = ''] = /^(?:\[?([a-z0-9.:-]+?)\]?:)?(\d{1,5})$/i.exec(text) ?? [];
    return port !== '' && Number(port) <= 65_535 ? { host, port: Number(port) } : undefined;
  }, words('a port, or address:port such as 0.0.0.0:9464'));

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
export const webAddress = () =>
  usable((text) => (URL.canParse(text) ? endpointProblem(text) : say`it is not a URL such as https://example.com`));

/** The address of this server, without a slash at its end. */
export const publicAddress = () => webAddress().transform((text) => new URL(text).href.replace(/\/+$/, ''));

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

/** The path of a file, or the address of a PostgreSQL database. */
export const journalPlace = () => usable((text) => storePlace(text).problem);

/** A setting: its text, its schema and its flags. */
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
export const row = <Schema extends Row['schema'], const Given extends Flags = Record<never, never>>(
  help: string,
  schema: Schema,
  flags?: Given,
) => ({ help, schema, ...(flags as Given) });
