import { createHash } from 'node:crypto';
import type { KeySource } from '../signing/keys.js';
import type { SigningProfile } from '../signing/signature-variants.js';
import type { ApiRequest, HttpMethod } from '../tools/define-operation.js';
import { type RequestBody, writeBody } from '../tools/request-body.js';
import { encodeQuery, type Query } from '../util/uri.js';

/** Name of the only account, if accounts have no names. */
export const defaultAccount = 'default';

/** The address of an API, with the account, the keys and the variant of the signature (`profile`) for its requests. */
export interface Endpoint {
  /** Scheme, host and port, without a slash at the end. */
  readonly origin: string;
  /** Percent-encoded prefix of every path. Empty, or `/…` without a slash at the end. */
  readonly pathPrefix: string;
  readonly region: string;
  /** Service name in the signature. */
  readonly service: string;
  readonly profile: SigningProfile;
  /** Name of the account that the keys belong to. */
  readonly account: string;
  readonly keys: KeySource;
  readonly isSandbox?: boolean;
  /** The bucket that the host of `origin` begins with, and that every path leaves out. */
  readonly bucketInHost?: string;
}

/** A request in its wire form, without its signature. */
export interface WireRequest {
  readonly method: HttpMethod;
  /** Absolute path with the endpoint's prefix, percent-encoded once. */
  readonly path: string;
  /** Not encoded, because signing encodes it. */
  readonly query: Query;
  /** Path and encoded query, as in the request line. */
  readonly target: string;
  /** The headers that describe the body, and the headers of the operation, by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** The headers that the operation chose, if there are any. The idempotency key is made from them too. */
  readonly chosenHeaders?: Readonly<Record<string, string>>;
  /** The text that is sent. */
  readonly body?: string;
  /** The value that was encoded as `body`: the `body` of the `ApiRequest`. */
  readonly content?: RequestBody;
}

/**
 * Encodes a request of an API.
 * @throws TypeError for values that JSON or a header cannot hold
 */
export function encodeRequest(
  method: HttpMethod,
  request: ApiRequest,
  { pathPrefix }: Pick<Endpoint, 'pathPrefix'>,
): WireRequest {
  // The body of an `ApiRequest` is a value, which is called `content` here, because the body of a `WireRequest` is a text.
  const { body: content } = request;
  const query: Query = Object.fromEntries(
    Object.entries(request.query ?? {}).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
  const path = pathPrefix + request.path;
  const encodedQuery = encodeQuery(query);

  const { text: bodyText, headers: contentHeaders } = encodeContent(content);
  // The operation's headers replace `contentHeaders` of the same name.
  const chosenHeaders = chosenHeadersOf(content, request.headers ?? {});
  return {
    // These fields are sent.
    method,
    target: encodedQuery === '' ? path : `${path}?${encodedQuery}`,
    headers: { ...contentHeaders, ...chosenHeaders },
    ...(bodyText !== undefined && { body: bodyText }),
    // These fields are not sent: signing uses `path` and `query`, the idempotency key uses `chosenHeaders`, and plans show `content`.
    path,
    query,
    ...(Object.keys(chosenHeaders).length > 0 && { chosenHeaders }),
    ...(content !== undefined && { content }),
  };
}

/** Matches visible ASCII with spaces in between. Other text would be sent in another form than it is signed in. */
const headerValue = /^(?:[!-~]+(?: +[!-~]+)*)?$/;

/**
 * The headers that an operation chose, with lower-case names. The usual type of the content is left out, as if the operation had not set
 * it, because it is sent anyway.
 */
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

/** The content of a request in its wire form. */
interface EncodedContent {
  /** Undefined for a request without content. */
  readonly text: string | undefined;
  /** Headers that describe the content, with lower-case names. All are signed. The HTTP client adds the length. */
  readonly headers: Readonly<Record<string, string>>;
}

const contentTypes = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
  text: 'text/plain; charset=utf-8',
} as const;

/**
 * Encodes the content of a request.
 * @throws TypeError for values that JSON cannot hold
 */
export function encodeContent(content: RequestBody | undefined): EncodedContent {
  if (content === undefined) return { text: undefined, headers: {} };
  const text = writeBody(content);
  const headers = { 'content-type': contentTypes[content.kind] };
  if (content.contentMd5 !== true) return { text, headers };
  return { text, headers: { ...headers, 'content-md5': createHash('md5').update(text).digest('base64') } };
}
