import { readdir, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { OwnOperations } from '../config/own-operations.js';
import { inputJsonSchema, schemaProblems } from '../mcp/json-schema.js';
import { toolSchemas } from '../mcp/tool-schemas.js';
import type { Operation } from '../tools/define-operation.js';
import { operations as builtIn } from '../tools/index.js';
import { OperationFault } from '../tools/operation-fault.js';
import type { RequestBody } from '../tools/request-body.js';
import { reasonOf } from '../util/log.js';
import { valueAt } from '../util/objects.js';
import { quote, quoteName } from '../util/quote.js';
import { defined, type Shown, say } from '../util/safe-text.js';
import { definitionProblems } from './definition-schema.js';
import { type GuardOptions, guarded } from './guard.js';
import { createKit, type Kit, kitVersion, type MadeKit } from './kit.js';
import { defaultTimeLimits, Endless, type TimeLimits, watched } from './run-with-limit.js';

const maximumOperations = 200;
/** Models read input schemas with every list of tools (bytes of JSON). */
const maximumSchema = 5000;
/** An example stands in documents and in what `operations check` prints (characters of JSON). */
const maximumExample = 4000;

/** A file of operations that cannot be used, and why, one sentence each. */
class Unusable extends Error {
  readonly problems: readonly string[];
  constructor(...problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

/**
 * Loads the operations of a file, or of all `.mjs` and `.js` files of a folder in the order of their names. Never rejects: whatever is
 * wrong with a file is a problem that names it.
 */
export async function loadOperations(path: string, limits: TimeLimits = defaultTimeLimits): Promise<OwnOperations> {
  const operations: Operation[] = [];
  const problems: Shown[] = [];
  const take = async (subject: string, work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      const own =
        error instanceof Unusable ? error.problems : [`${quoteName(subject)} cannot be used (${reasonOf(error)}).`];
      // They are about definitions; of what else is in a file, they quote.
      problems.push(...own.map((problem) => say`CLOUDOPS_OPERATIONS: ${defined(problem)}`));
    }
  };
  await take(basename(path), async () => {
    for (const file of await filesAt(path))
      await take(
        basename(file),
        async () => void operations.push(...(await operationsOf(file, [...builtIn, ...operations], limits))),
      );
  });
  return { operations: problems.length === 0 ? operations : [], problems };
}

async function filesAt(path: string): Promise<string[]> {
  const stats = await stat(path).catch((error: unknown) => {
    throw new Unusable(`${quote(path)} cannot be read (${reasonOf(error)}).`);
  });
  if (!stats.isDirectory()) return [path];
  const names = (await readdir(path)).filter((name) => /\.m?js$/.test(name)).sort();
  if (names.length === 0) throw new Unusable(`${quote(path)} has no .mjs or .js files.`);
  return names.map((name) => join(path, name));
}

/** The operations of a file, ready to be used. */
async function operationsOf(path: string, known: readonly Operation[], limits: TimeLimits): Promise<Operation[]> {
  const file = quoteName(basename(path));
  const { made, isShown } = await makeInTime(path, file, limits.loadMs);
  const guards = { isShown, callMs: limits.callMs };
  const [added] = Object.keys(Object.prototype);
  if (added !== undefined) throw new Unusable(`${file} adds ${quoteName(added)} to every object there is.`);
  if (!Array.isArray(made)) throw new Unusable(`${file}: its default export must answer with a list of operations.`);
  if (made.length > maximumOperations) throw new Unusable(`${file} has more than ${maximumOperations} operations.`);
  const accepted: Operation[] = [];
  const problems: string[] = [];
  for (const [index, given] of made.entries()) {
    const place = `${file}: operation ${index + 1}${nameOf(given)}`;
    const found = await problemsOf(given, [...known, ...accepted], guards);
    problems.push(...found.map((problem) => `${place}: ${problem}.`));
    if (found.length === 0) accepted.push(ready(given, accepted, guards));
  }
  if (problems.length > 0) throw new Unusable(...problems.slice(0, 20));
  return accepted;
}

/** The answer of a default export, and a test for texts that its kit made. */
interface Made extends Pick<MadeKit, 'isShown'> {
  readonly made: unknown;
}

/** The answer of a file's default export. The text of an error is the author's own: it is shown, without its stack. */
async function makeOperations(path: string, file: string, loadMs: number): Promise<Made> {
  const failed = (what: string) => (error: unknown) => {
    if (error instanceof Endless) throw late(file, loadMs);
    throw new Unusable(
      `${file}: ${what}: ${quote(error instanceof Error ? error.message : 'no error was given', 500)}.`,
    );
  };
  const imported: unknown = await import(pathToFileURL(resolve(path)).href).catch(failed('it cannot be imported'));
  const { default: make, kitVersion: wanted = kitVersion } = Object(imported);
  if (wanted !== kitVersion)
    throw new Unusable(
      `${file} is for version ${quote(String(wanted), 20)} of the kit; this is version ${kitVersion}.`,
    );
  if (typeof make !== 'function')
    throw new Unusable(`${file}: its default export must be a function that takes the kit.`);
  return madeWith(make, loadMs).catch(failed('its default export threw'));
}

/**
 * Calls a default export with a kit. All of zod takes longer to load than everything else here: a file without operations that does
 * not ask for it goes without, and one that asks for it at once is called again.
 */
async function madeWith(make: (kit: Kit) => unknown, loadMs: number): Promise<Made> {
  let zod: Kit['z'] | undefined;
  let isMissed = false;
  const { kit, isShown } = createKit(() => {
    if (zod !== undefined) return zod;
    isMissed = true;
    throw new Error('z is still to be loaded');
  });
  const build = () => watched(() => make(kit), loadMs);
  const first: unknown = await Promise.resolve()
    .then(build)
    .catch((error: unknown) => {
      if (!isMissed) throw error;
    });
  if (!isMissed && Array.isArray(first) && first.length === 0) return { made: first, isShown };
  zod = await import('zod');
  return { made: isMissed ? await build() : first, isShown };
}

const late = (file: string, loadMs: number) =>
  new Unusable(`${file} did not end loading within ${loadMs / 1000} seconds.`);

async function makeInTime(path: string, file: string, loadMs: number): Promise<Made> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late(file, loadMs)), loadMs);
  });
  return Promise.race([makeOperations(path, file, loadMs), timeout]).finally(() => clearTimeout(timer));
}

const nameOf = (given: unknown) => {
  const name: unknown = Object(given).name;
  return typeof name === 'string' ? ` (${quoteName(name)})` : '';
};

/** The operation with functions that can do no harm, and with its schemas. */
function ready(given: Operation, earlier: readonly Operation[], guards: GuardOptions): Operation {
  const { preflight, companionRead } = given;
  const known = ({ name }: Operation) => [...builtIn, ...earlier].find((one) => one.name === name);
  const withKnown = <Other extends { readonly operation: Operation }>(other: Other): Other => ({
    ...other,
    operation: known(other.operation) ?? other.operation,
  });
  const whole = {
    ...given,
    ...(preflight !== undefined && { preflight: withKnown(preflight) }),
    ...(companionRead !== undefined && { companionRead: withKnown(companionRead) }),
  };
  const operation = guarded(whole, guards);
  return { ...operation, schemas: toolSchemas(operation) };
}

/** The problems of an operation beside those that are known. Its functions are called once, with its example. */
async function problemsOf(given: unknown, known: readonly Operation[], guards: GuardOptions): Promise<string[]> {
  const problems = definitionProblems(given);
  if (problems.length > 0) return problems;
  const operation = guarded(given as Operation, guards);
  const { name, service, signing, preflight, companionRead } = operation;
  if (known.some((one) => one.name === name)) return ['name: is taken by another operation'];
  const other = known.find((one) => one.service === service);
  if (other !== undefined && JSON.stringify(other.signing) !== JSON.stringify(signing))
    return [`signing: must be the same as that of ${other.name}, which has the same service`];
  for (const [field, other] of Object.entries({ preflight, companionRead }))
    if (other !== undefined && !known.some((one) => one.name === other.operation.name && one.effect === 'read'))
      return [`${field}.operation: must be a read that comes earlier, or one of kit.operations`];
  if (companionRead !== undefined && companionRead.operation.service !== service)
    return [`companionRead.operation: must be of the same service, ${service}`];
  try {
    const faults = schemaFaults(operation);
    return faults.length > 0 ? faults : [...trialFaults(operation), ...(await exampleFaults(operation))];
  } catch (error) {
    return [error instanceof Error ? error.message : 'its functions cannot be called'];
  }
}

const steering = { planOnly: true, planId: true, allowRepeat: true };

/** The schemas that hosts are shown. @throws Error that names the one of them that has no such form */
function shownSchemas(operation: Operation): ReturnType<typeof toolSchemas> {
  let field = 'input';
  try {
    inputJsonSchema(operation.input());
    field = 'output';
    return toolSchemas(operation);
  } catch (error) {
    throw error instanceof OperationFault ? error : new Error(`${field}: ${reasonOf(error)}`);
  }
}

function schemaFaults(operation: Operation): string[] {
  const { input, output } = shownSchemas(operation);
  const names = Object.keys(operation.input().shape);
  const wanted = Object.keys(steering).filter((name) => name !== 'allowRepeat' || operation.repeatable !== true);
  const isSteered = operation.effect !== 'read';
  const rules: readonly (readonly [boolean, string])[] = [
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
      isSteered !== wanted.every((name) => names.includes(name)),
      isSteered
        ? 'input: lacks ...kit.fields.consentArguments(), or planArguments() if it is repeatable'
        : 'input: must not have arguments that steer a change',
    ],
  ];
  return [
    ...rules.flatMap(([isBroken, problem]) => (isBroken ? [problem] : [])),
    ...schemaProblems(input).map((problem) => `input: ${problem}`),
    ...argumentPaths(operation).flatMap(([field, path]) =>
      hasArgument(input, path) ? [] : [`${field}: ${quoteName(path)} is no argument`],
    ),
  ];
}

/** The arguments that an operation names: a secret under a wrong name would be shown. */
function argumentPaths({ secrets = [], secretNames = {}, unknownDefaults = [], costDrivers = [], ...rest }: Operation) {
  const paths: Readonly<Record<string, readonly string[]>> = {
    secrets,
    secretNames: Object.entries(secretNames).flat(),
    unknownDefaults,
    costDrivers,
    defaults: rest.defaults.map(({ path }) => path),
    'change.named': rest.change?.named ?? [],
  };
  return Object.entries(paths).flatMap(([field, all]) => all.map((path) => [field, path] as const));
}

/** True if a schema has an argument at a dotted path, in which `[]` stands for each element of a list. */
function hasArgument(schema: unknown, path: string): boolean {
  const found = path.split(/\.|(?=\[\])/).reduce<unknown>((at, step) => {
    const { properties, items }: { properties?: object; items?: unknown } = Object(at);
    return step === '[]' ? items : valueAt(properties, step);
  }, schema);
  return found !== undefined;
}

function trialFaults({ probe, input }: Operation): string[] {
  const issue = probe && input().safeParse(probe.arguments).error?.issues[0];
  return issue ? [`probe.arguments: ${`${issue.path.map(String).join('.')} ${issue.message}`.trim()}`] : [];
}

/** @throws Error that names it, for what JSON cannot hold */
function textOf(example: Operation['example']): string {
  try {
    return JSON.stringify(example);
  } catch {
    throw new Error('example: must be what JSON can hold');
  }
}

async function exampleFaults(operation: Operation): Promise<string[]> {
  const { example } = operation;
  if (textOf(example).length > maximumExample) return [`example: has more than ${maximumExample} characters`];
  const parsed = operation.input().safeParse(example);
  if (!parsed.success) {
    const lines = parsed.error.issues.map(({ path, message }) => `${path.map(String).join('.')} ${message}`);
    return [`example: breaks its own rules: ${lines.slice(0, 3).join('; ')}`];
  }
  return bodyFaults(operation.request(parsed.data).body);
}

/** The writer comes with everything that sends: a start with operations that send no body needs none of it. */
async function bodyFaults(body: RequestBody | undefined): Promise<string[]> {
  if (body === undefined) return [];
  const { contentOf } = await import('../transport/encode-content.js');
  try {
    contentOf(body);
    return [];
  } catch (error) {
    return [`request: its body cannot be written: ${error instanceof Error ? error.message : 'it has no form'}`];
  }
}
