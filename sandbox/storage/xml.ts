import type { Answer } from '../http.js';

/** Writes and reads the XML of object storage. */

const document = (root: string, content: readonly string[], attributes = '') =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<${root}${attributes}>${content.join('')}</${root}>`;

/** An answer, in the namespace of the protocol. */
export const xml = (root: string, content: readonly string[], headers: Answer['headers'] = {}): Answer => ({
  status: 200,
  headers: { ...headers, 'content-type': 'application/xml' },
  body: document(root, content, ' xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'),
});

/** An error, which has no namespace. */
export const xmlError = (status: number, fields: Readonly<Record<string, string>>): Answer => ({
  status,
  headers: { 'content-type': 'application/xml' },
  body: document(
    'Error',
    Object.entries(fields).map(([name, value]) => element(name, value)),
  ),
});

export const element = (name: string, text: string | number | boolean) =>
  `<${name}>${escapeXml(String(text))}</${name}>`;

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

/** Text of the first element with a name, unescaped as far as ETags need it. */
export const textOf = (xml: string, name: string): string | undefined =>
  new RegExp(`<${name}>\\s*([^<]*?)\\s*</${name}>`).exec(xml)?.[1]?.replace(/&quot;|&#34;|&#x22;/g, '"');

/** Whether a text is one element of some name, in which only certain others stand. */
export const isDocumentOf = (xml: string, root: string, elements: readonly string[]): boolean =>
  new RegExp(`^\\s*(<\\?xml[^>]*\\?>)?\\s*<${root}[\\s>][\\s\\S]*</${root}>\\s*$`).test(xml) &&
  [...xml.matchAll(/<(\w[^\s/>]*)/g)].every(([, name = '']) => name === root || elements.includes(name));
