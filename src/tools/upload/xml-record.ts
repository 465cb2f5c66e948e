import { isObject } from '../../util/objects.js';
import { readBoolean, readWholeNumber } from '../../util/read-values.js';

/** Rules by which the elements of an XML answer become the fields of a record. */
interface XmlShape {
  /** Elements that may be repeated, at any depth, and the name of their list: `{ Upload: 'uploads' }`. One element makes a list of one. */
  readonly lists: Readonly<Record<string, string>>;
  /** Names of elements whose text becomes a number, true or false. Other text stays as it is. */
  readonly values: readonly string[];
  /** Names of elements that have child elements. If such an element is empty, it becomes an empty object, not an empty text. */
  readonly structures: readonly string[];
  /** Names of fields that do not follow from the names of their elements: `{ ETag: 'etag' }`. */
  readonly names: Readonly<Record<string, string>>;
}

/**
 * Turns the content of an XML element into a record: `LastModified` becomes the field `lastModified`, `ID` becomes `id`. The shape names the
 * exceptions.
 * @returns undefined if `element` is no object with child elements
 */
export function xmlRecord(
  element: unknown,
  { lists, values, structures, names }: XmlShape,
): Record<string, unknown> | undefined {
  // The given names, and a cache of derived names, because a page has thousands of elements with the same few names.
  const fieldNames = new Map([...Object.entries(names), ...Object.entries(lists)]);
  const fieldName = (elementName: string): string => {
    const name = fieldNames.get(elementName) ?? elementName.replace(leadingCapitals, (text) => text.toLowerCase());
    fieldNames.set(elementName, name);
    return name;
  };

  // `content` is a text, the children of an element, or an array of both if the element is repeated.
  const convertContent = (elementName: string, content: unknown): unknown => {
    if (Array.isArray(content)) return content.map((item) => convertContent(elementName, item));
    if (isObject(content)) return convertElement(content);
    if (typeof content !== 'string') return content;
    // The XML parser makes an empty text of an empty element, also if the element may have children.
    if (content === '' && structures.includes(elementName)) return {};
    return values.includes(elementName) ? (readWholeNumber(content) ?? readBoolean(content) ?? content) : content;
  };

  const convertElement = (children: Readonly<Record<string, unknown>>): Record<string, unknown> => {
    const record: Record<string, unknown> = {};
    for (const [elementName, content] of Object.entries(children)) {
      const value = convertContent(elementName, content);
      // The XML parser makes an array only of repeated elements. For an element in `lists`, a single value becomes an array of one.
      record[fieldName(elementName)] = Object.hasOwn(lists, elementName) ? [value].flat() : value;
    }
    return record;
  };

  return isObject(element) ? convertElement(element) : undefined;
}

/** The capitals that become lower case: `L` of `LastModified`, or all of `ID`. */
const leadingCapitals = /^[A-Z]+(?![a-z])|^[A-Z]/;

/** Returns a part whose ETag has no quotation marks around it. */
export function withPlainEtag(part: unknown): unknown {
  if (!isObject(part) || typeof part.etag !== 'string') return part;
  return { ...part, etag: part.etag.replace(/^"(.*)"$/s, '$1') };
}

/** S3's length limit of an object key in bytes of UTF-8. A key has at most as many characters. */
export const longestKey = 1024;

/** In place of characters that XML cannot hold, some stores write this character. */
export const hasReplacement = (text: unknown): boolean => typeof text === 'string' && text.includes('\uFFFD');

/** Decodes an object key if the answer's `EncodingType` is `url`. In this encoding, a space is `+`, and a plus sign is `%2B`. */
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
