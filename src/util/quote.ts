/**
 * Quotes text from outside, such as an object key or a service's message, so that it cannot pass for our own words: as a JSON string
 * literal on one line, with every character that is invisible or changes the reading order escaped, and cut after `limit` characters.
 * One that is not cut can be pasted into JSON and means the same.
 */
export function quote(text: string, limit = 300): string {
  // Shorter texts cannot have too many characters.
  const characters = text.length > limit ? [...text] : [];
  if (characters.length <= limit) return `"${escapeQuoted(text)}"`;
  return `"${escapeQuoted(characters.slice(0, limit).join(''))}…" (cut, ${characters.length} characters)`;
}

/** A text as it stands between quotation marks. */
export const escapeQuoted = (text: string): string => escapeInvisible(text.replace(/["\\]/g, '\\$&'));

/** A line of text in which characters that are invisible or change the reading order are spelled out, without quotation marks. */
export const escapeInvisible = (line: string): string => line.replace(everyInvisible, spelled);

/** A name from outside, such as an error code: bare if it is a plain word, otherwise quoted. */
export const quoteName = (text: string): string => (/^[\w.:[\]-]{1,100}$/.test(text) ? text : quote(text, 100));

/** Controls, formats (bidirectional and zero-width among them), unassigned, private and half characters, separators. */
export const everyInvisible = /[\p{C}\p{Zl}\p{Zp}\u00a0\u115f\u1160\u3164\uffa0]|\p{Default_Ignorable_Code_Point}/gu;

function spelled(character: string): string {
  if (character === '\n') return '\\n';
  if (character === '\r') return '\\r';
  if (character === '\t') return '\\t';
  // Units of UTF-16, as in JSON: a character beyond 16 bits has two.
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}
