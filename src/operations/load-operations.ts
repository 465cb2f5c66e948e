import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as z from 'zod';
import type { Follow, Operation } from '../tools/define-operation.js';
import { operations as builtIn } from '../tools/index.js';
import { reasonOf } from '../util/log.js';
import { isObject, valueAt } from '../util/objects.js';
import { quote, quoteName } from '../util/quote.js';
import { defined, type SafeText, say } from '../util/safe-text.js';
import { checkDefinition, type HostRules } from './check-definition.js';
import {
  createDefinitionParser,
  type DefinitionParser,
  followSchema,
  type ParsedDefinition,
} from './definition-schema.js';
import type { CallObserver } from './guard.js';
import { createKit, type Kit, kitVersion } from './kit.js';
import type { FromModel } from './model/from-model.js';
import { ModelProblems } from './model/model-problems.js';
import type { ModelSettings } from './model/model-settings.js';

/** The user's own operations: those of the files that `CLOUDOPS_OPERATIONS` names. Such a file is called an outside file. */
export interface OwnOperations {
  readonly operations: readonly Operation[];
  /** Reads that show the progress of built-in changes, by the tool name of the change. Files add them with `kit.extend`. */
  readonly follows?: Readonly<Record<string, Follow>>;
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
  /** The schemas that hosts see. The key is a definition that `fromModel` made: `schemas` is no field of it, because files must not set it. */
  readonly modelSchemas: WeakMap<object, NonNullable<Operation['schemas']>>;
};

const maximumOperations = 200;
/** Maximum number of problems of one file that are shown. */
const maximumProblems = 20;

/**
 * Loads the operations of a file, or of all files in a folder whose names match `operationFile`. If a file has a problem, no operation is
 * returned, because the server does not start before all problems are solved. Never rejects.
 */
export async function loadOperations(
  path: string,
  hosts: HostRules,
  { observer = {}, timeLimitMs = 5000 }: LoadOptions = {},
): Promise<OwnOperations> {
  const operations: Operation[] = [];
  /** Reads that show the progress of built-in changes, by the tool name of the change. */
  const follows: Record<string, Follow> = {};
  const problems: string[] = [];
  const parse = createDefinitionParser(observer);
  const context = { hosts, observer, timeLimitMs, parse, modelSchemas: new WeakMap() };

  const { files, problem } = await filesAt(path);
  if (problem !== undefined) problems.push(problem);
  for (const file of files) {
    // One after the other, because an operation may name the operations of earlier files.
    const loaded = await loadFile(file, operations, context);
    operations.push(...loaded.operations);
    // If two files add a read to the same change, the last one applies.
    Object.assign(follows, loaded.follows);
    problems.push(...loaded.problems);
  }

  if (problems.length > 0) {
    // `defined` shows the problems as they are: they are texts of this server, in which all values from outside files are quoted.
    return { operations: [], problems: problems.map((text) => say`CLOUDOPS_OPERATIONS: ${defined(text)}`) };
  }
  return { operations, follows, problems: [] };
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
    return { files: [], problem: `${quote(path)} cannot be read (${reasonOf(error)}).` };
  }
}

interface LoadedFile {
  readonly operations: readonly Operation[];
  readonly follows: Readonly<Record<string, Follow>>;
  readonly problems: readonly string[];
}

/** Loads one file. `earlier` are the operations of the files that were loaded before. */
async function loadFile(path: string, earlier: readonly Operation[], context: Context): Promise<LoadedFile> {
  const file = quoteName(basename(path));
  const imported = await withinTime(importFile(path, context), context.timeLimitMs, {
    kind: 'problems',
    problems: [`it did not end loading within ${context.timeLimitMs / 1000} seconds`],
  });
  if (imported.kind === 'problems') {
    const problems = imported.problems.slice(0, maximumProblems).map((problem) => `${file}: ${problem}.`);
    return { operations: [], follows: {}, problems };
  }

  const operations: Operation[] = [];
  const problems: string[] = [];
  const follows: Record<string, Follow> = {};
  const { entries } = imported;
  for (const [index, entry] of entries.entries()) {
    // An extension of a built-in change, made by `kit.extend`.
    if (isObject(entry) && 'extends' in entry) {
      const { data, error } = extensionSchema.safeParse(entry);
      if (data !== undefined) follows[data.extends] = data.follow;
      else problems.push(`${file}: entry ${index + 1}: ${error.issues.map(({ message }) => message).join('; ')}.`);
    } else {
      const known = [...builtIn, ...earlier, ...operations];
      const result = await readDefinition(entry, known, context);
      const label = `${file}: operation ${index + 1}${nameInBrackets(entry)}`;
      if (result.kind === 'operation') operations.push(result.operation);
      else problems.push(...result.problems.map((problem) => `${label}: ${problem}.`));
    }
  }
  return { operations, follows, problems: problems.slice(0, maximumProblems) };
}

/** Resolves with the result of `work`, or with `ifLate` if `work` takes longer than the time limit. `work` itself then goes on. */
async function withinTime<Value>(work: Promise<Value>, timeLimitMs: number, ifLate: Value): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<Value>((resolve) => {
    timer = setTimeout(resolve, timeLimitMs, ifLate);
  });
  return Promise.race([work, timeout]).finally(() => clearTimeout(timer));
}

/** Returns ` (get_thing)` for a definition with this name, and nothing for a definition without a name. */
const nameInBrackets = (definition: unknown) => {
  const name: unknown = Object(definition).name;
  return typeof name === 'string' ? ` (${quoteName(name)})` : '';
};

type ImportedFile =
  /** Definitions of operations, and extensions of built-in changes. */
  | { readonly kind: 'entries'; readonly entries: readonly unknown[] }
  | { readonly kind: 'problems'; readonly problems: readonly string[] };

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
const maximumReasonLength = 500;
const entryList = z
  .array(z.unknown(), 'its default export must return a list of operations')
  .max(maximumOperations, `it has more than ${maximumOperations} operations`);

/** Imports a file and calls its default export. Announces each of these steps to the observer. Every error of the file becomes a problem. */
async function importFile(path: string, context: Context): Promise<ImportedFile> {
  const { calling: announceStep } = context.observer;
  const file = quoteName(basename(path));
  const unusable = (...problems: readonly string[]): ImportedFile => ({ kind: 'problems', problems });
  /** The problem if the current step throws. */
  let ifThrown = 'it cannot be imported';
  try {
    announceStep?.(`${file}: import`);
    // The module of a JSON file has the same default export as that of a JavaScript file: a function that makes the operations.
    const imported = path.endsWith('.json')
      ? await moduleOfJson(path)
      : await import(pathToFileURL(resolve(path)).href);
    const module = fileModule.safeParse(imported);
    if (!module.success) return unusable(module.error.issues.map(({ message }) => message).join('; '));

    ifThrown = 'its default export threw';
    announceStep?.(`${file}: default export`);
    const kit = createKit(fromModelIn(dirname(path), context));
    const list = entryList.safeParse(await module.data.default(kit));
    if (!list.success) return unusable(list.error.issues.map(({ message }) => message).join('; '));

    // A property that the file adds to `Object.prototype` would also be in every set of arguments.
    const [addedField] = Object.keys(Object.prototype);
    if (addedField !== undefined) return unusable(`it adds ${quoteName(addedField)} to every object there is`);
    return { kind: 'entries', entries: list.data };
  } catch (error) {
    if (error instanceof ModelProblems) return unusable(...error.problems);
    if (valueAt(error, 'code') === 'ERR_UNKNOWN_FILE_EXTENSION')
      return unusable('this version of Node.js does not load TypeScript: use Node.js 22.18 or later, or JavaScript');
    const reason = error instanceof Error ? error.message : 'no error was given';
    return unusable(`${ifThrown}: ${quote(reason, maximumReasonLength)}`);
  }
}

/** A JSON file of operations: the path of a model, and settings that `fromModel` checks. */
const jsonFile = z.intersection(z.object({ model: z.string() }), z.custom<ModelSettings>());

/** Reads a JSON file, and returns the module that a JavaScript file with the same model and settings would be. */
async function moduleOfJson(path: string): Promise<{ readonly default: (kit: Kit) => unknown }> {
  const file = jsonFile.safeParse(JSON.parse(await readFile(path, 'utf8')));
  if (!file.success) throw new ModelProblems(['model: must be the path of a model, relative to this file']);
  const { model, ...settings } = file.data;
  return { default: ({ fromModel }) => fromModel(model, settings) };
}

/** Returns the kit's `fromModel`. It loads the code for models with the first model, so that a server without models starts fast. */
const fromModelIn =
  (folder: string, { hosts, modelSchemas }: Context): FromModel =>
  async (path, settings) => {
    const { createFromModel } = await import('./model/from-model.js');
    const operations = await createFromModel(folder, hosts.inputSchema)(path, settings);
    return operations.map(({ schemas, ...operation }) => {
      if (schemas !== undefined) modelSchemas.set(operation, schemas);
      return operation;
    });
  };

/** Parses and checks one definition. `known` are the built-in operations and those that were loaded before. */
async function readDefinition(
  definition: unknown,
  known: readonly Operation[],
  { hosts, parse, modelSchemas }: Context,
): Promise<ParsedDefinition> {
  try {
    const parsed = parse(definition);
    if (parsed.kind === 'problems') return parsed;
    const schemas = isObject(definition) ? modelSchemas.get(definition) : undefined;
    return await checkDefinition({ ...parsed.operation, ...(schemas && { schemas }) }, known, hosts);
  } catch (error) {
    return { kind: 'problems', problems: [error instanceof Error ? error.message : 'its functions cannot be called'] };
  }
}
