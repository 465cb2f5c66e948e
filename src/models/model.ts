/** Reads a model of an API in the JSON form (AST) of Smithy 2.0. Each shape is checked when it is first used. */
import * as z from 'zod';
import { nearestHint } from '../util/did-you-mean.js';
import { sentenceCase } from '../util/human.js';
import { attempt, isDeeperThan, isObject, lazy, parseJson } from '../util/objects.js';
import { quote, quoteName } from '../util/quote.js';
import { documentationText } from './documentation-text.js';
import { isNifcloud, nifcloudProtocols } from './nifcloud.js';

/** Values of traits by shape ID, such as `smithy.api#length`. */
export type Traits = Readonly<Record<string, unknown>>;

/** A member of a structure, a list or a map. To callers, it is an argument, a field inside an argument, or a field of an answer. */
export interface Member {
  /** The name in calls: the name in the model, with a "_" if this server has an argument with this name. */
  readonly name: string;
  readonly memberName: string;
  /** Name in bodies of requests, or that of the header or parameter of an argument. Calls may have it in place of `name`. */
  readonly requestName: string;
  readonly ownTraits: Traits;
  /** Traits of the member and of its target. The member's traits take precedence. */
  readonly traits: Traits;
  /** Read on demand, because shapes may contain themselves. */
  readonly shape: Shape;
  readonly isRequired: boolean;
  readonly isSensitive: boolean;
  /** True for the value of an API key, as in `CreateApiKey`. */
  readonly isOfApiKey: boolean;
  /** Undefined for the query or the body. */
  readonly location?: 'path' | 'headers' | undefined;
  readonly documentation: string;
}

export type SimpleType = keyof typeof kindsOfTypes;

export type Shape = StructureShape | ListShape | MapShape | EnumShape | SimpleShape;

interface ShapeBase {
  readonly id: string;
  readonly traits: Traits;
}

export interface StructureShape extends ShapeBase {
  readonly kind: 'structure';
  readonly members: readonly Member[];
  /** True if a value must have exactly one member. */
  readonly isUnion: boolean;
}

interface ListShape extends ShapeBase {
  readonly kind: 'list';
  readonly element: Member;
}

interface MapShape extends ShapeBase {
  readonly kind: 'map';
  readonly key: Member;
  readonly element: Member;
}

interface EnumShape extends ShapeBase {
  readonly kind: 'enum';
  readonly type: 'string';
  readonly values: readonly string[];
}

interface SimpleShape extends ShapeBase {
  /** `bigNumber` is a number of any size, which calls and answers have as text. */
  readonly kind: (typeof kindsOfTypes)[SimpleType];
  readonly type: SimpleType;
  readonly values?: readonly number[];
}

/** Inclusive bounds of a length, a size or a number. */
export interface ValueLimits {
  readonly min?: number | undefined;
  readonly max?: number | undefined;
}

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
  readonly errors: readonly string[];
  readonly traits: Traits;
}

/** A model. Its functions throw a `ModelError` if the operation or shape is unknown or invalid. */
export interface Model {
  readonly service: ModelService;
  readonly names: readonly string[];
  operation(name: string): ModelOperation;
  /** Returns the shape of an error, by the code in an answer. Undefined if the model does not describe the error. */
  errorShape(operation: ModelOperation, code: string): StructureShape | undefined;
}

/** Returns the operations that the model does not describe wrongly. */
export const readableNames = ({ names, operation }: Model): readonly string[] =>
  names.filter((name) => attempt(() => operation(name), undefined) !== undefined);

/** The error for a model that cannot be used. The message quotes texts of the model. */
export class ModelError extends Error {
  override readonly name = 'ModelError';
}

export const textTrait = (traits: Traits, id: string): string | undefined => {
  const value = Object.hasOwn(traits, id) ? traits[id] : undefined;
  return typeof value === 'string' ? value : undefined;
};

export const hasTrait = (traits: Traits, id: string): boolean => Object.hasOwn(traits, id);

/** The trait of a service for the version of its signature. Smithy has none for older versions. */
export const signatureTrait = (version: ModelService['signature']): string =>
  version === 'v4' ? 'aws.auth#sigv4' : `botocore.auth#${version}`;

/** The trait of an operation whose answer in `awsQuery` has its fields in the root. */
export const unwrappedTrait = 'botocore#unwrapped';

/** The trait of a read that describes how to wait until a change is finished. */
export const waitersTrait = 'smithy.waiters#waitable';

export const bodyMemberOf = ({ members }: StructureShape): Member | undefined =>
  members.find(({ ownTraits }) => hasTrait(ownTraits, 'smithy.api#httpPayload'));

export const isIdempotencyToken = ({ ownTraits }: Member): boolean =>
  hasTrait(ownTraits, 'smithy.api#idempotencyToken');

/** @throws ModelError if the bounds are no numbers */
export function limitsOf({ shape, traits }: Member): ValueLimits {
  const isNumber = shape.kind === 'integer' || shape.kind === 'number';
  // The bounds of `integer` and `long` would take too much room in the list of tools. The schema refuses numbers that JavaScript would round.
  const bits = 'type' in shape ? { byte: 7, short: 15 }[String(shape.type)] : undefined;
  const ofType = bits !== undefined && { min: -(2 ** bits), max: 2 ** bits - 1 };
  return { ...ofType, ...readTrait(traits, `smithy.api#${isNumber ? 'range' : 'length'}`, limitsSchema, shape.id) };
}

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

const kindsOfTypes = {
  blob: 'blob',
  boolean: 'boolean',
  string: 'text',
  byte: 'integer',
  short: 'integer',
  integer: 'integer',
  long: 'integer',
  float: 'number',
  double: 'number',
  bigInteger: 'bigNumber',
  bigDecimal: 'bigNumber',
  timestamp: 'timestamp',
  document: 'document',
} as const;
const isSimpleType = (type: string): type is SimpleType => Object.hasOwn(kindsOfTypes, type);

const maximumCharacters = 20_000_000;
const maximumDepth = 200;

const reference = z.object({ target: z.string().max(2000) });
const references = z.array(reference).max(10_000).default([]);
const traits = z.record(z.string(), z.unknown()).default({});
const rawMember = reference.extend({ traits });
const rawShape = z.object({
  type: z.string(),
  members: z
    .record(z.string().max(200), rawMember)
    // An absent argument `toString` would be the function that every object inherits.
    .refine(
      (all) => !Object.keys(all).some((name) => name in Object.prototype),
      'a member has a name that every object has',
    )
    .default({}),
  member: z.unknown().optional(),
  key: z.unknown().optional(),
  value: z.unknown().optional(),
  traits,
});
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
const rawResource = z.looseObject({
  operations: references,
  collectionOperations: references,
  resources: references,
});
const ast = z.object({
  smithy: z.string().regex(/^2(\.\d+)?$/, 'must be "2.0"'),
  shapes: z.record(z.string(), z.unknown()),
});
const httpTrait = z.object({ method: z.string(), uri: z.string(), code: z.int().default(200) });
const limitsSchema = z.object({ min: z.coerce.number(), max: z.coerce.number() }).partial();
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
  for (const [id, shape] of Object.entries(shapes)) {
    // Each shape is read without the others.
    if (isObject(shape) && (shape.type === 'apply' || 'mixins' in shape))
      throw new ModelError(`shape ${placeName(id)} uses mixins: write the model with "smithy ast --flatten"`);
  }

  const jsonOf = (id: string): unknown => {
    if (!Object.hasOwn(shapes, id)) throw new ModelError(`shape ${placeName(id)} is not in the model`);
    return shapes[id];
  };
  const service = readService(shapes);

  const shapesById = new Map<string, Shape>();
  const shapeOf = (id: string): Shape => {
    const shape = shapesById.get(id) ?? predefinedShape(id) ?? readShape(id, jsonOf(id), reader);
    shapesById.set(id, shape);
    return shape;
  };
  const reader: Reader = { protocol: service.protocol, selectTraits: traitSelector(service.protocol), shapeOf };

  const serviceJson = check(rawService, jsonOf(service.id), service.id);
  const idsByName = new Map([...operationIds(serviceJson, jsonOf)].map((id) => [shapeName(id), id]));

  return {
    service,
    names: [...idsByName.keys()].sort(),
    operation: (name) => {
      const id = idsByName.get(name);
      if (id === undefined)
        throw new ModelError(
          `the model has no operation ${quoteName(name)}${nearestHint(name, [...idsByName.keys()])}`,
        );
      const raw = check(rawOperation, jsonOf(id), id);
      const traits = reader.selectTraits(raw.traits);
      return {
        id,
        name,
        input: requireStructure(shapeOf(raw.input.target)),
        output: requireStructure(shapeOf(raw.output.target)),
        errors: [...raw.errors, ...serviceJson.errors].map(({ target }) => target),
        http: readTrait(traits, 'smithy.api#http', httpTrait, id) ?? { method: 'POST', uri: '/', code: 200 },
        traits,
      };
    },
    errorShape: ({ errors }, code) => {
      // If the model is wrong, the error of the cloud is shown without what the model says about it.
      return attempt(() => {
        const all = errors.map(shapeOf);
        const codeOf = ({ traits }: Shape) => Object(traits['aws.protocols#awsQueryError']).code;
        const shape = all.find((each) => shapeName(each.id) === code) ?? all.find((each) => codeOf(each) === code);
        return shape && requireStructure(shape);
      }, undefined);
    },
  };
}

interface Reader {
  readonly protocol: Protocol;
  readonly selectTraits: (traits: Traits) => Traits;
  readonly shapeOf: (id: string) => Shape;
}

/** Many models have HTTP bindings although they have another protocol. */
function traitSelector(protocol: Protocol): Reader['selectTraits'] {
  if (protocol.startsWith('rest')) return (traits) => traits;
  // NIFCLOUD's protocols also take the path.
  const httpBinding = isNifcloud(protocol)
    ? /^smithy\.api#http(?!$|ChecksumRequired$)/
    : /^smithy\.api#http(?!ChecksumRequired$)/;
  return (traits) => Object.fromEntries(Object.entries(traits).filter(([id]) => !httpBinding.test(id)));
}

function requireStructure(shape: Shape): StructureShape {
  if (shape.kind === 'structure' && !shape.isUnion) return shape;
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

function readService(shapes: Readonly<Record<string, unknown>>): ModelService {
  const serviceIds = Object.keys(shapes).filter((id) => isObject(shapes[id]) && Object(shapes[id]).type === 'service');
  const [id] = serviceIds;
  if (id === undefined || serviceIds.length > 1)
    throw new ModelError(`it must have one service, and has ${serviceIds.length}`);
  const { version, traits } = check(rawService, shapes[id], id);

  const protocol = protocols.find((name) => hasTrait(traits, `aws.protocols#${name}`));
  if (protocol === undefined)
    throw new ModelError(`the service has none of the protocols that are supported: ${protocols.join(', ')}`);

  // Version 2 adds parameters to a form, and NIFCLOUD names one of them in its own way.
  const signatures = isNifcloud(protocol) ? (['v4', 'v3', 'v2'] as const) : (['v4', 'v3'] as const);
  const signature = signatures.find((version) => hasTrait(traits, signatureTrait(version)));
  const signing = signature && readTrait(traits, signatureTrait(signature), signingTrait, id);
  if (signature === undefined || signing === undefined)
    throw new ModelError(
      'the service does not sign with Signature Version 4, and older versions are supported only if they are 3, or 2 with a protocol of NIFCLOUD',
    );

  const namespace = readTrait(traits, 'smithy.api#xmlNamespace', z.object({ uri: z.string() }), id);
  const sdk = readTrait(traits, 'aws.api#service', z.object({ sdkId: z.string().max(100).optional() }), id);
  const name = (sdk?.sdkId ?? signing.name)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+|-$/g, '');
  return {
    id,
    version,
    protocol,
    name: name || 'api',
    signature,
    signingName: signing.name,
    xmlNamespace: namespace?.uri,
    traits,
  };
}

function operationIds(service: z.output<typeof rawService>, jsonOf: (id: string) => unknown): ReadonlySet<string> {
  const operations = new Set(service.operations.map(({ target }) => target));
  const resources = new Set(service.resources.map(({ target }) => target));
  // The loop also visits resources that it adds to the set.
  for (const id of resources) {
    const resource = check(rawResource, jsonOf(id), id);
    for (const { target } of resource.resources) resources.add(target);
    const lifecycle = ['create', 'put', 'read', 'update', 'delete', 'list'];
    const ofLifecycle = lifecycle.flatMap((name) =>
      resource[name] === undefined ? [] : [check(reference, resource[name], `${id}: ${name}`)],
    );
    for (const { target } of [...ofLifecycle, ...resource.operations, ...resource.collectionOperations])
      operations.add(target);
  }
  return operations;
}

function readShape(id: string, json: unknown, reader: Reader): Shape {
  const { type, members, traits, ...inner } = check(rawShape, json, id);
  const memberAt = (name: 'member' | 'key' | 'value') =>
    readMember(id, name, check(rawMember, inner[name], `${id}$${name}`), reader);
  const valuesOf = <Value>(schema: z.ZodType<Value>): readonly Value[] =>
    Object.entries(members).map(([name, { traits }]) =>
      check(schema, traits['smithy.api#enumValue'] ?? name, `${id}$${name}`),
    );
  switch (type) {
    case 'structure':
    case 'union':
      return {
        id,
        traits,
        kind: 'structure',
        isUnion: type === 'union',
        members: Object.entries(members).map(([name, { target, traits }]) =>
          readMember(id, name, { target, traits: reader.selectTraits(traits) }, reader),
        ),
      };
    case 'enum':
      return { id, traits, kind: 'enum', type: 'string', values: valuesOf(z.string()) };
    case 'intEnum':
      return { id, traits, kind: 'integer', type: 'integer', values: valuesOf(z.int()) };
    case 'list':
    case 'set':
      return { id, traits, kind: 'list', element: memberAt('member') };
    case 'map':
      return { id, traits, kind: 'map', key: memberAt('key'), element: memberAt('value') };
    default:
      if (isSimpleType(type)) return { id, traits, kind: kindsOfTypes[type], type };
      throw new ModelError(`${placeName(id)} at type: must be a type of shapes in Smithy 2.0`);
  }
}

function readMember(
  structure: string,
  name: string,
  { target, traits: ownTraits }: z.output<typeof rawMember>,
  { shapeOf, protocol }: Reader,
): Member {
  const allTraits = lazy(() => ({ ...shapeOf(target).traits, ...ownTraits }));
  return {
    name,
    memberName: name,
    ownTraits,
    isOfApiKey: name.toLowerCase() === 'value' && /(?:api-?|plan)key/i.test(shapeName(structure)),
    get requestName() {
      return requestNameOf(this, protocol);
    },
    get traits() {
      return allTraits();
    },
    get shape() {
      return shapeOf(target);
    },
    get isRequired() {
      return hasTrait(allTraits(), 'smithy.api#required');
    },
    get isSensitive() {
      return isSensitive(this);
    },
    get location() {
      if (hasTrait(allTraits(), 'smithy.api#httpLabel')) return 'path';
      const isInHeaders = ['httpHeader', 'httpPrefixHeaders'].some((id) => hasTrait(allTraits(), `smithy.api#${id}`));
      return isInHeaders ? 'headers' : undefined;
    },
    get documentation() {
      return documentationText(textTrait(allTraits(), 'smithy.api#documentation') ?? '');
    },
  };
}

function isSensitive({ traits, shape }: Member): boolean {
  if (hasTrait(traits, 'smithy.api#sensitive')) return true;
  return (
    (shape.kind === 'list' && isSensitive(shape.element)) ||
    (shape.kind === 'map' && (isSensitive(shape.key) || isSensitive(shape.element)))
  );
}

/** Of a flattened list or map, requests have only the entries, so its name in the model is returned. */
function requestNameOf({ memberName, ownTraits, shape }: Member, protocol: Protocol): string {
  const trait = (id: string) => textTrait(ownTraits, id);
  if (protocol.startsWith('awsJson')) return memberName;
  if (protocol === 'restJson1') return trait('smithy.api#jsonName') ?? memberName;
  const isEc2 = protocol === 'ec2Query';
  // EC2's protocol flattens every list, even without the trait.
  const isFlattened = isEc2 || hasTrait(ownTraits, 'smithy.api#xmlFlattened');
  if (isFlattened && (shape.kind === 'list' || shape.kind === 'map')) return memberName;
  const nameInXml = trait('smithy.api#xmlName') ?? memberName;
  return isEc2 ? (trait('aws.protocols#ec2QueryName') ?? sentenceCase(nameInXml)) : nameInXml;
}

/** Returns a shape that Smithy defines for all models, such as `smithy.api#PrimitiveLong`. */
function predefinedShape(id: string): Shape | undefined {
  if (!id.startsWith('smithy.api#')) return undefined;
  // `Unit` is the input or output of an operation without fields.
  if (id === 'smithy.api#Unit') return { id, traits: {}, kind: 'structure', isUnion: false, members: [] };
  const name = shapeName(id).replace(/^Primitive/, '');
  const type = name.charAt(0).toLowerCase() + name.slice(1);
  return isSimpleType(type) ? { id, traits: {}, kind: kindsOfTypes[type], type } : undefined;
}
