import * as z from 'zod';
import { builtInServices, exampleOf, type JsonSchema, type Operation } from '../tools/define-operation.js';
import { writeBody } from '../tools/request-body.js';
import { reasonOf } from '../util/log.js';
import { valueAt } from '../util/objects.js';
import { quoteName } from '../util/quote.js';
import type { ParsedDefinition } from './definition-schema.js';

/** Rules of the MCP hosts. */
export interface HostRules {
  /** Makes the schemas of a tool, as hosts see them. */
  readonly toolSchemas: (operation: Operation) => NonNullable<Operation['schemas']>;
  /** Makes the schema of arguments, as hosts see it. */
  readonly inputSchema: (schema: z.ZodObject) => JsonSchema;
  /** Parts of an input schema that some host refuses. */
  readonly schemaProblems: (schema: JsonSchema) => readonly string[];
  /** Names of tools that are not operations. */
  readonly reservedNames: readonly string[];
}

/** Size limit of an input schema, in characters of JSON. Models read the input schemas with every list of tools. */
const maximumSchema = 5000;
/** Size limit of an example, in characters of JSON. */
const maximumExample = 4000;

/**
 * Checks a parsed definition as a whole, against the operations before it (`known`), the rules of hosts and its own example. Adds the
 * schemas for hosts.
 * @throws OperationFault if a function has a fault
 */
export async function checkDefinition(
  operation: Operation,
  known: readonly Operation[],
  hosts: HostRules,
): Promise<ParsedDefinition> {
  const problems = [...combinationProblems(operation), ...conflictProblems(operation, known, hosts)];
  if (problems.length > 0) return { kind: 'problems', problems };
  return withSchemas(withKnownReads(operation, known), hosts);
}

const brokenRules = (rules: readonly (readonly [isBroken: boolean, problem: string])[]): string[] =>
  rules.flatMap(([isBroken, problem]) => (isBroken ? [problem] : []));

/** Problems of fields that are valid alone, but not together. */
function combinationProblems({
  name,
  effect,
  method,
  service,
  signing,
  change,
  pages,
  probe,
  takesToken = false,
  failures,
  follow,
}: Operation): string[] {
  const isBuiltIn = builtInServices.some((builtIn) => builtIn === service);
  const isRead = effect === 'read';
  return brokenRules([
    [name in {}, 'name: is taken'],
    [service in {}, 'service: is taken'],
    [isBuiltIn && signing !== undefined, `signing: must be left out for ${service}, which settings describe`],
    [!isBuiltIn && signing === undefined, `signing: is missing. Only ${builtInServices.join(', ')} need none`],
    [isRead && change !== undefined, 'change: must be left out of a read'],
    [!isRead && change === undefined, 'change: is missing. Every operation that is not a read needs it'],
    [!isRead && pages !== undefined, 'pages: is only for reads'],
    [!isRead && probe !== undefined, 'probe: is only for reads'],
    [isRead && ['PUT', 'PATCH', 'DELETE'].includes(method), `method: must not be ${method} for a read`],
    [!isRead && method === 'HEAD', 'method: must not be HEAD for a change'],
    [
      isRead && (takesToken || failures !== undefined || follow !== undefined),
      'takesToken, failures, follow: are only for changes',
    ],
  ]);
}

/** Returns conflicts with the operations before it (`known`) and with reserved names. */
function conflictProblems(operation: Operation, known: readonly Operation[], { reservedNames }: HostRules): string[] {
  const { name, service, signing, preflight, companionRead } = operation;
  const sameService = known.find((other) => other.service === service);
  const isKnownRead = (read: Operation) => known.some((other) => other.name === read.name && other.effect === 'read');
  const mustBeRead = 'operation: must be a read that comes earlier, or one of kit.operations';
  return brokenRules([
    [
      known.some((other) => other.name === name) || reservedNames.includes(name),
      'name: is taken by another operation. Choose another name, or a prefix for the operations of a model',
    ],
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
  ]);
}

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

/** Adds the schemas for hosts, and checks the example and the paths that the operation names. Those of models have been checked. */
async function withSchemas(operation: Operation, hosts: HostRules): Promise<ParsedDefinition> {
  if (operation.schemas !== undefined) return { kind: 'operation', operation };
  const unrepresentable = [
    ...jsonSchemaProblems(operation, 'input'),
    ...(operation.isAnswerOpen === true ? [] : jsonSchemaProblems(operation, 'output')),
  ];
  if (unrepresentable.length > 0) return { kind: 'problems', problems: unrepresentable };
  const schemas = hosts.toolSchemas(operation);
  const inSchemas = [
    ...schemaProblems(operation, schemas),
    ...hosts.schemaProblems(schemas.input).map((problem) => `input: ${problem}`),
    ...unknownPaths(operation, schemas.input),
  ];
  const problems =
    inSchemas.length > 0 ? inSchemas : [...probeProblems(operation), ...(await exampleProblems(operation))];
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
      output !== undefined && JSON.stringify(output).length > maximumSchema,
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
    'change.identifies': change?.identifies ?? [],
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

async function exampleProblems(operation: Operation): Promise<string[]> {
  const { input, request } = operation;
  const example = exampleOf(operation);
  const size = jsonSize(example);
  if (size === undefined) return ['example: must be what JSON can hold'];
  if (size > maximumExample) return [`example: has more than ${maximumExample} characters`];
  const parsed = input().safeParse(example);
  if (!parsed.success) return [`example: breaks its own rules: ${issueLines(parsed).slice(0, 3).join('; ')}`];
  const { body } = await request(parsed.data);
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
