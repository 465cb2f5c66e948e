import { type Answer, document } from '../http.js';

/** Fields become elements, a list its element repeated, and undefined nothing. */
export type XmlValue = string | number | boolean | undefined | XmlValue[] | { readonly [element: string]: XmlValue };

function render(value: XmlValue): string {
  if (typeof value !== 'object' || Array.isArray(value)) return escapeXml(String(value));
  return Object.entries(value)
    .flatMap(([name, inner]) => (Array.isArray(inner) ? inner : [inner]).map((one) => [name, one] as const))
    .map(([name, one]) => (one === undefined ? '' : `<${name}>${render(one)}</${name}>`))
    .join('');
}

export function xmlDocument(status: number, root: string, value: XmlValue, attributes = ''): Answer {
  const content = `<?xml version="1.0" encoding="UTF-8"?>\n<${root}${attributes}>${render(value)}</${root}>`;
  return document(status, 'application/xml', content);
}

/** An answer in the namespace of S3, which errors do not have. */
export const xml = (root: string, value: XmlValue) =>
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

/** Texts of all elements of a name, unescaped, with the spaces around them. */
export const textsOf = (xml: string, name: string): string[] =>
  [...xml.matchAll(new RegExp(`<${name}>([^<]*)</${name}>`, 'g'))].map(([, text = '']) => unescapeXml(text));

const unescapeXml = (text: string) =>
  text.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(\w+));/gi, (whole, hex?: string, decimal?: string, name = '') => {
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : (entities.get(name) ?? whole);
  });

/** Text of the first element of a name, unescaped as far as ETags need it. */
export const textOf = (xml: string, name: string): string | undefined =>
  new RegExp(`<${name}>\\s*([^<]*?)\\s*</${name}>`).exec(xml)?.[1]?.replace(/&quot;|&#34;|&#x22;/g, '"');

/** True for one `root` element that holds only the given elements. */
export const isDocumentOf = (xml: string, root: string, elements: readonly string[]): boolean =>
  new RegExp(`^\\s*(<\\?xml[^>]*\\?>)?\\s*<${root}[\\s>][\\s\\S]*</${root}>\\s*$`).test(xml) &&
  [...xml.matchAll(/<(\w[^\s/>]*)/g)].every(([, name = '']) => name === root || elements.includes(name));
