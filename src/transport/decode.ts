import { type X2jOptions, XMLParser, XMLValidator } from 'fast-xml-parser';

/** What a response's body turned out to be. Services label bodies wrongly, so the content decides, not its type. */
export type Body =
  | { readonly kind: 'empty' }
  /** Objects of text: repeated elements are arrays, attributes and namespaces are dropped. */
  | { readonly kind: 'xml'; readonly value: Readonly<Record<string, unknown>> }
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'html' | 'text'; readonly text: string }
  /** It starts like XML or JSON but is not. */
  | { readonly kind: 'malformed'; readonly format: 'XML' | 'JSON'; readonly problem: string };

/**
 * Decodes a body of at most a few megabytes. Never throws.
 * @param rows path of an XML element that repeats thousands of times, such as `ListPartsResult.Part`: it is read six
 *   times as fast, because the parser hands it over whole and a flat list of elements needs no parser
 */
export function decode(body: string, rows?: string): Body {
  const text = body.replace(/^\uFEFF/, '').trim();
  if (text === '') return { kind: 'empty' };
  if (text.startsWith('{') || text.startsWith('[')) return decodeJson(text);
  if (!text.startsWith('<')) return { kind: 'text', text };
  return /^<(!doctype\s+html|html)\b/i.test(text) ? { kind: 'html', text } : decodeXml(text, rows);
}

function decodeJson(text: string): Body {
  const malformed = (problem: string): Body => ({ kind: 'malformed', format: 'JSON', problem });
  if (text.length > maximumJson) return malformed(`it is longer than ${maximumJson} characters`);
  try {
    const value: unknown = JSON.parse(text);
    if (isDeeperThan(maximumDepth, value)) return malformed(`it is nested deeper than ${maximumDepth} levels`);
    return { kind: 'json', value };
  } catch {
    // The parser's own message quotes the body, which may hold anything.
    return malformed('it is cut short or not well-formed');
  }
}

/** What is read goes through an agent's context: beyond these bounds it could not be used anyway. */
const maximumJson = 1024 * 1024;
const maximumDepth = 32;
const maximumTags = 500_000;

const isDeeperThan = (levels: number, value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => isDeeperThan(levels - 1, inner)));

function hasMoreTagsThan(limit: number, text: string): boolean {
  let count = 0;
  for (let at = text.indexOf('<'); at >= 0 && count <= limit; at = text.indexOf('<', at + 1)) count += 1;
  return count > limit;
}

function decodeXml(text: string, rows: string | undefined): Body {
  const malformed = (problem: string): Body => ({ kind: 'malformed', format: 'XML', problem });
  if (/<!(DOCTYPE|ENTITY)/i.test(text)) return malformed('it has a document type declaration, which is never read');
  if (hasMoreTagsThan(maximumTags, text)) return malformed(`it has more than ${maximumTags} tags`);
  const options: X2jOptions = {
    ignoreAttributes: true,
    ignoreDeclaration: true,
    ignorePiTags: true,
    removeNSPrefix: true,
    parseTagValue: false,
    trimValues: false,
    processEntities: false,
    cdataPropName: cdata,
    maxNestedTags: maximumDepth,
  };
  const parser = new XMLParser(options);
  const rowsParser = rows === undefined ? parser : new XMLParser({ ...options, stopNodes: [rows] });
  const [, rowName] = rows?.split('.') ?? [];
  try {
    const value = clean(rowsParser.parse(text), { parser, rowName });
    if (!isElements(value)) return malformed('it has no elements');
    // The parser does not mind an end that is missing, and reads what comes after it as a part of the element.
    return isWellFormed(text, rowName) ? { kind: 'xml', value } : malformed('it is cut short or not well-formed');
  } catch {
    return malformed(`it is not well-formed, or nested deeper than ${maximumDepth} elements`);
  }
}

/** Whether every element has its end. Rows are left out where that is possible: each is looked at when it is read. */
function isWellFormed(text: string, rowName: string | undefined): boolean {
  const rows = new RegExp(`<${rowName}>[\\s\\S]*?</${rowName}>`, 'g');
  return (
    (rowName !== undefined && XMLValidator.validate(text.replace(rows, '')) === true) ||
    XMLValidator.validate(text) === true
  );
}

const cdata = '#cdata';
type Clean = string | Clean[] | { [name: string]: Clean };

const isElements = (value: Clean): value is { [name: string]: Clean } =>
  typeof value === 'object' && !Array.isArray(value);

/** How rows are read that the parser handed over as text. */
interface Rows {
  readonly parser: XMLParser;
  readonly rowName: string | undefined;
}

/** Resolves references, joins character data, and drops the white space between elements. */
function clean(node: unknown, rows: Rows): Clean {
  if (typeof node === 'string') return resolveReferences(node);
  if (Array.isArray(node)) return node.map((element) => clean(element, rows));
  if (typeof node !== 'object' || node === null) return '';
  const { '#text': text, [cdata]: data, ...children } = { '#text': undefined, [cdata]: undefined, ...node };
  const names = Object.entries(children);
  if (names.length === 0) return clean(text ?? '', rows) + [data ?? ''].flat().map(String).join('');
  return Object.fromEntries(
    names.map(([name, child]) => [name, name === rows.rowName ? readRows(child, rows) : clean(child, rows)]),
  );
}

const readRows = (rows: unknown, { parser }: Rows): Clean =>
  [rows].flat().map((row) => {
    if (typeof row !== 'string') return clean(row, { parser, rowName: undefined });
    return readFlat(row) ?? nested(row, parser);
  });

function nested(row: string, parser: XMLParser): Clean {
  const document = `<row>${row}</row>`;
  if (XMLValidator.validate(document) !== true) throw new Error('an element in a row has no end');
  const read = clean(parser.parse(document), { parser, rowName: undefined });
  return isElements(read) ? (read.row ?? '') : read;
}

/** Reads `<A>text</A><B>text</B>`; undefined if there is anything else in it. */
function readFlat(row: string): Clean | undefined {
  const field = /\s*<([\w.-]+)>([^<]*)<\/\1>\s*/y;
  const read: { [name: string]: Clean } = {};
  while (field.lastIndex < row.length) {
    const match = field.exec(row);
    if (match === null) return undefined;
    const [, name = '', value = ''] = match;
    if (Object.hasOwn(read, name) || name === '__proto__') return undefined;
    read[name] = value.includes('&') ? resolveReferences(value) : value;
  }
  return read;
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
