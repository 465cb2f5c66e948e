import { writeXml, type XmlElements } from '../util/write-xml.js';

/** The content of a request. */
export type RequestBody = {
  /** True if the API requires the header Content-MD5. */
  readonly contentMd5?: boolean;
} & (
  | { readonly kind: 'json'; readonly value: Readonly<Record<string, unknown>> }
  | {
      readonly kind: 'xml';
      /** Name of the outermost element. */
      readonly root: string;
      readonly namespace?: string;
      readonly value: XmlElements;
    }
);

interface BodyOptions {
  readonly contentMd5?: boolean;
}

/** Makes a JSON body. Fields that are undefined are left out. */
export const json = (value: Readonly<Record<string, unknown>>, options: BodyOptions = {}): RequestBody => ({
  kind: 'json',
  value,
  ...options,
});

/** Makes an XML body: `xml('Tagging', { TagSet: { Tag: [{ Key: 'a', Value: 'b' }] } })`. */
export const xml = (
  root: string,
  value: XmlElements,
  options: BodyOptions & { readonly namespace?: string } = {},
): RequestBody => ({ kind: 'xml', root, value, ...options });

/**
 * Writes a body as text.
 * @throws TypeError for values that JSON or XML cannot hold
 */
export const writeBody = (body: RequestBody): string =>
  body.kind === 'json' ? JSON.stringify(body.value) : writeXml(body.root, body.value, body.namespace);
