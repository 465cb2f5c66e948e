import { type Budget, longestWindowMs } from '../journal/budget.js';
import { databaseUrlProblem, isDatabaseUrl } from '../journal/database-url.js';
import { type Literal, namesOf, quoted, type Shown, said, say, words } from '../util/safe-text.js';

/**
 * What a setting's text means, or its problems. A problem is the rest of a sentence that begins with the setting's name: "… is "soon";
 * it must be a whole number". A value that is or may hold a secret is in none.
 */
export type ParsedText<Value> =
  | { readonly kind: 'value'; readonly value: Value }
  | { readonly kind: 'problems'; readonly problems: readonly Shown[] };

/** Plain functions: every start calls those of a dozen defaults, for which schemas would have to be made first. */
export type ParseText<Value> = (text: string) => ParsedText<Value>;

const means = <Value>(value: Value): ParsedText<Value> => ({ kind: 'value', value });
const wrong = (...problems: readonly Shown[]): ParsedText<never> => ({ kind: 'problems', problems });
const mustBe = (text: string, rule: Shown): ParsedText<never> =>
  wrong(say`is ${quoted(text, 100)}; it must be ${said(rule)}`);

export const anyText: ParseText<string> = means;

export const someText: ParseText<string> = (text) => (text === '' ? wrong(words('must not be empty')) : means(text));

const matching =
  <const Rule extends string>(pattern: RegExp, rule: Literal<Rule>): ParseText<string> =>
  (text) =>
    pattern.test(text) ? means(text) : mustBe(text, words(rule));

/** `1`, `true`, `yes` or `on`, or the opposite, in either case. */
export const onOff: ParseText<boolean> = (text) => {
  const word = text.toLowerCase();
  if (['1', 'true', 'yes', 'on'].includes(word)) return means(true);
  if (['0', 'false', 'no', 'off'].includes(word)) return means(false);
  return mustBe(text, words('1 or 0'));
};

export const parseOneOf =
  <const Values extends readonly string[]>(values: Values): ParseText<Values[number]> =>
  (text) => {
    const found = values.find((value) => value === text);
    return found === undefined ? mustBe(text, say`${namesOf(values, ' or ')}`) : means(found);
  };

export const parseWholeNumber =
  (minimum: number, maximum: number): ParseText<number> =>
  (text) =>
    /^\d+$/.test(text) && Number(text) >= minimum && Number(text) <= maximum
      ? means(Number(text))
      : mustBe(text, say`a whole number from ${minimum} to ${maximum}`);

const region = /^[a-z0-9]+(-[a-z0-9]+)*$/;
export const regionName = matching(region, 'a region name such as jp-east-1');
export const serviceName = matching(/^[\w-]+$/, 'a service name');

/** Goes into a header as it is. It may be a secret. */
export const headerText: ParseText<string> = (text) =>
  /^[\x21-\x7e]*$/.test(text)
    ? means(text)
    : wrong(words('has a character that no key has: a space, a line break or one that is not ASCII'));

/** A secret. */
export const longSecret =
  (minimum: number): ParseText<string> =>
  (text) =>
    text.length >= minimum ? means(text) : wrong(say`must have at least ${minimum} characters`);

/** Secrets, one a line. */
export const longSecrets =
  (minimum: number): ParseText<readonly [string, ...string[]]> =>
  (text) => {
    const [first = '', ...others] = text.split('\n').map((line) => line.trim());
    return [first, ...others].every((line) => line.length >= minimum)
      ? means([first, ...others])
      : wrong(say`must have at least ${minimum} characters in each line`);
  };

/** A program and its arguments, as a JSON array. It is not shown when it is wrong: an argument may be a secret. */
export const command: ParseText<readonly string[]> = (text) => {
  const parsed = parseJson(text);
  const isWord = (word: unknown): word is string => typeof word === 'string' && !word.includes('\0');
  return Array.isArray(parsed) && parsed.every(isWord) && parsed.length > 0 && parsed[0] !== ''
    ? means(parsed)
    : wrong(words('must be a JSON array of a program and its arguments, such as ["/usr/local/bin/keys", "--json"]'));
};

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const minuteMs = 60_000;

/** So many changes within so many minutes or hours, such as `5/1h`. */
export const budget: ParseText<Budget> = (text) => {
  if (text === '0') return means({ mostChanges: 0, windowMs: longestWindowMs });
  const [, changes = '', length = '', unit] = /^(\d{1,6})\/(\d{1,4})([mh])$/.exec(text) ?? [];
  const windowMs = Number(length) * (unit === 'h' ? 60 * minuteMs : minuteMs);
  return changes !== '' && windowMs >= minuteMs && windowMs <= longestWindowMs
    ? means({ mostChanges: Number(changes), windowMs })
    : mustBe(text, words('0, or changes and a time from 1m to 24h, such as 5/1h'));
};

/** Names with commas between them. */
const listOf =
  <const Kind extends string>(isName: (name: string) => boolean, kind: Literal<Kind>): ParseText<string[]> =>
  (text) => {
    const names = text.split(',').map((name) => name.trim());
    const others = names.filter((name) => !isName(name));
    return others.length === 0
      ? means(names)
      : wrong(...others.map((name) => say`names ${quoted(name, 60)}, which is not ${said(words(kind))}`));
  };

/** Which tools there are depends on another setting: see `load.ts`. */
export const tools = listOf((name) => name.length <= 64, 'a tool');
export const regions = listOf((name) => region.test(name), 'a region name such as jp-east-1');
const lowerCaseHostNames = listOf(
  (name) => /^([a-z0-9_.-]+|\[[0-9a-f:.]+\])$/.test(name),
  'a host name; it takes host names without port, such as cloudops.example.com',
);
export const hostNames: ParseText<string[]> = (text) => lowerCaseHostNames(text.toLowerCase());

/** A port on loopback, or `address:port`. */
export const listenAddress: ParseText<{ readonly host: string; readonly port: number }> = (text) => {
  const [, host = '127.0.0.1', port = ''] = /^(?:\[?([a-z0-9.:-]+?)\]?:)?(\d{1,5})$/i.exec(text) ?? [];
  return port !== '' && Number(port) <= 65_535
    ? means({ host, port: Number(port) })
    : mustBe(text, words('a port, or address:port such as 0.0.0.0:9464'));
};

/** Text that `problemOf` finds usable. The problem alone is shown: the text may hold a password. */
const usable =
  (problemOf: (text: string) => Shown | undefined): ParseText<string> =>
  (text) => {
    const found = problemOf(text);
    return found === undefined ? means(text) : wrong(say`is not usable: ${said(found)}`);
  };

/** The URL of an API. Whether it may be plain http is for `ALLOW_HTTP` to say. */
export const endpoint = usable(endpointProblem);

function endpointProblem(text: string): Shown | undefined {
  // No host name has this label by chance, and URL leaves it as it is.
  const stand = 'region-stands-here';
  const withRegion = text.replaceAll('{region}', stand);
  if (!URL.canParse(withRegion)) return say`it is not a URL such as https://storage.{region}.example.com`;
  const url = new URL(withRegion);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return say`it must begin with https://`;
  if (url.username !== '' || url.password !== '') return say`it must not hold a user name or password`;
  if (url.search !== '' || url.hash !== '') return say`it must not hold a query or fragment`;
  if (/[{}]/.test(withRegion)) return say`the only placeholder is {region}`;
  const after = url.hostname.split(stand).slice(1).at(-1)?.replace(/\.$/, '');
  const labels = after?.split('.').slice(1);
  if (labels !== undefined && (labels.length < 2 || labels.includes('') || !/[a-z]/.test(labels.at(-1) ?? '')))
    return say`two fixed labels, such as .example.com, must follow {region}, so that a region cannot choose the host`;
  return undefined;
}

/** The path of a file, or the address of a PostgreSQL database. */
export const journalPlace = usable((text) =>
  isDatabaseUrl(text) || looksLikeConnection(text) ? databaseUrlProblem(text) : undefined,
);

/** `host=db password=…`, or an address that is quoted, comes after other text or has a scheme of one letter. */
const looksLikeConnection = (text: string) =>
  /[a-z][a-z0-9+.-]+:\/|^[a-z]:\/\//i.test(text) ||
  /(^|[\s;'"])(host(addr|name)?|server|data source|port|db(name)?|database|user( ?id|name)?|uid|pwd|pass(word|file)?|service|sslmode)\s*=/i.test(
    text,
  );
