import { type EntityDecoderOptions, XMLParser, XMLValidator } from 'fast-xml-parser';
import { isDeeperThan, isObject } from '../util/objects.js';

/** A body by its content. The content type does not decide, because services label bodies wrongly. */
export type Body =
  | { readonly kind: 'empty' }
  /** Objects of text: repeated elements are arrays, attributes and namespaces are dropped. */
  | { readonly kind: 'xml'; readonly value: Readonly<Record<string, unknown>> }
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'html' | 'text'; readonly text: string }
  /** It starts like XML or JSON but is not. */
  | { readonly kind: 'malformed'; readonly format: 'XML' | 'JSON'; readonly problem: string };

/** Reads a body of at most a few megabytes; of HTML and other text, the beginning. Never throws. */
export function parseBody(body: string): Body {
  const text = body.replace(/^\uFEFF/, '').trim();
  if (text === '') return { kind: 'empty' };
  if (text.startsWith('{') || text.startsWith('[')) return parseJson(text);
  if (!text.startsWith('<')) return { kind: 'text', text: text.slice(0, maximumText) };
  if (/^<(!doctype\s+html|html)\b/i.test(text)) return { kind: 'html', text: text.slice(0, maximumText) };
  if (isTooMuch(text)) return malformed('XML', 'it has too many elements, attributes or references');
  return parsePlain(text) ?? parseXml(text);
}

const malformed = (format: 'XML' | 'JSON', problem: string): Body => ({ kind: 'malformed', format, problem });

function parseJson(text: string): Body {
  if (text.length > maximumJson) return malformed('JSON', `it is longer than ${maximumJson} characters`);
  try {
    const value: unknown = JSON.parse(text);
    if (isDeeperThan(maximumDepth, value)) return malformed('JSON', `it is nested deeper than ${maximumDepth} levels`);
    return { kind: 'json', value };
  } catch {
    // The parser's own message quotes the body, which may hold anything.
    return malformed('JSON', 'it is cut short or not well-formed');
  }
}

/** Bounds, in characters and levels. Beyond them, no agent's context could hold the answer. */
const maximumJson = 1024 * 1024;
const maximumText = 20_000;
const maximumDepth = 32;
/**
 * The most tags, references and attributes of XML, by a character that each of them has. Each costs time, and other calls wait
 * meanwhile. Ten thousand parts have less.
 */
const maximumCounts = { '<': 150_000, '&': 200_000, '=': 200_000 };

function hasMoreThan(limit: number, character: string, text: string): boolean {
  let count = 0;
  for (let at = text.indexOf(character); at >= 0 && count <= limit; at = text.indexOf(character, at + 1)) count += 1;
  return count > limit;
}

const isTooMuch = (xml: string) =>
  Object.entries(maximumCounts).some(([character, limit]) => hasMoreThan(limit, character, xml));

/** Without a decoder of ours, the parser would make one for each document. */
const decoder: EntityDecoderOptions = {
  decode: resolveReferences,
  setExternalEntities: () => {},
  addInputEntities: () => {},
  setXmlVersion: () => {},
  reset: () => {},
};

const parser = new XMLParser({
  // The parser renames elements such as `toString` and refuses others. With a character that no name begins with, it does neither.
  transformTagName: (name) => (name.startsWith('.') ? name : `.${name}`),
  ignoreAttributes: true,
  ignoreDeclaration: true,
  ignorePiTags: true,
  removeNSPrefix: true,
  parseTagValue: false,
  trimValues: false,
  entityDecoder: decoder,
  // Otherwise it writes out the path to each element, for callbacks.
  jPath: false,
  maxNestedTags: maximumDepth,
});

function parseXml(text: string): Body {
  if (/<!(DOCTYPE|ENTITY)/i.test(text))
    return malformed('XML', 'it has a document type declaration, which is never read');
  try {
    const value = readValue(parser.parse(text));
    if (!isElements(value)) return malformed('XML', 'it has no elements');
    // The parser does not mind an end that is missing, and reads what comes after it as a part of the element.
    const isWellFormed = XMLValidator.validate(text) === true;
    return isWellFormed ? { kind: 'xml', value } : malformed('XML', 'it is cut short or not well-formed');
  } catch {
    return malformed('XML', `it is not well-formed, or nested deeper than ${maximumDepth} elements`);
  }
}

/** The value of an element: the elements in it, or else its text. The values of elements with the same name are a list. */
type Value = string | Value[] | Elements;
type Elements = { [name: string]: Value };
const isElements = (value: Value): value is Elements => isObject(value);

/** The name that sets the prototype of an object. */
const prototypeName = '__proto__';

/**
 * The value of an element as the parser read it. Text between elements is dropped.
 * @throws if an element has the name of the prototype
 */
function readValue(parsed: unknown): Value {
  if (Array.isArray(parsed)) return parsed.map(readValue);
  if (!isObject(parsed)) return String(parsed);
  const { '#text': _, ...elements } = parsed;
  const children = Object.entries(elements).map(([name, child]): [string, Value] => [name.slice(1), readValue(child)]);
  if (children.some(([name]) => name === prototypeName)) throw new Error('an element has the name of the prototype');
  return children.length === 0 ? '' : Object.fromEntries(children);
}

/** The beginning of a document of elements and text: a declaration, and the root with its namespace. */
const beginning =
  /^(?:<\?xml version="1\.0"(?: encoding="[\w-]+")?\?>\s*)?<([A-Za-z_][\w.-]*)(?: xmlns="[^"<&]*")?>\s*(?=<[^/])/;

/** An element with its text, the start of one that holds others, or the end of that; with the white space behind it. */
const plainPiece =
  /<([A-Za-z_][\w.-]*)>(?:([^<&\r]*(?:&(?:#\d+|#x[\da-fA-F]+|\w+);[^<&\r]*)*)<\/\1>\s*|\s*(?=<[^/]))|<\/([A-Za-z_][\w.-]*)>\s*/y;

/**
 * Reads a document of nothing but elements and text, as services answer, in a fraction of the parser's time and memory. Undefined for
 * every other document, and for what the parser would read differently or refuse: line ends, bare ampersands, odd names.
 */
function parsePlain(text: string): Body | undefined {
  const [start, root] = beginning.exec(text) ?? [];
  if (start === undefined || root === undefined || root === prototypeName) return undefined;
  const next = new RegExp(plainPiece);
  next.lastIndex = start.length;
  const children = readElements(next, text, root, 1);
  return children !== undefined && next.lastIndex === text.length
    ? { kind: 'xml', value: { [root]: children } }
    : undefined;
}

/**
 * The elements from where `next` stands to the end of the one that holds them.
 * @param depth how many elements are open
 */
function readElements(next: RegExp, text: string, parent: string, depth: number): Elements | undefined {
  const children: Elements = {};
  for (;;) {
    const [piece, name, content, end] = next.exec(text) ?? [];
    if (piece === undefined || name === prototypeName || depth > maximumDepth / 2) return undefined;
    if (name === undefined) return end === parent ? children : undefined;
    const value = content === undefined ? readElements(next, text, name, depth + 1) : resolveReferences(content);
    if (value === undefined) return undefined;
    add(children, name, value);
  }
}

/** Adds an element to those beside it. */
function add(siblings: Elements, name: string, value: string | Elements): void {
  const before = Object.hasOwn(siblings, name) ? siblings[name] : undefined;
  if (Array.isArray(before)) before.push(value);
  else siblings[name] = before === undefined ? value : [before, value];
}

const named: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

/** The five entities of XML and character references, one pass. Anything else stays as it is written. */
function resolveReferences(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(/&(?:(lt|gt|amp|quot|apos)|#(\d{1,7})|#x([0-9a-f]{1,6}));/gi, (whole, entity, decimal, hex) => {
    if (entity !== undefined) return named[entity] ?? whole;
    const codePoint = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return codePoint <= 0x10ffff ? String.fromCodePoint(codePoint) : whole;
  });
}
