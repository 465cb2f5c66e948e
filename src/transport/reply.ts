import type { HttpFailure, HttpResponse } from './http-client.js';
import { type Body, parseBody } from './parse-body.js';

export type AttemptReply =
  | {
      readonly kind: 'answered';
      readonly response: Omit<HttpResponse, 'body'>;
      readonly body: Body;
      /** Passes the text of the body to `read`, and removes secrets from the result. */
      readonly readText: (read: (text: string) => unknown) => Promise<unknown>;
    }
  | { readonly kind: 'failed'; readonly failure: HttpFailure };

export function replyOf(result: HttpResponse | HttpFailure): AttemptReply {
  if (result.kind === 'failure') return { kind: 'failed', failure: result };
  const { body, ...response } = result;
  return { kind: 'answered', response, body: parseBody(body), readText: async (read) => read(body) };
}

/** Describes a reply for the log and for people. */
export function describeReply(reply: AttemptReply): string {
  if (reply.kind === 'failed') return reply.failure.code;
  const { status, bodyFailure } = reply.response;
  return bodyFailure === undefined ? String(status) : `${status} then ${bodyFailure.code}`;
}
