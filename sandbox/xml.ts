/** Writes the XML of object storage. */
export const document = (root: string, content: string, attributes = '') =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<${root}${attributes}>${content}</${root}>`;

/** The root element of an answer, in the namespace of the protocol. */
export const answerDocument = (root: string, content: readonly string[]) =>
  document(root, content.join(''), ' xmlns="http://s3.amazonaws.com/doc/2006-03-01/"');

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
