import type * as z from 'zod';
import { toDotPath } from 'zod/v4/core';
import { type Answer, documentAnswer, ServiceError } from '../http.js';
import { notOffered } from './requests.js';

/** A value that is written as XML: a field becomes an element, a list becomes repeated elements, and undefined is left out. */
type XmlValue = string | number | boolean | undefined | XmlValue[] | { readonly [element: string]: XmlValue };

function render(value: XmlValue): string {
  if (typeof value !== 'object' || Array.isArray(value)) return escapeXml(String(value));
  return Object.entries(value)
    .flatMap(([name, child]) => {
      const children = Array.isArray(child) ? child : [child];
      return children.map((content) => (content === undefined ? '' : `<${name}>${render(content)}</${name}>`));
    })
    .join('');
}

export function xmlDocument(status: number, root: string, value: XmlValue, attributes = ''): Answer {
  const content = `<?xml version="1.0" encoding="UTF-8"?>\n<${root}${attributes}>${render(value)}</${root}>`;
  return documentAnswer(status, 'application/xml', content);
}

/** An answer with an XML document in the namespace of S3. Documents with errors, as on S3, have no namespace. */
export const xmlAnswer = (root: string, value: XmlValue) =>
  xmlDocument(200, root, value, ' xmlns="http://s3.amazonaws.com/doc/2006-03-01/"');

const names: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\n': '&#10;',
};

const special = /[&<>"\p{Cc}]/gu;

const escapeXml = (text: string) =>
  text.replace(special, (character) => names[character] ?? `&#x${character.charCodeAt(0).toString(16).toUpperCase()};`);

const entities = new Map(Object.entries({ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }));

/** Returns the unescaped texts of all elements called `name`. Spaces around a text belong to it. */
export const textsOf = (xml: string, name: string): string[] =>
  [...xml.matchAll(new RegExp(`<${name}>([^<]*)</${name}>`, 'g'))].map(([, text = '']) => unescapeXml(text));

const unescapeXml = (text: string) =>
  text.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(\w+));/gi, (whole, hex?: string, decimal?: string, name = '') => {
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : (entities.get(name) ?? whole);
  });

/** Returns the text of the first element called `name`, without spaces around it. Unescapes only quotation marks, because ETags contain them. */
export const textOf = (xml: string, name: string): string | undefined =>
  new RegExp(`<${name}>\\s*([^<]*?)\\s*</${name}>`).exec(xml)?.[1]?.replace(/&quot;|&#34;|&#x22;/g, '"');

/** True if the document is a `root` element that contains no elements but those named in `elements`. */
export const isDocumentOf = (xml: string, root: string, elements: readonly string[]): boolean =>
  new RegExp(`^\\s*(<\\?xml[^>]*\\?>)?\\s*<${root}[\\s>][\\s\\S]*</${root}>\\s*$`).test(xml) &&
  [...xml.matchAll(/<(\w[^\s/>]*)/g)].every(([, name = '']) => name === root || elements.includes(name));

export interface DocumentForm {
  readonly root: string;
  /** Names of elements that contain elements. All other elements contain text. */
  readonly structures: readonly string[];
  /** Names of elements that may be repeated. They become lists. */
  readonly lists: readonly string[];
}

/** Parses an XML document into an object whose fields are unescaped texts, objects and lists. Undefined if it is not well-formed. */
export function readDocument(xml: string, form: DocumentForm): unknown {
  // Removes the XML declaration, and replaces `<Name/>` by `<Name></Name>`.
  const content = xml.replace(/^\s*<\?xml[^>]*\?>/, '').replace(/<([\w.-]+)([^<>]*)\/>/g, '<$1$2></$1>');
  const whole = readElements((content.match(/<[^<>]*>|[^<>]+/g) ?? []).values(), undefined, form);
  return Object(whole)[form.root];
}

/** The tags of a document and the texts between them. Reading a token removes it. */
type Tokens = IterableIterator<string>;

/** Parses elements up to the tag `end`, or up to the end of the document if `end` is undefined. Undefined if they are not well-formed. */
function readElements(tokens: Tokens, end: string | undefined, form: DocumentForm): object | undefined {
  const values = new Map<string, unknown[]>();
  for (const token of tokens) {
    if (token === end) return fieldsOf(values, form);
    if (token.trim() === '') continue;
    const [, name = ''] = /^<([A-Za-z_][\w.-]*)(?:\s.*)?>$/s.exec(token) ?? [];
    const value = readContent(tokens, name, form);
    if (value === undefined) return undefined;
    values.set(name, [...(values.get(name) ?? []), value]);
  }
  return end === undefined ? fieldsOf(values, form) : undefined;
}

/** Converts elements to fields. Undefined if an element is repeated that is not in `lists`. */
function fieldsOf(elements: ReadonlyMap<string, unknown[]>, { lists }: DocumentForm): object | undefined {
  const fields = [...elements].map(([name, values]) => [name, lists.includes(name) ? values : values[0]] as const);
  const isRepeated = [...elements].some(([name, { length }]) => length > 1 && !lists.includes(name));
  return isRepeated ? undefined : Object.fromEntries(fields);
}

/** Parses the content and the end tag of an element. Undefined if they are not well-formed. */
function readContent(tokens: Tokens, name: string, form: DocumentForm): unknown {
  const end = `</${name}>`;
  if (name === form.root || form.structures.includes(name)) return readElements(tokens, end, form);
  const text: unknown = tokens.next().value;
  if (text === end) return '';
  return typeof text === 'string' && tokens.next().value === end ? unescapeXml(text) : undefined;
}

/** Parses an XML document and checks it against its rules. Throws a `ServiceError` with the codes of S3 if it breaks one. */
export function readDocumentInput<T>(rules: z.ZodType<T>, form: DocumentForm, body: Buffer): T {
  const { data, error, success } = rules.safeParse(readDocument(body.toString('utf8'), form));
  if (success) return data;
  const unknown = error.issues.find(({ code }) => code === 'unrecognized_keys');
  if (unknown !== undefined) throw notOffered(`more in ${form.root} than the elements that it knows`);
  const [issue] = error.issues;
  const lines = error.issues.map(({ path, message }) => `${toDotPath(path)}: ${message}.`);
  const isArgument = issue !== undefined && ['too_big', 'invalid_format', 'custom'].includes(issue.code);
  throw new ServiceError(400, isArgument ? 'InvalidArgument' : 'MalformedXML', lines.join(' '));
}
