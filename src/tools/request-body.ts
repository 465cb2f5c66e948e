import type { XmlElements } from '../util/write-xml.js';

/** The content of a request. `contentMd5` is set where the API asks for the header Content-MD5. */
export type RequestBody = {
  readonly contentMd5?: boolean;
} & (
  | { readonly kind: 'json'; readonly value: Readonly<Record<string, unknown>> }
  | {
      readonly kind: 'xml';
      /** Name of the outermost element, and its namespace if it has one. */
      readonly root: string;
      readonly namespace?: string;
      readonly value: XmlElements;
    }
);

interface ContentOptions {
  readonly contentMd5?: boolean;
}

/** A JSON object. Fields that are undefined are left out. */
export const json = (value: Readonly<Record<string, unknown>>, options: ContentOptions = {}): RequestBody => ({
  kind: 'json',
  value,
  ...options,
});

/** An XML document: `xml('Tagging', { TagSet: { Tag: [{ Key: 'a', Value: 'b' }] } })`. */
export const xml = (
  root: string,
  value: XmlElements,
  options: ContentOptions & { readonly namespace?: string } = {},
): RequestBody => ({ kind: 'xml', root, value, ...options });
