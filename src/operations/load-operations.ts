import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as z from 'zod';
import type { Follow, Operation } from '../tools/define-operation.js';
import { operations as builtIn } from '../tools/index.js';
import { OperationFault } from '../tools/operation-fault.js';
import { fileFault, reasonOf } from '../util/log.js';
import { isObject, textAt, valueAt } from '../util/objects.js';
import { quote, quoteName } from '../util/quote.js';
import { defined, type SafeText, say } from '../util/safe-text.js';
import { checkDefinition, type HostRules } from './check-definition.js';
import { followProblems } from './check-follow.js';
import { createDefinitionParser, type DefinitionParser, followSchema } from './definition-schema.js';
import type { CallObserver } from './guard.js';
import { jsonFault } from './json-fault.js';
import { createKit, type Kit, kitVersion } from './kit.js';
import type { FromModel } from './model/from-model.js';
import { effectDoubt } from './model/guess-effect.js';
import type { ModelSettings } from './model/model-settings.js';
import { UnusableFile } from './unusable-file.js';
import { withinTime } from './within-time.js';

/** The user's own operations: those of the files that `CLOUDOPS_OPERATIONS` names. Such a file is called an outside file. */
export interface OwnOperations {
  readonly operations: readonly Operation[];
  /** Reads that show the progress of built-in changes, by the tool name of the change. Files add them with `kit.extend`. */
  readonly follows?: Readonly<Record<string, Follow>>;
  /** Warnings about files and operations, one sentence each. The server starts in spite of them. */
  readonly notes?: readonly SafeText[];
  /** The notes about files only. Unlike `notes`, they are also given if there are problems. */
  readonly fileNotes?: readonly SafeText[];
  /** Reasons why the files cannot be used, one sentence each. If there is one, `operations` is empty. */
  readonly problems: readonly SafeText[];
}

interface LoadOptions {
  readonly observer?: CallObserver;
  /** Time limit for the import of a file and its default export (milliseconds). */
  readonly timeLimitMs?: number;
}

type Context = Required<LoadOptions> & {
  readonly hosts: HostRules;
  readonly parse: DefinitionParser;
  /** The schemas that hosts see, by the definition that `fromModel` made. Definitions have no field for schemas, because files must not set any. */
  readonly modelSchemas: WeakMap<object, NonNullable<Operation['schemas']>>;
};

const maximumOperations = 200;
/** Maximum number of problems of one file that are shown. */
const maximumProblems = 20;

/** The operations and extensions that have been loaded so far. */
interface Loaded {
  readonly operations: Operation[];
  /** Reads that show the progress of built-in changes, by the tool name of the change. */
  readonly follows: Record<string, Follow>;
  readonly emptyFiles: string[];
  /** The file of each operation and extension, by tool name. */
  readonly files: Map<string, string>;
}

/**
 * Loads the operations of a file, or of all files in a folder whose names match `operationFile`. If a file has a problem, no operation is
 * returned, because the server does not start before all problems are solved. Never rejects.
 */
export async function loadOperations(
  path: string,
  hosts: HostRules,
  { observer = {}, timeLimitMs = 5000 }: LoadOptions = {},
): Promise<OwnOperations> {
  const loaded: Loaded = { operations: [], follows: {}, emptyFiles: [], files: new Map() };
  const parse = createDefinitionParser(observer);
  const context = { hosts, observer, timeLimitMs, parse, modelSchemas: new WeakMap() };

  const { files, problem } = await filesAt(path);
  const problems = problem === undefined ? [] : [problem];
  for (const file of files) {
    // Files are loaded one after another, because an operation may name the operations of earlier files, which are in `loaded`.
    const fileProblems = await loadFile(file, loaded, context);
    problems.push(...fileProblems.slice(0, maximumProblems).map((text) => problemLine(file, text)));
  }
  // `follow` may name a read of a later file, so it is checked after all files are loaded. If a file has problems, `follow` is not checked,
  // because operations are missing.
  if (problems.length === 0) problems.push(...followProblemsIn(loaded));

  const fileNotes = loaded.emptyFiles.map((file) => aboutFiles(`${quoteName(basename(file))} has no operations.`));
  if (problems.length > 0) return { operations: [], fileNotes, problems: problems.map(aboutFiles) };
  const { operations, follows } = loaded;
  const doubts = operations.flatMap((operation) => effectDoubt(operation)?.text ?? []);
  return { operations, follows, notes: [...fileNotes, ...doubts.map(aboutFiles)], fileNotes, problems: [] };
}

/** Makes safe text of a sentence about the files. `defined` adds no quotation marks, because the sentence already quotes texts of the files. */
const aboutFiles = (text: string): SafeText => say`CLOUDOPS_OPERATIONS: ${defined(text)}`;

const problemLine = (file: string, problem: string): string => {
  const end = /[.?!]$/.test(problem) ? '' : '.';
  return `${quoteName(basename(file))}: ${problem}${end}`;
};

/** Returns the problems of all `follow` of operations and extensions. */
function followProblemsIn({ operations, follows, files }: Loaded): readonly string[] {
  const all = [...builtIn, ...operations];
  return all.flatMap((change) => {
    const { name, follow = follows[name] } = change;
    if (follow === undefined) return [];
    return followProblems(change, follow, all).map((problem) =>
      problemLine(files.get(name) ?? '', `${quoteName(name)}: ${problem}`),
    );
  });
}

/** Names of the files in a folder that are loaded. Files of type declarations (`.d.ts`) are not, and other JSON files may be models. */
const operationFile = /(?<!\.d)\.m?[jt]s$|\.operations\.json$/;

async function filesAt(path: string): Promise<{ readonly files: readonly string[]; readonly problem?: string }> {
  try {
    if (!(await stat(path)).isDirectory()) return { files: [path] };
    const names = (await readdir(path)).filter((name) => operationFile.test(name)).sort();
    if (names.length === 0)
      return { files: [], problem: `${quote(path)} has no .mjs, .js, .mts, .ts or .operations.json files.` };
    return { files: names.map((name) => join(path, name)) };
  } catch (error) {
    return { files: [], problem: `${quote(path)} cannot be read (${fileFault(error)}).` };
  }
}

/** Adds the operations and extensions of one file to `loaded`. Returns the problems of the file, or those of its entries. */
async function loadFile(path: string, loaded: Loaded, context: Context): Promise<readonly string[]> {
  const problems: string[] = [];
  try {
    const timeoutError = new UnusableFile(`it did not end loading within ${context.timeLimitMs / 1000} seconds`);
    const entries = await withinTime(importFile(path, context), context.timeLimitMs, timeoutError);
    if (entries.length === 0) loaded.emptyFiles.push(path);
    for (const [index, entry] of entries.entries()) {
      const isExtension = isObject(entry) && 'extends' in entry;
      const label = isExtension ? `entry ${index + 1}` : `operation ${index + 1}${nameInBrackets(entry)}`;
      const entryProblems = isExtension
        ? addExtension(entry, path, loaded)
        : await addOperation(entry, path, loaded, context);
      problems.push(...entryProblems.map((problem) => `${label}: ${problem}`));
    }
  } catch (error) {
    problems.push(...problemsIn(error));
  }
  return problems;
}

function problemsIn(error: unknown): readonly string[] {
  if (error instanceof UnusableFile) return error.problems;
  if (error instanceof OperationFault) return [error.message];
  // This error is from code of the file that no guard wraps, such as the getter of a field.
  return [`it cannot be checked: ${quote(reasonOf(error), maximumReasonLength)}`];
}

/** Returns ` (get_thing)` for a definition with this name, and nothing for a definition without a name. */
const nameInBrackets = (definition: unknown) => {
  const name: unknown = Object(definition).name;
  return typeof name === 'string' ? ` (${quoteName(name)})` : '';
};

const fileModule = z.object({
  default: z.custom<(kit: Kit) => unknown>(
    (value) => typeof value === 'function',
    'its default export must be a function that takes the kit',
  ),
  kitVersion: z
    .literal(kitVersion, {
      error: ({ input }) => `it is for version ${quote(String(input), 20)} of the kit; this is version ${kitVersion}`,
    })
    .optional(),
});
const builtInChanges = builtIn.flatMap(({ name, change }) => (change === undefined ? [] : [name]));
const extensionSchema = z.strictObject({
  extends: z.enum(builtInChanges, `extend: must name a built-in change: ${builtInChanges.join(', ')}`),
  follow: followSchema,
});
const entryList = z
  .array(z.unknown(), 'its default export must return a list of operations')
  .max(maximumOperations, `it has more than ${maximumOperations} operations`);

const maximumReasonLength = 500;

/**
 * Imports a file and calls its default export. Announces each of these steps to the observer.
 * @returns definitions of operations, and extensions of built-in changes
 * @throws UnusableFile for every error of the file
 */
async function importFile(path: string, context: Context): Promise<readonly unknown[]> {
  const announceStep = context.observer.calling;
  const file = quoteName(basename(path));

  announceStep?.(`${file}: import`);
  const { default: makeEntries } = await orUnusable('it cannot be imported', path, async () => {
    // A JSON file becomes a module with the same default export as a JavaScript file: a function that makes the operations.
    const isJson = path.endsWith('.json');
    return parsed(fileModule, isJson ? await moduleOfJson(path) : await import(pathToFileURL(resolve(path)).href));
  });

  announceStep?.(`${file}: default export`);
  const kit = createKit(fromModelIn(dirname(path), context));
  const entries = await orUnusable('its default export threw', path, async () =>
    parsed(entryList, await makeEntries(kit)),
  );

  // A property that the file adds to `Object.prototype` would also be in every set of arguments.
  const [addedField] = Object.keys(Object.prototype);
  if (addedField !== undefined) throw new UnusableFile(`it adds ${quoteName(addedField)} to every object there is`);
  return entries;
}

/** Runs a step of the import. An error of the step becomes an `UnusableFile`, whose message begins with `failure`. */
async function orUnusable<Value>(failure: string, path: string, step: () => Promise<Value>): Promise<Value> {
  try {
    return await step();
  } catch (error) {
    if (error instanceof UnusableFile) throw error;
    if (valueAt(error, 'code') === 'ERR_UNKNOWN_FILE_EXTENSION')
      throw new UnusableFile(
        'this version of Node.js does not load TypeScript: use Node.js 22.18 or later, or JavaScript',
      );
    const reason = error instanceof Error ? error.message : 'no error was given';
    throw new UnusableFile(`${failure}: ${quote(reason, maximumReasonLength)}${placeOf(error, path)}`);
  }
}

/** Returns the line of an error in a file, such as ` (line 3)`. A syntax error has no line, so the text says how to find the line. */
function placeOf(error: unknown, path: string): string {
  const stack = textAt(error, 'stack') ?? '';
  const end = stack.split(pathToFileURL(resolve(path)).href)[1] ?? '';
  const [, line] = /^[^:\s]*:(\d+)/.exec(end) ?? [];
  if (line !== undefined) return ` (line ${line})`;
  const isScript = error instanceof SyntaxError && /\.m?js$/.test(path);
  return isScript ? ' (node --check shows the line)' : '';
}

/**
 * Returns the value as the schema parses it.
 * @throws UnusableFile with all problems of the value in one sentence
 */
function parsed<Value>(schema: z.ZodType<Value>, value: unknown): Value {
  const { data, error } = schema.safeParse(value);
  if (error !== undefined) throw new UnusableFile(messagesOf(error));
  return data;
}

const messagesOf = ({ issues }: z.ZodError): string => issues.map(({ message }) => message).join('; ');

/** A JSON file of operations: the path of a model, and settings that `fromModel` checks. */
const jsonFile = z.intersection(z.object({ model: z.string() }), z.custom<ModelSettings>());

/** Reads a JSON file, and returns the module that a JavaScript file with the same model and settings would be. */
async function moduleOfJson(path: string): Promise<{ readonly default: (kit: Kit) => unknown }> {
  const file = jsonFile.safeParse(parseJsonFile((await readFile(path, 'utf8')).replace(/^\uFEFF/, '')));
  if (!file.success) throw new UnusableFile('model: must be the path of a model, relative to this file');
  const { model, ...settings } = file.data;
  return { default: ({ fromModel }) => fromModel(model, settings) };
}

/**
 * Parses the text of a JSON file.
 * @throws UnusableFile that says where the text is not JSON
 */
function parseJsonFile(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new UnusableFile(`it is not JSON: ${jsonFault(text)}`);
  }
}

/** Returns the kit's `fromModel`, which loads the code for models with the first model, so that a server without models starts fast. */
const fromModelIn =
  (folder: string, { hosts, modelSchemas }: Context): FromModel =>
  async (path, settings) => {
    const { operationsFromModel } = await import('./model/from-model.js');
    const operations = await operationsFromModel(folder, path, settings, hosts.inputSchema);
    return operations.map(({ schemas, ...operation }) => {
      if (schemas !== undefined) modelSchemas.set(operation, schemas);
      return operation;
    });
  };

/** Adds an extension of a built-in change, made by `kit.extend`. Returns its problems. */
function addExtension(extension: unknown, path: string, { follows, files }: Loaded): readonly string[] {
  const { data, error } = extensionSchema.safeParse(extension);
  if (error !== undefined) return [messagesOf(error)];
  if (Object.hasOwn(follows, data.extends)) return [`extend: ${data.extends} is already extended by another entry`];
  follows[data.extends] = data.follow;
  files.set(data.extends, path);
  return [];
}

/** Parses and checks one definition, and adds its operation. Returns its problems. */
async function addOperation(
  definition: unknown,
  path: string,
  loaded: Loaded,
  { hosts, parse, modelSchemas }: Context,
): Promise<readonly string[]> {
  try {
    const parsed = parse(definition);
    if (parsed.kind === 'problems') return parsed.problems;
    // Undefined unless `fromModel` made the definition.
    const schemas = isObject(definition) ? modelSchemas.get(definition) : undefined;
    const operation = { ...parsed.operation, ...(schemas && { schemas }) };
    const known = [...builtIn, ...loaded.operations];
    const fileOfSameName = fileWithName(operation.name, loaded);
    loaded.operations.push(await checkDefinition(operation, known, hosts, fileOfSameName));
    loaded.files.set(operation.name, path);
    return [];
  } catch (error) {
    return problemsIn(error);
  }
}

/** Returns the name of the file from which an operation with this name was loaded. Undefined if none was loaded. */
function fileWithName(operationName: string, { operations, files }: Loaded): string | undefined {
  // `files` also has files that only extend a built-in operation of this name, and have not taken the name.
  if (!operations.some(({ name }) => name === operationName)) return undefined;
  const path = files.get(operationName);
  return path === undefined ? undefined : basename(path);
}
