import { isObject } from '../../util/objects.js';

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
 * Turns the content of an XML element into a record: `LastModified` becomes the field `lastModified`, `ID` becomes `id`. The fields of
 * `XmlShape` say which elements become lists, numbers and empty objects, and which get another name.
 * @returns undefined if `element` is no object with child elements
 */
export function xmlRecord(
  element: unknown,
  { lists, values, structures, names }: XmlShape,
): Record<string, unknown> | undefined {
  // A cache of the names, because a page has thousands of elements.
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
    // An empty structure is an object without fields, not an empty text.
    if (value === '' && structures.includes(elementName)) return {};
    return values.includes(elementName) ? parseValue(value) : value;
  };

  const convertElement = (children: Readonly<Record<string, unknown>>): Record<string, unknown> => {
    const record: Record<string, unknown> = {};
    for (const [elementName, child] of Object.entries(children)) {
      const value = convertValue(elementName, child);
      // The XML parser makes a list only of repeated elements. Here, a single element becomes a list of one.
      record[fieldName(elementName)] = Object.hasOwn(lists, elementName) ? [value].flat() : value;
    }
    return record;
  };

  return isObject(element) ? convertElement(element) : undefined;
}

/** The capitals that become lower case: `L` of `LastModified`, or all of `ID`. */
const leadingCapitals = /^[A-Z]+(?![a-z])|^[A-Z]/;

/** Returns the boolean or whole number that a text is, or else the text. */
function parseValue(text: string): unknown {
  if (text === 'true' || text === 'false') return text === 'true';
  return /^-?\d{1,15}$/.test(text) ? Number(text) : text;
}

/** Returns a part whose ETag has no quotation marks around it. */
export function withPlainEtag(part: unknown): unknown {
  if (!isObject(part) || typeof part.etag !== 'string') return part;
  return { ...part, etag: part.etag.replace(/^"(.*)"$/s, '$1') };
}

/** S3's length limit of an object key in bytes of UTF-8. A key has at most as many characters. */
export const longestKey = 1024;

/** Decodes an object key if the answer's `EncodingType` is `url`. In this encoding, a space is `+`, and a plus sign is `%2B`. */
export function decodedKey(key: unknown, encodingType: unknown): unknown {
  if (encodingType !== 'url' || typeof key !== 'string') return key;
  try {
    return decodeURIComponent(key.replaceAll('+', ' '));
  } catch {
    // The service did not encode the key after all.
    return key;
  }
}
