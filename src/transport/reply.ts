import type { HttpFailure, HttpResponse } from './http-client.js';
import { type Body, parseBody } from './parse-body.js';

/** The result of one attempt: an answer, whatever its status, or the reason there is none. */
export type AttemptReply =
  | { readonly kind: 'answered'; readonly response: Omit<HttpResponse, 'body'>; readonly body: Body }
  | { readonly kind: 'failed'; readonly failure: HttpFailure };

/** A reply with its body parsed. */
export function replyOf(result: HttpResponse | HttpFailure): AttemptReply {
  if (result.kind === 'failure') return { kind: 'failed', failure: result };
  const { body, ...response } = result;
  return { kind: 'answered', response, body: parseBody(body) };
}

/** A reply in a word or two for the log and for people: its status, or the code of its failure. */
export function describeReply(reply: AttemptReply): string {
  if (reply.kind === 'failed') return reply.failure.code;
  const { status, bodyFailure } = reply.response;
  return bodyFailure === undefined ? String(status) : `${status} then ${bodyFailure.code}`;
}
