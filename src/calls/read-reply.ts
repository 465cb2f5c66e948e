import type { Failure, RequestIds } from '../consent/outcome.js';
import type { Operation } from '../tools/define-operation.js';
import type { Body } from '../transport/parse-body.js';
import { requestIdsOf } from '../transport/service-error.js';
import type { FinalReply } from '../transport/signed-client.js';
import { defined, own, type SafeText, say, words } from '../util/safe-text.js';
import { errorAnswer, type FailedCall, noAnswer } from './failure.js';
import { type Reading, readRecord } from './read-record.js';
import type { ResolvedRead } from './stages.js';

/** A reply that was read as an answer of the API. */
export type Answer =
  | ({
      readonly kind: 'read';
      readonly status: number;
      readonly requestIds: RequestIds;
      /** Time of the `Date` header. */
      readonly answeredAt: string | undefined;
    } & Reading)
  | {
      readonly kind: 'unread';
      readonly status: number;
      readonly requestIds: RequestIds;
      readonly problem: SafeText;
      /** Set if it may come from a proxy or the like. It is then unknown whether the API got the request. */
      readonly isForeign: boolean;
    }
  | { readonly kind: 'failed'; readonly failure: Failure };

/** A call whose request was answered, or failed. */
export type AnsweredCall = FailedCall & Pick<ResolvedRead, 'input' | 'endpoint'>;

/** Reads the reply to a request. */
export async function readAnswer(call: AnsweredCall, reply: FinalReply): Promise<Answer> {
  const { operation, input } = call;
  const { origin } = call.endpoint;
  const { attempts } = reply;
  if (reply.kind === 'failed') return { kind: 'failed', failure: noAnswer(call, reply.failure, origin, { attempts }) };
  const { status, headers, bodyFailure } = reply.response;
  const requestIds = requestIdsOf(headers);
  if (status < 200 || status > 299) return { kind: 'failed', failure: errorAnswer(call, reply, requestIds) };
  const isRead = operation.effect === 'read';
  if (bodyFailure !== undefined && isRead)
    return { kind: 'failed', failure: noAnswer(call, bodyFailure, origin, { requestIds, attempts }) };

  const unread = { kind: 'unread', status, requestIds, isForeign: reply.body.kind === 'html' } as const;
  if (bodyFailure !== undefined)
    return { ...unread, problem: say`its body was lost on the way (${own(bodyFailure.code)})` };
  const problem = unreadable(reply.body, operation.answer);
  if (problem !== undefined) return { ...unread, problem };
  const value = await bodyOf(operation, reply, (body) => operation.extract(body, input, headers));
  if (isRead && operation.answer !== 'none' && value === undefined)
    return { ...unread, problem: say`it is not an answer to ${own(operation.api)}` };
  const reading =
    operation.answer === 'none'
      ? { record: {}, warnings: [], missingFields: [] }
      : readRecord((operation.pages?.page ?? operation.output)(), value);
  return { kind: 'read', status, requestIds, answeredAt: isoDate(headers.date), ...reading };
}

/** Passes the body of an answer to a function, as the operation's format has it. Returns undefined if the format is `none`. */
async function bodyOf(
  { answer }: Operation,
  { body, readText }: FinalReply & { kind: 'answered' },
  read: (body: unknown) => unknown,
): Promise<unknown> {
  if (answer === 'text') return readText(read);
  return 'value' in body ? read(body.value) : undefined;
}

function isoDate(httpDate = ''): string | undefined {
  const time = Date.parse(httpDate);
  return Number.isNaN(time) ? undefined : new Date(time).toISOString();
}

function unreadable(body: Body, format: Operation['answer']): SafeText | undefined {
  if (body.kind === (format === 'none' ? 'empty' : format)) return undefined;
  if (format === 'text' && body.kind !== 'html') return undefined;
  const called = {
    xml: 'XML',
    json: 'JSON',
    html: 'an HTML page',
    text: 'plain text',
    empty: 'empty',
    none: 'empty',
  } as const;
  if (body.kind === 'malformed') return say`it looks like ${own(body.format)}, but ${defined(body.problem)}`;
  return say`it is ${words(called[body.kind])}, not ${words(called[format])}`;
}
