/** Converts the documentation in a model, which is HTML or Markdown, to plain text on one line. */
export function documentationText(documentation: string): string {
  // The rest is not converted, because only the beginning is ever shown. A tag, an entity or a word is not cut.
  const beginning = documentation
    .slice(0, longestDocumentation)
    .replace(/<[^<>]*$/, '')
    .replace(/\s*\S*$/, '');
  return (documentation.length <= longestDocumentation ? documentation : `${beginning}…`)
    .replace(/<!--[\s\S]*?-->/g, ' ')
    .replace(/<\/?(?:p|li|ul|ol|br|div|dl|dt|dd|h\d|note|important|table|tr|td)\b[^>]*>/gi, ' ')
    .replace(/<\/?[a-z][^>]*>/gi, '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/`/g, '')
    .replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w{2,6}));/gi, decodeEntity)
    .replace(/\s+/g, ' ')
    .trim();
}

/** Characters. */
const longestDocumentation = 1500;

const namedEntities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  mdash: '-',
};

function decodeEntity(entity: string, decimal?: string, hexadecimal?: string, name?: string): string {
  if (name !== undefined) return namedEntities[name.toLowerCase()] ?? entity;
  const code = decimal === undefined ? Number.parseInt(hexadecimal ?? '', 16) : Number(decimal);
  return code <= 0x10ffff ? String.fromCodePoint(code) : entity;
}

/**
 * Shortens a text to `limit` characters: to whole sentences if the first one fits, or else to whole words. The result is empty if `limit` is too
 * small for a useful text.
 */
export function shortenText(text: string, limit: number): string {
  // Most texts are many times longer than their limit. A character has at most two code units.
  const characters = [...text.slice(0, 2 * limit + 2)];
  if (characters.length <= limit) return text;
  if (limit < 10) return '';
  const start = characters.slice(0, limit).join('');
  const sentences = /^.*[.!?。](?=\s|$)|^.*。/s.exec(start)?.[0];
  if (sentences !== undefined && !/\b(?:e\.g|i\.e|etc|vs)\.$/i.test(sentences)) return sentences;
  const wholeWords = characters
    .slice(0, limit - 1)
    .join('')
    .replace(/\s+\S*$/, '');
  return `${wholeWords.replace(/[\s,;:(]+$/, '')}…`;
}
