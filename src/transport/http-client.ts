import { StringDecoder } from 'node:string_decoder';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { Agent, type Dispatcher, EnvHttpProxyAgent, errors, Pool } from 'undici';
import { createTurns, type TakeTurn } from '../util/turns.js';
import { isLoopback } from '../util/uri.js';
import type { HttpMethod } from './request.js';

/** One HTTP request, signed and ready. */
export interface HttpRequest {
  readonly method: HttpMethod;
  /** Scheme, host and port. */
  readonly origin: string;
  /** Path and query, exactly as they go on the wire. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** True for a change: a kept-alive connection may be closing, and losing it would leave the outcome unknown. */
  readonly newConnection: boolean;
  /** Further limit of the response's body. */
  readonly byteLimit?: ByteLimit | undefined;
}

export interface HttpResponse {
  readonly kind: 'response';
  readonly status: number;
  /** Lower-case names; the values of a repeated header are joined with commas. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The reason for an incomplete body, if status and headers arrived and the body did not. */
  readonly bodyFailure?: HttpFailure;
}

/** The reason for having no response. With `mayHaveArrived`, the service may have received the request and acted on it. */
export interface HttpFailure {
  readonly kind: 'failure';
  readonly code: FailureCode;
  /** The cause as Node or the HTTP library names it. */
  readonly detail: string;
  readonly mayHaveArrived: boolean;
}

export type FailureCode =
  | 'NameNotResolved'
  | 'ConnectionRefused'
  | 'ConnectTimeout'
  | 'TlsFailed'
  | 'ConnectFailed'
  | 'ConnectionLost'
  | 'ResponseTimeout'
  | 'BodyTimeout'
  | 'CallTimeout'
  | 'Cancelled'
  | 'MalformedResponse'
  | 'ResponseTooLarge'
  | 'BodyIncomplete';

/** Bounds of one request and its response: milliseconds and bytes. */
export interface Limits {
  readonly connectMs: number;
  /** From the request's last byte to the response's headers. */
  readonly headersMs: number;
  /** Between two pieces of the body. */
  readonly bodyMs: number;
  readonly bodyBytes: number;
  readonly headerBytes: number;
}

export const defaultLimits: Limits = {
  connectMs: 10_000,
  headersMs: 30_000,
  bodyMs: 15_000,
  // A page of 1,000 uploads whose keys have 1,024 bytes, all of them percent-encoded, has less.
  bodyBytes: 4 * 1024 * 1024,
  headerBytes: 32 * 1024,
};

/** Proxies to go through, as the usual environment variables name them. Loopback is never proxied. */
export interface Proxies {
  readonly httpProxy?: string | undefined;
  readonly httpsProxy?: string | undefined;
  readonly noProxy?: string | undefined;
}

/** Counts the bytes of bodies that several requests receive together. */
export interface ByteLimit {
  /** Returns false if the limit does not allow this number of further bytes. */
  admit(bytes: number): boolean;
}

/** Sends single HTTP requests. */
export interface HttpClient {
  /** Resolves with a response or a failure. Never rejects. */
  send(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse | HttpFailure>;
  close(): Promise<void>;
}

/** An HTTP client within limits, through the proxies that are configured. */
export function createHttpClient(proxies: Proxies = {}, limits: Limits = defaultLimits): HttpClient {
  const [kept, fresh] = [createAgents(proxies, limits, 1), createAgents(proxies, limits, 0)];
  const takeTurn = createTurns();
  return {
    send: (request, signal) => {
      const { direct, proxied } = request.newConnection ? fresh : kept;
      const agent = isLoopback(new URL(request.origin).hostname) ? direct : proxied;
      return dispatch(agent, request, { limits, takeTurn }, signal);
    },
    close: async () => {
      await Promise.all([kept, fresh].flatMap(({ direct, proxied }) => [direct.destroy(), proxied.destroy()]));
    },
  };
}

function createAgents({ httpProxy = '', httpsProxy = '', noProxy = '' }: Proxies, limits: Limits, pipelining: 0 | 1) {
  const { connectMs, headersMs, bodyMs, headerBytes } = limits;
  const connect = { timeout: connectMs };
  const options = { pipelining, connect, headersTimeout: headersMs, bodyTimeout: bodyMs, maxHeaderSize: headerBytes };
  return {
    direct: new Agent(options),
    // An empty text keeps undici from reading the environment itself.
    proxied: new EnvHttpProxyAgent({
      ...options,
      httpProxy,
      httpsProxy,
      noProxy,
      proxyTls: connect,
      requestTls: connect,
      // A proxy that does not open the tunnel in time counts as a connection that was not made.
      clientFactory: (origin, client) => new Pool(origin, { ...client, headersTimeout: connectMs }),
    }),
  };
}

/** The bounds within which a body is received. */
interface Receiving {
  readonly limits: Limits;
  readonly takeTurn: TakeTurn;
}

/** A body that is larger takes turns of the event loop for itself: reading it is work for milliseconds. */
const quickBytes = 64 * 1024;
/** So much of it becomes text in one turn. */
const pieceBytes = 512 * 1024;

function dispatch(
  agent: Dispatcher,
  { method, origin, path, headers, body, byteLimit }: HttpRequest,
  { limits, takeTurn }: Receiving,
  signal: AbortSignal,
): Promise<HttpResponse | HttpFailure> {
  return new Promise((resolve) => {
    let started = false;
    let running: Dispatcher.DispatchController | undefined;
    let received: Pick<HttpResponse, 'kind' | 'status' | 'headers'> | undefined;
    const chunks: Buffer[] = [];
    let size = 0;

    const abort = () => {
      if (running === undefined) fail(signal.reason);
      else running.abort(signal.reason);
    };
    const finish = (result: HttpResponse | HttpFailure) => {
      signal.removeEventListener('abort', abort);
      resolve(result);
    };
    const fail = (error: unknown) => {
      const { code, detail } = cause(error);
      const failure: HttpFailure = {
        kind: 'failure',
        code: failureCode(code, error, signal, started),
        detail,
        mayHaveArrived: started,
      };
      finish(received === undefined ? failure : { ...received, body: '', bodyFailure: failure });
    };
    signal.addEventListener('abort', abort);
    if (signal.aborted) return abort();

    agent.dispatch(
      { method, origin, path, headers, body: body ?? null },
      {
        // Called when the request is about to be written to an open connection: before that, nothing can have arrived.
        onRequestStart(controller) {
          if (signal.aborted) return controller.abort(signal.reason);
          started = true;
          running = controller;
        },
        onResponseStart(_controller, status, incoming) {
          if (status >= 200) received = { kind: 'response', status, headers: flatten(incoming) };
        },
        onResponseData(controller, chunk) {
          size += chunk.length;
          if (size > limits.bodyBytes) controller.abort(new TooLarge(`more than ${limits.bodyBytes} bytes`));
          else if (byteLimit?.admit(chunk.length) === false) controller.abort(new TooLarge('there is no room for it'));
          else chunks.push(chunk);
        },
        onResponseEnd() {
          if (received === undefined) return fail(new Error('the response has no final status'));
          const response = received;
          // Until its turn, it is a buffer: of texts, the heap would have to hold as many as wait.
          const read = () => textOf(Buffer.concat(chunks), response.headers, limits.bodyBytes, byteLimit);
          const reading = size > quickBytes ? takeTurn(read) : read();
          void reading.then((body) => finish({ ...response, body }), fail);
        },
        onResponseError(_controller, error) {
          fail(error);
        },
      },
    );
  });
}

class TooLarge extends Error {}

const flatten = (headers: Readonly<Record<string, string | string[] | undefined>>) =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value = '']) => [
      name.toLowerCase(),
      Array.isArray(value) ? value.join(', ') : value,
    ]),
  );

/** The body as text. Requests do not ask for compression, but some services compress all the same. */
async function textOf(
  bytes: Buffer,
  headers: Readonly<Record<string, string>>,
  limit: number,
  byteLimit: ByteLimit | undefined,
): Promise<string> {
  if (headers['content-encoding'] !== 'gzip' || bytes.length === 0) return decoded(bytes);
  const whole = gunzipSync(bytes, { maxOutputLength: limit });
  if (byteLimit?.admit(whole.length) === false) throw new TooLarge('there is no room for it');
  return decoded(whole);
}

async function decoded(bytes: Buffer): Promise<string> {
  const decoder = new StringDecoder('utf8');
  let text = '';
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    if (at > 0) await nextTurn();
    text += decoder.write(bytes.subarray(at, at + pieceBytes));
  }
  return text + decoder.end();
}

function failureCode(code: string, error: unknown, signal: AbortSignal, started: boolean): FailureCode {
  if (signal.aborted) return signal.reason?.name === 'TimeoutError' ? 'CallTimeout' : 'Cancelled';
  return started ? laterFailure(code, error) : connectFailure(code);
}

function connectFailure(code: string): FailureCode {
  if (code === 'ENOTFOUND' || code.startsWith('EAI_')) return 'NameNotResolved';
  if (code === 'ECONNREFUSED') return 'ConnectionRefused';
  if (['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'ETIMEDOUT'].includes(code)) return 'ConnectTimeout';
  if (/^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|EPROTO)/.test(code)) return 'TlsFailed';
  return 'ConnectFailed';
}

function laterFailure(code: string, error: unknown): FailureCode {
  if (error instanceof TooLarge || code === 'ERR_BUFFER_TOO_LARGE') return 'ResponseTooLarge';
  if (code === 'UND_ERR_HEADERS_TIMEOUT') return 'ResponseTimeout';
  if (code === 'UND_ERR_BODY_TIMEOUT') return 'BodyTimeout';
  if (code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH') return 'BodyIncomplete';
  if (error instanceof errors.HTTPParserError || code === 'UND_ERR_HEADERS_OVERFLOW' || code.startsWith('Z_'))
    return 'MalformedResponse';
  return 'ConnectionLost';
}

function cause(error: unknown): { code: string; detail: string } {
  if (error instanceof AggregateError) return cause(error.errors[0]);
  if (!(error instanceof Error)) return { code: '', detail: String(error) };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return { code, detail: code === '' ? error.message : `${code}: ${error.message}` };
}
