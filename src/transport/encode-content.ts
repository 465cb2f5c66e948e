import { createHash } from 'node:crypto';
import { type RequestBody, writeBody } from '../tools/request-body.js';

/** The content of a request as it goes on the wire, with the headers that describe it. The HTTP client adds its length. */
export interface Content {
  /** Undefined for a request without content. */
  readonly text: string | undefined;
  /** Lower-case names. All of them are signed. */
  readonly headers: Readonly<Record<string, string>>;
}

const types = { json: 'application/json', xml: 'application/xml' } as const;

/**
 * Writes the content of a request.
 * @throws TypeError for values that JSON or XML cannot hold
 */
export function contentOf(body: RequestBody | undefined): Content {
  if (body === undefined) return { text: undefined, headers: {} };
  const text = writeBody(body);
  const md5 = body.contentMd5 === true && createHash('md5').update(text).digest('base64');
  return { text, headers: { 'content-type': types[body.kind], ...(md5 !== false && { 'content-md5': md5 }) } };
}
