import { isObject } from '../../util/objects.js';
import { readBoolean, readWholeNumber } from '../../util/read-values.js';

/** Rules by which the elements of an XML answer become the fields of a record. */
interface XmlShape {
  /** Elements that may be repeated, with the name of their list. */
  readonly lists: Readonly<Record<string, string>>;
  /** Elements whose text becomes a number, true or false. */
  readonly values: readonly string[];
  /** Elements with children. They become an object even if they are empty. */
  readonly structures: readonly string[];
  /** Names of fields that do not follow from their elements. */
  readonly names: Readonly<Record<string, string>>;
}

/** Turns an XML element into a record: `LastModified` becomes `lastModified`, `ID` becomes `id`. */
export function xmlRecord(
  element: unknown,
  { lists, values, structures, names }: XmlShape,
): Record<string, unknown> | undefined {
  // Also a cache, because a page has thousands of elements.
  const fieldNames = new Map([...Object.entries(names), ...Object.entries(lists)]);
  const fieldName = (elementName: string): string => {
    const name = fieldNames.get(elementName) ?? elementName.replace(leadingCapitals, (text) => text.toLowerCase());
    fieldNames.set(elementName, name);
    return name;
  };

  const convertContent = (elementName: string, content: unknown): unknown => {
    if (Array.isArray(content)) return content.map((item) => convertContent(elementName, item));
    if (isObject(content)) return convertElement(content);
    if (typeof content !== 'string') return content;
    // The XML parser makes an empty text of an empty element.
    if (content === '' && structures.includes(elementName)) return {};
    return values.includes(elementName) ? (readWholeNumber(content) ?? readBoolean(content) ?? content) : content;
  };

  const convertElement = (children: Readonly<Record<string, unknown>>): Record<string, unknown> => {
    const record: Record<string, unknown> = {};
    for (const [elementName, content] of Object.entries(children)) {
      const value = convertContent(elementName, content);
      // The XML parser makes an array only of repeated elements.
      record[fieldName(elementName)] = Object.hasOwn(lists, elementName) ? [value].flat() : value;
    }
    return record;
  };

  return isObject(element) ? convertElement(element) : undefined;
}

const leadingCapitals = /^[A-Z]+(?![a-z])|^[A-Z]/;

/** Returns a part whose ETag has no quotation marks. */
export function withPlainEtag(part: unknown): unknown {
  if (!isObject(part) || typeof part.etag !== 'string') return part;
  return { ...part, etag: part.etag.replace(/^"(.*)"$/s, '$1') };
}

/** S3's length limit of an object key (bytes of UTF-8). */
export const longestKey = 1024;

/** True for U+FFFD, which some stores write for characters that XML cannot hold. */
export const hasReplacement = (text: unknown): boolean => typeof text === 'string' && text.includes('\uFFFD');

/** Decodes an object key. In the `EncodingType` `url`, a space is `+`. */
export function decodedKey(key: unknown, encodingType: unknown): unknown {
  if (!isUrlEncoding(encodingType) || typeof key !== 'string') return key;
  try {
    return decodeURIComponent(key.replaceAll('+', ' '));
  } catch {
    // The service did not encode the key.
    return key;
  }
}

/** True for the `EncodingType` of an answer with encoded keys. */
export const isUrlEncoding = (encodingType: unknown): boolean =>
  typeof encodingType === 'string' && encodingType.trim().toLowerCase() === 'url';
