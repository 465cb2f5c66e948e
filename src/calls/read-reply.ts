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
import type { Failure } from './outcome.js';
import { type Reading, readRecord } from './read-record.js';
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
      readonly isTooLarge?: boolean;
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
  if (status < 200 || status > 299) return { kind: 'failed', failure: errorStatusFailure(call, reply, requestIds) };
  if (bodyFailure === undefined) return readSuccess(call, reply, exchange);

  // A change was carried out, unless the lost body held an error.
  if (operation.effect === 'read')
    return { kind: 'failed', failure: noAnswer(call, bodyFailure, { requestIds, attempts }) };
  const problem = say`its body was lost on the way (${own(bodyFailure.code)})`;
  return { kind: 'unusable', exchange, problem, mayHaveFailed: mayAnswerWithErrors(operation) };
}

/** The answer may still hold an error, or come from a proxy. */
async function readSuccess(call: SentCall, reply: AnsweredReply, exchange: Exchange): Promise<Answer> {
  const { operation } = call;
  const { body, response } = reply;
  const content = await readContent(call, reply);
  const usable = { kind: 'usable', exchange, answeredAt: isoDate(response.headers.date) } as const;
  switch (content.kind) {
    case 'error':
      return { kind: 'failed', failure: errorInSuccessFailure(call, reply, exchange.requestIds, content.error) };
    case 'unusable': {
      // An HTML page comes from a proxy, so the request may not have reached the API.
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

type Content =
  | { readonly kind: 'error'; readonly error: ServiceError }
  | { readonly kind: 'unusable'; readonly problem: SafeText }
  | { readonly kind: 'empty' }
  | { readonly kind: 'value'; readonly value: unknown };

async function readContent({ operation, input }: SentCall, reply: AnsweredReply): Promise<Content> {
  const { body } = reply;
  const { status, headers } = reply.response;
  const declared = await declaredError(operation, reply);
  if (declared !== undefined) return { kind: 'error', error: declared };

  // An operation that parses text itself may still read another format, but no HTML page.
  const otherFormat = formatDifference(body, operation.answer);
  const isParsedByOperation = body.kind !== 'html' && isReadAsText(operation.answer, body);
  const isReadable = otherFormat === undefined || isParsedByOperation;
  const expectsEmptyBody = operation.answer === 'none';
  const extract = (content: unknown) => operation.extract(content, input, headers, status);
  const value = isReadable && !expectsEmptyBody ? await readBody(operation, reply, extract) : undefined;

  // An apparent error comes before `otherFormat`, because it says more.
  const hasNoExpectedField = !hasExpectedField(operation, value);
  const apparent = hasNoExpectedField ? apparentError(operation, reply) : undefined;
  if (apparent !== undefined) return { kind: 'error', error: apparent };

  if (isReadable && expectsEmptyBody) return { kind: 'empty' };
  // A document of the API may leave out all expected fields, but not have another root.
  if (value === undefined || (hasNoExpectedField && isOtherDocument(operation, body)))
    return { kind: 'unusable', problem: otherFormat ?? say`it is not an answer to ${own(operation.api)}` };
  return { kind: 'value', value };
}

const namesShown = 5;

function allMissingWarning(names: readonly string[]): SafeText[] {
  if (names.length === 0) return [];
  const shown = names.slice(0, namesShown).map((name) => own(name));
  const others = names.length > namesShown ? [words('others')] : [];
  return [say`The answer has none of the expected fields: ${listed([...shown, ...others], 'or')}.`];
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
