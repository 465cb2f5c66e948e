import type { Body } from '../../src/transport/parse-body.js';
import type { WireRequest } from '../../src/transport/request.js';
import type { Attempt, FinalReply, OpenClient } from '../../src/transport/signed-client.js';

/** A client that sends nothing and has its reply ready. It keeps what it was asked for. */
export function scriptedClient(reply: (request: WireRequest) => Promise<FinalReply>) {
  const opened: Parameters<OpenClient>[] = [];
  const requests: WireRequest[] = [];
  const closed: number[] = [];
  const openClient: OpenClient = (...given) => {
    opened.push(given);
    return {
      send: (request) => {
        requests.push(request);
        return reply(request);
      },
      [Symbol.dispose]: () => {
        closed.push(requests.length);
      },
    };
  };
  return { openClient, opened, requests, closed };
}

const endedAt = new Date('2026-11-20T12:00:01Z');
const first: Attempt = { result: '429', waitedMs: 150 };

/** An answer in JSON. */
export const answered = (status: number, value: unknown): FinalReply => answeredBy(status, { kind: 'json', value });

/** An answer after `attempts` attempts. */
export const answeredBy = (status: number, body: Body, attempts = 1, headers: object = {}): FinalReply => ({
  kind: 'answered',
  response: { kind: 'response', status, headers: { 'x-request-id': 'r-1', ...headers } },
  body,
  readText: async (read) => read('text' in body ? body.text : ''),
  attempts: [...Array.from({ length: attempts - 1 }, () => first), { result: `${status}` }],
  endedAt,
  keyId: 'AKIDTEST',
});

/** No answer, to a request that may have arrived or not. */
export const unanswered = (mayHaveArrived: boolean): FinalReply => ({
  kind: 'failed',
  failure: { kind: 'failure', code: 'ConnectionLost', detail: 'ECONNRESET', mayHaveArrived },
  attempts: [{ result: 'ConnectionLost' }],
  endedAt,
  keyId: 'AKIDTEST',
});
