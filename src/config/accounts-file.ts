import * as z from 'zod';
import { isAccountName } from '../calls/account.js';
import { didYouMean } from '../util/did-you-mean.js';
import { isObject, lazy, parseJson, textAt } from '../util/objects.js';
import { defined, namesOf, own, type SafeText, say, words } from '../util/safe-text.js';
import { anyText } from './setting-schemas.js';
import { type Setting, settingNames, settings } from './settings.js';
import type { Report } from './sources.js';

/** Checks the structure of the accounts file. `accounts.ts` checks the values. */

/** An account as it stands in the accounts file, with unchecked values. */
export interface WrittenAccount {
  readonly name: string;
  readonly description: string | undefined;
  readonly values: Readonly<Partial<Record<Setting, unknown>>>;
  readonly endpoints: Readonly<Record<string, string>>;
}

const mostAccounts = 32;
const maximumCharacters = 1024 * 1024;

const camelCase = (setting: string) =>
  setting.toLowerCase().replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** The field of a setting in an account. For an access key, the field has the path of its file. */
export const fieldOf = (setting: Setting): string => `${camelCase(setting)}${settings[setting].file ? 'File' : ''}`;

const settingsByField: ReadonlyMap<string, Setting> = new Map(
  settingNames.filter((setting) => settings[setting].account).map((setting) => [fieldOf(setting), setting]),
);

/** The whole schema of the accounts file. */
export const accountsFileSchema = lazy(() => fileSchema((setting) => settings[setting].schema()));

/** Values are checked one by one later, so that a wrong value hides no other problem. */
const structureSchema = lazy(() => fileSchema(() => z.unknown()));

function fileSchema(schemaOf: (setting: Setting) => z.ZodType) {
  const settingFields = Array.from(settingsByField, ([field, setting]) => {
    const { file: isInOwnFile, help } = settings[setting];
    const meaning = helpInJson(help);
    const schema = isInOwnFile
      ? anyText().describe(`${meaning}, in a file of this name`)
      : schemaOf(setting).describe(meaning);
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
      ...Object.fromEntries(settingFields),
    },
    'must be an object',
  );

  return z.strictObject(
    {
      // `anyText` would refuse an empty text.
      $schema: z.string('must be a text').optional(),
      default: anyText().describe('account of calls that name none').optional(),
      accounts: z.record(z.string(), account, 'must be an object of accounts by name'),
    },
    'must be an object',
  );
}

/** In the accounts file, a list is a JSON array. */
const helpInJson = (help: string) => help.replace(/^comma-separated /, '');

/** Parses the accounts file, and reports every problem of its structure. */
export function parseAccountsFile(content: string, report: Report) {
  const reportFile = (problem: SafeText) => report(say`The accounts file: ${problem}.`);
  // Almost all characters of such a file are one byte.
  if (content.length > maximumCharacters) {
    reportFile(say`it is larger than 1 MiB`);
    return undefined;
  }

  const json = parseJson(content);
  if (json === undefined) {
    reportFile(say`it is not JSON`);
    return undefined;
  }

  // Either value of a repeated field may be meant, so nothing else is checked.
  const repeated = repeatedFields(content);
  for (const path of repeated) reportFile(say`${path} is there twice`);
  if (repeated.length > 0) return undefined;

  const { error } = structureSchema().safeParse(json);
  const structureProblems = error?.issues.flatMap(problemsOf) ?? [];
  for (const problem of structureProblems) reportFile(problem);
  if (!isObject(json) || !isObject(json.accounts)) return undefined;
  const { accounts } = json;
  const defaultName = textAt(json, 'default')?.trim();
  for (const problem of namingProblems(Object.keys(accounts), defaultName)) reportFile(problem);

  const writtenAccounts = Object.entries(accounts).flatMap(([name, account]) =>
    isObject(account) ? [readAccount(name, account)] : [],
  );
  return { accounts: writtenAccounts, defaultName };
}

const jsonToken = /("(?:[^"\\]|\\.)*")(\s*:)?|[[\]{}]/g;

/** Returns the paths of repeated fields, because `JSON.parse` silently keeps the last value. */
function repeatedFields(json: string): SafeText[] {
  const containers: { readonly names: Set<string>; currentName: string | undefined }[] = [];
  const repeated = new Map<string, SafeText>();
  for (const [token, text, colon] of json.matchAll(jsonToken)) {
    const container = containers.at(-1);
    if (token === '{' || token === '[') {
      containers.push({ names: new Set(), currentName: undefined });
    } else if (token === '}' || token === ']') {
      containers.pop();
    } else if (text !== undefined && colon !== undefined && container !== undefined) {
      // The current names of all containers are the path of this field.
      const name = String(JSON.parse(text));
      container.currentName = name;
      const path = containers.map(({ currentName }) => currentName).filter((step) => step !== undefined);
      if (container.names.has(name)) repeated.set(JSON.stringify(path), pathOf(path));
      container.names.add(name);
    }
  }
  return [...repeated.values()];
}

function namingProblems(names: readonly string[], defaultName: string | undefined): SafeText[] {
  const problems: SafeText[] = [];
  for (const name of names)
    if (!isAccountName(name))
      problems.push(
        say`${own(name)} must be a name of at most 31 lower-case letters, digits and hyphens that begins with a letter`,
      );
  if (names.length === 0) problems.push(say`it has no accounts`);
  if (names.length > mostAccounts) problems.push(say`it has more than ${mostAccounts} accounts`);
  if (defaultName !== undefined && !names.includes(defaultName))
    problems.push(say`default is ${own(defaultName)}, which is not one of its accounts`);
  return problems;
}

const pathOf = (steps: readonly string[]): SafeText => namesOf(steps, '.');

/** Shows no value, because a value in the wrong field may be a secret. */
function problemsOf(issue: z.core.$ZodIssue): SafeText[] {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') return issue.keys.map((field) => unknownFieldProblem(path, field));
  const subject = path.length === 0 ? say`it` : pathOf(path);
  return [say`${subject} ${defined(issue.message)}`];
}

function unknownFieldProblem(path: readonly string[], field: string): SafeText {
  const name = pathOf([...path, field]);
  if (settingsByField.has(`${field}File`))
    return say`${name} must not be in it: use ${own(`${field}File`)}, credentialProcess or profile`;
  const isTop = path.length === 0;
  const knownFields = isTop ? ['accounts', 'default'] : ['description', 'endpoints', ...settingsByField.keys()];
  const similarField = didYouMean(field, knownFields);
  const hint = similarField === undefined ? say`` : say` (did you mean ${own(similarField)}?)`;
  return say`${name} is not a setting of ${words(isTop ? 'the file' : 'an account')}${hint}`;
}

function readAccount(name: string, account: Readonly<Record<string, unknown>>): WrittenAccount {
  const { description, endpoints } = account;
  const values = Array.from(settingsByField, ([field, setting]) => [setting, account[field]]);
  const urls = Object.entries(isObject(endpoints) ? endpoints : {}).map(([api, url]) => [api, String(url).trim()]);
  return {
    name,
    description: typeof description === 'string' ? description.trim() : undefined,
    values: Object.fromEntries(values),
    endpoints: Object.fromEntries(urls),
  };
}
