import { type EntityDecoderOptions, XMLParser, XMLValidator } from 'fast-xml-parser';
import { isDeeperThan, isObject } from '../util/objects.js';

/** What a response's body turned out to be. Services label bodies wrongly, so the content decides, not its type. */
export type Body =
  | { readonly kind: 'empty' }
  /** Objects of text: repeated elements are arrays, attributes and namespaces are dropped. */
  | { readonly kind: 'xml'; readonly value: Readonly<Record<string, unknown>> }
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'html' | 'text'; readonly text: string }
  /** It starts like XML or JSON but is not. */
  | { readonly kind: 'malformed'; readonly format: 'XML' | 'JSON'; readonly problem: string };

/** Reads a body of at most a few megabytes by what is in it; of pages and other text, the beginning. Never throws. */
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

/** What is read goes through an agent's context: beyond these bounds it could not be used anyway. */
const maximumJson = 1024 * 1024;
const maximumText = 20_000;
const maximumDepth = 32;
/** Of XML, by the characters that begin or hold them: tags, references, attributes. Parsing takes its time for each. */
const maximumCounts = { '<': 500_000, '&': 200_000, '=': 200_000 };

function hasMoreThan(limit: number, character: string, text: string): boolean {
  let count = 0;
  for (let at = text.indexOf(character); at >= 0 && count <= limit; at = text.indexOf(character, at + 1)) count += 1;
  return count > limit;
}

const isTooMuch = (xml: string) =>
  Object.entries(maximumCounts).some(([character, limit]) => hasMoreThan(limit, character, xml));

const cdata = '#cdata';

/** Leaves references as they are: `clean` resolves them. Without it, the parser makes a decoder for each document. */
const noDecoder: EntityDecoderOptions = {
  decode: (text) => text,
  setExternalEntities: () => {},
  addInputEntities: () => {},
  setXmlVersion: () => {},
  reset: () => {},
};

const parser = new XMLParser({
  ignoreAttributes: true,
  ignoreDeclaration: true,
  ignorePiTags: true,
  removeNSPrefix: true,
  parseTagValue: false,
  trimValues: false,
  processEntities: false,
  entityDecoder: noDecoder,
  // Otherwise it writes out the path to each element, for callbacks.
  jPath: false,
  cdataPropName: cdata,
  maxNestedTags: maximumDepth,
});

function parseXml(text: string): Body {
  if (/<!(DOCTYPE|ENTITY)/i.test(text))
    return malformed('XML', 'it has a document type declaration, which is never read');
  try {
    const value = clean(parser.parse(text));
    if (!isElements(value)) return malformed('XML', 'it has no elements');
    // The parser does not mind an end that is missing, and reads what comes after it as a part of the element.
    const isWellFormed = XMLValidator.validate(text) === true;
    return isWellFormed ? { kind: 'xml', value } : malformed('XML', 'it is cut short or not well-formed');
  } catch {
    return malformed('XML', `it is not well-formed, or nested deeper than ${maximumDepth} elements`);
  }
}

type Clean = string | Clean[] | Elements;
type Elements = { [name: string]: Clean };

const isElements = (value: unknown): value is Elements => isObject(value);

/** Resolves references, joins character data, and drops the white space between elements. */
function clean(node: unknown): Clean {
  if (typeof node === 'string') return resolveReferences(node);
  if (Array.isArray(node)) return node.map(clean);
  if (typeof node !== 'object' || node === null) return '';
  const { '#text': text, [cdata]: data, ...children } = { '#text': undefined, [cdata]: undefined, ...node };
  const names = Object.entries(children);
  if (names.length === 0) return clean(text ?? '') + [data ?? ''].flat().map(String).join('');
  return Object.fromEntries(names.map(([name, child]) => [name, clean(child)]));
}

/** What a document of elements and text may begin with: a declaration, and the root with its namespace. */
const beginning =
  /^(?:<\?xml version="1\.0"(?: encoding="[\w-]+")?\?>\s*)?<([A-Za-z_][\w.-]*)(?: xmlns="[^"<&]*")?>\s*(?=<[^/])/;

/**
 * Reads a document of nothing but elements and text, as services answer, in a sixth of the parser's time and memory. Undefined for
 * every other document, and for what the parser would read differently or refuse: line ends, bare ampersands, odd names.
 */
function parsePlain(text: string): Body | undefined {
  const [start, root] = beginning.exec(text) ?? [];
  if (start === undefined || root === undefined) return undefined;
  // An element with its text, the start of one that holds others, or the end of that; with the white space behind it.
  const piece =
    /<([A-Za-z_][\w.-]*)>(?:([^<&\r]*(?:&(?:#\d+|#x[\da-fA-F]+|\w+);[^<&\r]*)*)<\/\1>)?\s*|<\/([A-Za-z_][\w.-]*)>\s*/y;
  const value: Elements = {};
  const open: { readonly name: string; readonly children: Elements }[] = [{ name: root, children: {} }];
  piece.lastIndex = start.length;
  for (let inner = open.at(-1); inner !== undefined; inner = open.at(-1)) {
    const [whole, name, content, end] = piece.exec(text) ?? [];
    if (whole === undefined || open.length > maximumDepth / 2) return undefined;
    if (name === undefined) {
      open.pop();
      if (end !== inner.name || !add(open.at(-1)?.children ?? value, end, inner.children)) return undefined;
    } else if (content === undefined) open.push({ name, children: {} });
    else if (!add(inner.children, name, content.includes('&') ? resolveReferences(content) : content)) return undefined;
  }
  return piece.lastIndex === text.length ? { kind: 'xml', value } : undefined;
}

/** Adds an element to those beside it, in a list if its name repeats; not under a name that objects have. */
function add(siblings: Elements, name: string, value: Clean): boolean {
  if (name in Object.prototype || name === 'prototype') return false;
  const before = siblings[name];
  if (Array.isArray(before)) before.push(value);
  else siblings[name] = before === undefined ? value : [before, value];
  return true;
}

const named: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

/** The five entities of XML and character references, one pass. Anything else stays as it is written. */
function resolveReferences(text: string): string {
  return text.replace(/&(?:(lt|gt|amp|quot|apos)|#(\d{1,7})|#x([0-9a-f]{1,6}));/gi, (whole, entity, decimal, hex) => {
    if (entity !== undefined) return named[entity] ?? whole;
    const codePoint = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return codePoint <= 0x10ffff ? String.fromCodePoint(codePoint) : whole;
  });
}
