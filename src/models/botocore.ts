/** Converts botocore's models of APIs (`service-2.json`) to the JSON form (AST) of Smithy. */
import * as z from 'zod';
import { isObject, mapValues, valueAt, withoutUndefined } from '../util/objects.js';
import { quoteName } from '../util/quote.js';
import { check, ModelError, signatureTrait, type Traits, unwrappedTrait, waitersTrait } from './model.js';

const text = z.string().max(100_000);
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
});
const operationSchema = z.looseObject({
  http: z.object({ method: text, requestUri: text, responseCode: z.int().optional() }),
  input: reference.optional(),
  output: reference.optional(),
  errors: z.array(reference).default([]),
});
const serviceSchema = z.object({
  metadata: z.looseObject({
    apiVersion: text.default(''),
    protocol: text,
    protocols: z.array(text).default([]),
    jsonVersion: text.default('1.0'),
    targetPrefix: text.default('Service'),
    serviceId: text.optional(),
    signatureVersion: text.default('none'),
    auth: z.array(text).default([]),
    endpointPrefix: text.default(''),
    signingName: text.optional(),
  }),
  operations: z.record(z.string(), operationSchema),
  shapes: z.record(z.string(), shapeSchema),
});
const companionsSchema = z.object({
  paginators: z.object({ pagination: z.record(z.string(), z.looseObject({})) }).default({ pagination: {} }),
  waiters: z
    .object({
      waiters: z.record(
        z.string(),
        z.looseObject({
          operation: z.string(),
          acceptors: z.array(
            z.object({ state: text, matcher: text, argument: text.optional(), expected: z.unknown().optional() }),
          ),
        }),
      ),
    })
    .default({ waiters: {} }),
});

const ifTrue = (value: unknown) => (value === true ? {} : undefined);
const timestampFormats = { iso8601: 'date-time', rfc822: 'http-date', unixTimestamp: 'epoch-seconds' };

/** By field, the trait of services, operations, shapes and members, and the function that converts its value. Undefined is no trait. */
const traitTable: Readonly<Record<string, readonly [trait: string, convert?: (value: unknown) => unknown]>> = {
  awsQueryCompatible: ['aws.protocols#awsQueryCompatible'],
  serviceFullName: ['smithy.api#title'],
  xmlNamespace: ['smithy.api#xmlNamespace', (value) => (typeof value === 'string' ? { uri: value } : value)],
  documentation: ['smithy.api#documentation'],
  readonly: ['smithy.api#readonly', ifTrue],
  endpoint: ['smithy.api#endpoint', (value) => (isObject(value) && 'hostPrefix' in value ? value : undefined)],
  httpChecksumRequired: ['smithy.api#httpChecksumRequired', ifTrue],
  httpChecksum: ['aws.protocols#httpChecksum'],
  timestampFormat: ['smithy.api#timestampFormat', (value) => valueAt(timestampFormats, String(value))],
  xmlAttribute: ['smithy.api#xmlAttribute', ifTrue],
  flattened: ['smithy.api#xmlFlattened', ifTrue],
  streaming: ['smithy.api#streaming', ifTrue],
  eventstream: ['smithy.api#streaming', ifTrue],
  jsonvalue: ['smithy.api#mediaType', (value) => (value === true ? 'application/json' : undefined)],
  hostLabel: ['smithy.api#hostLabel', ifTrue],
  idempotencyToken: ['smithy.api#idempotencyToken', ifTrue],
  sensitive: ['smithy.api#sensitive', ifTrue],
  queryName: ['aws.protocols#ec2QueryName'],
  pattern: ['smithy.api#pattern'],
  error: ['aws.protocols#awsQueryError'],
  auth: ['smithy.api#auth'],
  // An empty list means that the requests are not signed.
  authtype: ['smithy.api#auth', (value) => (value === 'none' ? [] : undefined)],
};

const traitsFrom = (fields: Readonly<Record<string, unknown>>): Traits =>
  Object.fromEntries(
    Object.entries(traitTable).flatMap(([field, [trait, convert = (given: unknown) => given]]) => {
      const value = convert(fields[field]);
      return value === undefined ? [] : [[trait, value]];
    }),
  );

type Botocore = z.output<typeof serviceSchema>;
type BotocoreShape = z.output<typeof shapeSchema>;
type BotocoreReference = z.output<typeof reference>;
type BotocoreWaiter = z.output<typeof companionsSchema>['waiters']['waiters'][string];

export const isBotocore = (json: Readonly<Record<string, unknown>>): boolean =>
  'metadata' in json && 'operations' in json && 'shapes' in json && !('smithy' in json);

const idOf = (name: string) => `botocore#${name}`;
const operationId = (name: string) => `botocore.operations#${name}`;
const targetOf = ({ shape }: BotocoreReference) => ({ target: idOf(shape) });

/** @throws ModelError if a file does not have the form of botocore's files */
export function convertBotocore(
  json: unknown,
  companions: { readonly paginators?: unknown; readonly waiters?: unknown } = {},
): Readonly<Record<string, unknown>> {
  const model = check(serviceSchema, json, 'the model');
  const { paginators, waiters } = check(companionsSchema, companions, 'the file next to the model');
  const { metadata, operations, shapes } = model;
  // Some protocols send the service's ID in a header. Its namespace differs, because a shape may have the same name.
  const serviceId = `botocore.service#${metadata.targetPrefix}`;
  const service = {
    type: 'service',
    version: metadata.apiVersion,
    operations: Object.keys(operations).map((name) => ({ target: operationId(name) })),
    traits: serviceTraits(metadata),
  };
  const converted: [id: string, shape: unknown][] = [[serviceId, service]];
  for (const [name, shape] of Object.entries(shapes)) converted.push([idOf(name), convertShape(shape, model)]);
  for (const [name, operation] of Object.entries(operations)) {
    const { http, input, output, errors } = operation;
    const inputId = `botocore.inputs#${name}Input`;
    const pages = Object.hasOwn(paginators.pagination, name) ? paginators.pagination[name] : undefined;
    const shape = {
      type: 'operation',
      // The input is a copy, because operations that share a shape may name the XML root differently.
      input: { target: inputId },
      ...(output !== undefined && { output: targetOf(output) }),
      errors: errors.map(targetOf),
      traits: withoutUndefined({
        'smithy.api#paginated': pages && {
          inputToken: pages.input_token,
          outputToken: pages.output_token,
          moreResults: pages.more_results,
          items: pages.result_key,
        },
        [waitersTrait]: convertWaiters(Object.entries(waiters.waiters).filter(([, each]) => each.operation === name)),
        'smithy.api#http': { method: http.method, uri: pathOf(operation, shapes), code: http.responseCode },
        ...traitsFrom(operation),
        'smithy.api#deprecated': operation.deprecated === true ? { message: operation.deprecatedMessage } : undefined,
        [unwrappedTrait]: ifTrue(output !== undefined && output.resultWrapper === undefined),
      }),
    };
    converted.push([operationId(name), shape], [inputId, convertInput(input, model)]);
  }
  return { smithy: '2.0', shapes: Object.fromEntries(converted) };
}

/** @throws ModelError if the signature of the service is unknown */
function serviceTraits(metadata: Botocore['metadata']): Traits {
  const { serviceId, jsonVersion, signatureVersion, auth, signingName, endpointPrefix } = metadata;
  const smithyProtocols: Readonly<Record<string, string>> = {
    json: jsonVersion === '1.1' ? 'awsJson1_1' : 'awsJson1_0',
    'rest-json': 'restJson1',
    'rest-xml': 'restXml',
    query: 'awsQuery',
    ec2: 'ec2Query',
  };
  const isVersion4 = auth.includes('aws.auth#sigv4') || ['v4', 's3', 's3v4'].includes(signatureVersion);
  if (!isVersion4 && signatureVersion !== 'v2' && signatureVersion !== 'v3')
    throw new ModelError(
      `it signs with ${quoteName(signatureVersion)} (metadata.signatureVersion), and only the versions 2 to 4 are supported`,
    );
  const signature = signatureTrait(isVersion4 ? 'v4' : signatureVersion === 'v2' ? 'v2' : 'v3');
  const protocols = [metadata.protocol, ...metadata.protocols].map((name) => smithyProtocols[name] ?? name);
  return {
    ...Object.fromEntries(protocols.map((name) => [`aws.protocols#${name}`, {}])),
    [signature]: { name: signingName ?? endpointPrefix },
    ...(serviceId !== undefined && { 'aws.api#service': { sdkId: serviceId } }),
    ...traitsFrom(metadata),
  };
}

function convertWaiters(waiters: readonly (readonly [name: string, waiter: BotocoreWaiter])[]): unknown {
  const comparators = new Map([
    ['path', 'stringEquals'],
    ['pathAll', 'allStringEquals'],
    ['pathAny', 'anyStringEquals'],
  ]);
  const matcherOf = ({ matcher, argument, expected }: BotocoreWaiter['acceptors'][number]) =>
    matcher === 'error' || (matcher === 'status' && expected === 404)
      ? { errorType: String(expected) }
      : { output: { path: argument, expected, comparator: comparators.get(matcher) } };
  const converted = waiters.map(([name, { acceptors, delay, maxAttempts }]) => [
    name,
    {
      acceptors: acceptors.map((acceptor) => ({ state: acceptor.state, matcher: matcherOf(acceptor) })),
      minDelay: delay,
      maxAttempts,
    },
  ]);
  return waiters.length === 0 ? undefined : Object.fromEntries(converted);
}

/** A label has the `locationName` of a member in botocore's files, and the name of the member in Smithy. */
function pathOf({ http, input }: Botocore['operations'][string], shapes: Botocore['shapes']): string {
  let path = http.requestUri;
  for (const [name, { location, locationName = name }] of Object.entries(shapes[input?.shape ?? '']?.members ?? {})) {
    if (location === 'uri')
      path = path.replaceAll(`{${locationName}}`, `{${name}}`).replaceAll(`{${locationName}+}`, `{${name}+}`);
  }
  return path;
}

/** The operation's names for the XML root apply if the shape has none. */
function convertInput(input: BotocoreReference | undefined, model: Botocore): unknown {
  if (input === undefined) return { type: 'structure' };
  const shape = model.shapes[input.shape];
  if (shape === undefined) throw new ModelError(`shape ${quoteName(input.shape)} is not in the model`);
  const { locationName, xmlNamespace } = input;
  return convertShape({ ...withoutUndefined({ locationName, xmlNamespace }), ...withoutUndefined(shape) }, model);
}

/** Undefined for a shape with a `location`, because its `locationName` is the name of a header or a parameter. */
const nameOfShape = ({ location, locationName }: BotocoreShape) => (location === undefined ? locationName : undefined);

/** If a list or map lacks its content, the error is thrown when the AST is read. */
function convertShape(shape: BotocoreShape, model: Botocore): unknown {
  const { type, min, max, member, key, value } = shape;
  const isMeasured = ['string', 'list', 'map', 'blob', 'character'].includes(type);
  // For NIFCLOUD Computing, a list is flattened if its elements have no name.
  const isFlattened = type === 'list' && model.metadata.protocol === 'computing' && member?.locationName === undefined;
  const traits = withoutUndefined({
    [isMeasured ? 'smithy.api#length' : 'smithy.api#range']:
      min === undefined && max === undefined ? undefined : withoutUndefined({ min, max }),
    ...traitsFrom(shape),
    // Protocols of JSON ignore it.
    'smithy.api#xmlName': nameOfShape(shape),
    ...(isFlattened && { 'smithy.api#xmlFlattened': {} }),
  });
  const convert = (each: BotocoreReference | undefined, name: string) =>
    each && convertMember(each, name, shape, model);
  if (shape.document === true) return { type: 'document', traits };
  if (type === 'structure') {
    const members = Object.entries(shape.members).map(([name, each]) => [name, convert(each, name)]);
    return { type: shape.union === true ? 'union' : 'structure', members: Object.fromEntries(members), traits };
  }
  if (type === 'string' && shape.enum !== undefined) {
    const unit = { target: 'smithy.api#Unit' };
    const members = mapValues({ ...shape.enum }, (each) => ({ ...unit, traits: { 'smithy.api#enumValue': each } }));
    return { type: 'enum', members, traits };
  }
  const renamed: Readonly<Record<string, string>> = { character: 'string', bigdecimal: 'bigDecimal' };
  return {
    type: renamed[type] ?? type,
    ...withoutUndefined({
      member: convert(member, 'member'),
      key: convert(key, 'key'),
      value: convert(value, 'value'),
    }),
    traits,
  };
}

function convertMember(member: BotocoreReference, name: string, parent: BotocoreShape, model: Botocore): unknown {
  const target = model.shapes[member.shape];
  const isPayload = parent.payload === name;
  const { location, locationName } = member;
  const nameInBody = location === undefined ? (locationName ?? (target && nameOfShape(target))) : undefined;
  const nameTrait = model.metadata.protocol.includes('json') ? 'smithy.api#jsonName' : 'smithy.api#xmlName';
  const locations: Readonly<Record<string, Traits>> = {
    // The label in the path already has the member's name.
    uri: { 'smithy.api#httpLabel': {} },
    querystring:
      // If a map has no `locationName`, each of its entries is a parameter.
      target?.type === 'map' && locationName === undefined
        ? { 'smithy.api#httpQueryParams': {} }
        : { 'smithy.api#httpQuery': locationName ?? name },
    header: { 'smithy.api#httpHeader': locationName ?? name },
    headers: { 'smithy.api#httpPrefixHeaders': locationName ?? '' },
    statusCode: { 'smithy.api#httpResponseCode': {} },
  };
  return {
    ...targetOf(member),
    traits: withoutUndefined({
      ...traitsFrom(member),
      // Without the trait, the XML root would have the name of the shape.
      [nameTrait]: nameInBody === name && !isPayload ? undefined : nameInBody,
      ...locations[location ?? ''],
      'smithy.api#required': ifTrue(parent.required.includes(name)),
      'smithy.api#httpPayload': ifTrue(isPayload),
    }),
  };
}
