import type { ServerResponse } from 'node:http';

/** Why a request is not served: an HTTP status, a reason for the metrics, and a sentence for the client. */
export class HttpError extends Error {
  readonly status: number;
  /** A label of the metrics: a fixed word, never anything that a client chose. */
  readonly reason: string;
  readonly headers: Readonly<Record<string, string>>;
  constructor(status: number, reason: string, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.name = 'HttpError';
    this.status = status;
    this.reason = reason;
    this.headers = headers;
  }
}

/** Too much at once: the client may come back in so many seconds. */
export const unavailable = (reason: string, message: string, retryAfterSeconds: number) =>
  new HttpError(503, reason, message, { 'retry-after': String(retryAfterSeconds) });

export function sendJson(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers });
  response.end(JSON.stringify(body));
}

/** Answers with an error as JSON-RPC has it; no request is named, because none was read. */
export const sendError = (response: ServerResponse, { status, message, headers }: HttpError): void =>
  sendJson(response, status, { jsonrpc: '2.0', error: { code: -32000, message }, id: null }, headers);
