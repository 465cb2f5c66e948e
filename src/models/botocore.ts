/** Converts botocore's models of APIs (`service-2.json`) to the JSON form (AST) of Smithy. */
import * as z from 'zod';
import { isObject, withoutUndefined } from '../util/objects.js';
import { quoteName } from '../util/quote.js';
import { check, ModelError, olderSignatureTrait, type Traits, unwrappedTrait } from './model.js';

const text = z.string().max(100_000);
const flag = z.boolean().optional();
/** Only the fields that decide about other fields. `traitsFrom` reads the rest, and the reader of the AST checks their values. */
const placed = { location: text.optional(), locationName: text.optional(), xmlNamespace: z.unknown().optional() };
const reference = z.looseObject({ shape: text, resultWrapper: text.optional(), ...placed });
const shapeSchema = z.looseObject({
  ...placed,
  type: text,
  members: z.record(z.string(), reference).default({}),
  member: reference.optional(),
  key: reference.optional(),
  value: reference.optional(),
  required: z.array(text).default([]),
  enum: z.array(text).optional(),
  min: z.number().optional(),
  max: z.number().optional(),
  payload: text.optional(),
  union: flag,
  document: flag,
});
const operationSchema = z.looseObject({
  http: z.object({ method: text, requestUri: text, responseCode: z.int().optional() }),
  input: reference.optional(),
  output: reference.optional(),
  errors: z.array(reference).default([]),
  deprecatedMessage: text.optional(),
  authtype: text.optional(),
  auth: z.array(text).optional(),
});
const serviceSchema = z.object({
  metadata: z.looseObject({
    apiVersion: text.default(''),
    protocol: text,
    protocols: z.array(text).default([]),
    jsonVersion: text.default('1.0'),
    targetPrefix: text.optional(),
    serviceId: text.optional(),
    signatureVersion: text.optional(),
    auth: z.array(text).default([]),
    signingName: text.optional(),
    endpointPrefix: text.default(''),
  }),
  operations: z.record(z.string(), operationSchema),
  shapes: z.record(z.string(), shapeSchema),
});
const paginatorsSchema = z.object({ pagination: z.record(z.string(), z.looseObject({})) });
const waitersSchema = z.object({
  waiters: z.record(
    z.string(),
    z.looseObject({
      operation: z.string(),
      acceptors: z.array(
        z.object({ state: text, matcher: text, argument: text.optional(), expected: z.unknown().optional() }),
      ),
    }),
  ),
});

type Fields = Readonly<Record<string, unknown>>;
/** The trait of a field, and the function that converts its value. Undefined for no trait. */
type TraitTable = Readonly<Record<string, readonly [trait: string, convert: (value: unknown) => unknown]>>;

const same = (value: unknown) => value;
const ifTrue = (value: unknown) => (value === true ? {} : undefined);
const namespaceOf = (value: unknown) => (typeof value === 'string' ? { uri: value } : value);
const timestampFormats = new Map<unknown, string>([
  ['iso8601', 'date-time'],
  ['rfc822', 'http-date'],
  ['unixTimestamp', 'epoch-seconds'],
]);

/** Traits of services, operations, shapes and members. */
const traitTable: TraitTable = {
  awsQueryCompatible: ['aws.protocols#awsQueryCompatible', same],
  serviceFullName: ['smithy.api#title', same],
  xmlNamespace: ['smithy.api#xmlNamespace', namespaceOf],
  documentation: ['smithy.api#documentation', same],
  readonly: ['smithy.api#readonly', ifTrue],
  endpoint: ['smithy.api#endpoint', (value) => (isObject(value) && 'hostPrefix' in value ? value : undefined)],
  httpChecksumRequired: ['smithy.api#httpChecksumRequired', ifTrue],
  httpChecksum: ['aws.protocols#httpChecksum', same],
  timestampFormat: ['smithy.api#timestampFormat', (value) => timestampFormats.get(value)],
  xmlAttribute: ['smithy.api#xmlAttribute', ifTrue],
  flattened: ['smithy.api#xmlFlattened', ifTrue],
  streaming: ['smithy.api#streaming', ifTrue],
  eventstream: ['smithy.api#streaming', ifTrue],
  jsonvalue: ['smithy.api#mediaType', (value) => (value === true ? 'application/json' : undefined)],
  hostLabel: ['smithy.api#hostLabel', ifTrue],
  idempotencyToken: ['smithy.api#idempotencyToken', ifTrue],
  sensitive: ['smithy.api#sensitive', ifTrue],
  queryName: ['aws.protocols#ec2QueryName', same],
  pattern: ['smithy.api#pattern', same],
  error: ['aws.protocols#awsQueryError', same],
};

const traitsFrom = (fields: Fields): Traits =>
  Object.fromEntries(
    Object.entries(traitTable).flatMap(([field, [trait, convert]]) => {
      const value = convert(fields[field]);
      return value === undefined ? [] : [[trait, value]];
    }),
  );

type Botocore = z.output<typeof serviceSchema>;
type BotocoreShape = z.output<typeof shapeSchema>;
type BotocoreReference = z.output<typeof reference>;
type BotocoreOperation = z.output<typeof operationSchema>;
type BotocoreWaiters = z.output<typeof waitersSchema>['waiters'];

/** True if a parsed file has the form of botocore's models. */
export const isBotocore = (json: Readonly<Record<string, unknown>>): boolean =>
  'metadata' in json && 'operations' in json && 'shapes' in json && !('smithy' in json);

interface BotocoreCompanions {
  readonly paginators?: unknown;
  readonly waiters?: unknown;
}

/** @throws ModelError if a file does not have the form of botocore's files */
export function convertBotocore(json: unknown, companions: BotocoreCompanions = {}): Readonly<Record<string, unknown>> {
  const model = check(serviceSchema, json, 'the model');
  const { pagination } = check(paginatorsSchema, companions.paginators ?? { pagination: {} }, 'the paginators');
  const { waiters: allWaiters } = check(waitersSchema, companions.waiters ?? { waiters: {} }, 'the waiters');

  const { metadata, operations, shapes } = model;
  const context: Context = {
    shapes,
    hasJsonNames: /json/.test(metadata.protocol),
    flattensUnnamedLists: metadata.protocol === 'computing',
  };
  const service = {
    type: 'service',
    version: metadata.apiVersion,
    operations: Object.keys(operations).map((name) => ({ target: operationId(name) })),
    traits: serviceTraits(model),
  };
  // Some protocols send the service's ID in a header. Its namespace differs, because a shape may have the same name.
  const serviceId = `botocore.service#${metadata.targetPrefix ?? 'Service'}`;

  const converted: [id: string, shape: unknown][] = [[serviceId, service]];
  for (const [name, shape] of Object.entries(shapes)) converted.push([idOf(name), convertShape(shape, context)]);
  for (const [name, operation] of Object.entries(operations)) {
    const companionTraits = withoutUndefined({
      'smithy.api#paginated': pagesTrait(Object.hasOwn(pagination, name) ? pagination[name] : undefined),
      'smithy.waiters#waitable': waitersTrait(name, allWaiters),
    });
    converted.push([operationId(name), convertOperation(operation, name, companionTraits, context)]);
    converted.push([inputId(name), convertInput(operation.input, context)]);
  }
  return { smithy: '2.0', shapes: Object.fromEntries(converted) };
}

interface Context {
  readonly shapes: Readonly<Record<string, BotocoreShape>>;
  readonly hasJsonNames: boolean;
  /** True if a list is flattened if its elements have no name. */
  readonly flattensUnnamedLists: boolean;
}

const idOf = (name: string) => `botocore#${name}`;
const operationId = (name: string) => `botocore.operations#${name}`;
const inputId = (operation: string) => `botocore.inputs#${operation}Input`;
const targetOf = ({ shape }: BotocoreReference) => ({ target: idOf(shape) });

/** botocore's `json` is missing, because it stands for two protocols. */
const smithyProtocols: Readonly<Record<string, string>> = {
  'rest-json': 'restJson1',
  'rest-xml': 'restXml',
  query: 'awsQuery',
  ec2: 'ec2Query',
};
const v4Signatures = ['v4', 's3', 's3v4'];

/** @throws ModelError if the signature of the service is unknown */
function serviceTraits({ metadata }: Botocore): Traits {
  const { serviceId, jsonVersion } = metadata;
  const jsonProtocol = jsonVersion === '1.1' ? 'awsJson1_1' : 'awsJson1_0';
  const protocolNames = [metadata.protocol, ...metadata.protocols].map((name) =>
    name === 'json' ? jsonProtocol : (smithyProtocols[name] ?? name),
  );

  return withoutUndefined({
    ...Object.fromEntries(protocolNames.map((name) => [`aws.protocols#${name}`, {}])),
    [signatureTrait(metadata)]: { name: metadata.signingName ?? metadata.endpointPrefix },
    'aws.api#service': serviceId === undefined ? undefined : { sdkId: serviceId },
    ...traitsFrom(metadata),
  });
}

function signatureTrait({ signatureVersion = 'none', auth }: Botocore['metadata']): string {
  if (auth.includes('aws.auth#sigv4') || v4Signatures.includes(signatureVersion)) return 'aws.auth#sigv4';
  if (signatureVersion === 'v2' || signatureVersion === 'v3') return olderSignatureTrait(signatureVersion);
  throw new ModelError(
    `it signs with ${quoteName(signatureVersion)} (metadata.signatureVersion), and only the versions 2 to 4 are supported`,
  );
}

const comparators: Readonly<Record<string, string>> = {
  path: 'stringEquals',
  pathAll: 'allStringEquals',
  pathAny: 'anyStringEquals',
};

const pagesTrait = (pages: Fields | undefined) =>
  pages && {
    inputToken: pages.input_token,
    outputToken: pages.output_token,
    moreResults: pages.more_results,
    items: pages.result_key,
  };

function waitersTrait(operationName: string, all: BotocoreWaiters): unknown {
  const waiters = Object.entries(all).filter(([, { operation }]) => operation === operationName);
  if (waiters.length === 0) return undefined;
  return Object.fromEntries(
    waiters.map(([name, { acceptors, delay, maxAttempts }]) => [
      name,
      { acceptors: acceptors.map(convertAcceptor), minDelay: delay, maxAttempts },
    ]),
  );
}

const convertAcceptor = ({ state, matcher, argument, expected }: BotocoreWaiters[string]['acceptors'][number]) => ({
  state,
  matcher:
    matcher === 'error' || (matcher === 'status' && expected === 404)
      ? { errorType: String(expected) }
      : { output: { path: argument, expected, comparator: comparators[matcher] } },
});

function convertOperation(
  operation: BotocoreOperation,
  name: string,
  companionTraits: Traits,
  { shapes }: Context,
): unknown {
  const { http, input, output, errors, auth, authtype } = operation;
  const inputShape = input === undefined ? undefined : shapes[input.shape];
  // A label has the `locationName` of a member in botocore's files, and the name of the member in Smithy.
  const uri = withMemberNames(http.requestUri, inputShape);
  return {
    type: 'operation',
    // The input is a copy, because operations that share a shape may name the XML root differently.
    input: { target: inputId(name) },
    ...(output !== undefined && { output: targetOf(output) }),
    errors: errors.map(targetOf),
    traits: withoutUndefined({
      ...companionTraits,
      'smithy.api#http': { method: http.method, uri, code: http.responseCode },
      ...traitsFrom(operation),
      'smithy.api#deprecated': operation.deprecated === true ? { message: operation.deprecatedMessage } : undefined,
      // An empty list means that the requests are not signed.
      'smithy.api#auth': authtype === 'none' ? [] : auth,
      [unwrappedTrait]: ifTrue(output !== undefined && output.resultWrapper === undefined),
    }),
  };
}

function withMemberNames(path: string, input: BotocoreShape | undefined): string {
  let converted = path;
  for (const [name, { location, locationName = name }] of Object.entries(input?.members ?? {})) {
    if (location !== 'uri') continue;
    converted = converted.replaceAll(`{${locationName}}`, `{${name}}`).replaceAll(`{${locationName}+}`, `{${name}+}`);
  }
  return converted;
}

/** The operation's names for the XML root apply if the shape has none. */
function convertInput(input: BotocoreReference | undefined, context: Context): unknown {
  if (input === undefined) return { type: 'structure' };
  const shape = context.shapes[input.shape];
  if (shape === undefined) throw new ModelError(`shape ${quoteName(input.shape)} is not in the model`);
  const locationName = shape.locationName ?? input.locationName;
  const xmlNamespace = shape.xmlNamespace ?? input.xmlNamespace;
  return convertShape(withoutUndefined({ ...shape, locationName, xmlNamespace }), context);
}

/** Undefined for a shape with a `location`, because its `locationName` is the name of a header or a parameter. */
const nameOfShape = ({ location, locationName }: BotocoreShape) => (location === undefined ? locationName : undefined);

/** If a list or map lacks its content, the error is thrown when the AST is read. */
function convertShape(shape: BotocoreShape, context: Context): unknown {
  // Protocols of JSON ignore `xmlName`.
  const nameTraits = nameTrait(nameOfShape(shape), 'smithy.api#xmlName');
  const traits = { ...boundsTrait(shape), ...traitsFrom(shape), ...nameTraits };
  if (shape.document === true) return { type: 'document', traits };
  switch (shape.type) {
    case 'structure': {
      const members = Object.entries(shape.members).map(([name, member]) => [
        name,
        convertMember(member, name, shape, context),
      ]);
      return { type: shape.union === true ? 'union' : 'structure', members: Object.fromEntries(members), traits };
    }
    case 'list': {
      const isFlattened = context.flattensUnnamedLists && shape.member?.locationName === undefined;
      return {
        type: 'list',
        member: shape.member && convertMember(shape.member, 'member', shape, context),
        traits: { ...traits, ...(isFlattened && { 'smithy.api#xmlFlattened': {} }) },
      };
    }
    case 'map':
      return {
        type: 'map',
        key: shape.key && convertMember(shape.key, 'key', shape, context),
        value: shape.value && convertMember(shape.value, 'value', shape, context),
        traits,
      };
    case 'string':
      return shape.enum === undefined
        ? { type: 'string', traits }
        : { type: 'enum', members: enumMembers(shape.enum), traits };
    case 'character':
      return { type: 'string', traits };
    case 'bigdecimal':
      return { type: 'bigDecimal', traits };
    default:
      return { type: shape.type, traits };
  }
}

const enumMembers = (values: readonly string[]) =>
  Object.fromEntries(
    values.map((value, index) => [
      `value${index}`,
      { target: 'smithy.api#Unit', traits: { 'smithy.api#enumValue': value } },
    ]),
  );

/** Types whose bounds are bounds of a length. */
const measuredTypes = ['string', 'list', 'map', 'blob', 'character'];

function boundsTrait({ type, min, max }: BotocoreShape): Traits {
  if (min === undefined && max === undefined) return {};
  return { [measuredTypes.includes(type) ? 'smithy.api#length' : 'smithy.api#range']: withoutUndefined({ min, max }) };
}

function convertMember(member: BotocoreReference, name: string, parent: BotocoreShape, context: Context): unknown {
  const target = context.shapes[member.shape];
  const isMap = target?.type === 'map';
  const isPayload = parent.payload === name;
  const nameInBody = nameInBodyForTrait(member, name, target, isPayload);
  const nameTraitId = context.hasJsonNames ? 'smithy.api#jsonName' : 'smithy.api#xmlName';
  return {
    ...targetOf(member),
    traits: withoutUndefined({
      ...traitsFrom(member),
      ...nameTrait(nameInBody, nameTraitId),
      ...locationTraits(member, name, isMap),
      'smithy.api#required': ifTrue(parent.required.includes(name)),
      'smithy.api#httpPayload': ifTrue(isPayload),
    }),
  };
}

/** Undefined for a member that needs no trait. */
function nameInBodyForTrait(
  { location, locationName }: BotocoreReference,
  memberName: string,
  target: BotocoreShape | undefined,
  isPayload: boolean,
): string | undefined {
  if (location !== undefined) return undefined;
  const nameInBody = locationName ?? (target && nameOfShape(target));
  // Without the trait, the XML root would have the name of the shape.
  return nameInBody === memberName && !isPayload ? undefined : nameInBody;
}

function locationTraits({ location, locationName }: BotocoreReference, name: string, isMap: boolean): Traits {
  switch (location) {
    // The label in the path already has the member's name.
    case 'uri':
      return { 'smithy.api#httpLabel': {} };
    case 'querystring':
      // If a map has no `locationName`, each of its entries is a parameter.
      return isMap && locationName === undefined
        ? { 'smithy.api#httpQueryParams': {} }
        : { 'smithy.api#httpQuery': locationName ?? name };
    case 'header':
      return { 'smithy.api#httpHeader': locationName ?? name };
    case 'headers':
      return { 'smithy.api#httpPrefixHeaders': locationName ?? '' };
    case 'statusCode':
      return { 'smithy.api#httpResponseCode': {} };
    default:
      return {};
  }
}

const nameTrait = (name: string | undefined, trait: string): Traits => (name === undefined ? {} : { [trait]: name });
