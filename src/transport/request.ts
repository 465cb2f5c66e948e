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

  const { text: bodyText, headers: contentHeaders } = encodeContent(content);
  const chosenHeaders = chosenHeadersOf(content, request.headers ?? {});
  return {
    method,
    target: encodedQuery === '' ? path : `${path}?${encodedQuery}`,
    headers: { ...contentHeaders, ...chosenHeaders },
    ...(bodyText !== undefined && { body: bodyText }),
    // These fields are not sent.
    path,
    query,
    ...(Object.keys(chosenHeaders).length > 0 && { chosenHeaders }),
    ...(content !== undefined && { content }),
  };
}

/** Other text would be sent in another form than it is signed in. */
const headerValue = /^(?:[!-~]+(?: +[!-~]+)*)?$/;

/** The usual content type is left out, because it is sent anyway. */
function chosenHeadersOf(
  content: RequestBody | undefined,
  operationHeaders: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const usualType = content && contentTypes[content.kind];
  const all = {
    ...(content?.contentType !== undefined && { 'content-type': content.contentType }),
    ...operationHeaders,
  };
  const chosen: [name: string, value: string][] = [];
  for (const [name, value] of Object.entries(all)) {
    const lowerCase = name.toLowerCase();
    if (!headerValue.test(value)) throw new TypeError(`the header ${lowerCase} cannot hold this text`);
    if (lowerCase === 'content-type' && value === usualType) continue;
    chosen.push([lowerCase, value]);
  }
  return Object.fromEntries(chosen);
}

const contentTypes = {
  json: 'application/json',
  text: 'text/plain; charset=utf-8',
} as const;

/** @throws TypeError for values that JSON cannot hold */
export function encodeContent(content: RequestBody | undefined) {
  if (content === undefined) return { text: undefined, headers: {} };
  const text = writeBody(content);
  const headers = { 'content-type': contentTypes[content.kind] };
  if (content.contentMd5 !== true) return { text, headers };
  return { text, headers: { ...headers, 'content-md5': createHash('md5').update(text).digest('base64') } };
}
