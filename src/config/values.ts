import * as z from 'zod';
import { type Budget, longestWindowMs } from '../journal/budget.js';
import { databaseUrlProblem, isDatabaseUrl } from '../journal/database-url.js';
import { once } from '../util/objects.js';
import { type Literal, namesOf, quoted, type Shown, said, say, words } from '../util/say.js';

// zod would compile a function for each schema with `new Function`. Most servers check too little for that to pay, and a program that
// holds keys should make no code of text. It is set in this file because the first schemas of every command are made here.
z.config({ jitless: true });

/**
 * Parsers of the values of settings. The message of a problem follows the setting's name in a sentence: "… is "soon"; it must
 * be a whole number". A value that is or may hold a secret is not in its message.
 */

type Refused = { readonly input?: unknown };
const mustBe = <const Rule extends string>(rule: Literal<Rule>) => ({
  error: ({ input }: Refused) => say`is ${quoted(String(input), 100)}; it must be ${said(words(rule))}`,
});

/** `1`, `true`, `yes` or `on`, or the opposite, in either case. */
export const onOff = once(() =>
  z.stringbool({
    truthy: ['1', 'true', 'yes', 'on'],
    falsy: ['0', 'false', 'no', 'off'],
    ...mustBe('1 or 0'),
  }),
);

export const oneOf = <const Values extends readonly [string, ...string[]]>(values: Values) =>
  z.enum(values, mustBe(say`${namesOf(values, ' or ')}`));

export function wholeNumber(minimum: number, maximum: number) {
  const isInRange = (text: string) => /^\d+$/.test(text) && Number(text) >= minimum && Number(text) <= maximum;
  return z
    .string()
    .refine(isInRange, mustBe(say`a whole number from ${minimum} to ${maximum}`))
    .transform(Number);
}

const region = /^[a-z0-9]+(-[a-z0-9]+)*$/;
export const regionName = once(() => z.string().regex(region, mustBe('a region name such as jp-east-1')));
export const serviceName = once(() => z.string().regex(/^[\w-]+$/, mustBe('a service name')));

/** Goes into a header as it is. */
export const headerText = once(() =>
  z.string().regex(/^[\x21-\x7e]*$/, 'has a character that no key has: a space, a line break or one that is not ASCII'),
);

/** A secret, which is in no message. */
export const longSecret = (minimum: number) => z.string().min(minimum, say`must have at least ${minimum} characters`);

/** Secrets, one a line. None of them is in a message. */
export const longSecrets = (minimum: number) =>
  z
    .string()
    .transform((text) => text.split('\n').map((line) => line.trim()))
    .refine(
      (lines) => lines.every((line) => line.length >= minimum),
      say`must have at least ${minimum} characters in each line`,
    )
    .transform(([first = '', ...others]): readonly [string, ...string[]] => [first, ...others]);

const commandRule = 'a JSON array of a program and its arguments, such as ["/usr/local/bin/keys", "--json"]';
const commandWords = () =>
  z.tuple([z.string().min(1)], z.string()).refine((words) => words.every((word) => !word.includes('\0')));

/** A program and its arguments, as a JSON array. It is not shown when it is wrong: an argument may be a secret. */
export const command = once(() =>
  z.string().transform((text, context): readonly string[] => {
    const { data } = commandWords().safeParse(parseJson(text));
    if (data !== undefined) return data;
    context.addIssue(`must be ${commandRule}`);
    return z.NEVER;
  }),
);

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const minuteMs = 60_000;
const budgetRule = mustBe('0, or changes and a time from 1m to 24h, such as 5/1h');

/** So many changes within so many minutes or hours, such as `5/1h`. */
export const budget = once(() =>
  z.string().transform((text, context): Budget => {
    if (text === '0') return { mostChanges: 0, windowMs: longestWindowMs };
    const [, changes = '', length = '', unit] = /^(\d{1,6})\/(\d{1,4})([mh])$/.exec(text) ?? [];
    const windowMs = Number(length) * (unit === 'h' ? 60 * minuteMs : minuteMs);
    if (changes !== '' && windowMs >= minuteMs && windowMs <= longestWindowMs)
      return { mostChanges: Number(changes), windowMs };
    context.addIssue(budgetRule.error({ input: text }));
    return z.NEVER;
  }),
);

const listOf = <const Kind extends string>(isName: (name: string) => boolean, kind: Literal<Kind>) =>
  z
    .string()
    .transform((text) => text.split(',').map((name) => name.trim()))
    .pipe(
      z.array(
        z.string().refine(isName, {
          error: ({ input }: Refused) => say`names ${quoted(String(input), 60)}, which is not ${said(words(kind))}`,
        }),
      ),
    );

/** Which tools there are depends on another setting: see `load.ts`. */
export const tools = once(() => listOf((name) => name.length <= 64, 'a tool'));
export const regions = once(() => listOf((name) => region.test(name), 'a region name such as jp-east-1'));
export const hostNames = once(() =>
  z
    .string()
    .toLowerCase()
    .pipe(
      listOf(
        (name) => /^([a-z0-9_.-]+|\[[0-9a-f:.]+\])$/.test(name),
        'a host name; it takes host names without port, such as cloudops.example.com',
      ),
    ),
);

/** A port on loopback, or `address:port`. */
export const listenAddress = once(() =>
  z.string().transform((text, context) => {
    const [, host = '127.0.0.1', port = ''] = /^(?:\[?([a-z0-9.:-]+?)\]?:)?(\d{1,5})$/i.exec(text) ?? [];
    if (port !== '' && Number(port) <= 65_535) return { host, port: Number(port) };
    context.addIssue(mustBe('a port, or address:port such as 0.0.0.0:9464').error({ input: text }));
    return z.NEVER;
  }),
);

/** Text that `problemOf` finds usable. The problem alone is shown: the text may hold a password. */
const usable = (problemOf: (text: string) => Shown | undefined) =>
  z.string().superRefine((text, context) => {
    const problem = problemOf(text);
    if (problem !== undefined) context.addIssue(say`is not usable: ${said(problem)}`);
  });

/** The URL of an API. Whether it may be plain http is for `ALLOW_HTTP` to say. */
export const endpoint = once(() => usable(endpointProblem));

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
export const journalPlace = once(() =>
  usable((text) => (isDatabaseUrl(text) || looksLikeConnection(text) ? databaseUrlProblem(text) : undefined)),
);

/** `host=db password=…`, or an address that is quoted, comes after other text or has a scheme of one letter. */
const looksLikeConnection = (text: string) =>
  /[a-z][a-z0-9+.-]+:\/|^[a-z]:\/\//i.test(text) ||
  /(^|[\s;'"])(host(addr|name)?|server|data source|port|db(name)?|database|user( ?id|name)?|uid|pwd|pass(word|file)?|service|sslmode)\s*=/i.test(
    text,
  );
