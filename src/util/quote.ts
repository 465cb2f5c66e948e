/**
 * Quotes text from outside as one line of JSON, so that it cannot pass for our own words.
 * Cuts the text after `limit` characters.
 */
export function quote(text: string, limit = 300): string {
  // `[...text]` would take much memory for megabytes.
  const length = text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);
  if (length <= limit) return `"${escapeQuoted(text)}"`;
  // A character has one or two units of UTF-16.
  const start = [...text.slice(0, 2 * limit)].slice(0, limit).join('');
  return `"${escapeQuoted(start)}…" (cut, ${length} characters)`;
}

export const escapeQuoted = (text: string): string => escapeInvisible(text.replace(/["\\]/g, '\\$&'));

export const escapeInvisible = (line: string): string =>
  line.replace(everyInvisible, (character) => shortEscapes[character] ?? escapeUnits(character));

const shortEscapes: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Plain words stay without quotation marks. */
export const quoteName = (text: string): string => (/^[\w.:[\]-]{1,100}$/.test(text) ? text : quote(text, 100));

/** Control, formatting, unassigned and private characters, unpaired surrogates, and odd spaces. */
export const everyInvisible = /[\p{C}\p{Zl}\p{Zp}\u00a0\u115f\u1160\u3164\uffa0]|\p{Default_Ignorable_Code_Point}/gu;

/** Line feeds stay, because JSON has them only between values. */
export const escapeJson = (json: string): string =>
  // The search for invisible characters is slow.
  /^[ -~\n]*$/.test(json)
    ? json
    : json.replace(everyInvisible, (found) => (found === '\n' ? found : escapeUnits(found)));

function escapeUnits(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}

// Words in place of a value. Nobody may write them into the cloud.

export const hiddenInAnswer = '(hidden, because it may be a secret)';

export const shownOnce = '(shown once, and not kept)';

export const removedFromAnswer = '[removed: it held a secret]';

export const hiddenInPlan = (digest?: string): string =>
  digest === undefined ? 'hidden secret' : `hidden secret (SHA-256 ${digest})`;

export const secretNamed = (name: string): string => `the secret ${quote(name)} of this server`;

export const isPlaceholder = (text: string): boolean =>
  [hiddenInAnswer, shownOnce, removedFromAnswer].includes(text) ||
  [
    /^hidden secret(?: \(SHA-256 [0-9a-f]{8}\))?$/,
    /^the secret ".*" of this server$/,
    /^\(?\d+ (?:bytes?|characters?)\)?$/,
    /…"? \((?:cut, )?\d+ characters\)$/,
  ].some((pattern) => pattern.test(text));
