import * as z from 'zod';
import { isAccountName } from '../calls/account.js';
import { didYouMean } from '../util/did-you-mean.js';
import { isObject, lazy, parseJson, textAt } from '../util/objects.js';
import { defined, namesOf, own, type SafeText, say, words } from '../util/safe-text.js';
import { anyText } from './setting-schemas.js';
import { type Setting, settingNames, settings } from './settings.js';
import type { Report } from './sources.js';

/** Checks the names and the structure of the accounts file. Its settings are checked like the settings of the environment. */

/** An account in the file, before its settings are checked. */
export interface WrittenAccount {
  readonly name: string;
  readonly description: string | undefined;
  readonly values: Readonly<Partial<Record<Setting, unknown>>>;
  /** Paths of the files that hold keys. */
  readonly files: Readonly<Partial<Record<Setting, string>>>;
  /** Endpoints of the APIs that files of operations name, by service. */
  readonly endpoints: Readonly<Record<string, string>>;
}

interface WrittenAccounts {
  readonly accounts: readonly WrittenAccount[];
  readonly byDefault: string | undefined;
}

const mostAccounts = 32;
const maximumBytes = 1024 * 1024;

/** The name of a setting in the file: `storageUrl` for `STORAGE_URL`. */
const camelCase = (setting: string) =>
  setting.toLowerCase().replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** The field of an account that gives a setting. A key is never in the accounts file, so its field names a file that holds the key. */
export const fieldOf = (setting: Setting): string => `${camelCase(setting)}${settings[setting].file ? 'File' : ''}`;

const settingsByField: ReadonlyMap<string, Setting> = new Map(
  settingNames.filter((setting) => settings[setting].account).map((setting) => [fieldOf(setting), setting]),
);

/** The schema of the file, with the schema of each setting. `namingProblems` checks the names of accounts. */
export const accountsFileSchema = lazy(() => fileSchema((setting) => settings[setting].schema()));

/** The schema of the structure alone. Settings are checked one by one, so that a wrong setting hides no other problem. */
const structureSchema = lazy(() => fileSchema(() => z.unknown()));

function fileSchema(schemaOf: (setting: Setting) => z.ZodType) {
  const fields = Array.from(settingsByField, ([field, setting]) => {
    const { file, help } = settings[setting];
    const schema = file
      ? anyText().describe(`${help}, in a file of this name`)
      : schemaOf(setting).describe(withoutCommas(help));
    return [field, schema.optional()];
  });
  const account = z.strictObject(
    {
      description: anyText()
        .max(200, 'must have at most 200 characters')
        .describe('a few words by which people and agents tell this account from others')
        .optional(),
      endpoints: z
        .record(z.string(), anyText(), 'must be an object of endpoints by API')
        .describe('endpoints of the APIs that files of operations name')
        .optional(),
      ...Object.fromEntries(fields),
    },
    'must be an object',
  );
  return z.strictObject(
    {
      $schema: z.string('must be a text').optional(),
      default: anyText().describe('account of calls that name none').optional(),
      accounts: z.record(z.string(), account, 'must be an object of accounts by name'),
    },
    'must be an object',
  );
}

/** Removes the remark about commas from the help of a list, because lists in the file are JSON. */
const withoutCommas = (help: string) => help.replace(/^comma-separated /, '');

/** Parses the content of the file and reports every problem. Undefined if the file has no accounts that can be checked further. */
export function parseAccountsFile(content: string, report: Report): WrittenAccounts | undefined {
  const reportFile = (problem: SafeText) => report(say`The accounts file: ${problem}.`);
  if (content.length > maximumBytes) {
    reportFile(say`it is larger than 1 MiB`);
    return undefined;
  }
  const json = parseJson(content.replace(/^\uFEFF/, ''));
  if (json === undefined) {
    reportFile(say`it is not JSON`);
    return undefined;
  }
  const repeated = repeatedKeys(content);
  for (const path of repeated) reportFile(say`${path} is there twice`);
  if (repeated.length > 0) return undefined;
  const { error } = structureSchema().safeParse(json);
  for (const issue of error?.issues ?? []) for (const problem of problemsOf(issue)) reportFile(problem);
  if (!isObject(json) || !isObject(json.accounts)) return undefined;
  const { accounts } = json;
  const byDefault = textAt(json, 'default')?.trim();
  for (const problem of namingProblems(Object.keys(accounts), byDefault)) reportFile(problem);
  const writtenAccounts = Object.entries(accounts).flatMap(([name, account]) =>
    isObject(account) ? [readAccount(name, account)] : [],
  );
  return { accounts: writtenAccounts, byDefault };
}

/** Matches a string, with the colon if the string is a key, or a bracket of an object or a list. */
const jsonToken = /("(?:[^"\\]|\\.)*")(\s*:)?|[[\]{}]/g;

/** The paths of duplicate keys in valid JSON. `JSON.parse` silently keeps the last value. */
function repeatedKeys(json: string): SafeText[] {
  /** The objects and lists around the present token, from outside to inside. */
  const containers: { readonly keys: Set<string>; lastKey: string | undefined }[] = [];
  const repeated = new Map<string, SafeText>();
  for (const [token, text, colon] of json.matchAll(jsonToken)) {
    const inner = containers.at(-1);
    if (token === '{' || token === '[') containers.push({ keys: new Set(), lastKey: undefined });
    else if (token === '}' || token === ']') containers.pop();
    else if (text !== undefined && colon !== undefined && inner !== undefined) {
      inner.lastKey = String(JSON.parse(text));
      const path = containers.flatMap(({ lastKey }) => lastKey ?? []);
      if (inner.keys.has(inner.lastKey)) repeated.set(JSON.stringify(path), pathOf(path));
      inner.keys.add(inner.lastKey);
    }
  }
  return [...repeated.values()];
}

/** The problems of the accounts' names and of their number. */
function namingProblems(names: readonly string[], byDefault: string | undefined): SafeText[] {
  const problems: SafeText[] = [];
  for (const name of names)
    if (!isAccountName(name))
      problems.push(
        say`${own(name)} must be a name of at most 31 lower-case letters, digits and hyphens that begins with a letter`,
      );
  if (names.length === 0) problems.push(say`it has no accounts`);
  if (names.length > mostAccounts) problems.push(say`it has more than ${mostAccounts} accounts`);
  if (byDefault !== undefined && !names.includes(byDefault))
    problems.push(say`default is ${own(byDefault)}, which is not one of its accounts`);
  return problems;
}

/** Formats a path: `accounts.prod.storageUrl`. */
const pathOf = (steps: readonly string[]): SafeText => namesOf(steps, '.');

/** Sentences for an issue. They show no value, because a value in the wrong field may be a secret. */
function problemsOf(issue: z.core.$ZodIssue): SafeText[] {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKeyProblem(path, key));
  const subject = path.length === 0 ? say`it` : pathOf(path);
  return [say`${subject} ${defined(issue.message)}`];
}

/** @param path path of the object that has the key; empty for the file itself */
function unknownKeyProblem(path: readonly string[], key: string): SafeText {
  const name = pathOf([...path, key]);
  if (settingsByField.has(`${key}File`))
    return say`${name} must not be in it: use ${own(`${key}File`)}, credentialProcess or profile`;
  const isTop = path.length === 0;
  const knownKeys = isTop ? ['accounts', 'default'] : ['description', 'endpoints', ...settingsByField.keys()];
  const similarKey = didYouMean(key, knownKeys);
  const hint = similarKey === undefined ? say`` : say`; did you mean ${own(similarKey)}?`;
  return say`${name} is not a setting of ${words(isTop ? 'the file' : 'an account')}${hint}`;
}

/** Reads an account, and leaves out values of a wrong type, which the schema has reported. */
function readAccount(name: string, account: Readonly<Record<string, unknown>>): WrittenAccount {
  const values: Partial<Record<Setting, unknown>> = {};
  const files: Partial<Record<Setting, string>> = {};
  for (const [field, setting] of settingsByField) {
    const value = account[field];
    if (typeof value === 'string' && settings[setting].file) files[setting] = value.trim();
    else values[setting] = value;
  }
  const { description, endpoints } = account;
  return {
    name,
    description: typeof description === 'string' ? description.trim() : undefined,
    values,
    files,
    endpoints: isObject(endpoints)
      ? Object.fromEntries(Object.entries(endpoints).map(([service, url]) => [service, String(url).trim()]))
      : {},
  };
}
