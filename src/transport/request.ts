import type { KeySource } from '../signing/keys.js';
import type { SigningProfile } from '../signing/signature-variants.js';
import type { ApiRequest } from '../tools/define-operation.js';
import type { RequestBody } from '../tools/request-body.js';
import { encodeQuery, type Query } from '../util/uri.js';
import { contentOf } from './encode-content.js';

/** The name of the account where none has been given a name. */
export const defaultAccount = 'default';

/** The address of one API, and the account, keys and profile for signing its requests. */
export interface Endpoint {
  /** Scheme, host and port, without a slash at the end. */
  readonly origin: string;
  /** Prefix of every path: empty, or `/…` without a slash at the end. Percent-encoded. */
  readonly pathPrefix: string;
  readonly region: string;
  readonly service: string;
  readonly profile: SigningProfile;
  /** Name of the account that the keys belong to. */
  readonly account: string;
  readonly keys: KeySource;
  /** Set if it is the built-in sandbox. */
  readonly isSandbox?: boolean;
}

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** A request as it goes on the wire, without its signature. */
export interface WireRequest {
  readonly method: HttpMethod;
  /** Absolute path with the endpoint's prefix, percent-encoded once. */
  readonly path: string;
  /** Not encoded: signing encodes it. */
  readonly query: Query;
  /** Path and encoded query, as in the request line. */
  readonly target: string;
  /** Lower-case names of the headers that describe the body. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The body before it became text. */
  readonly content?: RequestBody;
}

/**
 * Encodes a request of an API.
 * @throws TypeError for values that JSON or XML cannot hold
 */
export function encodeRequest(
  method: HttpMethod,
  { path: apiPath, query = {}, body: content }: ApiRequest,
  { pathPrefix }: Pick<Endpoint, 'pathPrefix'>,
): WireRequest {
  const path = pathPrefix + apiPath;
  const search = encodeQuery(query);
  const { text, headers } = contentOf(content);
  return {
    method,
    path,
    query,
    target: search === '' ? path : `${path}?${search}`,
    headers,
    ...(text !== undefined && { body: text }),
    ...(content !== undefined && { content }),
  };
}
