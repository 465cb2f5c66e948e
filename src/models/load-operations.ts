import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import * as z from 'zod';
import { type Follow, type Operation, readOfFollow } from '../tools/define-operation.js';
import { operations as builtIn } from '../tools/index.js';
import { unknownName } from '../util/did-you-mean.js';
import { sentences } from '../util/human.js';
import { fileFault } from '../util/log.js';
import { isObject, stepsOf, textAt } from '../util/objects.js';
import { quote, quoteName } from '../util/quote.js';
import { defined, type SafeText, say } from '../util/safe-text.js';
import type { ToolRules } from './chosen-operation.js';
import { effectDoubt } from './guess-effect.js';
import { followSchema, modelSettings, onlyFields, parsed, serviceSettings, UnusableFile } from './model-settings.js';
import { apiOf, type ServiceSource, type ServiceSources, serviceNamePattern } from './service-sources.js';

/** The user's own operations, from the files that `CLOUDOPS_OPERATIONS` names. */
export interface OwnOperations {
  readonly operations: readonly Operation[];
  /** Reads that show the progress of built-in changes, by the tool name of the change. */
  readonly follows?: Readonly<Record<string, Follow>>;
  /** Services all of whose operations can be found. */
  readonly services?: ServiceSources;
  readonly notes?: readonly SafeText[];
  /** Reasons why the files cannot be used. If there is one, `operations` is empty. */
  readonly problems: readonly SafeText[];
}

/** The rules of MCP hosts and of this server for tools. */
export interface HostRules extends ToolRules {
  /** Names of the server's other tools, such as `decide_change`. */
  readonly reservedNames: readonly string[];
}

/** Size limit of a file (bytes). */
const largestFile = 5_000_000;

interface Loaded {
  readonly operations: Operation[];
  readonly follows: Record<string, Follow>;
  readonly services: Map<string, ServiceSource>;
  /** The file of each operation and of each extended change, by tool name. */
  readonly files: Map<string, string>;
}

/** Loads the operations of a file, or of all `.operations.json` files in a folder. Never rejects. */
export async function loadOperations(path: string, hosts: HostRules): Promise<OwnOperations> {
  const loaded: Loaded = { operations: [], follows: {}, services: new Map(), files: new Map() };
  const problems: string[] = [];
  try {
    for (const file of await filesAt(path)) {
      const ofFile = await problemsIn(() => loadFile(file, loaded, hosts));
      problems.push(...ofFile.slice(0, 20).map((text) => problemLine(file, text)));
    }
  } catch (error) {
    problems.push(
      error instanceof UnusableFile ? error.message : `${quote(path)} cannot be read (${fileFault(error)}).`,
    );
  }
  // `follow` may name a read of a later file.
  if (problems.length === 0) problems.push(...followProblemsIn(loaded));
  // `defined` adds no quotation marks, because the sentences already quote texts of the files.
  const aboutFiles = (texts: readonly string[]) => texts.map((text) => say`CLOUDOPS_OPERATIONS: ${defined(text)}`);
  if (problems.length > 0) return { operations: [], problems: aboutFiles(problems) };

  const { operations, follows, services } = loaded;
  const doubts = operations.flatMap((operation) => effectDoubt(operation)?.text ?? []);
  return { operations, follows, services, notes: aboutFiles(doubts), problems: [] };
}

/** Returns the problems that `load` returns, or that keep it from ending. */
async function problemsIn(load: () => Promise<readonly string[]>): Promise<readonly string[]> {
  try {
    return await load();
  } catch (error) {
    return error instanceof UnusableFile ? error.problems : [`it cannot be read (${fileFault(error)})`];
  }
}

const problemLine = (file: string, problem: string): string =>
  `${quoteName(basename(file))}: ${problem}${/[.?!]$/.test(problem) ? '' : '.'}`;

/** @throws UnusableFile if a folder has no files of operations */
async function filesAt(path: string): Promise<readonly string[]> {
  if (!(await stat(path)).isDirectory()) return [path];
  const names = (await readdir(path)).filter((name) => name.endsWith('.operations.json')).sort();
  if (names.length === 0) throw new UnusableFile(`${quote(path)} has no .operations.json files.`);
  return names.map((name) => join(path, name));
}

async function loadFile(path: string, loaded: Loaded, hosts: HostRules): Promise<readonly string[]> {
  const { models, services, extend } = await readOperationsFile(path);
  const problems: string[] = [];
  for (const [change, extension] of Object.entries(extend)) {
    if (extension === undefined) continue;
    if (Object.hasOwn(loaded.follows, change)) problems.push(`extend: ${change} is already extended by another file`);
    loaded.follows[change] = extension.follow;
    loaded.files.set(change, path);
  }
  problems.push(...(await addServices(services, path, loaded)));
  for (const [index, { model, ...settings }] of models.entries()) {
    const place = models.length === 1 ? '' : `models[${index}]: `;
    const ofModel = await problemsIn(async () => {
      // Loaded late, so that a server without models starts fast.
      const { makeOperations, openModel } = await import('./from-model.js');
      const opened = await openModel(dirname(path), model);
      const made = makeOperations(opened, parsed(modelSettings, settings), hosts);
      return made.problems.size > 0
        ? [...made.problems].map(([name, problem]) => `operations.${quoteName(name)}: ${problem}`)
        : made.operations.flatMap((operation) => {
            const ofOperation = problemsOf(operation, loaded, hosts);
            loaded.operations.push(operation);
            loaded.files.set(operation.name, path);
            return ofOperation.map((problem) => `${quoteName(operation.name)}: ${problem}`);
          });
    });
    problems.push(...ofModel.map((problem) => place + problem));
  }
  return problems;
}

const builtInChanges = builtIn.flatMap(({ name, change }) => (change === undefined ? [] : [name]));
const extendedChanges = z
  .strictObject(
    Object.fromEntries(builtInChanges.map((change) => [change, onlyFields({ follow: followSchema }).optional()])),
    `may have only the built-in changes ${builtInChanges.join(', ')}`,
  )
  .default({});
const modelOfFile = z.looseObject({ model: z.string('must be the path of a model, relative to this file') });
const operationsFile = z.looseObject({
  models: z.array(modelOfFile, 'must be a list of models with their settings').optional(),
  extend: extendedChanges,
  services: z.record(z.string(), serviceSettings, 'must be an object with a model for each service').default({}),
});

/** @throws UnusableFile */
async function readOperationsFile(path: string) {
  if (!path.endsWith('.json'))
    throw new UnusableFile(
      'only JSON files are read, with the path of a model and its settings: see docs/OPERATIONS.md',
    );
  const stats = await stat(path);
  if (!stats.isFile()) throw new UnusableFile('it is not a regular file');
  if (stats.size > largestFile) throw new UnusableFile(`it has more than ${largestFile / 1e6} MB`);
  let json: unknown;
  try {
    json = JSON.parse((await readFile(path, 'utf8')).replace(/^\uFEFF/, ''));
  } catch (error) {
    // The message names the place.
    throw new UnusableFile(`it is not JSON: ${quote(textAt(error, 'message') ?? '', 200)}`);
  }
  if (!isObject(json)) throw new UnusableFile('it must be an object with the path of a model');
  const { models, services, extend, ...onlyModel } = parsed(operationsFile, json);
  const isAboutOneModel = Object.keys(onlyModel).length > 0;
  if (models !== undefined && isAboutOneModel)
    throw new UnusableFile('models: must have all settings of models, so none may stand beside it');
  const hasOthers = models !== undefined || Object.keys({ ...extend, ...services }).length > 0;
  return {
    models: models ?? (isAboutOneModel || !hasOthers ? [parsed(modelOfFile, onlyModel)] : []),
    services,
    extend,
  };
}

/** Adds services without reading their models, which are loaded when they are first needed. */
async function addServices(
  given: z.output<typeof operationsFile>['services'],
  path: string,
  { services }: Loaded,
): Promise<string[]> {
  const folder = dirname(path);
  const problems = Object.entries(given).map(async ([name, { model, api, ...settings }]) => {
    if (!serviceNamePattern.test(name))
      return [`services: ${quoteName(name)} must be lowercase letters, digits and "-", at most 40`];
    if (services.has(name)) return [`services.${name}: is already in another file`];
    services.set(name, { folder, model, api: api ?? apiOf(name), settings });
    const isThere = await stat(resolve(folder, model)).catch(() => undefined);
    return isThere === undefined ? [`services.${name}: its model ${quote(model, 100)} cannot be found`] : [];
  });
  return (await Promise.all(problems)).flat();
}

function problemsOf(operation: Operation, { operations, files }: Loaded, { reservedNames }: HostRules): string[] {
  const { name, service, signing, method, effect } = operation;
  const known = [...builtIn, ...operations];
  // Every object has properties such as `constructor`.
  const isNameTaken = name in {} || known.some((other) => other.name === name) || reservedNames.includes(name);
  const file = files.get(name);
  const inFile = file === undefined ? '' : ` in ${quoteName(basename(file))}`;
  // One suffices, because all operations of a service have the same `signing`.
  const ofService = known.find((other) => other.service === service);
  const hasOtherSigning = ofService !== undefined && JSON.stringify(ofService.signing) !== JSON.stringify(signing);
  const doubt = effectDoubt(operation);
  const isChangeByMethod = ['PUT', 'PATCH', 'DELETE'].includes(method);
  return sentences(
    !/^[a-z][a-z0-9_]{0,63}$/.test(name) &&
      'name: must be lowercase letters, digits and "_", at most 64, beginning with a letter',
    isNameTaken && `name: is taken by another operation${inFile}. Choose another name, or a prefix`,
    hasOtherSigning && `api: its requests must be signed like those of ${ofService.name}, which has the same api`,
    doubt?.kind === 'problem' && doubt.text,
    effect === 'read' && isChangeByMethod && `effect: must not be read, because its method is ${method}`,
    effect !== 'read' && method === 'HEAD' && 'effect: must be read, because its method is HEAD',
  );
}

/** Returns the problems of all `follow`, because a misspelled name would show only after the change. */
function followProblemsIn({ operations, follows, files }: Loaded): readonly string[] {
  const all = [...builtIn, ...operations];
  return all.flatMap((change) => {
    const { name, follow = follows[name] } = change;
    const problems = follow === undefined ? [] : followProblems(change, follow, all);
    return problems.map((problem) => problemLine(files.get(name) ?? '', `${quoteName(name)}: ${problem}`));
  });
}

function followProblems(change: Operation, follow: Follow, all: readonly Operation[]): string[] {
  const reads = all.filter(({ effect }) => effect === 'read');
  const read = readOfFollow(change, follow, reads);
  if (read === undefined) {
    const names = reads.flatMap(({ name, api }) => [name, api]);
    return [`follow.read: ${unknownName(follow.read, 'a read', names)}`];
  }
  const problemIfUnknown = (argument: unknown, { name, input }: Operation) => {
    const known = Object.keys(input().shape);
    if (known.includes(String(argument))) return [];
    return [`follow.arguments: ${unknownName(String(argument), `an argument of ${name}`, known)}`];
  };
  return Object.entries(follow.arguments).flatMap(([argumentPath, source]) => {
    // Fields of an answer are not checked, because an answer may have any fields.
    const [start, changeArgument] = stepsOf([source].flat()[0] ?? '');
    return [
      ...problemIfUnknown(stepsOf(argumentPath)[0], read),
      ...(start === 'input' ? problemIfUnknown(changeArgument, change) : []),
    ];
  });
}
