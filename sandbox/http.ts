import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';

/** Paths of the other APIs on the port of object storage. No bucket can have these names. */
export const prefixes = { catalog: '/_catalog', devops: '/_devops' };

export type ServiceName = 'storage' | keyof typeof prefixes;

/**
 * Compares the signature of the next chunk of a body, or of its trailers, with the one calculated from a SHA-256 (hex).
 * Each signature covers the one before. Throws a `ServiceError` if they differ.
 */
export type CheckNext = (kind: 'PAYLOAD' | 'TRAILER', sha256: string, signature: string) => void;

/** A request. `checkNext` is set after the signature of the headers was verified. */
export type ApiRequest = Readonly<ReturnType<typeof requestOf>> & { readonly checkNext?: CheckNext };

/** Describes a request before its body is read. Answers repeat the `id`. */
export function requestOf(incoming: IncomingMessage, id: string) {
  const { method = 'GET', url = '/' } = incoming;
  const stream: Readable = incoming;
  const [whole, search] = splitOnce(url, '?');
  const api = (['catalog', 'devops'] as const).find((name) => whole.startsWith(`${prefixes[name]}/`));
  const path = api === undefined ? whole.replace(/^(\/[^/]+)\/$/, '$1') : whole.slice(prefixes[api].length);
  // A plus sign is a plus sign, not a space as in forms. The last value of a repeated name counts.
  const query: ReadonlyMap<string, string> = new Map(new URLSearchParams(search.replaceAll('+', '%2B')));
  const pairs = Object.entries(incoming.headers).map(([name, value]) => [name, [value ?? ''].flat().join(',')]);
  const headers: Readonly<Record<string, string>> = Object.fromEntries(pairs);
  const service: ServiceName = api ?? 'storage';
  const body: Buffer = Buffer.alloc(0);
  return { id, service, method, url, path, query, headers, body, stream };
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Bytes to send in place of `body`; `headers` then holds their content-length. */
  readonly content?: Readable;
}

/** A refusal of a request: the service's `code` and `details`, and a sentence. */
export class ServiceError extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: Readonly<Record<string, string>>;
  constructor(status: number, code: string, message: string, details: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

export const documentAnswer = (status: number, type: string, body: string): Answer => {
  return { status, headers: { 'content-type': type }, body };
};

export const jsonAnswer = (status: number, value: unknown) =>
  documentAnswer(status, 'application/json', JSON.stringify(value));

/** True for a Host header with `localhost` or an address of this machine. */
export const isLoopback = (host = '') => /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/.test(host);

export const emptyAnswer = (headers: Answer['headers'] = {}, status = 200): Answer => ({ status, headers, body: '' });

export function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

/** Reads a whole body. Throws if it has more than `maximum` bytes. */
export async function collect(pieces: AsyncIterable<Buffer>, maximum: number): Promise<Buffer> {
  const kept: Buffer[] = [];
  let size = 0;
  for await (const piece of pieces) {
    size += piece.length;
    if (size > maximum) throw new Error('body too large');
    kept.push(piece);
  }
  return Buffer.concat(kept);
}

/** Parses JSON. Undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function parseObject(text: string): Record<string, unknown> | undefined {
  const value = parseJson(text);
  return isObject(value) ? value : undefined;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export type Fields = Readonly<Record<string, unknown>>;

/** The value if it is an object, otherwise an empty object. */
export const fieldsIn = (value: unknown): Fields => (isObject(value) ? value : {});
