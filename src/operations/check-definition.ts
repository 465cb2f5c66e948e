import * as z from 'zod';
import {
  builtInServices,
  exampleOf,
  isBuiltInService,
  type JsonSchema,
  type Operation,
} from '../tools/define-operation.js';
import { writeBody } from '../tools/request-body.js';
import { reasonOf } from '../util/log.js';
import { valueAt } from '../util/objects.js';
import { quoteName } from '../util/quote.js';
import { effectDoubt } from './model/guess-effect.js';
import { UnusableFile } from './unusable-file.js';

/** The rules of MCP hosts and of this server for the tools of operations. */
export interface HostRules {
  /** Makes the JSON Schemas of an operation's tool, as hosts see them. */
  readonly toolSchemas: (operation: Operation) => NonNullable<Operation['schemas']>;
  /** Makes the JSON Schema of arguments, as hosts see it. */
  readonly inputSchema: (schema: z.ZodObject) => JsonSchema;
  /** Returns a problem for each part of an input schema that some host refuses. */
  readonly schemaProblems: (schema: JsonSchema) => readonly string[];
  /** Names of the server's other tools, such as `decide_change`. No operation may have them. */
  readonly reservedNames: readonly string[];
}

/** Size limit of an input or output schema, in characters of JSON. Language models read the schemas in every list of tools. */
export const maximumSchema = 5000;
/** Size limit of an example, in characters of JSON. */
const maximumExample = 4000;
/** Number of broken rules of an example that are shown. */
const shownIssues = 3;

/**
 * Checks a parsed definition as a whole: against the operations that were loaded before it (`known`), the rules of hosts, and its own
 * example. Adds the schemas for hosts.
 * @param fileOfSameName the file of an earlier operation with the same name, unless that operation is built in
 * @throws UnusableFile with the problems, each of which begins with the path of a field
 * @throws OperationFault if a function of the operation throws or returns a wrong value
 */
export async function checkDefinition(
  operation: Operation,
  known: readonly Operation[],
  hosts: HostRules,
  fileOfSameName?: string,
): Promise<Operation> {
  refuseIfAny([...combinationProblems(operation), ...conflictProblems(operation, known, hosts, fileOfSameName)]);
  const complete = withKnownReads(operation, known);
  // Operations of API models have schemas already, and need no check here: their schemas and paths come from the model, and model-operation.ts
  // has checked their example.
  return complete.schemas === undefined ? { ...complete, schemas: await checkedSchemas(complete, hosts) } : complete;
}

function refuseIfAny(problems: readonly string[]): void {
  if (problems.length > 0) throw new UnusableFile(...problems);
}

const brokenRules = (rules: readonly (readonly [isBroken: boolean, problem: string])[]): string[] =>
  rules.flatMap(([isBroken, problem]) => (isBroken ? [problem] : []));

/** True for names such as `constructor`: every object has this property, so a table by name would seem to have an entry for it. */
const isPropertyOfObjects = (name: string) => name in {};

/** Returns problems of fields that are valid alone, but not together, and of names that every object has. */
function combinationProblems(operation: Operation): string[] {
  const { name, effect, method, service, signing, change, pages, probe } = operation;
  const { takesToken = false, failures, follow } = operation;
  const isBuiltIn = isBuiltInService(service);
  const isRead = effect === 'read';
  const hasFieldOfChanges = takesToken || failures !== undefined || follow !== undefined;
  // A doubt may also be a note, with which the server starts.
  const doubt = effectDoubt(operation);
  return brokenRules([
    [doubt?.kind === 'problem', doubt?.text ?? ''],
    [isPropertyOfObjects(name), 'name: is taken'],
    [isPropertyOfObjects(service), 'service: is taken'],
    [isBuiltIn && signing !== undefined, `signing: must be left out for ${service}, which settings describe`],
    [!isBuiltIn && signing === undefined, `signing: is missing. Only ${builtInServices.join(', ')} need none`],
    [isRead && change !== undefined, 'change: must be left out of a read'],
    [!isRead && change === undefined, 'change: is missing. Every operation that is not a read needs it'],
    [!isRead && pages !== undefined, 'pages: is only for reads'],
    [!isRead && probe !== undefined, 'probe: is only for reads'],
    [isRead && ['PUT', 'PATCH', 'DELETE'].includes(method), `method: must not be ${method} for a read`],
    [!isRead && method === 'HEAD', 'method: must not be HEAD for a change'],
    [isRead && hasFieldOfChanges, 'takesToken, failures, follow: are only for changes'],
  ]);
}

/** Returns conflicts of an operation with those before it (`known`), and with the names of the server's other tools (`reservedNames`). */
function conflictProblems(
  operation: Operation,
  known: readonly Operation[],
  { reservedNames }: HostRules,
  fileOfSameName: string | undefined,
): string[] {
  const { name, service, signing, preflight, followUpRead } = operation;
  const isNameTaken = known.some((other) => other.name === name) || reservedNames.includes(name);
  const inFile = fileOfSameName === undefined ? '' : ` in ${quoteName(fileOfSameName)}`;

  // A single other operation suffices, because all others of the service have the same `signing`.
  const otherOfService = known.find((other) => other.service === service);
  // Equal settings have equal JSON, because parsing has put their fields in one order.
  const hasOtherSigning =
    otherOfService !== undefined && JSON.stringify(otherOfService.signing) !== JSON.stringify(signing);

  const isKnownRead = (read: Operation) => known.some((other) => other.name === read.name && other.effect === 'read');
  const readRule = 'must be a read that comes earlier, or one of kit.operations';

  return brokenRules([
    [
      isNameTaken,
      `name: is taken by another operation${inFile}. Choose another name, or a prefix for the operations of a model`,
    ],
    [hasOtherSigning, `signing: must be the same as that of ${otherOfService?.name}, which has the same service`],
    [preflight !== undefined && !isKnownRead(preflight.operation), `preflight.operation: ${readRule}`],
    [followUpRead !== undefined && !isKnownRead(followUpRead.operation), `followUpRead.operation: ${readRule}`],
    [
      followUpRead !== undefined && followUpRead.operation.service !== service,
      `followUpRead.operation: must be of the same service, ${service}`,
    ],
  ]);
}

/** Replaces the reads in a definition by the known operations with the same names, because only known operations have guarded functions. */
function withKnownReads(operation: Operation, known: readonly Operation[]): Operation {
  const { preflight, followUpRead } = operation;
  const knownRead = (read: Operation) => known.find(({ name }) => name === read.name) ?? read;
  return {
    ...operation,
    ...(preflight !== undefined && { preflight: { ...preflight, operation: knownRead(preflight.operation) } }),
    ...(followUpRead !== undefined && {
      followUpRead: { ...followUpRead, operation: knownRead(followUpRead.operation) },
    }),
  };
}

/**
 * Makes the schemas for hosts. Checks them, the paths that the operation names, and the arguments of its probe and its example.
 * @throws UnusableFile
 */
async function checkedSchemas(operation: Operation, hosts: HostRules): Promise<NonNullable<Operation['schemas']>> {
  // If an answer may have any fields, `output` is not converted, so it is not checked.
  const outputProblems = operation.isAnswerOpen === true ? [] : unrepresentableParts(operation, 'output');
  // These checks come first, because `toolSchemas` converts only what JSON Schema can express.
  refuseIfAny([...unrepresentableParts(operation, 'input'), ...outputProblems]);

  const schemas = hosts.toolSchemas(operation);
  refuseIfAny([
    ...sizeAndNameProblems(operation, schemas),
    ...hosts.schemaProblems(schemas.input).map((problem) => `input: ${problem}`),
    ...unknownPaths(operation, schemas.input),
  ]);

  // These checks come last, because they parse arguments with `input`, which is checked above.
  refuseIfAny([...probeProblems(operation), ...(await exampleProblems(operation))]);
  return schemas;
}

/** Returns a problem if a schema has a part that JSON Schema cannot express. */
function unrepresentableParts(operation: Operation, field: 'input' | 'output'): string[] {
  const schema = operation[field]();
  try {
    z.toJSONSchema(schema, { io: field });
    return [];
  } catch (error) {
    return [`${field}: ${reasonOf(error)}`];
  }
}

/** Returns problems with the sizes of the schemas and the names of the arguments. */
function sizeAndNameProblems(operation: Operation, { input, output }: NonNullable<Operation['schemas']>): string[] {
  const isTooLarge = (schema: JsonSchema) => JSON.stringify(schema).length > maximumSchema;
  const names = Object.keys(operation.input().shape);
  const isRefusedName = (name: string) => isPropertyOfObjects(name) || !/^[A-Za-z][\w.-]{0,63}$/.test(name);

  const isChange = operation.effect !== 'read';
  const controlArguments = ['planOnly', 'replaces', ...(operation.repeatable === true ? [] : ['allowRepeat'])];
  const hasAllControlArguments = controlArguments.every((name) => names.includes(name));

  return brokenRules([
    [isTooLarge(input), `input: its JSON Schema has more than ${maximumSchema} characters`],
    [output !== undefined && isTooLarge(output), `output: its JSON Schema has more than ${maximumSchema} characters`],
    [names.some(isRefusedName), 'input: has a name that hosts do not take'],
    [names.includes('account'), 'input: must not have "account", which names the account of a call'],
    [
      isChange && !hasAllControlArguments,
      'input: lacks ...kit.fields.consentArguments(), or planArguments() if it is repeatable',
    ],
    // A read may have some of these names. All of them together mean that its author took it for a change.
    [!isChange && hasAllControlArguments, 'input: must not have the control arguments of a change'],
  ]);
}

/** Returns the paths that the input schema does not have. A secret under a misspelled path, for example, would be shown. */
function unknownPaths(operation: Operation, schema: JsonSchema): string[] {
  const { secrets = [], secretNames = {}, defaults, unknownDefaults = [], costDrivers = [], change } = operation;
  const pathsByField: Readonly<Record<string, readonly string[]>> = {
    secrets,
    // Each key is the path of an argument that names a secret file. Its value is the path of the argument that gets the file's content.
    secretNames: Object.entries(secretNames).flat(),
    unknownDefaults,
    costDrivers,
    defaults: defaults.map(({ path }) => path),
    'change.named': change?.named ?? [],
    'change.identifies': change?.identifies ?? [],
  };
  return Object.entries(pathsByField).flatMap(([field, paths]) =>
    paths.filter((path) => !hasArgument(schema, path)).map((path) => `${field}: ${quoteName(path)} is no argument`),
  );
}

/** True if the schema has an argument at a dotted path. `[]` is a step for the elements of a list: `rules[].id` is `rules`, `[]`, `id`. */
function hasArgument(schema: JsonSchema, path: string): boolean {
  const steps = path.split(/\.|(?=\[\])/);
  const schemaAtPath = steps.reduce<unknown>((parent, step) => {
    const { properties, items }: { properties?: object; items?: unknown } = Object(parent);
    return step === '[]' ? items : valueAt(properties, step);
  }, schema);
  return schemaAtPath !== undefined;
}

/** Returns problems of the arguments with which the command `doctor` calls the operation. */
function probeProblems({ probe, input }: Operation): string[] {
  if (probe === undefined) return [];
  return issueLines(input().safeParse(probe.arguments)).map((line) => `probe.arguments: ${line}`);
}

/** Returns a problem if the example is no JSON, is too large or does not fit `input`, or if the body of its request cannot be written. */
async function exampleProblems(operation: Operation): Promise<string[]> {
  const { input, request } = operation;
  const example = exampleOf(operation);
  const size = jsonSize(example);
  if (size === undefined) return ['example: must be what JSON can hold'];
  if (size > maximumExample) return [`example: has more than ${maximumExample} characters`];

  const parsed = input().safeParse(example);
  if (!parsed.success) return [`example: breaks its own rules: ${issueLines(parsed).slice(0, shownIssues).join('; ')}`];

  // An error of `request` is not caught here, because it is already an `OperationFault` with the name of the function.
  const { body } = await request(parsed.data);
  if (body === undefined) return [];
  try {
    writeBody(body);
    return [];
  } catch (error) {
    // A method `toJSON` in the body may throw a value that is no `Error`.
    const reason = error instanceof Error ? error.message : 'no error was given';
    return [`request: its body cannot be written: ${reason}`];
  }
}

const issueLines = ({ error }: z.ZodSafeParseResult<unknown>): string[] =>
  (error?.issues ?? []).map(({ path, message }) => `${path.map(String).join('.')} ${message}`.trim());

/** Returns the length of a value as JSON (characters). Returns undefined for undefined, and for a value that JSON cannot hold. */
function jsonSize(value: unknown): number | undefined {
  try {
    return JSON.stringify(value).length;
  } catch {
    return undefined;
  }
}
