import type { KeySource } from '../signing/keys.js';
import type { SigningProfile } from '../signing/signature-variants.js';
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

/** A request to sign and send. */
export interface UnsignedApiRequest {
  readonly method: HttpMethod;
  /** Absolute path below the endpoint, percent-encoded once. */
  readonly path: string;
  readonly query: Query;
  readonly body?: RequestBody;
}

/** Path, query (with its question mark), body and the headers that describe it, as they go on the wire. */
export function wireForm({ pathPrefix }: Pick<Endpoint, 'pathPrefix'>, { path, query, body }: UnsignedApiRequest) {
  const encoded = encodeQuery(query);
  const { text, headers } = contentOf(body);
  return { path: pathPrefix + path, query: encoded === '' ? '' : `?${encoded}`, body: text, headers };
}
