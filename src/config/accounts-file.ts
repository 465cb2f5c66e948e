import * as z from 'zod';
import { isAccountName } from '../calls/account.js';
import { didYouMean } from '../util/did-you-mean.js';
import { isObject, once } from '../util/objects.js';
import { quoteName } from '../util/quote.js';
import { type Row, type Setting, settingNames, settings } from './settings.js';
import type { Report } from './sources.js';

/** The file of accounts: names, rules and text of its fields. The values of settings are parsed elsewhere, as in the environment. */

/** An account in the file: texts of its settings, and paths of the files that its keys are in. */
export interface WrittenAccount {
  readonly name: string;
  readonly description: string | undefined;
  readonly texts: Readonly<Partial<Record<Setting, string>>>;
  readonly files: Readonly<Partial<Record<Setting, string>>>;
  /** Endpoints of APIs beside the three, by service. */
  readonly endpoints: Readonly<Record<string, string>>;
}

export interface WrittenAccounts {
  readonly accounts: readonly WrittenAccount[];
  readonly byDefault: string | undefined;
}

const mostAccounts = 32;
const maximumBytes = 1024 * 1024;
const nameRule = 'must be a name of at most 31 lower-case letters, digits and hyphens that begins with a letter';

/** The name of a setting in the file: `storageUrl` for `STORAGE_URL`. */
const camelCase = (setting: string) =>
  setting.toLowerCase().replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** The setting that each field of an account gives. Keys are never in the file: it names the files that they are in. */
const fields: ReadonlyMap<string, { readonly setting: Setting; readonly isFile: boolean }> = new Map(
  settingNames
    .filter((setting) => settings[setting].account !== undefined)
    .map((setting) => {
      const isFile = settings[setting].file === true;
      return [`${camelCase(setting)}${isFile ? 'File' : ''}`, { setting, isFile }];
    }),
);

/** The field of an account that gives a setting. */
export const fieldOf = (setting: Setting): string => `${camelCase(setting)}${settings[setting].file ? 'File' : ''}`;

const text = z.string({ error: 'must be a text' }).min(1, 'must not be empty');
const words = z.array(text, { error: 'must be a list of texts' }).min(1, 'must not be empty');
const list = words.refine(
  (all) => all.every((word) => !word.includes(',')),
  'must have no comma in a text of the list',
);

const schemaOf = ({ kind, help }: Row, isFile: boolean) => {
  const schema =
    kind === 'switch'
      ? z.boolean({ error: 'must be true or false' })
      : kind === 'list'
        ? list
        : kind === 'command'
          ? words
          : text;
  return schema.optional().describe(isFile ? `${help}, in a file of this name` : help);
};

const describedText = text.max(200, 'must have at most 200 characters');

/** The schema of the file. Names of accounts are checked elsewhere. */
export const accountsFileSchema = once(() =>
  z.strictObject(
    {
      $schema: z.string({ error: 'must be a text' }).optional(),
      default: text.describe('account of calls that name none').optional(),
      accounts: z.record(
        z.string(),
        z.strictObject(
          {
            description: describedText
              .describe('a few words by which people and agents tell this account from others')
              .optional(),
            endpoints: z
              .record(z.string(), text, { error: 'must be an object of endpoints by API' })
              .describe('endpoints of the APIs that files of operations name')
              .optional(),
            ...Object.fromEntries(
              Array.from(fields, ([field, { setting, isFile }]) => [field, schemaOf(settings[setting], isFile)]),
            ),
          },
          { error: 'must be an object' },
        ),
        { error: 'must be an object of accounts by name' },
      ),
    },
    { error: 'must be an object' },
  ),
);

/** Reads the text of the file. Undefined if there is a problem in it, and every problem is reported. */
export function parseAccountsFile(content: string, report: Report): WrittenAccounts | undefined {
  const problems: string[] = [];
  const value = parseJson(content, problems);
  if (problems.length === 0) problems.push(...repeatedNames(content).map((name) => `${name} is there twice`));
  if (problems.length === 0) {
    const parsed = accountsFileSchema().safeParse(value);
    if (!parsed.success) problems.push(...parsed.error.issues.flatMap(problemsOf));
    else {
      const { accounts, default: byDefault } = parsed.data;
      problems.push(...namingProblems(Object.keys(accounts), byDefault));
      if (problems.length === 0)
        return { accounts: Object.entries(accounts).map(([name, account]) => written(name, account)), byDefault };
    }
  }
  for (const problem of problems) report(`The accounts file: ${problem}.`);
  return undefined;
}

function parseJson(content: string, problems: string[]): unknown {
  if (content.length > maximumBytes) problems.push('it is larger than 1 MiB');
  else
    try {
      return JSON.parse(content.replace(/^\uFEFF/, ''), (name, value) => {
        if (name === '__proto__') throw new SyntaxError();
        return value;
      });
    } catch {
      problems.push('it is not JSON');
    }
  return undefined;
}

/** A text, with its colon if it is a name, or the beginning or end of an object or a list. */
const jsonToken = /("(?:[^"\\]|\\.)*")(\s*:)?|[[\]{}]/g;

/** The paths of fields that an object of valid JSON has twice, of which `JSON.parse` keeps the last without a word. */
function repeatedNames(json: string): string[] {
  const open: { readonly names: Set<string>; at: string | undefined }[] = [];
  const repeated = new Set<string>();
  for (const [token, text, colon] of json.matchAll(jsonToken)) {
    const inner = open.at(-1);
    if (token === '{' || token === '[') open.push({ names: new Set(), at: undefined });
    else if (token === '}' || token === ']') open.pop();
    else if (text !== undefined && colon !== undefined && inner !== undefined) {
      inner.at = String(JSON.parse(text));
      if (inner.names.has(inner.at))
        repeated.add(open.flatMap(({ at }) => (at === undefined ? [] : [quoteName(at)])).join('.'));
      inner.names.add(inner.at);
    }
  }
  return [...repeated];
}

function namingProblems(names: readonly string[], byDefault: string | undefined): string[] {
  const problems = names.filter((name) => !isAccountName(name)).map((name) => `${quoteName(name)} ${nameRule}`);
  if (names.length === 0) problems.push('it has no accounts');
  if (names.length > mostAccounts) problems.push(`it has more than ${mostAccounts} accounts`);
  if (byDefault !== undefined && !names.includes(byDefault))
    problems.push(`default is ${quoteName(byDefault)}, which is not one of its accounts`);
  return problems;
}

/** The problems of an issue. Values are not shown: they may have been meant for another place. */
function problemsOf(issue: z.core.$ZodIssue): string[] {
  const at = issue.path.map((step) => quoteName(String(step))).join('.');
  if (issue.code !== 'unrecognized_keys') return [`${at === '' ? 'it' : at} ${issue.message}`];
  return issue.keys.map((key) => {
    const name = quoteName(key);
    if (fields.has(`${key}File`))
      return `${at}.${name} must not be in it: use ${key}File, credentialProcess or profile`;
    const meant = didYouMean(key, at === '' ? ['accounts', 'default'] : ['description', 'endpoints', ...fields.keys()]);
    return `${at === '' ? '' : `${at}.`}${name} is not a setting of ${at === '' ? 'the file' : 'an account'}${meant === undefined ? '' : `; did you mean ${meant}?`}`;
  });
}

function written(name: string, account: Readonly<Record<string, unknown>>): WrittenAccount {
  const texts: Partial<Record<Setting, string>> = {};
  const files: Partial<Record<Setting, string>> = {};
  for (const [field, { setting, isFile }] of fields) {
    const value = account[field];
    if (value === undefined) continue;
    (isFile ? files : texts)[setting] = textOf(value, settings[setting]);
  }
  const { description, endpoints } = account;
  return {
    name,
    description: typeof description === 'string' ? description.trim() : undefined,
    texts,
    files,
    endpoints: isObject(endpoints)
      ? Object.fromEntries(Object.entries(endpoints).map(([service, url]) => [service, String(url).trim()]))
      : {},
  };
}

/** A value as the environment would give it. */
function textOf(value: unknown, { kind }: Row): string {
  if (typeof value === 'boolean') return value ? '1' : '0';
  if (!Array.isArray(value)) return String(value).trim();
  return kind === 'command' ? JSON.stringify(value) : value.join(',');
}
