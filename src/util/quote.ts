/**
 * Quotes text from outside, such as an object key or a service's message, so that it cannot pass for our own words. The result is a JSON
 * string literal on one line, in which characters that are invisible or change the reading order are escaped. It is cut after `limit`
 * characters. A literal that is not cut can be pasted into JSON.
 */
export function quote(text: string, limit = 300): string {
  // Shorter texts cannot have too many characters.
  const characters = text.length > limit ? [...text] : [];
  if (characters.length <= limit) return `"${escapeQuoted(text)}"`;
  return `"${escapeQuoted(characters.slice(0, limit).join(''))}…" (cut, ${characters.length} characters)`;
}

/** A text as it stands between quotation marks. */
export const escapeQuoted = (text: string): string => escapeInvisible(text.replace(/["\\]/g, '\\$&'));

/** Escapes the characters of a text that are invisible or change the reading order. */
export const escapeInvisible = (line: string): string => line.replace(everyInvisible, spelled);

/** A name, such as an error code. It is quoted unless it is a plain word. */
export const quoteName = (text: string): string => (/^[\w.:[\]-]{1,100}$/.test(text) ? text : quote(text, 100));

/** Controls, formats (bidirectional and zero-width among them), unassigned, private and half characters, separators. */
export const everyInvisible = /[\p{C}\p{Zl}\p{Zp}\u00a0\u115f\u1160\u3164\uffa0]|\p{Default_Ignorable_Code_Point}/gu;

function spelled(character: string): string {
  if (character === '\n') return '\\n';
  if (character === '\r') return '\\r';
  if (character === '\t') return '\\t';
  // As in JSON, a character beyond 16 bits is two units of UTF-16.
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}
