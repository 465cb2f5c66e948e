/** Reads a model of an API in the JSON form (AST) of Smithy 2.0. Each shape is checked when it is first used. */
import * as z from 'zod';
import { nearestHint } from '../util/did-you-mean.js';
import { isDeeperThan, isObject, parseJson } from '../util/objects.js';
import { quote, quoteName } from '../util/quote.js';
import { isNifcloud, nifcloudProtocols } from './nifcloud.js';

/** Values of traits by shape ID, such as `smithy.api#length`. */
export type Traits = Readonly<Record<string, unknown>>;

export interface Member {
  /** Name in the model. `requestNameOf` returns the name in requests. */
  readonly name: string;
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

/** Supported protocols, in the order of preference. */
export const protocols = [
  ...(['restJson1', 'awsJson1_0', 'awsJson1_1', 'restXml', 'awsQuery', 'ec2Query'] as const),
  ...nifcloudProtocols,
] as const;
export type Protocol = (typeof protocols)[number];

/** True if answers are XML. Answers in the other protocols are JSON. */
export const isXml = ({ protocol }: Pick<ModelService, 'protocol'>): boolean => !/json/i.test(protocol);

export interface ModelService {
  readonly id: string;
  readonly version: string;
  readonly protocol: Protocol;
  /** Name in lowercase letters, digits and "-". */
  readonly name: string;
  /** The version of the signature. */
  readonly signature: 'v4' | 'v3' | 'v2';
  /** Service name in the credential scope. */
  readonly signingName: string;
  readonly xmlNamespace: string | undefined;
  readonly traits: Traits;
}

export interface ModelOperation {
  readonly id: string;
  readonly name: string;
  readonly input: StructureShape;
  readonly output: StructureShape;
  /** Protocols other than the REST protocols send POST, and to `/` unless they are NIFCLOUD's. */
  readonly http: { readonly method: string; readonly uri: string; readonly code: number };
  /** IDs of the shapes of errors. */
  readonly errors: readonly string[];
  readonly traits: Traits;
}

/** A model. Its functions throw a `ModelError` if the operation or shape is unknown or invalid. */
export interface Model {
  readonly service: ModelService;
  readonly names: readonly string[];
  operation(name: string): ModelOperation;
  shape(id: string): Shape;
  /** Returns the shape of an error, by the code in an answer. Undefined if the model does not describe the error. */
  errorShape(operation: ModelOperation, code: string): StructureShape | undefined;
  /** Returns the traits of a member and of its target. The member's traits take precedence. */
  traitsOf(member: Member): Traits;
}

/** The error for a model that cannot be used. The message quotes texts of the model. */
export class ModelError extends Error {
  override readonly name = 'ModelError';
}

/** Returns the value of a trait, if it is text. */
export const textTrait = (traits: Traits, id: string): string | undefined => {
  const value = Object.hasOwn(traits, id) ? traits[id] : undefined;
  return typeof value === 'string' ? value : undefined;
};

export const hasTrait = (traits: Traits, id: string): boolean => Object.hasOwn(traits, id);

/** The trait of a service that signs with an older version, for which Smithy has none. */
export const olderSignatureTrait = (version: 'v2' | 'v3'): string => `botocore.auth#${version}`;

/** The trait of an operation whose answer in `awsQuery` has its fields in the root. */
export const unwrappedTrait = 'botocore#unwrapped';

/** The trait of a read that describes how to wait until a change is finished. */
export const waitersTrait = 'smithy.waiters#waitable';

/** Returns the member that is the whole body, if there is one. */
export const bodyMemberOf = ({ members }: StructureShape): Member | undefined =>
  members.find(({ traits }) => hasTrait(traits, 'smithy.api#httpPayload'));

/** True for the member that gets the idempotency token. */
export const isIdempotencyToken = ({ traits }: Member): boolean => hasTrait(traits, 'smithy.api#idempotencyToken');

/**
 * Reads the value of a trait, if the trait is present.
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
const maximumReferences = 10_000;

const shapeId = z.string().max(2000);
const reference = z.object({ target: shapeId });
const references = z.array(reference).max(maximumReferences).default([]);
const traits = z.record(z.string(), z.unknown()).default({});
const member = reference.extend({ traits });
const members = z
  .record(z.string().max(200), member)
  // An absent argument `toString` would be the function that every object inherits.
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
const serviceTrait = z.object({ sdkId: z.string().max(100).optional() });
const signingTrait = z.object({
  name: z.string().regex(/^[\w.-]{1,100}$/, 'must be letters, digits, ".", "_" and "-"'),
});

/** @throws ModelError if the text is no JSON object, is too long or is nested too deeply */
export function parseModelJson(text: string): Readonly<Record<string, unknown>> {
  if (text.length > maximumCharacters) throw new ModelError(`it has more than ${maximumCharacters / 1e6} MB`);
  const json = parseJson(text);
  if (!isObject(json)) throw new ModelError('it is not a JSON object');
  if (isDeeperThan(maximumDepth, json)) throw new ModelError(`it is nested deeper than ${maximumDepth} levels`);
  return json;
}

/** @throws ModelError if the model or its service cannot be used */
export function readAst(json: unknown): Model {
  const { shapes } = check(ast, json, 'the model');
  refuseMixins(shapes);

  const jsonOf = (id: string): unknown => {
    if (!Object.hasOwn(shapes, id)) throw new ModelError(`shape ${placeName(id)} is not in the model`);
    return shapes[id];
  };
  const service = readService(shapes);
  const selectTraits = traitSelector(service.protocol);

  const shapesById = new Map<string, Shape>();
  const shapeOf = (id: string): Shape => {
    const shape = shapesById.get(id) ?? predefinedShape(id) ?? readShape(id, jsonOf(id), selectTraits);
    shapesById.set(id, shape);
    return shape;
  };

  const serviceJson = check(rawService, jsonOf(service.id), service.id);
  const idsByName = new Map([...operationIds(serviceJson, jsonOf)].map((id) => [shapeName(id), id]));

  return {
    service,
    names: [...idsByName.keys()].sort(),
    shape: shapeOf,
    traitsOf: ({ target, traits }) => ({ ...shapeOf(target).traits, ...traits }),
    operation: (name) => {
      const id = idsByName.get(name);
      if (id === undefined)
        throw new ModelError(
          `the model has no operation ${quoteName(name)}${nearestHint(name, [...idsByName.keys()])}`,
        );
      return readOperation(id, jsonOf(id), serviceJson.errors, shapeOf, selectTraits);
    },
    errorShape: ({ errors }, code) => {
      try {
        const shapes = errors.map(shapeOf);
        const codeOf = ({ traits }: Shape) => Object(traits['aws.protocols#awsQueryError']).code;
        const shape =
          shapes.find((each) => shapeName(each.id) === code) ?? shapes.find((each) => codeOf(each) === code);
        return shape && requireStructure(shape);
      } catch (error) {
        // The error of the cloud is shown without what the model says about it.
        if (error instanceof ModelError) return undefined;
        throw error;
      }
    },
  };
}

/** Many models have HTTP bindings although they have another protocol. */
function traitSelector(protocol: Protocol): SelectTraits {
  if (protocol.startsWith('rest')) return (traits) => traits;
  // NIFCLOUD's protocols also take the path.
  const httpBinding = isNifcloud(protocol)
    ? /^smithy\.api#http(?!$|ChecksumRequired$)/
    : /^smithy\.api#http(?!ChecksumRequired$)/;
  return (traits) => Object.fromEntries(Object.entries(traits).filter(([id]) => !httpBinding.test(id)));
}

type SelectTraits = (traits: Traits) => Traits;

function readOperation(
  id: string,
  json: unknown,
  errorsOfService: readonly z.output<typeof reference>[],
  shapeOf: (id: string) => Shape,
  selectTraits: SelectTraits,
): ModelOperation {
  const raw = check(rawOperation, json, id);
  const { input, output } = raw;
  const traits = selectTraits(raw.traits);
  return {
    id,
    name: shapeName(id),
    input: requireStructure(shapeOf(input.target)),
    output: requireStructure(shapeOf(output.target)),
    errors: [...raw.errors, ...errorsOfService].map(({ target }) => target),
    http: readTrait(traits, 'smithy.api#http', httpTrait, id) ?? { method: 'POST', uri: '/', code: 200 },
    traits,
  };
}

function requireStructure(shape: Shape): StructureShape {
  if (shape.kind === 'structure') return shape;
  throw new ModelError(
    `shape ${placeName(shape.id)} must be a structure, because it is the input or output of an operation`,
  );
}

/** Returns the name in a shape ID: `String` for `smithy.api#String`. */
export const shapeName = (id: string): string => id.slice(id.indexOf('#') + 1);

/** @throws ModelError with the path of the first problem */
export function check<Value>(schema: z.ZodType<Value>, value: unknown, place: string): Value {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = issue?.path.map((step) => quoteName(String(step))).join('.') ?? '';
  const steps = path === '' ? '' : ` at ${path}`;
  throw new ModelError(`${placeName(place)}${steps}: ${issue?.message ?? 'it is not valid'}`);
}

/** Quotes a place that is no shape ID, because the text may be misleading. */
const placeName = (place: string): string => (/^[\w.#$: -]{1,200}$/.test(place) ? place : quote(place));

/** Refuses mixins, because each shape is read without the others. */
function refuseMixins(shapes: Readonly<Record<string, unknown>>): void {
  for (const [id, shape] of Object.entries(shapes)) {
    if (isObject(shape) && (shape.type === 'apply' || 'mixins' in shape))
      throw new ModelError(`shape ${placeName(id)} uses mixins: write the model with "smithy ast --flatten"`);
  }
}

function readService(shapes: Readonly<Record<string, unknown>>): ModelService {
  const serviceIds = Object.keys(shapes).filter((id) => isObject(shapes[id]) && Object(shapes[id]).type === 'service');
  const [id] = serviceIds;
  if (id === undefined || serviceIds.length > 1)
    throw new ModelError(`it must have one service, and has ${serviceIds.length}`);
  const { version, traits } = check(rawService, shapes[id], id);

  const protocol = protocols.find((name) => hasTrait(traits, `aws.protocols#${name}`));
  if (protocol === undefined)
    throw new ModelError(`the service has none of the protocols that are supported: ${protocols.join(', ')}`);

  const { signature, name } = readSignature(traits, protocol, id);

  return {
    id,
    version,
    protocol,
    name: nameOfService(readTrait(traits, 'aws.api#service', serviceTrait, id)?.sdkId ?? name),
    signature,
    signingName: name,
    xmlNamespace: readTrait(traits, 'smithy.api#xmlNamespace', namespaceTrait, id)?.uri,
    traits,
  };
}

const signatureTraits = { v4: 'aws.auth#sigv4', v3: olderSignatureTrait('v3'), v2: olderSignatureTrait('v2') } as const;

/** Prefers Signature Version 4. */
function readSignature(traits: Traits, protocol: Protocol, id: string) {
  for (const signature of ['v4', 'v3', 'v2'] as const) {
    const trait = readTrait(traits, signatureTraits[signature], signingTrait, id);
    // Version 2 adds parameters to a form, and NIFCLOUD names one of them in its own way.
    const isSupported = trait !== undefined && (signature !== 'v2' || isNifcloud(protocol));
    if (isSupported) return { signature, name: trait.name };
  }
  throw new ModelError(
    'the service does not sign with Signature Version 4, and older versions are supported only if they are 3, or 2 with a protocol of NIFCLOUD',
  );
}

const nameOfService = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+|-$/g, '') || 'api';

function operationIds(service: z.output<typeof rawService>, jsonOf: (id: string) => unknown): ReadonlySet<string> {
  const operations = new Set(service.operations.map(({ target }) => target));
  const resources = new Set(service.resources.map(({ target }) => target));
  // The loop also visits resources that it adds to the set.
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

function readShape(id: string, json: unknown, selectTraits: SelectTraits): Shape {
  const shape = check(rawShape, json, id);
  const { traits } = shape;
  switch (shape.type) {
    case 'structure':
    case 'union': {
      const members = Object.entries(shape.members).map(([name, member]) => ({
        name,
        target: member.target,
        traits: selectTraits(member.traits),
      }));
      return { id, traits, kind: shape.type, members };
    }
    case 'enum':
      return { id, traits, kind: 'enum', values: enumValues(shape.members, z.string(), id) };
    case 'intEnum':
      return { id, traits, kind: 'intEnum', values: enumValues(shape.members, z.int(), id) };
    case 'list':
    case 'set':
      return { id, traits, kind: 'list', member: { name: 'member', ...shape.member } };
    case 'map':
      return { id, traits, kind: 'map', key: { name: 'key', ...shape.key }, value: { name: 'value', ...shape.value } };
    default:
      return { id, traits, kind: 'simple', type: shape.type };
  }
}

const enumValues = <Value>(raw: z.output<typeof members>, value: z.ZodType<Value>, id: string): readonly Value[] =>
  Object.entries(raw).map(([name, { traits }]) =>
    check(value, traits['smithy.api#enumValue'] ?? name, `${id}$${name}`),
  );

/** Returns a shape that Smithy defines for all models, such as `smithy.api#PrimitiveLong`. */
function predefinedShape(id: string): Shape | undefined {
  if (!id.startsWith('smithy.api#')) return undefined;
  // `Unit` is the input or output of an operation without fields.
  if (shapeName(id) === 'Unit') return { id, traits: {}, kind: 'structure', members: [] };
  const name = shapeName(id).replace(/^Primitive/, '');
  const type = simpleTypes.find((type) => type === name.charAt(0).toLowerCase() + name.slice(1));
  return type && { id, traits: {}, kind: 'simple', type };
}
