import * as z from 'zod';
import { toDotPath } from 'zod/v4/core';
import type { AnswerBody, ChangeTexts, Follow, Operation } from '../tools/define-operation.js';
import { actions, actors } from '../tools/next.js';
import type { RequestBody } from '../tools/request-body.js';
import type { UploadPart } from '../tools/upload/part.js';
import { isObject, lazy, valueAt, withoutUndefined } from '../util/objects.js';
import { quote } from '../util/quote.js';
import { isSafeText, type SafeText } from '../util/safe-text.js';
import { type AnyFunction, type CallObserver, guardAsyncFunction, guardFunction, guardSchema } from './guard.js';
import { unknownName } from './unknown-name.js';

/** This file has the schema of operations from outside files. Parsing a definition also guards its functions (guard.ts). */

const maximumPath = 16_384;
const maximumText = 4000;

/** An object with these fields only. The message about another field suggests the nearest of these. */
export const onlyFields = <Shape extends z.core.$ZodLooseShape>(shape: Shape, message?: string) =>
  z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.map((key) => unknownName(key, 'a field', Object.keys(shape))).join('; ')
        : message,
  });

/** An object with these fields only. An optional field that is undefined counts as missing. */
const object = <Shape extends z.core.$ZodLooseShape>(shape: Shape) =>
  z.preprocess((value) => (isObject(value) ? withoutUndefined(value) : value), onlyFields(shape));

export const trueOrFalse = z.boolean('must be true or false');
export const limitedText = (limit: number) =>
  z.string('must be text').min(1, 'must not be empty').max(limit, `must have at most ${limit} characters`);
const matching = (rule: RegExp, expected: string) => z.string('must be text').regex(rule, `must be ${expected}`);
const toolName = matching(
  /^[a-z][a-z0-9_]{0,63}$/,
  'lowercase letters, digits and "_", at most 64, beginning with a letter',
);
const paths = z.array(limitedText(200));
const notes = z.array(limitedText(500), 'must be a list of sentences').max(30);
const textByName = z.record(z.string(), limitedText(500));
export const errorAdvice = z.union(
  [limitedText(500), z.strictObject({ agent: limitedText(500), person: limitedText(500) })],
  'must be text, or an object with agent and person',
);
const fields = z.record(z.string(), z.unknown(), 'must be an object');

/**
 * Accepts a value that `JSON.stringify` can write, and throws for another, such as a bigint. Throwing says more than returning false: the
 * guard of the function that returned the value reports the message of the error.
 */
const acceptOrThrow = (value: unknown): boolean => {
  JSON.stringify(value);
  return true;
};
const jsonValue = z.unknown().refine(acceptOrThrow);
const jsonObject = fields.refine(acceptOrThrow);

const bodyOptions = { contentType: z.string().optional(), contentMd5: z.boolean().optional() };
const requestBody = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('json'), value: fields, ...bodyOptions }),
  z.strictObject({
    kind: z.literal('xml'),
    root: z.string(),
    namespace: z.string().optional(),
    value: fields,
    ...bodyOptions,
  }),
  z.strictObject({ kind: z.literal('form'), value: z.record(z.string(), z.string()), ...bodyOptions }),
  z.strictObject({ kind: z.literal('text'), text: z.string(), ...bodyOptions }),
]);

/** Headers that signing or the HTTP client sets, and headers that concern a single connection (RFC 9110, section 7.6.1). */
const refusedHeaders = new RegExp(
  '^(authorization|host|content-length|expect|x-(amz|ext)-(date|security-token|content-sha256)' +
    '|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade)$',
  'i',
);
const maximumHeader = 8192;
const areDistinctInLowerCase = (names: readonly string[]) =>
  new Set(names.map((name) => name.toLowerCase())).size === names.length;
const requestHeaders = z
  .record(
    z
      .string()
      .regex(/^[\w!#$%&'*+.^`|~-]{1,128}$/, 'must be a name of a header')
      .refine((header) => !refusedHeaders.test(header), 'must not be set: the server sets it, or forbids it'),
    z.string('must be text').max(maximumHeader, `must have at most ${maximumHeader} characters`),
    { error: (issue) => (issue.code === 'invalid_key' ? issue.issues[0]?.message : 'must be an object') },
  )
  .refine((headers) => areDistinctInLowerCase(Object.keys(headers)), 'must have each name once');

const regionName = z
  .string('must be text')
  .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'must be a region name')
  .max(32);

const requestPath = z
  .string('must be text')
  .regex(/^\/[!-~]*$/, 'must begin with "/" and be percent-encoded: encodeSegment(…) encodes a name')
  .regex(/^[^?#\\]*$/, 'must have no query')
  .max(maximumPath, `must have at most ${maximumPath} characters`);

/**
 * A path without the segments "." and "..". APIs and proxies resolve both, so the request would address another resource. Some also
 * decode `%2F` before, or ignore the text after a `;`, so the pattern finds `%2F..` and `..;a` as well.
 */
const pathWithoutDots = requestPath.refine(
  (path) => !/(?:\/|%2f|%5c)(?:\.|%2e){1,2}(?:\/|%2f|%5c|;|%3b|$)/i.test(path),
  'must not hold ".." or ".", which addresses another resource: fields.pathName() refuses both',
);

/** The schema of a request. In a query, `true` is a name without a value. In a store that speaks S3, an object may be called "..". */
const request = (isS3: boolean) =>
  object({
    path: isS3 ? requestPath : pathWithoutDots,
    query: z
      .record(
        z.string(),
        z.union(
          [z.string(), z.literal(true), z.array(z.string()), z.undefined()],
          'must be text, a list of texts, true, or undefined',
        ),
        'must be an object',
      )
      .exactOptional(),
    headers: requestHeaders.exactOptional(),
    // One message is enough for all problems of a body, because authors make bodies with functions of the kit.
    body: z
      .custom<RequestBody>(
        (body) => requestBody.safeParse(body).success,
        'must be made by kit.json, kit.xml, kit.form or kit.plainText',
      )
      .exactOptional(),
    region: regionName.exactOptional(),
  });

/** An object with a schema for each field of `Interface`. A missing field, or a schema for another type, does not compile. */
type FieldsOf<Interface> = {
  readonly [Field in keyof Required<Interface>]: z.ZodType<Interface[Field]>;
};

const isFunction = (value: unknown): value is AnyFunction => typeof value === 'function';
const isOperation = (value: unknown): value is Operation =>
  typeof value === 'object' && value !== null && 'name' in value && 'request' in value;

/** Begins the sentence that quotes a plain string that a function returned in place of a text made by `kit.say`. */
export const plainString = '. This is a plain string: ';

function plainTextProblem({ input }: { readonly input?: unknown }): string {
  const plainText = typeof input === 'string' ? `${plainString}${quote(input, 100)}` : '';
  return `must be text made by kit.say, which quotes names (docs/OPERATIONS.md)${plainText}`;
}

const otherOperation = z.custom<Operation>(isOperation, 'must be an operation');

const safeText = z
  .custom<SafeText>(isSafeText, { error: plainTextProblem, abort: true })
  .refine((value) => value.text !== '', 'must not be empty')
  .refine((value) => value.text.length <= maximumText, `must have at most ${maximumText} characters`);
const safeTexts = z.array(safeText, 'must be a list of texts').max(100, 'must have at most 100 entries');
const next = z.strictObject({ who: z.enum(actors), action: z.enum(actions), text: safeText }).optional();

/** The schema of `follow`: the read that shows the progress of a change. */
export const followSchema = onlyFields({
  read: limitedText(100),
  arguments: z.record(
    limitedText(100),
    matching(/^(input|answer)\.[\w.[\]-]{1,200}$/, 'a path such as input.instanceId'),
  ),
  done: textByName.optional(),
}) satisfies z.ZodType<Follow>;

const answeredError = z
  .object({ code: z.string().optional(), message: z.string().optional() }, 'must be an object with code and message')
  .optional();

const step = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('end'),
    state: z.unknown(),
    doubt: safeText.optional(),
    warning: safeText.optional(),
  }),
  z.strictObject({
    kind: z.literal('next'),
    state: z.unknown(),
    after: z.record(z.string(), z.string().max(maximumPath)),
    warning: safeText.optional(),
  }),
]);

/**
 * Returns makers of schemas. Each schema accepts a function and replaces it by its guarded version (guard.ts), whose faults name the
 * operation. `operationName` is called only during the parse.
 */
function createGuards(operationName: () => string, observer: CallObserver) {
  const callback = z.custom<AnyFunction>(isFunction, 'must be a function');
  /** Name of a function in faults, such as `get_thing: change.headline`. */
  const nameOf = (path: string) => `${operationName()}: ${path}`;
  return {
    /** A function that returns a value. */
    returns: <Result>(path: string, result: z.ZodType<Result>) =>
      callback.transform((run) => guardFunction(nameOf(path), run, result, observer)),
    /** A function that returns a value or a promise. */
    promises: <Result>(path: string, result: z.ZodType<Result>) =>
      callback.transform((run) => guardAsyncFunction(nameOf(path), run, result, observer)),
    /** A function that makes an object schema. */
    makesSchema: (path: string) => callback.transform((make) => guardSchema(nameOf(path), make, observer)),
  };
}

type Guards = ReturnType<typeof createGuards>;

/**
 * The schema of `change`: the facts and texts about a change for its plan and its question. `Change` says what each field means. `returns`
 * makes the schema of a function: the first argument is its name in errors, and the second one is the schema of its result.
 */
const changeSchema = ({ returns }: Guards) =>
  object({
    costsMoney: trueOrFalse,
    irreversible: trueOrFalse.exactOptional(),
    continues: trueOrFalse,
    headline: returns('change.headline', safeText),
    accept: returns('change.accept', safeText),
    consequences: returns('change.consequences', safeTexts),
    warnings: returns('change.warnings', safeTexts),
    notChecked: notes,
    identifies: paths.exactOptional(),
    named: paths,
    verificationHint: returns('change.verificationHint', safeText),
    ifTooLarge: limitedText(300).exactOptional(),
    contradictions: returns('change.contradictions', safeTexts).exactOptional(),
  } satisfies FieldsOf<ChangeTexts>);

const pagesSchema = ({ returns, makesSchema }: Guards) =>
  object({
    page: makesSchema('pages.page'),
    start: returns('pages.start', z.unknown()),
    add: returns('pages.add', step),
    result: returns('pages.result', jsonObject),
    parts: returns('pages.parts', z.array(z.custom<UploadPart>()).optional()).exactOptional(),
    count: returns('pages.count', z.int('must be a whole number').min(0)),
  } satisfies FieldsOf<NonNullable<Operation['pages']>>);

const preflightSchema = ({ returns }: Guards) =>
  object({
    operation: otherOperation,
    input: returns('preflight.input', jsonObject),
    decisiveErrors: z.array(z.string()).exactOptional(),
    alert: returns('preflight.alert', safeText.optional()).exactOptional(),
  } satisfies FieldsOf<NonNullable<Operation['preflight']>>);

const followUpReadSchema = ({ returns }: Guards) =>
  object({
    operation: otherOperation,
    input: returns('followUpRead.input', jsonObject.optional()),
  } satisfies FieldsOf<NonNullable<Operation['followUpRead']>>);

const effect = z.enum(['read', 'create', 'alter', 'delete'], 'must be read, create, alter or delete');
export const httpMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
const method = z.enum(httpMethods, 'must be GET, HEAD, POST, PUT, PATCH or DELETE');
const answerFormat = z.enum(
  ['json', 'jsonText', 'xml', 'xmlText', 'text', 'none'],
  'must be json, jsonText, xml, xmlText, text or none',
);
const serviceName = matching(
  /^[a-z][a-z0-9-]{0,30}$/,
  'lowercase letters, digits and "-", at most 31, beginning with a letter',
);
const signing = onlyFields({
  service: matching(/^[\w-]{1,64}$/, 'a service name'),
  headers: z.enum(['s3', 'api'], 'must be s3 or api'),
  region: regionName.exactOptional(),
});
const hostPrefix = matching(
  /^([a-z0-9-]{1,63}\.){0,3}[a-z0-9-]{1,62}[.-]$/,
  'the beginning of a host name, such as api.',
).max(128);
const defaultValue = object({
  path: limitedText(200),
  value: limitedText(200),
  inRegion: z.record(z.string(), limitedText(200)).exactOptional(),
});
const instruction = object({ text: limitedText(300), unless: toolName.exactOptional() });
const probe = object({ arguments: fields, accepted: z.array(limitedText(100)) });

/** Makes the schema of a definition. `Operation` says what each field means. */
function operationSchema(guards: Guards, { isS3 }: { readonly isS3: boolean }) {
  const { returns, promises, makesSchema } = guards;
  return object({
    name: toolName,
    api: limitedText(100),
    title: limitedText(100),
    // The limit is low, because some clients show all descriptions to language models at once.
    description: limitedText(1000),
    instructions: z.array(instruction).max(5).exactOptional(),
    effect,
    effectIsSure: trueOrFalse.exactOptional(),
    repeatable: trueOrFalse.exactOptional(),

    // The API.
    service: serviceName,
    signing: signing.exactOptional(),
    // The protocol that defines the operation, if the reference of the API does not.
    extension: z.literal('s3', 'must be s3').exactOptional(),
    regions: z.array(limitedText(32)).exactOptional(),

    // The arguments.
    input: makesSchema('input'),
    // A function returns undefined if it finds no example.
    example: z.union(
      [fields, returns('example', fields.optional())],
      'must be an object, or a function that returns an object',
    ),
    secrets: paths.exactOptional(),
    secretNames: textByName.exactOptional(),
    defaults: z.array(defaultValue),
    unknownDefaults: paths.exactOptional(),
    costDrivers: paths.exactOptional(),

    // The request.
    method,
    hostPrefix: hostPrefix.exactOptional(),
    request: promises('request', request(isS3)),
    // True if the request has an idempotency token.
    takesToken: trueOrFalse.exactOptional(),
    // Other calls: one with which `doctor` checks keys, a read before a person is asked about a change, and a read that completes a record.
    probe: probe.exactOptional(),
    preflight: preflightSchema(guards).exactOptional(),
    followUpRead: followUpReadSchema(guards).exactOptional(),

    // The answer.
    answer: answerFormat,
    answerBody: object({ fields: paths, root: z.string().optional() } satisfies FieldsOf<AnswerBody>).exactOptional(),
    extract: promises('extract', jsonValue),
    errorOf: promises('errorOf', answeredError).exactOptional(),
    output: makesSchema('output'),
    isAnswerOpen: trueOrFalse.exactOptional(),
    pages: pagesSchema(guards).exactOptional(),
    // Names of the fields that agents pass back unaltered. For a model, a function finds them.
    exact: z.union([paths, returns('exact', paths)]).exactOptional(),
    // Names of important fields, by path. The result says if such a field is missing.
    tellIfMissing: textByName.exactOptional(),
    // Path of the list of failed entries.
    failures: limitedText(200).exactOptional(),

    // The texts for people and agents.
    errors: z.record(z.string(), errorAdvice).exactOptional(),
    undocumented: notes,
    limitations: notes,
    summarize: returns('summarize', safeText),
    next: returns('next', next).exactOptional(),
    change: changeSchema(guards).exactOptional(),
    follow: followSchema.exactOptional(),
  } satisfies FieldsOf<Omit<Operation, 'schemas'>>);
}

type ParsedDefinition =
  | { readonly kind: 'operation'; readonly operation: Operation }
  /** Each problem begins with the field's path. */
  | { readonly kind: 'problems'; readonly problems: readonly string[] };

export type DefinitionParser = (definition: unknown) => ParsedDefinition;

/** Returns the function that parses definitions. Parsing replaces the functions of an operation by guarded ones (guard.ts). */
export function createDefinitionParser(observer: CallObserver): DefinitionParser {
  // All definitions share two schemas, because a schema takes milliseconds to build. A shared schema cannot hold the name of an operation, so
  // each guarded function copies the name from here while its definition is parsed.
  let nameBeingParsed = '';
  const guards = createGuards(() => nameBeingParsed, observer);
  const schemaForS3 = lazy(() => operationSchema(guards, { isS3: true }));
  const schemaForOthers = lazy(() => operationSchema(guards, { isS3: false }));

  return (definition) => {
    if (!isObject(definition))
      return { kind: 'problems', problems: ['must be an operation, as kit.defineOperation returns it'] };

    // The built-in `storage` speaks S3, and so does an added API whose signing has the headers of S3.
    const isS3 = definition.service === 'storage' || valueAt(definition, 'signing.headers') === 's3';
    const schema = isS3 ? schemaForS3() : schemaForOthers();
    nameBeingParsed = String(definition.name);
    const { data, error } = schema.safeParse(definition);
    return error === undefined
      ? { kind: 'operation', operation: data }
      : { kind: 'problems', problems: error.issues.map((issue) => problemOf(definition, issue)) };
  };
}

/** Returns the problem in an issue of a schema. The text begins with the path of a field, unless the issue is about the whole value. */
export function problemOf(value: unknown, { path, code, message }: z.core.$ZodIssue): string {
  const name = toDotPath(path);
  const problem = code === 'unrecognized_keys' || valueAt(value, name) !== undefined ? message : 'is missing';
  return name === '' ? problem : `${name}: ${problem}`;
}
