/**
 * Quotes text from outside, such as an object key or a service's message, so that it cannot pass for our own words. The result is a JSON
 * string literal on one line, in which characters that are invisible or change the reading order are escaped. It is cut after `limit`
 * characters. A literal that is not cut can be pasted into JSON.
 */
export function quote(text: string, limit = 300): string {
  // Counts characters without a list of them, because a text may have megabytes.
  const length = text.length - (text.match(surrogatePairs)?.length ?? 0);
  if (length <= limit) return `"${escapeQuoted(text)}"`;
  // A character has one or two units of UTF-16.
  const start = [...text.slice(0, 2 * limit)].slice(0, limit).join('');
  return `"${escapeQuoted(start)}…" (cut, ${length} characters)`;
}

const surrogatePairs = /[\ud800-\udbff][\udc00-\udfff]/g;

/** A text as it stands between quotation marks. */
export const escapeQuoted = (text: string): string => escapeInvisible(text.replace(/["\\]/g, '\\$&'));

/** Escapes the characters of a text that are invisible or change the reading order. */
export const escapeInvisible = (line: string): string => line.replace(everyInvisible, escapeCharacter);

/** A name, such as an error code. It is quoted unless it is a plain word. */
export const quoteName = (text: string): string => (/^[\w.:[\]-]{1,100}$/.test(text) ? text : quote(text, 100));

/** Controls, formats (bidirectional and zero-width among them), unassigned and private characters, half a surrogate pair, separators. */
export const everyInvisible = /[\p{C}\p{Zl}\p{Zp}\u00a0\u115f\u1160\u3164\uffa0]|\p{Default_Ignorable_Code_Point}/gu;

function escapeCharacter(character: string): string {
  if (character === '\n') return '\\n';
  if (character === '\r') return '\\r';
  if (character === '\t') return '\\t';
  return escapeUnits(character);
}

/** Escapes a character as JSON does. A character beyond 16 bits is two units of UTF-16. */
export function escapeUnits(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}
