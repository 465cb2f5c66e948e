import { encodeSegment } from '../util/uri.js';

/** The content of a request. */
export type RequestBody = BodyOptions &
  (
    | { readonly kind: 'json'; readonly value: Readonly<Record<string, unknown>> }
    /** Names and values, not encoded yet, for `application/x-www-form-urlencoded`. */
    | { readonly kind: 'form'; readonly value: Readonly<Record<string, string>> }
    /** Text that is sent as it is. */
    | { readonly kind: 'text'; readonly text: string }
  );

interface BodyOptions {
  /** The header Content-Type. If absent, it follows from `kind`. */
  readonly contentType?: string;
  /** True if the API requires the header Content-MD5. */
  readonly contentMd5?: boolean;
}

/** Makes a JSON body. Fields whose value is undefined are left out. */
export const json = (value: Readonly<Record<string, unknown>>, options: BodyOptions = {}): RequestBody => ({
  kind: 'json',
  value,
  ...options,
});

/** Makes a body of names and values, as HTML forms send it: `form({ Action: 'ListUsers', Version: '2010-05-08' })`. */
export const form = (value: Readonly<Record<string, string>>, options: BodyOptions = {}): RequestBody => ({
  kind: 'form',
  value,
  ...options,
});

/** Makes a body of text that is sent as it is. */
export const plainText = (text: string, options: BodyOptions = {}): RequestBody => ({ kind: 'text', text, ...options });

/**
 * Writes a body as text.
 * @throws TypeError for values that JSON cannot hold
 * @throws URIError if a form has half of a surrogate pair
 */
export function writeBody(body: RequestBody): string {
  switch (body.kind) {
    case 'json':
      return JSON.stringify(body.value);
    case 'form':
      return Object.entries(body.value)
        .map((pair) => pair.map(encodeSegment).join('='))
        .join('&');
    case 'text':
      return body.text;
  }
}
