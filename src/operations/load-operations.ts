import { readdir, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as z from 'zod';
import type { JsonSchema, Operation } from '../tools/define-operation.js';
import { operations as builtIn } from '../tools/index.js';
import { writeBody } from '../tools/request-body.js';
import { reasonOf } from '../util/log.js';
import { valueAt } from '../util/objects.js';
import { quote, quoteName } from '../util/quote.js';
import { defined, type SafeText, say } from '../util/safe-text.js';
import { type ParsedDefinition, parseDefinition } from './definition-schema.js';
import type { CallObserver } from './guard.js';
import { createKit, type Kit, kitVersion } from './kit.js';

/** The operations of outside files. */
export interface OwnOperations {
  readonly operations: readonly Operation[];
  /** Reasons why the files cannot be used, one sentence each. Then there are no operations. */
  readonly problems: readonly SafeText[];
}

/** Rules of the MCP hosts. */
export interface HostRules {
  /** Makes the schemas of a tool, as hosts see them. */
  readonly toolSchemas: (operation: Operation) => NonNullable<Operation['schemas']>;
  /** Parts of an input schema that some host refuses. */
  readonly schemaProblems: (schema: JsonSchema) => readonly string[];
  /** Names of tools that are not operations. */
  readonly reservedNames: readonly string[];
}

export interface LoadOptions {
  readonly observer?: CallObserver;
  /** Time limit for the import of a file and its default export (milliseconds). */
  readonly timeLimitMs?: number;
}

type Context = Required<LoadOptions> & { readonly hosts: HostRules };

const maximumOperations = 200;
/** Characters of JSON. Models read the input schemas with every list of tools. */
const maximumSchema = 5000;
/** Characters of JSON. */
const maximumExample = 4000;
/** Problems of one file that are shown. */
const maximumProblems = 20;

/** Loads the operations of a file, or of all `.mjs` and `.js` files in a folder, in the order of their names. Never rejects. */
export async function loadOperations(
  path: string,
  hosts: HostRules,
  { observer = {}, timeLimitMs = 5000 }: LoadOptions = {},
): Promise<OwnOperations> {
  const operations: Operation[] = [];
  const problems: string[] = [];
  const { files, problem } = await filesAt(path);
  if (problem !== undefined) problems.push(problem);
  for (const file of files) {
    const loaded = await loadFile(file, operations, { hosts, observer, timeLimitMs });
    operations.push(...loaded.operations);
    problems.push(...loaded.problems);
  }
  return {
    operations: problems.length === 0 ? operations : [],
    // The texts are this file's own; values of outside files are quoted in them.
    problems: problems.map((text) => say`CLOUDOPS_OPERATIONS: ${defined(text)}`),
  };
}

interface FilesAtPath {
  readonly files: readonly string[];
  readonly problem?: string;
}

async function filesAt(path: string): Promise<FilesAtPath> {
  try {
    if (!(await stat(path)).isDirectory()) return { files: [path] };
    const names = (await readdir(path)).filter((name) => /\.m?js$/.test(name)).sort();
    if (names.length === 0) return { files: [], problem: `${quote(path)} has no .mjs or .js files.` };
    return { files: names.map((name) => join(path, name)) };
  } catch (error) {
    return { files: [], problem: `${quote(path)} cannot be read (${reasonOf(error)}).` };
  }
}

interface LoadedFile {
  readonly operations: readonly Operation[];
  readonly problems: readonly string[];
}

/** Loads one file. `earlier` are the operations of the files before it. */
async function loadFile(path: string, earlier: readonly Operation[], context: Context): Promise<LoadedFile> {
  const file = quoteName(basename(path));
  const imported = await withinTime(importFile(path, file, context.observer), context.timeLimitMs, {
    kind: 'problem',
    problem: `${file} did not end loading within ${context.timeLimitMs / 1000} seconds.`,
  });
  if (imported.kind === 'problem') return { operations: [], problems: [imported.problem] };
  const operations: Operation[] = [];
  const problems: string[] = [];
  for (const [index, definition] of imported.definitions.entries()) {
    const known = [...builtIn, ...earlier, ...operations];
    const result = readDefinition(definition, known, context);
    const place = `${file}: operation ${index + 1}${nameOf(definition)}`;
    if (result.kind === 'operation') operations.push(result.operation);
    else problems.push(...result.problems.map((problem) => `${place}: ${problem}.`));
  }
  return { operations, problems: problems.slice(0, maximumProblems) };
}

async function withinTime<Value>(work: Promise<Value>, timeLimitMs: number, late: Value): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<Value>((resolve) => {
    timer = setTimeout(resolve, timeLimitMs, late);
  });
  return Promise.race([work, timeout]).finally(() => clearTimeout(timer));
}

const nameOf = (definition: unknown) => {
  const name: unknown = Object(definition).name;
  return typeof name === 'string' ? ` (${quoteName(name)})` : '';
};

type ImportedFile =
  | { readonly kind: 'definitions'; readonly definitions: readonly unknown[] }
  | { readonly kind: 'problem'; readonly problem: string };

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
const definitionList = z
  .array(z.unknown(), 'its default export must return a list of operations')
  .max(maximumOperations, `it has more than ${maximumOperations} operations`);

/** Imports a file and calls its default export. */
async function importFile(path: string, file: string, { calling }: CallObserver): Promise<ImportedFile> {
  const problem = (text: string): ImportedFile => ({ kind: 'problem', problem: `${file}: ${text}.` });
  let ifThrown = 'it cannot be imported';
  try {
    calling?.(`${file}: import`);
    const module = fileModule.safeParse(await import(pathToFileURL(resolve(path)).href));
    if (!module.success) return problem(module.error.issues.map(({ message }) => message).join('; '));
    ifThrown = 'its default export threw';
    calling?.(`${file}: default export`);
    const list = definitionList.safeParse(await module.data.default(createKit()));
    if (!list.success) return problem(list.error.issues.map(({ message }) => message).join('; '));
    const [addedField] = Object.keys(Object.prototype);
    if (addedField !== undefined) return problem(`it adds ${quoteName(addedField)} to every object there is`);
    return { kind: 'definitions', definitions: list.data };
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'no error was given';
    return problem(`${ifThrown}: ${quote(reason, 500)}`);
  }
}

/** Reads a definition, and tries the operation with its own example. `known` are all operations before it. */
function readDefinition(
  definition: unknown,
  known: readonly Operation[],
  { hosts, observer }: Context,
): ParsedDefinition {
  try {
    const parsed = parseDefinition(definition, observer);
    if (parsed.kind === 'problems') return parsed;
    const problems = conflicts(parsed.operation, known, hosts);
    if (problems.length > 0) return { kind: 'problems', problems };
    return withSchemas(withKnownReads(parsed.operation, known), hosts);
  } catch (error) {
    return { kind: 'problems', problems: [error instanceof Error ? error.message : 'its functions cannot be called'] };
  }
}

/** Problems with the operations that are known already. */
function conflicts(operation: Operation, known: readonly Operation[], { reservedNames }: HostRules): string[] {
  const { name, service, signing, preflight, companionRead } = operation;
  const sameService = known.find((other) => other.service === service);
  const isKnownRead = (read: Operation) => known.some((other) => other.name === read.name && other.effect === 'read');
  const mustBeRead = 'operation: must be a read that comes earlier, or one of kit.operations';
  const rules: readonly (readonly [boolean, string])[] = [
    [known.some((other) => other.name === name) || reservedNames.includes(name), 'name: is taken by another operation'],
    [
      sameService !== undefined && JSON.stringify(sameService.signing) !== JSON.stringify(signing),
      `signing: must be the same as that of ${sameService?.name}, which has the same service`,
    ],
    [preflight !== undefined && !isKnownRead(preflight.operation), `preflight.${mustBeRead}`],
    [companionRead !== undefined && !isKnownRead(companionRead.operation), `companionRead.${mustBeRead}`],
    [
      companionRead !== undefined && companionRead.operation.service !== service,
      `companionRead.operation: must be of the same service, ${service}`,
    ],
  ];
  return brokenRules(rules);
}

const brokenRules = (rules: readonly (readonly [isBroken: boolean, problem: string])[]): string[] =>
  rules.flatMap(([isBroken, problem]) => (isBroken ? [problem] : []));

/** Replaces the reads that an operation names by the known ones, whose functions are guarded. */
function withKnownReads(operation: Operation, known: readonly Operation[]): Operation {
  const { preflight, companionRead } = operation;
  const guarded = ({ operation: read }: { readonly operation: Operation }) => ({
    operation: known.find(({ name }) => name === read.name) ?? read,
  });
  return {
    ...operation,
    ...(preflight !== undefined && { preflight: { ...preflight, ...guarded(preflight) } }),
    ...(companionRead !== undefined && { companionRead: { ...companionRead, ...guarded(companionRead) } }),
  };
}

/** Adds the schemas that hosts see, if the schemas, the example and the paths that the operation names are right. */
function withSchemas(operation: Operation, hosts: HostRules): ParsedDefinition {
  const unrepresentable = [...jsonSchemaProblems(operation, 'input'), ...jsonSchemaProblems(operation, 'output')];
  if (unrepresentable.length > 0) return { kind: 'problems', problems: unrepresentable };
  const schemas = hosts.toolSchemas(operation);
  const inSchemas = [
    ...schemaProblems(operation, schemas),
    ...hosts.schemaProblems(schemas.input).map((problem) => `input: ${problem}`),
    ...unknownPaths(operation, schemas.input),
  ];
  const problems = inSchemas.length > 0 ? inSchemas : [...probeProblems(operation), ...exampleProblems(operation)];
  return problems.length > 0
    ? { kind: 'problems', problems }
    : { kind: 'operation', operation: { ...operation, schemas } };
}

function jsonSchemaProblems(operation: Operation, field: 'input' | 'output'): string[] {
  const schema = operation[field]();
  try {
    z.toJSONSchema(schema, { io: field });
    return [];
  } catch (error) {
    return [`${field}: ${reasonOf(error)}`];
  }
}

function schemaProblems(operation: Operation, { input, output }: NonNullable<Operation['schemas']>): string[] {
  const names = Object.keys(operation.input().shape);
  const isChange = operation.effect !== 'read';
  const controlArguments = ['planOnly', 'planId', ...(operation.repeatable === true ? [] : ['allowRepeat'])];
  const hasControlArguments = controlArguments.every((name) => names.includes(name));
  return brokenRules([
    [JSON.stringify(input).length > maximumSchema, `input: its JSON Schema has more than ${maximumSchema} characters`],
    [
      JSON.stringify(output).length > maximumSchema,
      `output: its JSON Schema has more than ${maximumSchema} characters`,
    ],
    [
      names.some((name) => name in {} || !/^[A-Za-z][\w.-]{0,63}$/.test(name)),
      'input: has a name that hosts do not take',
    ],
    [names.includes('account'), 'input: must not have "account", which names the account of a call'],
    [
      isChange && !hasControlArguments,
      'input: lacks ...kit.fields.consentArguments(), or planArguments() if it is repeatable',
    ],
    [!isChange && hasControlArguments, 'input: must not have the control arguments of a change'],
  ]);
}

/** Returns the paths that the schema does not have. A secret under a wrong name would be shown. */
function unknownPaths(operation: Operation, schema: JsonSchema): string[] {
  const { secrets = [], secretNames = {}, defaults, unknownDefaults = [], costDrivers = [], change } = operation;
  const pathsByField: Readonly<Record<string, readonly string[]>> = {
    secrets,
    secretNames: Object.entries(secretNames).flat(),
    unknownDefaults,
    costDrivers,
    defaults: defaults.map(({ path }) => path),
    'change.named': change?.named ?? [],
  };
  return Object.entries(pathsByField).flatMap(([field, paths]) =>
    paths.filter((path) => !hasArgument(schema, path)).map((path) => `${field}: ${quoteName(path)} is no argument`),
  );
}

/** @param path dotted, with `[]` for each element of a list */
function hasArgument(schema: JsonSchema, path: string): boolean {
  const argument = path.split(/\.|(?=\[\])/).reduce<unknown>((parent, step) => {
    const { properties, items }: { properties?: object; items?: unknown } = Object(parent);
    return step === '[]' ? items : valueAt(properties, step);
  }, schema);
  return argument !== undefined;
}

function probeProblems({ probe, input }: Operation): string[] {
  if (probe === undefined) return [];
  return issueLines(input().safeParse(probe.arguments)).map((line) => `probe.arguments: ${line}`);
}

function exampleProblems({ example, input, request }: Operation): string[] {
  const size = jsonSize(example);
  if (size === undefined) return ['example: must be what JSON can hold'];
  if (size > maximumExample) return [`example: has more than ${maximumExample} characters`];
  const parsed = input().safeParse(example);
  if (!parsed.success) return [`example: breaks its own rules: ${issueLines(parsed).slice(0, 3).join('; ')}`];
  const { body } = request(parsed.data);
  try {
    if (body !== undefined) writeBody(body);
    return [];
  } catch (error) {
    return [`request: its body cannot be written: ${error instanceof Error ? error.message : 'it has no form'}`];
  }
}

const issueLines = ({ error }: z.ZodSafeParseResult<unknown>): string[] =>
  (error?.issues ?? []).map(({ path, message }) => `${path.map(String).join('.')} ${message}`.trim());

/** Characters of JSON, or undefined if JSON cannot hold the value. */
function jsonSize(value: unknown): number | undefined {
  try {
    return JSON.stringify(value).length;
  } catch {
    return undefined;
  }
}
