import type * as z from 'zod';
import { toDotPath } from 'zod/v4/core';
import type { Operation } from '../tools/define-operation.js';
import type { Body } from '../transport/parse-body.js';
import { readServiceError, requestIdsOf, type ServiceError, shortenServiceError } from '../transport/service-error.js';
import type { AnsweredReply, FinalReply } from '../transport/signed-client.js';
import { sentences } from '../util/human.js';
import { isObject, leavesOf, valueAt, withoutNulls } from '../util/objects.js';
import { readBoolean, readTime, readWholeNumber } from '../util/read-values.js';
import { defined, listed, own, quoted, type SafeText, say, words } from '../util/safe-text.js';
import { type Exchange, noAnswer, type SentToEndpoint, serviceFailure } from './failure.js';
import type { Failure } from './outcome.js';
import type { ResolvedRead } from './resolved-call.js';

/** The answer to a request: its record, the reason why it cannot be used, or the failure. */
export type Answer =
  | ({
      readonly kind: 'usable';
      readonly exchange: Exchange;
      /** Time of the `Date` header. */
      readonly answeredAt: string | undefined;
    } & Reading)
  | {
      readonly kind: 'unusable';
      readonly exchange: Exchange;
      readonly problem: SafeText;
      /** True if the answer may come from a proxy or hold an unreadable error. */
      readonly mayHaveFailed: boolean;
      /** A body that is cut or broken, or too large. */
      readonly malformed?: Extract<Body, { kind: 'malformed' }> | undefined;
    }
  | { readonly kind: 'failed'; readonly failure: Failure };

export type SentCall = SentToEndpoint & Pick<ResolvedRead, 'input'>;

/** Reads the operation's answer from the last reply to a request. */
export async function readAnswer(call: SentCall, reply: FinalReply): Promise<Answer> {
  const { operation } = call;
  const { attempts } = reply;
  if (reply.kind === 'failed') return { kind: 'failed', failure: noAnswer(call, reply.failure, { attempts }) };

  const { status, headers, bodyFailure } = reply.response;
  const requestIds = requestIdsOf(headers);
  const exchange = { status, requestIds, attempts };
  if (status < 200 || status > 299) return { kind: 'failed', failure: serviceFailure(call, reply, requestIds) };
  if (bodyFailure === undefined) return readSuccess(call, reply, exchange);

  // A change was carried out, unless the lost body held an error.
  if (operation.effect === 'read')
    return { kind: 'failed', failure: noAnswer(call, bodyFailure, { requestIds, attempts }) };
  const problem = say`its body was lost on the way (${own(bodyFailure.code)})`;
  return { kind: 'unusable', exchange, problem, mayHaveFailed: mayAnswerWithErrors(operation) };
}

async function readSuccess(call: SentCall, reply: AnsweredReply, exchange: Exchange): Promise<Answer> {
  const { operation, input } = call;
  const { body } = reply;
  const { status, headers } = reply.response;
  const failed = (error: ServiceError): Answer => ({
    kind: 'failed',
    failure: serviceFailure(call, reply, exchange.requestIds, error),
  });
  const declared = await declaredError(operation, reply);
  if (declared !== undefined) return failed(declared);

  // An operation that parses text itself may still read another format, but no HTML page.
  const otherFormat = formatDifference(body, operation.answer);
  const isReadable = otherFormat === undefined || (body.kind !== 'html' && isReadAsText(operation.answer, body));
  const expectsEmptyBody = operation.answer === 'none';
  const extract = (content: unknown) => operation.extract(content, input, headers, status);
  const value = isReadable && !expectsEmptyBody ? await readBody(operation, reply, extract) : undefined;

  // An apparent error comes before `otherFormat`, because it says more.
  const apparent = apparentError(operation, reply, value);
  if (apparent !== undefined) return failed(apparent);

  const usable = { kind: 'usable', exchange, answeredAt: isoDate(headers.date) } as const;
  if (isReadable && expectsEmptyBody) return { ...usable, record: {}, warnings: [], missingFields: [] };
  // A document of the API may leave out all expected fields, but not have another root.
  if (value === undefined || isOtherDocument(operation, body, value)) {
    const problem = otherFormat ?? say`it is not an answer to ${own(operation.api)}`;
    // An HTML page comes from a proxy, so the request may not have reached the API.
    const mayHaveFailed = body.kind === 'html' || mayAnswerWithErrors(operation);
    const malformed = body.kind === 'malformed' ? body : undefined;
    return { kind: 'unusable', exchange, problem, mayHaveFailed, malformed };
  }
  const createSchema = operation.pages?.page ?? operation.output;
  const reading = readRecord(createSchema(), value);
  const allMissing = allMissingWarning(operation, body, value, reading.missingFields.length > 0);
  return { ...usable, ...reading, warnings: sentences(allMissing, ...reading.warnings) };
}

/** True if an answer with a successful status may hold an error. */
export const mayAnswerWithErrors = ({ errorOf, failures }: Operation): boolean =>
  errorOf !== undefined || failures !== undefined;

function isoDate(httpDate = ''): string | undefined {
  const time = readTime(httpDate);
  return time === undefined ? undefined : new Date(time).toISOString();
}

/** For `text`, only an HTML page is different. */
function formatDifference(body: Body, format: Operation['answer']): SafeText | undefined {
  if (format === 'text' && body.kind !== 'html') return undefined;
  if (body.kind === 'malformed') return say`it looks like ${own(body.format)}, but ${defined(body.problem)}`;
  if (formatNames[body.kind] === formatNames[format]) return undefined;
  return say`it is ${words(formatNames[body.kind])}, not ${words(formatNames[format])}`;
}

const formatNames = {
  xml: 'XML',
  xmlText: 'XML',
  json: 'JSON',
  jsonText: 'JSON',
  html: 'an HTML page',
  text: 'plain text',
  empty: 'empty',
  none: 'empty',
} as const;

const isReadAsText = (format: Operation['answer'], body: Body): boolean =>
  format === 'text' ||
  (format === 'jsonText' && !(body.kind === 'malformed' && body.isTooLarge)) ||
  (format === 'xmlText' && body.kind !== 'malformed');

async function readBody(
  { answer }: Pick<Operation, 'answer'>,
  { body, readText }: AnsweredReply,
  read: (body: unknown) => unknown,
): Promise<unknown> {
  if (isReadAsText(answer, body)) return readText(read);
  return read('value' in body && body.kind === answer ? body.value : undefined);
}

/** EC2's `<Response><Errors><Error>` may also be an answer with failed entries. */
function isErrorDocument({ answerBody, failures }: Operation, document: Readonly<Record<string, unknown>>): boolean {
  if (['Error', 'ErrorResponse'].some((root) => Object.hasOwn(document, root))) return true;
  const isAnswer = answerBody === undefined ? failures !== undefined : answerBody.root === 'Response';
  const hasOnlyErrors = Object.keys(Object(document.Response)).every((name) => /^(?:Errors|RequestId)$/i.test(name));
  return !isAnswer && hasOnlyErrors && valueAt(document, 'Response.Errors.Error') !== undefined;
}

/**
 * In query APIs, the member `return` says whether the request succeeded. The JSON of a model (`answerBody`) may be data.
 */
const returnsFalse = ({ answerBody }: Operation, body: Body): boolean =>
  'value' in body &&
  (body.kind === 'xml' || answerBody === undefined) &&
  [...leavesOf(body.kind === 'xml' ? Object.values(body.value)[0] : body.value)].some(
    ([path, value]) => /^(?:\w+Result\.)?return$/i.test(path) && readBoolean(String(value)) === false,
  );

async function declaredError(operation: Operation, reply: AnsweredReply): Promise<ServiceError | undefined> {
  const { body, response } = reply;
  const { status, headers } = response;
  if (body.kind === 'xml' && isErrorDocument(operation, body.value)) return readServiceError(body, headers);
  if (operation.effect !== 'read' && returnsFalse(operation, body)) return { message: 'return: false' };
  const { errorOf } = operation;
  if (errorOf === undefined) return undefined;
  const error = await readBody(operation, reply, (content) => errorOf({ status, headers, body: content }));
  return isObject(error) ? shortenServiceError(error) : undefined;
}

function apparentError(
  operation: Operation,
  { body, response }: AnsweredReply,
  value: unknown,
): ServiceError | undefined {
  const { answer, answerBody } = operation;
  if (body.kind !== 'json' || answer === 'text' || hasExpectedField(operation, value)) return undefined;

  // Without a model (`answerBody`), an empty list means unknown fields.
  const namesNoFields = answer !== 'none' && answerBody === undefined && expectedFields(operation).length === 0;
  if (namesNoFields) return undefined;
  const error = readServiceError(body, response.headers);
  // Some APIs put such a code into each successful answer.
  const meansSuccess = /^(ok|success\w*|succeeded|0+|2\d\d)$/i.test(error.code ?? '');
  return error.code === undefined || meansSuccess ? undefined : error;
}

const expectedFields = ({ answer, answerBody, pages, output }: Operation): readonly string[] =>
  answer === 'none' ? [] : (answerBody?.fields ?? Object.keys((pages?.page ?? output)().shape));

const hasExpectedField = (operation: Operation, record: unknown): boolean =>
  expectedFields(operation).some((path) => valueAt(record, path) !== undefined);

function allMissingWarning(
  operation: Operation,
  body: Body,
  record: unknown,
  lacksRequired: boolean,
): SafeText | false {
  const isEmptyJson =
    body.kind === 'json' &&
    isObject(body.value) &&
    // Some APIs write null for an empty list.
    Object.values(body.value).every((field) => field === null);
  const isOptional = operation.answerBody === undefined || body.kind === 'xml' || isEmptyJson;
  const names = expectedFields(operation).map((name) => own(name));
  if ((isOptional && !lacksRequired) || !isObject(record) || hasExpectedField(operation, record) || names.length === 0)
    return false;
  const shown = sentences(...names.slice(0, 5), names.length > 5 && words('others'));
  return say`The answer has none of the expected fields: ${listed(shown, 'or')}.`;
}

/** True if an XML document without any expected field has another root than the API's model. */
function isOtherDocument(operation: Operation, body: Body, value: unknown): boolean {
  const { answerBody } = operation;
  if (answerBody?.root === undefined || body.kind !== 'xml' || hasExpectedField(operation, value)) return false;
  const [[root, content] = []] = Object.entries(body.value);
  return root !== answerBody.root && content !== '';
}

interface Reading {
  readonly record: Record<string, unknown>;
  readonly warnings: readonly SafeText[];
  readonly missingFields: readonly string[];
}

const maximumWarnings = 20;

/**
 * Reads the record of an answer, and never rejects it. A field of the wrong type is converted if that loses nothing, or else dropped, with a
 * warning.
 */
export function readRecord(schema: z.ZodObject, value: unknown): Reading {
  const answer = withoutNulls(value);
  if (!isObject(answer)) {
    const warning = say`The answer is ${show(value)}, not an object; it was left out.`;
    return { record: {}, warnings: [warning], missingFields: [] };
  }
  const parsed = schema.safeParse(answer, { reportInput: true });
  // Not `parsed.data`, because parsing drops unknown fields.
  if (parsed.success) return { record: { ...answer }, warnings: [], missingFields: [] };

  const { issues } = parsed.error;
  const repaired = structuredClone(answer);
  const warnings = issues.filter(({ input }) => input !== undefined).map((issue) => repairField(repaired, issue));
  const unlisted = warnings.length - maximumWarnings;
  return {
    record: { ...compact(repaired) },
    missingFields: issues.filter(({ input }) => input === undefined).map(({ path }) => toDotPath(path)),
    warnings: sentences(...warnings.slice(0, maximumWarnings), unlisted > 0 && say`${unlisted} more fields were odd.`),
  };
}

/** Changes `record` in place. */
function repairField(record: unknown, issue: z.core.$ZodIssue): SafeText {
  const name = toDotPath(issue.path);
  const ofFormat = issue.code === 'invalid_format' ? issue.format : 'unknown';
  const expected = issue.code === 'invalid_type' ? issue.expected : ofFormat;
  const converted = convert(issue.input, expected);
  const parent = issue.path.slice(0, -1).reduce<unknown>((at, step) => Object(at)[step], record);
  const [last = ''] = issue.path.slice(-1);
  if (typeof parent === 'object' && parent !== null) Reflect.set(parent, last, converted);
  const fate = words(converted === undefined ? 'it was left out' : 'it was converted');
  return say`${own(name)} in the answer is ${show(issue.input, expected)}, not ${defined(typeNames[expected] ?? 'what it should be')}; ${fate}.`;
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  datetime: 'a time',
  base64: 'base64',
};

/** Returns undefined if the conversion would lose something. */
function convert(value: unknown, expected: string): unknown {
  if (expected === 'string' && (typeof value === 'number' || typeof value === 'boolean')) return String(value);
  if (expected === 'boolean') return readBoolean(String(value));
  // The XML parser returns an empty text for an element without children.
  if (expected === 'object' && value === '') return {};
  const isNumber = expected === 'number' || expected === 'int';
  return isNumber && typeof value === 'string' ? readWholeNumber(value) : undefined;
}

/** Shows a list or an object only as such, because a part may be a secret. */
function show(value: unknown, expected = 'object'): SafeText {
  if (Array.isArray(value)) return words('a list');
  if (isObject(value)) return words('an object');
  if (typeof value === 'string' && value !== '' && ['object', 'array'].includes(expected)) return words('a text');
  return quoted(typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing'), 100);
}

function compact(value: unknown): object {
  const keep = (inner: unknown) => (typeof inner === 'object' && inner !== null ? compact(inner) : inner);
  if (Array.isArray(value)) return value.filter((element) => element !== undefined).map(keep);
  const fields = Object.entries(Object(value)).filter(([, field]) => field !== undefined);
  return Object.fromEntries(fields.map(([name, field]) => [name, keep(field)]));
}
