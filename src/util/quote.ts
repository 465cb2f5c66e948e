/**
 * Quotes text from outside, such as an object key or a service's message, so that it cannot pass for our own words. The result is a JSON
 * string literal on one line. Characters that are invisible or change the reading order are escaped. After `limit` characters, the text is
 * cut and its length added: `"abc…" (cut, 500 characters)`.
 */
export function quote(text: string, limit = 300): string {
  // Counting characters with `[...text]` would take much memory, because a text may have megabytes.
  const length = text.length - (text.match(surrogatePairs)?.length ?? 0);
  if (length <= limit) return `"${escapeQuoted(text)}"`;
  // A character has one or two units of UTF-16, so this part of the text has at least `limit` characters.
  const start = [...text.slice(0, 2 * limit)].slice(0, limit).join('');
  return `"${escapeQuoted(start)}…" (cut, ${length} characters)`;
}

const surrogatePairs = /[\ud800-\udbff][\udc00-\udfff]/g;

/** Escapes a text for use between quotation marks. */
export const escapeQuoted = (text: string): string => escapeInvisible(text.replace(/["\\]/g, '\\$&'));

/** Escapes the characters of a text that are invisible or change the reading order. */
export const escapeInvisible = (line: string): string => line.replace(everyInvisible, escapeCharacter);

/** Quotes a name, such as an error code, unless it is a plain word. */
export const quoteName = (text: string): string => (/^[\w.:[\]-]{1,100}$/.test(text) ? text : quote(text, 100));

/** Matches control, formatting (bidirectional, zero-width), unassigned and private characters, unpaired surrogates, and odd spaces. */
export const everyInvisible = /[\p{C}\p{Zl}\p{Zp}\u00a0\u115f\u1160\u3164\uffa0]|\p{Default_Ignorable_Code_Point}/gu;

function escapeCharacter(character: string): string {
  if (character === '\n') return '\\n';
  if (character === '\r') return '\\r';
  if (character === '\t') return '\\t';
  return escapeUnits(character);
}

/**
 * Escapes characters in JSON that are invisible or change the reading order. The JSON still has the same value. Line feeds stay, because they only
 * stand between values: those in texts are escaped already.
 */
export const escapeJson = (json: string): string =>
  printableAscii.test(json)
    ? json
    : json.replace(everyInvisible, (found) => (found === '\n' ? found : escapeUnits(found)));

/** Matches most JSON, which needs no search for invisible characters. The search is much slower. */
const printableAscii = /^[ -~\n]*$/;

/** Escapes a character as JSON does: `\u00a0`. A character beyond 16 bits is two units of UTF-16, which are escaped one by one. */
export function escapeUnits(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}
