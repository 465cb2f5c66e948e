export type RequestBody = BodyOptions &
  (
    | { readonly kind: 'json'; readonly value: Readonly<Record<string, unknown>> }
    | { readonly kind: 'text'; readonly text: string }
  );

interface BodyOptions {
  /** If absent, it follows from `kind`. */
  readonly contentType?: string;
  /** True if the API requires the header Content-MD5. */
  readonly contentMd5?: boolean;
}

export const json = (value: Readonly<Record<string, unknown>>, options: BodyOptions = {}): RequestBody => ({
  kind: 'json',
  value,
  ...options,
});

/** Makes a body of text that is sent as it is. */
export const plainText = (text: string, options: BodyOptions = {}): RequestBody => ({ kind: 'text', text, ...options });

/**
 * Writes a body as text.
 * @throws TypeError for values that JSON cannot hold
 */
export function writeBody(body: RequestBody): string {
  return body.kind === 'json' ? JSON.stringify(body.value) : body.text;
}
