import { createHash } from 'node:crypto';
import type { KeySource } from '../signing/keys.js';
import type { SigningProfile } from '../signing/signature-variants.js';
import type { ApiRequest, HttpMethod } from '../tools/define-operation.js';
import { type RequestBody, writeBody } from '../tools/request-body.js';
import { encodeQuery, type Query } from '../util/uri.js';

/** Name of the only account, if accounts have no names. */
export const defaultAccount = 'default';

export interface Endpoint {
  readonly origin: string;
  /** Percent-encoded. Empty, or `/…` without a slash at the end. */
  readonly pathPrefix: string;
  readonly region: string;
  readonly service: string;
  readonly profile: SigningProfile;
  readonly account: string;
  readonly keys: KeySource;
  readonly isSandbox?: boolean;
  /** Bucket in the host of `origin`, which paths leave out. */
  readonly bucketInHost?: string;
}

export interface WireRequest {
  readonly method: HttpMethod;
  /** With the endpoint's prefix, percent-encoded once. */
  readonly path: string;
  /** Not encoded, because signing encodes it. */
  readonly query: Query;
  /** Path and encoded query. */
  readonly target: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** Also used for the idempotency key. */
  readonly chosenHeaders?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The value that `body` encodes. */
  readonly content?: RequestBody;
}

/** @throws TypeError for values that JSON or a header cannot hold */
export function encodeRequest(
  method: HttpMethod,
  request: ApiRequest,
  { pathPrefix }: Pick<Endpoint, 'pathPrefix'>,
): WireRequest {
  const { body: content } = request;
  const query: Query = Object.fromEntries(
    Object.entries(request.query ?? {}).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
  const path = pathPrefix + request.path;
  const encodedQuery = encodeQuery(query);

  const { text: body, headers: contentHeaders } = encodeContent(content);
  const { contentType } = content ?? {};
  const asked = { ...(contentType !== undefined && { 'content-type': contentType }), ...request.headers };
  const lowerCase = Object.entries(asked).map(([name, value]) => [name.toLowerCase(), value] as const);
  for (const [name, value] of lowerCase)
    if (!headerValue.test(value)) throw new TypeError(`the header ${name} cannot hold this text`);
  // The usual content type is sent anyway.
  const isUsual = (name: string, value: string) => name === 'content-type' && value === contentHeaders[name];
  const chosenHeaders = Object.fromEntries(lowerCase.filter(([name, value]) => !isUsual(name, value)));
  return {
    method,
    target: encodedQuery === '' ? path : `${path}?${encodedQuery}`,
    headers: { ...contentHeaders, ...chosenHeaders },
    ...(body !== undefined && { body }),
    // These fields are not sent.
    path,
    query,
    ...(Object.keys(chosenHeaders).length > 0 && { chosenHeaders }),
    ...(content !== undefined && { content }),
  };
}

/** Other text would be sent in another form than it is signed in. */
const headerValue = /^(?:[!-~]+(?: +[!-~]+)*)?$/;

/** @throws TypeError for values that JSON cannot hold */
export function encodeContent(content: RequestBody | undefined): {
  readonly text?: string;
  readonly headers: Readonly<Record<string, string>>;
} {
  if (content === undefined) return { headers: {} };
  const text = writeBody(content);
  const md5 = content.contentMd5 === true && { 'content-md5': createHash('md5').update(text).digest('base64') };
  const contentType = content.kind === 'json' ? 'application/json' : 'text/plain; charset=utf-8';
  return { text, headers: { 'content-type': contentType, ...md5 } };
}
