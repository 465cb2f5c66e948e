import * as z from 'zod';
import { isAccountName } from '../calls/account.js';
import { didYouMean } from '../util/did-you-mean.js';
import { isObject, lazy, parseJson, textAt } from '../util/objects.js';
import { defined, namesOf, own, type SafeText, say, words } from '../util/safe-text.js';
import { anyText } from './setting-schemas.js';
import { type Setting, settingNames, settings } from './settings.js';
import type { Report } from './sources.js';

/** This file checks the structure of the accounts file and the names in it. `accounts.ts` checks the values of its settings. */

/** An account as it stands in the accounts file. The values of its settings are not checked yet. */
export interface WrittenAccount {
  readonly name: string;
  readonly description: string | undefined;
  /** The settings that the account gives. The value for an access key is the path of the file that holds the key. */
  readonly values: Readonly<Partial<Record<Setting, unknown>>>;
  /** Endpoints of the APIs that operation files (the files of CLOUDOPS_OPERATIONS) add, by service. */
  readonly endpoints: Readonly<Record<string, string>>;
}

const mostAccounts = 32;
const maximumCharacters = 1024 * 1024;

/** Writes the name of a setting in the style of JSON: `storageUrl` for `STORAGE_URL`. */
const camelCase = (setting: string) =>
  setting.toLowerCase().replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** The field of a setting in an account. Access keys are never in the accounts file: `secretAccessKeyFile` is a file's path. */
export const fieldOf = (setting: Setting): string => `${camelCase(setting)}${settings[setting].file ? 'File' : ''}`;

const settingsByField: ReadonlyMap<string, Setting> = new Map(
  settingNames.filter((setting) => settings[setting].account).map((setting) => [fieldOf(setting), setting]),
);

/** The whole schema of the accounts file, for the documentation and for editors. */
export const accountsFileSchema = lazy(() => fileSchema((setting) => settings[setting].schema()));

/** A schema in which settings may have any value. Their values are checked one by one later, so that a wrong one hides no other problem. */
const structureSchema = lazy(() => fileSchema(() => z.unknown()));

/** Makes a schema of the accounts file. `schemaOf` returns the schema for the value of a setting. */
function fileSchema(schemaOf: (setting: Setting) => z.ZodType) {
  const settingFields = Array.from(settingsByField, ([field, setting]) => {
    const { file: isInOwnFile, help } = settings[setting];
    const meaning = helpInJson(help);
    // For some settings, such as keys, the accounts file has only the path of a file with the text.
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
      // `anyText` would refuse an empty text, which is no problem here, because only editors use this field.
      $schema: z.string('must be a text').optional(),
      default: anyText().describe('account of calls that name none').optional(),
      accounts: z.record(z.string(), account, 'must be an object of accounts by name'),
    },
    'must be an object',
  );
}

/** Adapts the help of a setting: a list in the accounts file is a JSON array, and not a text with commas. */
const helpInJson = (help: string) => help.replace(/^comma-separated /, '');

/** Parses the accounts file, and reports every problem of its structure. Undefined if the problems leave no accounts to check. */
export function parseAccountsFile(content: string, report: Report) {
  const reportFile = (problem: SafeText) => report(say`The accounts file: ${problem}.`);
  // Characters are counted in place of bytes, because almost all characters of such a file are one byte.
  if (content.length > maximumCharacters) {
    reportFile(say`it is larger than 1 MiB`);
    return undefined;
  }

  // Some editors begin a file with a byte order mark.
  const json = parseJson(content.replace(/^\uFEFF/, ''));
  if (json === undefined) {
    reportFile(say`it is not JSON`);
    return undefined;
  }

  // Nothing else is checked if a field is there twice, because either of its values may be meant.
  const repeated = repeatedFields(content);
  for (const path of repeated) reportFile(say`${path} is there twice`);
  if (repeated.length > 0) return undefined;

  // The accounts are checked even if the structure has problems, so that all problems are reported together.
  const { error } = structureSchema().safeParse(json);
  const structureProblems = error?.issues.flatMap(problemsOf) ?? [];
  for (const problem of structureProblems) reportFile(problem);
  if (!isObject(json) || !isObject(json.accounts)) return undefined;
  const { accounts } = json;
  const defaultName = textAt(json, 'default')?.trim();
  for (const problem of namingProblems(Object.keys(accounts), defaultName)) reportFile(problem);

  // An account that is no object has been reported above.
  const writtenAccounts = Object.entries(accounts).flatMap(([name, account]) =>
    isObject(account) ? [readAccount(name, account)] : [],
  );
  return { accounts: writtenAccounts, defaultName };
}

const jsonToken = /("(?:[^"\\]|\\.)*")(\s*:)?|[[\]{}]/g;

/** Returns the paths of fields that an object has twice. `JSON.parse` cannot find them: it silently keeps the last value. */
function repeatedFields(json: string): SafeText[] {
  /** The objects and lists around the current token, the outermost first. A list has no names and no current name. */
  const containers: { readonly names: Set<string>; currentName: string | undefined }[] = [];
  /** The repeated fields by path, so that a field that is there three times is reported once. */
  const repeated = new Map<string, SafeText>();
  // A token is a bracket, or a text and the colon after it, if there is one.
  for (const [token, text, colon] of json.matchAll(jsonToken)) {
    const container = containers.at(-1);
    if (token === '{' || token === '[') {
      containers.push({ names: new Set(), currentName: undefined });
    } else if (token === '}' || token === ']') {
      containers.pop();
    } else if (text !== undefined && colon !== undefined && container !== undefined) {
      // The text is the name of a field. The current names of all containers are the path of this field.
      const name = String(JSON.parse(text));
      container.currentName = name;
      const path = containers.map(({ currentName }) => currentName).filter((step) => step !== undefined);
      if (container.names.has(name)) repeated.set(JSON.stringify(path), pathOf(path));
      container.names.add(name);
    }
  }
  return [...repeated.values()];
}

/** The problems with the names of accounts, with their number, and with the name of the default account. */
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

/** Formats a path: `accounts.prod.storageUrl`. */
const pathOf = (steps: readonly string[]): SafeText => namesOf(steps, '.');

/** Describes an issue of the schema. No value is shown, because a value in the wrong field may be a secret. */
function problemsOf(issue: z.core.$ZodIssue): SafeText[] {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') return issue.keys.map((field) => unknownFieldProblem(path, field));
  const subject = path.length === 0 ? say`it` : pathOf(path);
  return [say`${subject} ${defined(issue.message)}`];
}

/** Returns the problem of an unknown field in the object at `path`. The path is empty for the outermost object of the file. */
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

/** Reads an account. Fields of a wrong type have been reported, and do not keep the other settings from being checked. */
function readAccount(name: string, account: Readonly<Record<string, unknown>>): WrittenAccount {
  const { description, endpoints } = account;
  const values = Array.from(settingsByField, ([field, setting]) => [setting, account[field]]);
  // An endpoint of a wrong type becomes a text. The check of URLs may report it a second time, which does no harm.
  const urls = Object.entries(isObject(endpoints) ? endpoints : {}).map(([api, url]) => [api, String(url).trim()]);
  return {
    name,
    description: typeof description === 'string' ? description.trim() : undefined,
    values: Object.fromEntries(values),
    endpoints: Object.fromEntries(urls),
  };
}
