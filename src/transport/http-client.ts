import { StringDecoder } from 'node:string_decoder';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync } from 'node:zlib';
import { type Dispatcher, errors } from 'undici';
import type { HttpMethod } from '../tools/define-operation.js';
import { createTurns } from '../util/queue.js';
import { createConnections, type ExchangeLimits, type Proxies } from './connections.js';

export interface HttpRequest {
  readonly method: HttpMethod;
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** True for a change, whose outcome would be unknown if a kept connection closed. */
  readonly newConnection: boolean;
  /** Limit shared with other responses. */
  readonly byteLimit?: ByteLimit | undefined;
}

export interface HttpResponse {
  readonly kind: 'response';
  readonly status: number;
  /** Lower-case names. Values of a repeated header are joined with commas. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Set if the status arrived, but not the whole body. */
  readonly bodyFailure?: HttpFailure;
}

/** With `mayHaveArrived`, the service may have acted on the request. */
export interface HttpFailure {
  readonly kind: 'failure';
  readonly code: FailureCode;
  readonly detail: string;
  readonly mayHaveArrived: boolean;
}

export type FailureCode =
  | 'NameNotResolved'
  | 'ConnectionRefused'
  | 'ConnectTimeout'
  | 'TlsFailed'
  | 'ProxyFailed'
  | 'ConnectFailed'
  | 'ConnectionLost'
  | 'ResponseTimeout'
  | 'BodyTimeout'
  | 'CallTimeout'
  | 'Cancelled'
  | 'MalformedResponse'
  | 'ResponseTooLarge'
  | 'BodyIncomplete';

export const defaultLimits: ExchangeLimits = {
  connectMs: 10_000,
  headersMs: 30_000,
  bodyMs: 15_000,
  // Enough for a page of 1,000 uploads with percent-encoded keys of 1,024 bytes.
  bodyBytes: 4 * 1024 * 1024,
  headerBytes: 32 * 1024,
};

export interface ByteLimit {
  admit(bytes: number): boolean;
}

/** Sends each request once. */
export interface HttpClient {
  /** Never rejects. */
  send(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse | HttpFailure>;
  close(): Promise<void>;
}

export function createHttpClient(proxies: Proxies = {}, limits: ExchangeLimits = defaultLimits): HttpClient {
  const keepAlive = createConnections(proxies, limits, 1);
  // With `pipelining: 0`, undici opens a connection for each request.
  const oneShot = createConnections(proxies, limits, 0);
  // Bodies whose decoding takes milliseconds are decoded one after the other, to bound the heap.
  const takeTurn = createTurns();
  return {
    send: async (request, signal) => {
      const exchange: Exchange = { controller: undefined, head: undefined, chunks: [], size: 0 };
      const { agent, hasProxy, ...address } = (request.newConnection ? oneShot : keepAlive).routeOf(request);
      if (signal.aborted) return failureOf(signal.reason, exchange, signal, hasProxy);
      try {
        await dispatch(agent, { ...request, ...address }, exchange, limits, signal);
        const decode = () => decodeResponse(exchange, limits, request.byteLimit);
        const isSmall = exchange.size <= 64 * 1024 && exchange.head?.headers['content-encoding'] === undefined;
        return await (isSmall ? decode() : takeTurn(decode));
      } catch (error) {
        return failureOf(error, exchange, signal, hasProxy);
      }
    },
    close: async () => {
      await Promise.all([keepAlive, oneShot].map(({ destroy }) => destroy()));
    },
  };
}

interface Exchange {
  /** Set as soon as the request may have reached the service. */
  controller: Dispatcher.DispatchController | undefined;
  head: Pick<HttpResponse, 'kind' | 'status' | 'headers'> | undefined;
  readonly chunks: Buffer[];
  size: number;
}

function dispatch(
  agent: Dispatcher,
  { method, origin, path, headers, body, byteLimit }: HttpRequest,
  exchange: Exchange,
  limits: ExchangeLimits,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      // undici is still connecting, and `onRequestStart` will stop the request.
      if (exchange.controller === undefined) reject(signal.reason);
      else exchange.controller.abort(signal.reason);
    };
    signal.addEventListener('abort', abort, { once: true });

    const tooLarge = () => new TooLarge(`more than ${limits.bodyBytes} bytes`);
    const handler: Dispatcher.DispatchHandler = {
      // Called just before the request is written.
      onRequestStart(controller) {
        if (signal.aborted) controller.abort(signal.reason);
        else exchange.controller = controller;
      },
      onResponseStart(controller, status, incoming) {
        if (status < 200) return;
        const headers = Object.fromEntries(
          Object.entries(incoming).map(([name, value = '']) => [name.toLowerCase(), [value].flat().join(', ')]),
        );
        exchange.head = { kind: 'response', status, headers };
        // An answer to HEAD has only the length that a body would have.
        if (method !== 'HEAD' && Number(headers['content-length']) > limits.bodyBytes) controller.abort(tooLarge());
      },
      onResponseData(controller, chunk) {
        exchange.size += chunk.length;
        if (exchange.size > limits.bodyBytes) controller.abort(tooLarge());
        else if (byteLimit?.admit(chunk.length) === false) controller.abort(new TooLarge('there is no room for it'));
        else exchange.chunks.push(chunk);
      },
      onResponseEnd() {
        signal.removeEventListener('abort', abort);
        resolve();
      },
      onResponseError(_controller, error) {
        signal.removeEventListener('abort', abort);
        reject(error);
      },
    };
    agent.dispatch({ method, origin, path, headers, body: body ?? null }, handler);
  });
}

function failureOf(
  error: unknown,
  { controller, head }: Exchange,
  signal: AbortSignal,
  hasProxy: boolean,
): HttpResponse | HttpFailure {
  const mayHaveArrived = controller !== undefined;
  const { code: errorCode, detail } = describeError(error);
  let code: FailureCode;
  if (signal.aborted) code = signal.reason?.name === 'TimeoutError' ? 'CallTimeout' : 'Cancelled';
  else code = mayHaveArrived ? exchangeFailure(errorCode, error) : connectFailure(errorCode, hasProxy);
  const failure: HttpFailure = { kind: 'failure', code, detail, mayHaveArrived };
  return head === undefined ? failure : { ...head, body: '', bodyFailure: failure };
}

class TooLarge extends Error {}

/** In one turn. */
const pieceBytes = 512 * 1024;

async function decodeResponse(
  { head, chunks }: Exchange,
  { bodyBytes }: ExchangeLimits,
  byteLimit: ByteLimit | undefined,
): Promise<HttpResponse> {
  if (head === undefined) throw new Error('the response has no final status');
  const compressed = Buffer.concat(chunks);
  const bytes = decompress(compressed, head.headers, bodyBytes);
  // The compressed bytes stay in memory too.
  if (bytes !== compressed && byteLimit?.admit(bytes.length) === false) throw new TooLarge('there is no room for it');

  // Joins a character whose bytes are in two pieces.
  const decoder = new StringDecoder('utf8');
  let text = '';
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    if (at > 0) await nextTurn();
    text += decoder.write(bytes.subarray(at, at + pieceBytes));
  }
  return { ...head, body: text + decoder.end() };
}

/** Other bodies may be files that are meant to be compressed. */
const textTypes = /^(?:$|text\/|application\/(?:[\w.-]+\+)?(?:xml|json))/i;

/**
 * Decompresses a body, because some services and proxies compress without being asked. Also undoes gzip that no header names.
 * @throws an error of zlib
 */
export function decompress(body: Buffer, headers: Readonly<Record<string, string>>, maximumBytes: number): Buffer {
  const codings = (headers['content-encoding'] ?? '')
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim());
  const isText = textTypes.test(headers['content-type'] ?? '');
  let bytes = body;
  for (const coding of [...codings, ...(isText ? ['gzip'] : [])].reverse()) {
    try {
      bytes = undo(coding, bytes, maximumBytes);
    } catch (error) {
      // Some services name a coding that they did not apply: this is the beginning of XML, HTML or JSON.
      if (!/^\s*[<{[][\t\n\r -~]*$/.test(bytes.toString('latin1', 0, 32))) throw error;
    }
  }
  return bytes;
}

function undo(coding: string, body: Buffer, maxOutputLength: number): Buffer {
  if (body.length === 0) return body;
  switch (coding) {
    case 'gzip':
    case 'x-gzip':
      return body[0] === 0x1f && body[1] === 0x8b ? gunzipSync(body, { maxOutputLength }) : body;
    case 'deflate':
      return hasZlibHeader(body) ? inflateSync(body, { maxOutputLength }) : inflateRawSync(body, { maxOutputLength });
    case 'br':
      return brotliDecompressSync(body, { maxOutputLength });
    default:
      return body;
  }
}

/** Some services send deflate without the header that RFC 9110 asks for. */
const hasZlibHeader = (body: Buffer): boolean =>
  body.length > 1 && ((body[0] ?? 0) & 0x0f) === 8 && body.readUInt16BE(0) % 31 === 0;

/** Behind a proxy, only the secure connection is one with the endpoint. */
function connectFailure(code: string, hasProxy: boolean): FailureCode {
  if (['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'ETIMEDOUT'].includes(code)) return 'ConnectTimeout';
  if (/^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|EPROTO)/.test(code)) return 'TlsFailed';
  if (hasProxy) return 'ProxyFailed';
  if (code === 'ENOTFOUND' || code.startsWith('EAI_')) return 'NameNotResolved';
  if (code === 'ECONNREFUSED') return 'ConnectionRefused';
  return 'ConnectFailed';
}

function exchangeFailure(code: string, error: unknown): FailureCode {
  if (error instanceof TooLarge || code === 'ERR_BUFFER_TOO_LARGE') return 'ResponseTooLarge';
  if (code === 'UND_ERR_HEADERS_TIMEOUT') return 'ResponseTimeout';
  if (code === 'UND_ERR_BODY_TIMEOUT') return 'BodyTimeout';
  if (code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH') return 'BodyIncomplete';
  if (error instanceof errors.HTTPParserError || code === 'UND_ERR_HEADERS_OVERFLOW' || /^(?:Z_|ERR__)/.test(code))
    return 'MalformedResponse';
  return 'ConnectionLost';
}

/** Of several errors, such as one for each address of a host, the first counts. */
function describeError(error: unknown): { code: string; detail: string } {
  if (error instanceof AggregateError) return describeError(error.errors[0]);
  if (!(error instanceof Error)) return { code: '', detail: String(error) };
  const [, statusOfProxy] = /^Proxy response \((\d+)\)/.exec(error.message) ?? [];
  if (statusOfProxy !== undefined) return { code: '', detail: `it answered with HTTP status ${statusOfProxy}` };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return { code, detail: code === '' ? error.message : `${code}: ${error.message}` };
}
