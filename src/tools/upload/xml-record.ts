import { isObject } from '../../util/objects.js';

/** Rules that turn the elements of an XML answer into a record, by element name. */
interface XmlShape {
  /** Repeated elements at any depth, with the field name of their list. A single element becomes a list of one. */
  readonly lists: Readonly<Record<string, string>>;
  /** Elements whose text is a whole number, or true or false. Text that is neither stays as it is. */
  readonly values: readonly string[];
  /** Elements with child elements. If empty, they become an object without fields. */
  readonly structures: readonly string[];
  /** Elements whose name in the record does not follow from their own: `{ ETag: 'etag' }`. */
  readonly names: Readonly<Record<string, string>>;
}

/**
 * Turns an element of a decoded XML document into a record: `LastModified` becomes `lastModified`, `ID` becomes `id`.
 * @returns undefined if it is not an element with children
 */
export function xmlRecord(
  element: unknown,
  { lists, values, structures, names }: XmlShape,
): Record<string, unknown> | undefined {
  // Names are converted once, because a page has thousands of elements.
  const fieldNames = new Map([...Object.entries(names), ...Object.entries(lists)]);
  const fieldName = (elementName: string): string => {
    const name = fieldNames.get(elementName) ?? elementName.replace(leadingCapitals, (text) => text.toLowerCase());
    fieldNames.set(elementName, name);
    return name;
  };
  const convertValue = (elementName: string, value: unknown): unknown => {
    if (Array.isArray(value)) return value.map((item) => convertValue(elementName, item));
    if (isObject(value)) return convertElement(value);
    if (typeof value !== 'string') return value;
    if (value === '' && structures.includes(elementName)) return {};
    return values.includes(elementName) ? parseValue(value) : value;
  };
  const convertElement = (children: Readonly<Record<string, unknown>>): Record<string, unknown> => {
    const record: Record<string, unknown> = {};
    for (const [elementName, child] of Object.entries(children)) {
      const value = convertValue(elementName, child);
      record[fieldName(elementName)] = Object.hasOwn(lists, elementName) ? [value].flat() : value;
    }
    return record;
  };
  return isObject(element) ? convertElement(element) : undefined;
}

/** The first letter, or all letters of an abbreviation: `L` of `LastModified`, `ID` of `ID`. */
const leadingCapitals = /^[A-Z]+(?![a-z])|^[A-Z]/;

function parseValue(text: string): unknown {
  if (text === 'true' || text === 'false') return text === 'true';
  return /^-?\d{1,15}$/.test(text) ? Number(text) : text;
}

/** Removes the quotation marks around the ETag of a part. */
export function withPlainEtag(part: unknown): unknown {
  if (!isObject(part) || typeof part.etag !== 'string') return part;
  return { ...part, etag: part.etag.replace(/^"(.*)"$/s, '$1') };
}

/** Length limit of an object key in bytes of UTF-8, and therefore in characters. */
export const longestKey = 1024;

/** Decodes an object key if the service encoded it. S3 then writes a space as `+`, and a plus sign as `%2B`. */
export function decodedKey(key: unknown, encodingType: unknown): unknown {
  if (encodingType !== 'url' || typeof key !== 'string') return key;
  try {
    return decodeURIComponent(key.replaceAll('+', ' '));
  } catch {
    return key;
  }
}
