/** A model of an API: the JSON form (AST) of Smithy 2.0, with each shape checked when it is first asked for. */
import * as z from 'zod';
import { isDeeperThan, isObject, parseJson } from '../../util/objects.js';
import { quote, quoteName } from '../../util/quote.js';

/** Values of traits by shape ID, such as `smithy.api#length`. */
export type Traits = Readonly<Record<string, unknown>>;

/** A member of a structure or union, or the content of a list or map. */
export interface Member {
  /** Name in the model. Answers use it, and so do traits that refer to members. `wireName` is its name in requests. */
  readonly name: string;
  /** Shape ID for `Model.shape`. */
  readonly target: string;
  /** Traits of the member only. `Model.traitsOf` adds those of its target. */
  readonly traits: Traits;
}

export type SimpleType = (typeof simpleTypes)[number];

/** A shape that carries data. */
export type Shape = { readonly id: string; readonly traits: Traits } & (
  | { readonly kind: 'simple'; readonly type: SimpleType }
  | { readonly kind: 'enum'; readonly values: readonly string[] }
  | { readonly kind: 'intEnum'; readonly values: readonly number[] }
  | { readonly kind: 'list'; readonly member: Member }
  | { readonly kind: 'map'; readonly key: Member; readonly value: Member }
  | { readonly kind: 'structure' | 'union'; readonly members: readonly Member[] }
);

export type StructureShape = Extract<Shape, { kind: 'structure' | 'union' }>;

/** Protocols whose requests can be made, the preferred one first. */
export const protocols = ['restJson1', 'awsJson1_0', 'awsJson1_1', 'restXml', 'awsQuery', 'ec2Query'] as const;
export type Protocol = (typeof protocols)[number];

export interface ModelService {
  readonly id: string;
  readonly version: string;
  /** Name for people. */
  readonly title: string | undefined;
  readonly protocol: Protocol;
  /** Service name in the credential scope. */
  readonly signingName: string;
  readonly xmlNamespace: string | undefined;
  /** Shape IDs of errors of every operation. */
  readonly errors: readonly string[];
  readonly traits: Traits;
}

export interface ModelOperation {
  readonly id: string;
  readonly name: string;
  readonly input: StructureShape;
  readonly output: StructureShape;
  /** Shape IDs of the operation's errors, without those of the service. */
  readonly errors: readonly string[];
  /** Method, path with labels, and status. Protocols other than the REST protocols send POST to `/`. */
  readonly http: { readonly method: string; readonly uri: string; readonly code: number };
  readonly traits: Traits;
}

export interface Model {
  readonly service: ModelService;
  /** Names of the operations, sorted. */
  readonly names: readonly string[];
  /**
   * The operation with a name.
   * @throws ModelError if it is unknown or invalid
   */
  operation(name: string): ModelOperation;
  /**
   * The shape with an ID.
   * @throws ModelError if it is unknown or invalid
   */
  shape(id: string): Shape;
  /** The traits of a member together with those of its target. The member's own traits win. */
  traitsOf(member: Member): Traits;
}

/** A model that cannot be used. The message says where and why; text of the model is quoted in it. */
export class ModelError extends Error {
  override readonly name = 'ModelError';
}

/** The value of a trait, if it is text. */
export const textTrait = (traits: Traits, id: string): string | undefined => {
  const value = Object.hasOwn(traits, id) ? traits[id] : undefined;
  return typeof value === 'string' ? value : undefined;
};

/** True if a shape or member has a trait. */
export const hasTrait = (traits: Traits, id: string): boolean => Object.hasOwn(traits, id);

/** True for the member that gets the idempotency token. */
export const isIdempotencyToken = ({ traits }: Member): boolean => hasTrait(traits, 'smithy.api#idempotencyToken');

/**
 * Reads the value of a trait.
 * @returns undefined if the trait is absent
 * @throws ModelError if the value does not match the schema
 */
export function readTrait<Value>(
  traits: Traits,
  id: string,
  schema: z.ZodType<Value>,
  place: string,
): Value | undefined {
  return hasTrait(traits, id) ? check(schema, traits[id], `${place}: trait ${id}`) : undefined;
}

const simpleTypes = [
  'blob',
  'boolean',
  'string',
  'byte',
  'short',
  'integer',
  'long',
  'float',
  'double',
  'bigInteger',
  'bigDecimal',
  'timestamp',
  'document',
] as const;

const maximumCharacters = 20_000_000;
const maximumDepth = 200;
const maximumResources = 10_000;

const shapeId = z.string().max(500);
const reference = z.object({ target: shapeId });
const references = z.array(reference).max(maximumResources).default([]);
const traits = z.record(z.string(), z.unknown()).default({});
const member = reference.extend({ traits });
const members = z
  .record(z.string().max(200), member)
  // Absent arguments with such names would be read from their object's prototype.
  .refine(
    (all) => !Object.keys(all).some((name) => name in Object.prototype),
    'a member has a name that every object has',
  )
  .default({});

const rawShape = z.discriminatedUnion(
  'type',
  [
    z.object({ type: z.enum(simpleTypes), traits }),
    z.object({ type: z.enum(['structure', 'union']), members, traits }),
    z.object({ type: z.literal('enum'), members, traits }),
    z.object({ type: z.literal('intEnum'), members, traits }),
    z.object({ type: z.enum(['list', 'set']), member, traits }),
    z.object({ type: z.literal('map'), key: member, value: member, traits }),
  ],
  'must be a type of shapes in Smithy 2.0',
);
const rawOperation = z.object({
  type: z.literal('operation'),
  input: reference.default({ target: 'smithy.api#Unit' }),
  output: reference.default({ target: 'smithy.api#Unit' }),
  errors: references,
  traits,
});
const rawService = z.object({
  type: z.literal('service'),
  version: z.string().max(200).default(''),
  operations: references,
  resources: references,
  errors: references,
  traits,
});
const rawResource = z.object({
  type: z.literal('resource'),
  operations: references,
  collectionOperations: references,
  resources: references,
  create: reference.optional(),
  put: reference.optional(),
  read: reference.optional(),
  update: reference.optional(),
  delete: reference.optional(),
  list: reference.optional(),
});
const ast = z.object({
  smithy: z.string().regex(/^2(\.\d+)?$/, 'must be "2.0"'),
  shapes: z.record(z.string(), z.unknown()),
});
const httpTrait = z.object({ method: z.string(), uri: z.string(), code: z.int().default(200) });
const namespaceTrait = z.object({ uri: z.string() });
const sigv4Trait = z.object({ name: z.string().regex(/^[\w.-]{1,100}$/, 'must be letters, digits, ".", "_" and "-"') });

/**
 * Parses the JSON of a model.
 * @throws ModelError
 */
export function parseModelJson(text: string): Readonly<Record<string, unknown>> {
  if (text.length > maximumCharacters) throw new ModelError(`it has more than ${maximumCharacters / 1e6} MB`);
  const json = parseJson(text);
  if (!isObject(json)) throw new ModelError('it is not a JSON object');
  if (isDeeperThan(maximumDepth, json)) throw new ModelError(`it is nested deeper than ${maximumDepth} levels`);
  return json;
}

/**
 * Reads the AST of a model.
 * @throws ModelError
 */
export function readAst(json: unknown): Model {
  const { shapes } = check(ast, json, 'the model');
  refuseMixins(shapes);
  const jsonOf = (id: string): unknown => {
    if (!Object.hasOwn(shapes, id)) throw new ModelError(`shape ${placeName(id)} is not in the model`);
    return shapes[id];
  };
  const readShapes = new Map<string, Shape>();
  const shapeOf = (id: string): Shape => {
    const shape = readShapes.get(id) ?? prelude(id) ?? readShape(id, jsonOf(id));
    readShapes.set(id, shape);
    return shape;
  };
  const service = readService(shapes);
  const ids = operationIds(check(rawService, jsonOf(service.id), service.id), jsonOf);
  const idsByName = new Map([...ids].map((id) => [shapeName(id), id]));
  return {
    service,
    names: [...idsByName.keys()].sort(),
    shape: shapeOf,
    traitsOf: ({ target, traits }) => ({ ...shapeOf(target).traits, ...traits }),
    operation: (name) => {
      const id = idsByName.get(name);
      if (id === undefined) throw new ModelError(`the model has no operation ${quoteName(name)}`);
      return readOperation(id, jsonOf(id), shapeOf);
    },
  };
}

function readOperation(id: string, json: unknown, shapeOf: (id: string) => Shape): ModelOperation {
  const { input, output, errors, traits } = check(rawOperation, json, id);
  return {
    id,
    name: shapeName(id),
    input: requireStructure(shapeOf(input.target)),
    output: requireStructure(shapeOf(output.target)),
    errors: errors.map(({ target }) => target),
    http: readTrait(traits, 'smithy.api#http', httpTrait, id) ?? { method: 'POST', uri: '/', code: 200 },
    traits,
  };
}

/** @throws ModelError if a shape is no structure */
function requireStructure(shape: Shape): StructureShape {
  if (shape.kind === 'structure') return shape;
  throw new ModelError(
    `shape ${placeName(shape.id)} must be a structure, because it is the input or output of an operation`,
  );
}

/** The part of a shape ID after the namespace. */
export const shapeName = (id: string): string => id.slice(id.indexOf('#') + 1);

/**
 * Parses a part of a model.
 * @throws ModelError with the path of the first problem
 */
export function check<Value>(schema: z.ZodType<Value>, value: unknown, place: string): Value {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = issue?.path.map((step) => quoteName(String(step))).join('.') ?? '';
  const steps = path === '' ? '' : ` at ${path}`;
  throw new ModelError(`${placeName(place)}${steps}: ${issue?.message ?? 'it is not valid'}`);
}

const placeName = (place: string): string => (/^[\w.#$: -]{1,200}$/.test(place) ? place : quote(place));

function refuseMixins(shapes: Readonly<Record<string, unknown>>): void {
  for (const [id, shape] of Object.entries(shapes))
    if (isObject(shape) && (shape.type === 'apply' || 'mixins' in shape))
      throw new ModelError(`shape ${placeName(id)} uses mixins: write the model with "smithy ast --flatten"`);
}

function readService(shapes: Readonly<Record<string, unknown>>): ModelService {
  const ids = Object.keys(shapes).filter((id) => isObject(shapes[id]) && Object(shapes[id]).type === 'service');
  const [id] = ids;
  if (id === undefined || ids.length > 1) throw new ModelError(`it must have one service, and has ${ids.length}`);
  const { version, errors, traits } = check(rawService, shapes[id], id);
  const protocol = protocols.find((name) => hasTrait(traits, `aws.protocols#${name}`));
  if (protocol === undefined)
    throw new ModelError(`the service has none of the protocols that are supported: ${protocols.join(', ')}`);
  const sigv4 = readTrait(traits, 'aws.auth#sigv4', sigv4Trait, id);
  if (sigv4 === undefined)
    throw new ModelError('the service does not sign with Signature Version 4, and no other signature is supported');
  return {
    id,
    version,
    title: textTrait(traits, 'smithy.api#title'),
    protocol,
    signingName: sigv4.name,
    xmlNamespace: readTrait(traits, 'smithy.api#xmlNamespace', namespaceTrait, id)?.uri,
    errors: errors.map(({ target }) => target),
    traits,
  };
}

/** The IDs of the operations of a service, with those of its resources at any depth. */
function operationIds(service: z.output<typeof rawService>, jsonOf: (id: string) => unknown): ReadonlySet<string> {
  const operations = new Set(service.operations.map(({ target }) => target));
  const resources = new Set(service.resources.map(({ target }) => target));
  // A set can be extended while it is visited, so that each resource is visited once.
  for (const id of resources) {
    const resource = check(rawResource, jsonOf(id), id);
    for (const { target } of resource.resources) resources.add(target);
    const { create, put, read, update, delete: remove, list } = resource;
    const lifecycle = [create, put, read, update, remove, list].filter((operation) => operation !== undefined);
    for (const { target } of [...lifecycle, ...resource.operations, ...resource.collectionOperations])
      operations.add(target);
  }
  return operations;
}

function readShape(id: string, json: unknown): Shape {
  const shape = check(rawShape, json, id);
  const { traits } = shape;
  switch (shape.type) {
    case 'structure':
    case 'union':
      return { id, traits, kind: shape.type, members: readMembers(shape.members) };
    case 'enum':
      return { id, traits, kind: 'enum', values: enumValues(shape.members, z.string(), id) };
    case 'intEnum':
      return { id, traits, kind: 'intEnum', values: enumValues(shape.members, z.int(), id) };
    case 'list':
    case 'set':
      return { id, traits, kind: 'list', member: readMember('member', shape.member) };
    case 'map':
      return { id, traits, kind: 'map', key: readMember('key', shape.key), value: readMember('value', shape.value) };
    default:
      return { id, traits, kind: 'simple', type: shape.type };
  }
}

const readMembers = (raw: z.output<typeof members>): readonly Member[] =>
  Object.entries(raw).map(([name, member]) => readMember(name, member));

const readMember = (name: string, { target, traits }: z.output<typeof member>): Member => ({
  name,
  target,
  traits,
});

/** The values of an enumeration. A member without `enumValue` has its name as its value. */
const enumValues = <Value>(raw: z.output<typeof members>, value: z.ZodType<Value>, id: string): readonly Value[] =>
  Object.entries(raw).map(([name, { traits }]) =>
    check(value, traits['smithy.api#enumValue'] ?? name, `${id}$${name}`),
  );

/** The shapes that every model has: `smithy.api#String`, `smithy.api#PrimitiveLong`, `smithy.api#Unit`. */
function prelude(id: string): Shape | undefined {
  if (!id.startsWith('smithy.api#')) return undefined;
  if (shapeName(id) === 'Unit') return { id, traits: {}, kind: 'structure', members: [] };
  const name = shapeName(id).replace(/^Primitive/, '');
  const type = simpleTypes.find((type) => type === name.charAt(0).toLowerCase() + name.slice(1));
  return type && { id, traits: {}, kind: 'simple', type };
}
