import type { Failure } from '../consent/outcome.js';
import type { Operation } from '../tools/define-operation.js';
import type { Body } from '../transport/parse-body.js';
import { requestIdsOf, type ServiceError } from '../transport/service-error.js';
import type { AnsweredReply, FinalReply } from '../transport/signed-client.js';
import { readTime } from '../util/read-values.js';
import { defined, listed, own, type SafeText, say, words } from '../util/safe-text.js';
import {
  apparentError,
  declaredError,
  fieldsIfAllMissing,
  hasExpectedField,
  isOtherDocument,
  isReadAsText,
  readBody,
} from './answered-error.js';
import { type Exchange, errorInSuccessFailure, errorStatusFailure, noAnswer, type SentToEndpoint } from './failure.js';
import { type Reading, readRecord } from './read-record.js';
import type { ResolvedRead } from './stages.js';

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
      /** True if the request may not have been carried out, because the answer may come from a proxy or hold an unreadable error. */
      readonly mayHaveFailed: boolean;
      /** True if the answer is larger than this server reads. */
      readonly isTooLarge?: boolean;
    }
  | { readonly kind: 'failed'; readonly failure: Failure };

/** A call whose request was sent. */
export type SentCall = SentToEndpoint & Pick<ResolvedRead, 'input'>;

/** Reads the operation's answer from the last reply to a request. */
export async function readAnswer(call: SentCall, reply: FinalReply): Promise<Answer> {
  const { operation } = call;
  const { attempts } = reply;
  if (reply.kind === 'failed') return { kind: 'failed', failure: noAnswer(call, reply.failure, { attempts }) };

  const { status, headers, bodyFailure } = reply.response;
  const requestIds = requestIdsOf(headers);
  const exchange = { status, requestIds, attempts };
  if (status < 200 || status > 299) return { kind: 'failed', failure: errorStatusFailure(call, reply, requestIds) };
  if (bodyFailure === undefined) return readSuccess(call, reply, exchange);

  // The body was lost, and a read is worth nothing without it. A change was carried out, unless the lost body held an error.
  if (operation.effect === 'read')
    return { kind: 'failed', failure: noAnswer(call, bodyFailure, { requestIds, attempts }) };
  const problem = say`its body was lost on the way (${own(bodyFailure.code)})`;
  return { kind: 'unusable', exchange, problem, mayHaveFailed: mayAnswerWithErrors(operation) };
}

/** Reads a complete answer with a successful status. The answer may still hold an error, or come from a proxy and not from the API. */
async function readSuccess(call: SentCall, reply: AnsweredReply, exchange: Exchange): Promise<Answer> {
  const { operation } = call;
  const { body, response } = reply;
  const content = await readContent(call, reply);
  const usable = { kind: 'usable', exchange, answeredAt: isoDate(response.headers.date) } as const;
  switch (content.kind) {
    case 'error':
      return { kind: 'failed', failure: errorInSuccessFailure(call, reply, exchange.requestIds, content.error) };
    case 'unusable': {
      // An HTML page comes from a proxy, so the request may not have reached the API. Any other body may hold an error of the operation.
      const mayHaveFailed = body.kind === 'html' || mayAnswerWithErrors(operation);
      const isTooLarge = body.kind === 'malformed' && body.isTooLarge;
      return { kind: 'unusable', exchange, problem: content.problem, mayHaveFailed, isTooLarge };
    }
    case 'empty':
      return { ...usable, record: {}, warnings: [], missingFields: [] };
    case 'value': {
      const { value } = content;
      const createSchema = operation.pages?.page ?? operation.output;
      const { record, missingFields, warnings } = readRecord(createSchema(), value);
      const lacksRequired = missingFields.length > 0;
      const allMissing = fieldsIfAllMissing(operation, body, value, { lacksRequired });
      return { ...usable, record, missingFields, warnings: [...allMissingWarning(allMissing), ...warnings] };
    }
  }
}

/** The content of an answer with a successful status. */
type Content =
  | { readonly kind: 'error'; readonly error: ServiceError }
  | { readonly kind: 'unusable'; readonly problem: SafeText }
  /** The operation expects no content. */
  | { readonly kind: 'empty' }
  /** The value that the operation extracts from the answer, before it is read by its schema. */
  | { readonly kind: 'value'; readonly value: unknown };

/** Extracts the operation's value from an answer, unless the answer holds an error or is unusable. */
async function readContent({ operation, input }: SentCall, reply: AnsweredReply): Promise<Content> {
  const { body } = reply;
  const { status, headers } = reply.response;
  // An error is declared if the body is an error document, or if the operation itself finds an error in it.
  const declared = await declaredError(operation, reply);
  if (declared !== undefined) return { kind: 'error', error: declared };

  // `otherFormat` says how the body differs from the expected format. An operation that parses text itself may still read such a body, but no
  // HTML page.
  const otherFormat = formatDifference(body, operation.answer);
  const isParsedByOperation = body.kind !== 'html' && isReadAsText(operation.answer, body);
  const isReadable = otherFormat === undefined || isParsedByOperation;
  const expectsEmptyBody = operation.answer === 'none';
  const extract = (content: unknown) => operation.extract(content, input, headers, status);
  const value = isReadable && !expectsEmptyBody ? await readBody(operation, reply, extract) : undefined;

  // An error is apparent if a JSON body has an error code and no expected field, also if the body should be empty. An apparent error comes before
  // `otherFormat`, because it says more.
  const hasNoExpectedField = !hasExpectedField(operation, value);
  const apparent = hasNoExpectedField ? apparentError(operation, reply) : undefined;
  if (apparent !== undefined) return { kind: 'error', error: apparent };

  if (isReadable && expectsEmptyBody) return { kind: 'empty' };
  // A document of the API may leave out all expected fields. A document without them that also has another root is no answer of the API.
  if (value === undefined || (hasNoExpectedField && isOtherDocument(operation, body)))
    return { kind: 'unusable', problem: otherFormat ?? say`it is not an answer to ${own(operation.api)}` };
  return { kind: 'value', value };
}

/** Maximum number of fields that the warning about missing fields names. */
const namesShown = 5;

/** Returns the warning that an answer has none of the expected fields, as a list of one; an empty list if no names are given. */
function allMissingWarning(names: readonly string[]): SafeText[] {
  if (names.length === 0) return [];
  const shown = names.slice(0, namesShown).map((name) => own(name));
  const others = names.length > namesShown ? [words('others')] : [];
  return [say`The answer has none of the expected fields: ${listed([...shown, ...others], 'or')}.`];
}

/** True if an answer with a successful status may hold an error. For these operations, an answer that cannot be read may be such an error. */
export const mayAnswerWithErrors = ({ errorOf, failures }: Operation): boolean =>
  errorOf !== undefined || failures !== undefined;

function isoDate(httpDate = ''): string | undefined {
  const time = readTime(httpDate);
  return time === undefined ? undefined : new Date(time).toISOString();
}

/** Returns the difference if a body does not have the format that an operation expects. For `text`, only an HTML page is different. */
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
