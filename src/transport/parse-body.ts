import { type EntityDecoderOptions, XMLParser, XMLValidator } from 'fast-xml-parser';
import { countValues } from '../util/count-values.js';
import { isDeeperThan, isObject } from '../util/objects.js';

/** A parsed body. Its kind follows from the content, and not from the content type, which some services send wrongly. */
export type Body =
  | { readonly kind: 'empty' }
  /** Elements as objects, with text values. Repeated elements are lists. Attributes and namespaces are dropped. */
  | { readonly kind: 'xml'; readonly value: Readonly<Record<string, unknown>> }
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'html' | 'text'; readonly text: string }
  /** A body that starts like XML or JSON but is malformed, or has more than this server reads. */
  | {
      readonly kind: 'malformed';
      readonly format: 'XML' | 'JSON';
      readonly problem: string;
      readonly isTooLarge: boolean;
    };

/** Parses a body of at most a few megabytes. Truncates HTML and plain text. Never throws. */
export function parseBody(body: string): Body {
  const text = body.replace(/^\uFEFF/, '').trim();
  if (text === '') return { kind: 'empty' };
  if (text.startsWith('{') || text.startsWith('[')) return parseJson(text);
  if (!text.startsWith('<')) return { kind: 'text', text: text.slice(0, maximumText) };
  if (/^<(!doctype\s+html|html)\b/i.test(text)) return { kind: 'html', text: text.slice(0, maximumText) };
  if (isTooMuch(text)) return malformed('XML', 'it has too many elements, attributes or references', true);
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
    // The parser's message is not passed on, because it quotes the body, which may contain anything.
    return malformed('JSON', 'it is cut short or not well-formed');
  }
}

/** Limit of values in JSON, because other calls wait while they are read. No agent's context could hold as many. */
export const mostJsonValues = 50_000;
/** Size limit of HTML and plain text (characters), which only error messages quote. */
const maximumText = 20_000;
/** Limit of nested levels in JSON and XML. */
const maximumDepth = 32;
/** Limits for tags, references and attributes in XML, because other calls wait while it is parsed. They allow a list of 10,000 upload parts. */
const maximumCounts = { '<': 150_000, '&': 200_000, '=': 200_000 };

const isTooMuch = (xml: string) =>
  Object.entries(maximumCounts).some(([character, limit]) => {
    let count = 0;
    for (let at = xml.indexOf(character); at >= 0 && count <= limit; at = xml.indexOf(character, at + 1)) count += 1;
    return count > limit;
  });

/** One decoder of references for all documents, because the parser would otherwise create one for each document. */
const decoder: EntityDecoderOptions = {
  decode: resolveReferences,
  setExternalEntities: () => {},
  addInputEntities: () => {},
  setXmlVersion: () => {},
  reset: () => {},
};

const parser = new XMLParser({
  // A leading dot, which no XML name has, keeps the parser from renaming elements such as `toString` and from refusing others. For `<a/>`,
  // the parser calls this a second time, with the name that it returned.
  transformTagName: (name) => (name.startsWith('.') ? name : `.${name}`),
  ignoreAttributes: true,
  ignoreDeclaration: true,
  ignorePiTags: true,
  removeNSPrefix: true,
  parseTagValue: false,
  trimValues: false,
  entityDecoder: decoder,
  // Keeps the parser from building the path of each element, which only callbacks would need.
  jPath: false,
  maxNestedTags: maximumDepth,
});

function parseXml(text: string): Body {
  if (/<!(DOCTYPE|ENTITY)/i.test(text))
    return malformed('XML', 'it has a document type declaration, which is never read');
  try {
    const value = readValue(parser.parse(text));
    if (!isElements(value)) return malformed('XML', 'it has no elements');
    // Validated too, because the parser accepts a missing end tag and reads the rest of the document as part of the element.
    const isWellFormed = XMLValidator.validate(text) === true;
    return isWellFormed ? { kind: 'xml', value } : malformed('XML', 'it is cut short or not well-formed');
  } catch {
    return malformed('XML', `it is not well-formed, or nested deeper than ${maximumDepth} elements`);
  }
}

/** The value of an element: its child elements, or its text if it has none. Elements with the same name form a list. */
type Value = string | Value[] | Elements;
type Elements = { [name: string]: Value };
const isElements = (value: Value): value is Elements => isObject(value);

/** An element with this name would set the prototype of the object. */
const prototypeName = '__proto__';

/**
 * Converts the parser's result to the value of an element. Text between elements is dropped.
 * @throws if an element is named `__proto__`
 */
function readValue(parsed: unknown): Value {
  if (Array.isArray(parsed)) return parsed.map(readValue);
  if (!isObject(parsed)) return String(parsed);
  const { '#text': _, ...elements } = parsed;
  const children = Object.entries(elements).map(([name, child]): [string, Value] => [name.slice(1), readValue(child)]);
  if (children.some(([name]) => name === prototypeName)) throw new Error('an element has the name of the prototype');
  return children.length === 0 ? '' : Object.fromEntries(children);
}

/** Matches the start of a simple document: the XML declaration, if there is one, and the start tag of the root element. */
const beginning =
  /^(?:<\?xml version="1\.0"(?: encoding="[\w-]+")?\?>\s*)?<([A-Za-z_][\w.-]*)(?: xmlns="[^"<&]*")?>\s*(?=<[^/])/;

/** Matches one of three pieces: an element with its text, a start tag before a child element, or an end tag. White space may follow. */
const plainPiece =
  /<([A-Za-z_][\w.-]*)>(?:([^<&\r]*(?:&(?:#\d+|#x[\da-fA-F]+|\w+);[^<&\r]*)*)<\/\1>\s*|\s*(?=<[^/]))|<\/([A-Za-z_][\w.-]*)>\s*/y;

/**
 * Parses a document that consists of elements and text only, as most answers do, in a fraction of the parser's time and memory. Returns
 * undefined for any other document, and for text that the parser would read differently or refuse, such as `\r`.
 */
function parsePlain(text: string): Body | undefined {
  const [start, root] = beginning.exec(text) ?? [];
  if (start === undefined || root === undefined || root === prototypeName) return undefined;
  const pieces = new RegExp(plainPiece);
  pieces.lastIndex = start.length;
  const children = readElements(pieces, text, root, 1);
  if (children === undefined || pieces.lastIndex < text.length) return undefined;
  return { kind: 'xml', value: { [root]: children } };
}

/**
 * Reads the children of an element up to its end tag. Returns undefined if the text is not a simple document.
 * @param pieces matches the next piece of the text, and keeps the position
 * @param depth number of open elements
 */
function readElements(pieces: RegExp, text: string, parent: string, depth: number): Elements | undefined {
  const children: Elements = {};
  for (;;) {
    const [piece, name, content, endName] = pieces.exec(text) ?? [];
    if (piece === undefined || name === prototypeName || depth > maximumDepth / 2) return undefined;
    // A piece without a start tag is an end tag.
    if (name === undefined) return endName === parent ? children : undefined;
    const value = content === undefined ? readElements(pieces, text, name, depth + 1) : resolveReferences(content);
    if (value === undefined) return undefined;
    addElement(children, name, value);
  }
}

/** Adds an element to its siblings. Elements with the same name form a list. */
function addElement(siblings: Elements, name: string, value: string | Elements): void {
  const earlier = Object.hasOwn(siblings, name) ? siblings[name] : undefined;
  if (Array.isArray(earlier)) earlier.push(value);
  else siblings[name] = earlier === undefined ? value : [earlier, value];
}

const characterOfEntity: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

/**
 * Decodes the five entities of XML and character references, each once, so that `&amp;lt;` becomes `&lt;`. Other references stay. Names in
 * capital letters are decoded too, as in HTML, because the redactor searches HTML too.
 */
export function resolveReferences(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(/&(?:(lt|gt|amp|quot|apos)|#(\d{1,20})|#x([0-9a-f]{1,20}));/gi, (whole, entity, decimal, hex) => {
    if (entity !== undefined) return characterOfEntity[entity.toLowerCase()] ?? whole;
    const codePoint = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return codePoint <= 0x10ffff ? String.fromCodePoint(codePoint) : whole;
  });
}
