import * as z from 'zod';
import { isAccountName } from '../calls/account.js';
import { didYouMean } from '../util/did-you-mean.js';
import { isObject, lazy, parseJson, textAt } from '../util/objects.js';
import { defined, namesOf, own, type SafeText, say, words } from '../util/safe-text.js';
import type { Report } from './read-settings.js';
import { anyText, endpoint, type Setting, settingNames, settings } from './settings.js';

/** Reads the accounts file. `accounts.ts` finds contradictions between its settings. */

export interface WrittenAccount {
  readonly name: string;
  readonly description: string | undefined;
  /** For an access key, the value is the path of its file. */
  readonly values: Readonly<Partial<Record<Setting, unknown>>>;
  readonly endpoints: Readonly<Record<string, string>>;
  /** Names of the endpoints, also of one that `endpoints` lacks. */
  readonly apis: readonly string[];
}

const mostAccounts = 32;

/** The field of a setting in an account. For an access key, the field has the path of its file. */
export const fieldOf = (setting: Setting): string => {
  const camelCase = setting.toLowerCase().replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return settings[setting].file ? `${camelCase}File` : camelCase;
};

const settingsByField: ReadonlyMap<string, Setting> = new Map(
  settingNames.filter((setting) => settings[setting].account).map((setting) => [fieldOf(setting), setting]),
);

const accountSchema = lazy(() => {
  const settingFields = Array.from(settingsByField, ([field, setting]) => {
    const { file: isInOwnFile, help, schema } = settings[setting];
    // In the accounts file, a list is a JSON array.
    const meaning = help.replace(/^comma-separated /, '');
    const fieldSchema = isInOwnFile
      ? anyText().describe(`${meaning}, in a file of this name`)
      : schema().describe(meaning);
    return [field, fieldSchema.optional()];
  });
  const fields: Record<string, z.ZodType> = Object.fromEntries(settingFields);
  return z.strictObject(
    {
      description: anyText()
        .max(200, 'must have at most 200 characters')
        .describe('a few words by which people and agents tell this account from others')
        .optional(),
      endpoints: z
        .record(z.string(), endpoint(), 'must be an object of endpoints by API')
        .describe('endpoints of the APIs that files of operations name')
        .optional(),
      ...fields,
    },
    'must be an object',
  );
});

/** The schema of the accounts file. */
export const accountsFileSchema = lazy(() =>
  z.strictObject(
    {
      // `anyText` would refuse an empty text.
      $schema: z.string('must be a text').optional(),
      default: anyText().describe('account of calls that name none').optional(),
      accounts: z.record(z.string(), accountSchema(), 'must be an object of accounts by name'),
    },
    'must be an object',
  ),
);

/** Parses the accounts file, and reports everything in it that is wrong. Returns the accounts without a wrong value. */
export function parseAccountsFile(content: string, reportSentence: Report) {
  const report = (problem: SafeText) => reportSentence(say`The accounts file: ${problem}.`);
  // Almost all characters of such a file are one byte.
  if (content.length > 1024 * 1024) return report(say`it is larger than 1 MiB`);
  const json = parseJson(content);
  if (json === undefined) return report(say`it is not JSON`);
  // Either value of a repeated field may be meant, so nothing else is checked.
  const repeated = repeatedFields(content);
  for (const path of repeated) report(say`${path} is there twice`);
  if (repeated.length > 0) return undefined;

  for (const issue of accountsFileSchema().safeParse(json).error?.issues ?? []) reportIssue(issue, report);
  if (!isObject(json) || !isObject(json.accounts)) return undefined;
  const names = Object.keys(json.accounts);
  const defaultName = textAt(json, 'default')?.trim();
  for (const name of names)
    if (!isAccountName(name))
      report(
        say`${own(name)} must be a name of at most 31 lower-case letters, digits and hyphens that begins with a letter`,
      );
  if (names.length === 0) report(say`it has no accounts`);
  if (names.length > mostAccounts) report(say`it has more than ${mostAccounts} accounts`);
  if (defaultName !== undefined && !names.includes(defaultName))
    report(say`default is ${own(defaultName)}, which is not one of its accounts`);
  return { accounts: Object.entries(json.accounts).flatMap(readAccount), defaultName };
}

function readAccount([name, written]: [name: string, written: unknown]): WrittenAccount[] {
  const { data } = accountSchema().safeParse(written);
  if (data === undefined) return [];
  const fields: Readonly<Record<string, unknown>> = data;
  const values = Array.from(settingsByField, ([field, setting]) => [setting, fields[field]] as const);
  const given = values.filter(([, value]) => value !== undefined);
  const { description, endpoints = {} } = data;
  // zod leaves out an API named `__proto__`, which is reported as unknown.
  const apis = Object.keys(isObject(written) && isObject(written.endpoints) ? written.endpoints : {});
  return [{ name, description, values: Object.fromEntries(given), endpoints, apis }];
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
      if (container.names.has(name)) repeated.set(JSON.stringify(path), namesOf(path, '.'));
      container.names.add(name);
    }
  }
  return [...repeated.values()];
}

/** Shows no value of an unknown field, because it may be a secret. */
function reportIssue(issue: z.core.$ZodIssue, report: (problem: SafeText) => void): void {
  // Without the positions in lists.
  const path = issue.path.filter((step) => typeof step === 'string');
  if (issue.code !== 'unrecognized_keys') {
    report(say`${path.length === 0 ? say`it` : namesOf(path, '.')} ${defined(issue.message)}`);
    return;
  }
  for (const field of issue.keys) {
    const name = namesOf([...path, field], '.');
    const isTop = path.length === 0;
    const knownFields = isTop ? ['accounts', 'default'] : ['description', 'endpoints', ...settingsByField.keys()];
    const similarField = didYouMean(field, knownFields);
    const hint = similarField === undefined ? say`` : say` (did you mean ${own(similarField)}?)`;
    report(
      settingsByField.has(`${field}File`)
        ? say`${name} must not be in it: use ${own(`${field}File`)}, credentialProcess or profile`
        : say`${name} is not a setting of ${words(isTop ? 'the file' : 'an account')}${hint}`,
    );
  }
}
