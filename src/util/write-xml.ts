/** The content of an XML element: a value, or child elements by name. A list repeats its element, and undefined is left out. */
type XmlContent = string | number | boolean | XmlElements;
export type XmlElements = {
  readonly [element: string]: XmlContent | readonly XmlContent[] | undefined;
};

const declaration = '<?xml version="1.0" encoding="UTF-8"?>';
/** Matches element names. XML 1.0 also allows a prefix and letters beyond ASCII, which no API needs. */
const elementName = /^[A-Za-z_][\w.-]*$/;
/** Matches characters that XML 1.0 cannot contain even if they are escaped, and unpaired surrogates. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const forbidden = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Cs}/u;

/**
 * Writes an XML document with one element per line, indented, because people read it in a plan before it is sent.
 * @throws TypeError for a name or text that XML cannot contain
 */
export function writeXml(root: string, content: XmlElements, namespace?: string): string {
  const attribute = namespace === undefined ? '' : ` xmlns="${escaped(namespace)}"`;
  return `${[declaration, ...element(root, content, '', attribute)].join('\n')}\n`;
}

function element(name: string, content: XmlContent, indent: string, attributes = ''): string[] {
  if (!elementName.test(name)) throw new TypeError('XML has no element of this name');
  const [start, end] = [`${indent}<${name}${attributes}>`, `</${name}>`];
  if (typeof content !== 'object') return [`${start}${escaped(String(content))}${end}`];
  const inner = Object.entries(content).flatMap(([child, value]) =>
    (Array.isArray(value) ? value : [value]).flatMap((item) =>
      item === undefined ? [] : element(child, item, `${indent}  `),
    ),
  );
  return inner.length === 0 ? [`${start}${end}`] : [start, ...inner, `${indent}${end}`];
}

const references: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Escapes text for XML. Line breaks and tabs become character references such as `&#10;`, because XML readers would change them. */
function escaped(text: string): string {
  if (forbidden.test(text)) throw new TypeError('XML cannot hold this text: it has a control character');
  return text.replace(/[&<>"\t\n\r]/g, (character) => references[character] ?? `&#${character.charCodeAt(0)};`);
}
