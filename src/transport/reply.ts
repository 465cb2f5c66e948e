import type { HttpFailure, HttpResponse } from './http-client.js';
import { type Body, parseBody } from './parse-body.js';

/** The result of one attempt: an answer with any status, or the reason for a missing answer. */
export type AttemptReply =
  | {
      readonly kind: 'answered';
      readonly response: Omit<HttpResponse, 'body'>;
      readonly body: Body;
      /** Passes the text of the body, which may hold secrets, to `read`, and returns the result without secrets. */
      readonly readText: (read: (text: string) => unknown) => Promise<unknown>;
    }
  | { readonly kind: 'failed'; readonly failure: HttpFailure };

/** Makes the reply of an attempt: parses the body of the response, or passes on the failure. */
export function replyOf(result: HttpResponse | HttpFailure): AttemptReply {
  if (result.kind === 'failure') return { kind: 'failed', failure: result };
  const { body, ...response } = result;
  return { kind: 'answered', response, body: parseBody(body), readText: async (read) => read(body) };
}

/** Describes a reply in one or two words for the log and for people, by its status or the code of its failure. */
export function describeReply(reply: AttemptReply): string {
  if (reply.kind === 'failed') return reply.failure.code;
  const { status, bodyFailure } = reply.response;
  return bodyFailure === undefined ? String(status) : `${status} then ${bodyFailure.code}`;
}
