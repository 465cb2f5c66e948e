import type { Readable } from 'node:stream';

/** A request as the sandbox's APIs see it. The path is as on the wire, without the API's own prefix. */
export interface ApiRequest {
  readonly method: string;
  readonly path: string;
  /** Decoded; the last of a repeated name. */
  readonly query: ReadonlyMap<string, string>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface ApiResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Bytes to send in place of `body`; `headers` then holds their content-length. */
  readonly content?: Readable;
}

/** One API of the sandbox: answers requests whose signature has been checked. */
export interface Api {
  handle(request: ApiRequest): ApiResponse | Promise<ApiResponse>;
  /** An error in the API's own format. */
  error(status: number, code: string, message: string, details?: Readonly<Record<string, string>>): ApiResponse;
  /** Everything it knows, as a JSON value; what `createX({ saved })` starts from again. */
  snapshot(): unknown;
}

export const json = (status: number, value: unknown): ApiResponse => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(value),
});

export const jsonError: Api['error'] = (status, code, message, details = {}) =>
  json(status, { code, message, ...details });

/** Decodes a percent-encoded path segment; undefined if it is not UTF-8 or badly encoded. */
export function decodeSegment(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

/** A JSON object, or undefined. */
export function parseObject(body: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export type Fields = Readonly<Record<string, unknown>>;

/** An object as it is, anything else as one without fields. */
export const object = (value: unknown): Fields => (isObject(value) ? value : {});

/** The objects in a list; nothing if there is no list. */
export const objects = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.map(object) : []);
