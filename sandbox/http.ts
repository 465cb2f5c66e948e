import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';

/** Prefixes of the paths of the other two APIs, which share a port with object storage. No bucket can have these names. */
export const prefixes = { catalog: '/_catalog', devops: '/_devops' };

export type ServiceName = 'storage' | keyof typeof prefixes;

/** Checks the signature of the next chunk or of the trailers, whose hash is `sha256` (hex). Each signature also covers the previous one. */
export type CheckNextSignature = (kind: 'PAYLOAD' | 'TRAILER', sha256: string, signature: string) => void;

/** A request. `checkNextSignature` is set after the signature of the headers, which the first chunk signature covers, was verified. */
export type ApiRequest = Readonly<ReturnType<typeof requestOf>> & { readonly checkNextSignature?: CheckNextSignature };

/** Describes a request before its body is read: `body` is empty. The `id` also becomes the request ID of the answer. */
export function requestOf(incoming: IncomingMessage, id: string) {
  const { method = 'GET', url = '/' } = incoming;
  const stream: Readable = incoming;
  const [pathInHost, search] = splitOnce(url, '?');
  // In the virtual-host style, the bucket is the first label of the host, and the path has only the key.
  const bucket = bucketInHost(incoming.headers.host);
  const wholePath = bucket === undefined ? pathInHost : `/${bucket}${pathInHost}`;
  const api = (['catalog', 'devops'] as const).find((name) => wholePath.startsWith(`${prefixes[name]}/`));
  // A slash after the name of a bucket is ignored.
  const path = api === undefined ? wholePath.replace(/^(\/[^/]+)\/$/, '$1') : wholePath.slice(prefixes[api].length);
  // A plus sign in the query stands for itself, and not for a space as in HTML forms. Of a repeated name, the last value is used.
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
  /** Bytes to send in place of `body`. Their number must be in the header `content-length`. */
  readonly content?: Readable;
}

/** An error that the sandbox answers as the real API would. The message is a sentence for the client's user. */
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

/** Returns the bucket in a Host header such as `demo-bucket.localhost:8080`. */
export const bucketInHost = (host = '') => /^([a-z0-9][a-z0-9-]{1,61}[a-z0-9])\.localhost(:\d+)?$/.exec(host)?.[1];

/** True for a Host header with `localhost` or a loopback address. */
export const isLoopback = (host = '') => /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/.test(host);

export const emptyAnswer = (headers: Answer['headers'] = {}, status = 200): Answer => ({ status, headers, body: '' });

export function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

/** Reads a whole body into memory. Throws if it has more than `maximum` bytes. */
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
