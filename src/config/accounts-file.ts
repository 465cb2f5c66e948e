import * as z from 'zod';
import { isAccountName } from '../calls/account.js';
import { didYouMean } from '../util/did-you-mean.js';
import { isObject, lazy } from '../util/objects.js';
import { defined, namesOf, own, type Said, type Shown, said, say } from '../util/safe-text.js';
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

const text = lazy(() => z.string({ error: 'must be a text' }).min(1, 'must not be empty'));
const words = lazy(() => z.array(text(), { error: 'must be a list of texts' }).min(1, 'must not be empty'));
const list = lazy(() =>
  words().refine((all) => all.every((word) => !word.includes(',')), 'must have no comma in a text of the list'),
);

const schemaOf = ({ kind, help }: Row, isFile: boolean) => {
  const schema =
    kind === 'switch'
      ? z.boolean({ error: 'must be true or false' })
      : kind === 'list'
        ? list()
        : kind === 'command'
          ? words()
          : text();
  // As text, a list has commas.
  const about = help.replace(/^comma-separated /, '');
  return schema.optional().describe(isFile ? `${about}, in a file of this name` : about);
};

const describedText = () => text().max(200, 'must have at most 200 characters');

/** The schema of the file. Names of accounts are checked elsewhere. */
export const accountsFileSchema = lazy(() =>
  z.strictObject(
    {
      $schema: z.string({ error: 'must be a text' }).optional(),
      default: text().describe('account of calls that name none').optional(),
      accounts: z.record(
        z.string(),
        z.strictObject(
          {
            description: describedText()
              .describe('a few words by which people and agents tell this account from others')
              .optional(),
            endpoints: z
              .record(z.string(), text(), { error: 'must be an object of endpoints by API' })
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
  const problems: Shown[] = [];
  const value = parseJson(content, problems);
  if (problems.length === 0) problems.push(...repeatedNames(content).map((name) => say`${said(name)} is there twice`));
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
  for (const problem of problems) report(say`The accounts file: ${said(problem)}.`);
  return undefined;
}

function parseJson(content: string, problems: Shown[]): unknown {
  if (content.length > maximumBytes) problems.push(say`it is larger than 1 MiB`);
  else
    try {
      return JSON.parse(content.replace(/^\uFEFF/, ''), (name, value) => {
        if (name === '__proto__') throw new SyntaxError();
        return value;
      });
    } catch {
      problems.push(say`it is not JSON`);
    }
  return undefined;
}

/** A text, with its colon if it is a name, or the beginning or end of an object or a list. */
const jsonToken = /("(?:[^"\\]|\\.)*")(\s*:)?|[[\]{}]/g;

/** The paths of fields that an object of valid JSON has twice, of which `JSON.parse` keeps the last without a word. */
function repeatedNames(json: string): Shown[] {
  const open: { readonly names: Set<string>; at: string | undefined }[] = [];
  const repeated = new Set<Shown>();
  for (const [token, text, colon] of json.matchAll(jsonToken)) {
    const inner = open.at(-1);
    if (token === '{' || token === '[') open.push({ names: new Set(), at: undefined });
    else if (token === '}' || token === ']') open.pop();
    else if (text !== undefined && colon !== undefined && inner !== undefined) {
      inner.at = String(JSON.parse(text));
      if (inner.names.has(inner.at)) repeated.add(say`${pathOf(open.flatMap(({ at }) => at ?? []))}`);
      inner.names.add(inner.at);
    }
  }
  return [...repeated];
}

function namingProblems(names: readonly string[], byDefault: string | undefined): Shown[] {
  const problems = names
    .filter((name) => !isAccountName(name))
    .map(
      (name) =>
        say`${own(name)} must be a name of at most 31 lower-case letters, digits and hyphens that begins with a letter`,
    );
  if (names.length === 0) problems.push(say`it has no accounts`);
  if (names.length > mostAccounts) problems.push(say`it has more than ${mostAccounts} accounts`);
  if (byDefault !== undefined && !names.includes(byDefault))
    problems.push(say`default is ${own(byDefault)}, which is not one of its accounts`);
  return problems;
}

const it = said(say`it`);
const theFile = said(say`the file`);
const anAccount = said(say`an account`);

/** `accounts.prod.storageUrl` */
const pathOf = (steps: readonly string[]): Said => namesOf(steps, '.');

/** The problems of an issue. Values are not shown: they may have been meant for another place. */
function problemsOf(issue: z.core.$ZodIssue): Shown[] {
  const at = pathOf(issue.path.map(String));
  const isTop = issue.path.length === 0;
  if (issue.code !== 'unrecognized_keys') return [say`${isTop ? it : at} ${defined(issue.message)}`];
  return issue.keys.map((key) => {
    const name = pathOf([...issue.path.map(String), key]);
    if (fields.has(`${key}File`))
      return say`${name} must not be in it: use ${own(`${key}File`)}, credentialProcess or profile`;
    const meant = didYouMean(key, isTop ? ['accounts', 'default'] : ['description', 'endpoints', ...fields.keys()]);
    const hint = said(meant === undefined ? say`` : say`; did you mean ${own(meant)}?`);
    return say`${name} is not a setting of ${isTop ? theFile : anAccount}${hint}`;
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
