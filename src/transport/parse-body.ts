import { type EntityDecoderOptions, XMLParser, XMLValidator } from 'fast-xml-parser';
import { countCharacter, countValues, isDeeperThan, isObject } from '../util/objects.js';

/** The kind follows from the content, because some services send wrong content types. */
export type Body =
  | { readonly kind: 'empty' }
  /** Repeated elements are lists. Attributes and namespaces are dropped. */
  | { readonly kind: 'xml'; readonly value: Readonly<Record<string, unknown>> }
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'html' | 'text'; readonly text: string }
  /** Malformed, or more than this server reads. */
  | {
      readonly kind: 'malformed';
      readonly format: 'XML' | 'JSON';
      readonly problem: string;
      readonly isTooLarge: boolean;
    };

/** Never throws. */
export function parseBody(body: string): Body {
  // A byte order mark counts as white space.
  const text = body.trim();
  if (text === '') return { kind: 'empty' };
  if (text.startsWith('{') || text.startsWith('[')) return parseJson(text);
  if (!text.startsWith('<')) return { kind: 'text', text: text.slice(0, maximumText) };
  if (/^<(!doctype\s+html|html)\b/i.test(text)) return { kind: 'html', text: text.slice(0, maximumText) };
  const isTooMuch = Object.entries(maximumCounts).some(
    ([character, limit]) => countCharacter(character, text, limit) > limit,
  );
  if (isTooMuch) return malformed('XML', 'it has too many elements, attributes or references', true);
  return parsePlain(text) ?? parseXml(text);
}

const malformed = (format: 'XML' | 'JSON', problem: string, isTooLarge = false): Body => ({
  kind: 'malformed',
  format,
  problem,
  isTooLarge,
});

function parseJson(text: string): Body {
  if (countValues(text, mostJsonValues) > mostJsonValues)
    return malformed('JSON', `it has more than ${mostJsonValues} values`, true);
  try {
    const value: unknown = JSON.parse(text);
    if (isDeeperThan(maximumDepth, value)) return malformed('JSON', `it is nested deeper than ${maximumDepth} levels`);
    return { kind: 'json', value };
  } catch {
    // The parser's message would quote the body.
    return malformed('JSON', 'it is cut short or not well-formed');
  }
}

/** Other calls wait while values are read. */
export const mostJsonValues = 50_000;
/** In characters. */
const maximumText = 20_000;
const maximumDepth = 32;
/** Other calls wait while XML is parsed. */
const maximumCounts = { '<': 150_000, '&': 200_000, '=': 200_000 };

/** Otherwise the parser creates a decoder for each document. */
const decoder: EntityDecoderOptions = {
  decode: resolveReferences,
  setExternalEntities: () => {},
  addInputEntities: () => {},
  setXmlVersion: () => {},
  reset: () => {},
};

const parser = new XMLParser({
  // A leading dot keeps the parser from renaming elements such as `toString`. For `<a/>`, the parser calls this twice.
  transformTagName: (name) => (name.startsWith('.') ? name : `.${name}`),
  ignoreAttributes: true,
  ignoreDeclaration: true,
  ignorePiTags: true,
  removeNSPrefix: true,
  parseTagValue: false,
  trimValues: false,
  entityDecoder: decoder,
  // Only callbacks would need the path of each element.
  jPath: false,
  maxNestedTags: maximumDepth,
});

function parseXml(text: string): Body {
  if (/<!(DOCTYPE|ENTITY)/i.test(text))
    return malformed('XML', 'it has a document type declaration, which is never read');
  try {
    const value = readValue(parser.parse(text));
    if (!isObject(value)) return malformed('XML', 'it has no elements');
    // The parser accepts a missing end tag.
    const isWellFormed = XMLValidator.validate(text) === true;
    return isWellFormed ? { kind: 'xml', value } : malformed('XML', 'it is cut short or not well-formed');
  } catch {
    return malformed('XML', `it is not well-formed, or nested deeper than ${maximumDepth} elements`);
  }
}

type Value = string | Value[] | Elements;
type Elements = { [name: string]: Value };

/** An element with this name would set the prototype of the object. */
const prototypeName = '__proto__';

function readValue(parsed: unknown): Value {
  if (Array.isArray(parsed)) return parsed.map(readValue);
  if (!isObject(parsed)) return String(parsed);
  const { '#text': _, ...elements } = parsed;
  const children = Object.entries(elements).map(([name, child]): [string, Value] => [name.slice(1), readValue(child)]);
  if (children.some(([name]) => name === prototypeName)) throw new Error('an element has the name of the prototype');
  return children.length === 0 ? '' : Object.fromEntries(children);
}

const beginning =
  /^(?:<\?xml version="1\.0"(?: encoding="[\w-]+")?\?>\s*)?<([A-Za-z_][\w.-]*)(?: xmlns="[^"<&]*")?>\s*(?=<[^/])/;

/** An element with its text, a start tag before a child element, or an end tag. */
const plainPiece =
  /<([A-Za-z_][\w.-]*)>(?:([^<&\r]*(?:&(?:#\d+|#x[\da-fA-F]+|\w+);[^<&\r]*)*)<\/\1>\s*|\s*(?=<[^/]))|<\/([A-Za-z_][\w.-]*)>\s*/y;

/** Reads elements and text much faster than the parser. Undefined for text that the parser would read differently or refuse. */
function parsePlain(text: string): Body | undefined {
  const [start, root] = beginning.exec(text) ?? [];
  if (start === undefined || root === undefined || root === prototypeName) return undefined;
  const pieces = new RegExp(plainPiece);
  pieces.lastIndex = start.length;
  const children = readElements(pieces, text, root, 1);
  if (children === undefined || pieces.lastIndex < text.length) return undefined;
  return { kind: 'xml', value: { [root]: children } };
}

function readElements(pieces: RegExp, text: string, parent: string, depth: number): Elements | undefined {
  const children: Elements = {};
  for (;;) {
    const [piece, name, content, endName] = pieces.exec(text) ?? [];
    if (piece === undefined || name === prototypeName || depth > maximumDepth / 2) return undefined;
    if (name === undefined) return endName === parent ? children : undefined;
    const value = content === undefined ? readElements(pieces, text, name, depth + 1) : resolveReferences(content);
    if (value === undefined) return undefined;
    addElement(children, name, value);
  }
}

function addElement(siblings: Elements, name: string, value: string | Elements): void {
  const earlier = Object.hasOwn(siblings, name) ? siblings[name] : undefined;
  if (Array.isArray(earlier)) earlier.push(value);
  else siblings[name] = earlier === undefined ? value : [earlier, value];
}

const characterOfEntity: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

/** Decodes references once, so that `&amp;lt;` becomes `&lt;`. */
function resolveReferences(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(
    /&(?:(lt|gt|amp|quot|apos)|#(\d{1,20})|#x([\da-fA-F]{1,20}));/g,
    (whole, entity, decimal, hex) => {
      if (entity !== undefined) return characterOfEntity[entity] ?? whole;
      const codePoint = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
      return codePoint <= 0x10ffff ? String.fromCodePoint(codePoint) : whole;
    },
  );
}
