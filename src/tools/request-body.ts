import { encodeSegment } from '../util/uri.js';

/** The content of a request. */
export type RequestBody = BodyOptions &
  (
    | { readonly kind: 'json'; readonly value: Readonly<Record<string, unknown>> }
    /** Not encoded yet, for `application/x-www-form-urlencoded`. */
    | { readonly kind: 'form'; readonly value: Readonly<Record<string, string>> }
    | { readonly kind: 'text'; readonly text: string }
  );

interface BodyOptions {
  /** If absent, it follows from `kind`. */
  readonly contentType?: string;
  /** True if the API requires the header Content-MD5. */
  readonly contentMd5?: boolean;
}

/** Makes a JSON body without undefined fields. */
export const json = (value: Readonly<Record<string, unknown>>, options: BodyOptions = {}): RequestBody => ({
  kind: 'json',
  value,
  ...options,
});

/** Makes a body as HTML forms send it: `form({ Action: 'ListUsers' })`. */
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
