/**
 * Quotes text from outside as one line of JSON, so that it cannot pass for our own words.
 * Cuts the text after `limit` characters.
 */
export function quote(text: string, limit = 300): string {
  // `[...text]` would take much memory for megabytes.
  const length = text.length - (text.match(surrogatePairs)?.length ?? 0);
  if (length <= limit) return `"${escapeQuoted(text)}"`;
  // A character has one or two units of UTF-16.
  const start = [...text.slice(0, 2 * limit)].slice(0, limit).join('');
  return `"${escapeQuoted(start)}…" (cut, ${length} characters)`;
}

const surrogatePairs = /[\ud800-\udbff][\udc00-\udfff]/g;

export const escapeQuoted = (text: string): string => escapeInvisible(text.replace(/["\\]/g, '\\$&'));

export const escapeInvisible = (line: string): string => line.replace(everyInvisible, escapeCharacter);

/** Plain words stay without quotation marks. */
export const quoteName = (text: string): string => (/^[\w.:[\]-]{1,100}$/.test(text) ? text : quote(text, 100));

/** Control, formatting, unassigned and private characters, unpaired surrogates, and odd spaces. */
export const everyInvisible = /[\p{C}\p{Zl}\p{Zp}\u00a0\u115f\u1160\u3164\uffa0]|\p{Default_Ignorable_Code_Point}/gu;

function escapeCharacter(character: string): string {
  if (character === '\n') return '\\n';
  if (character === '\r') return '\\r';
  if (character === '\t') return '\\t';
  return escapeUnits(character);
}

/** Line feeds stay, because JSON has them only between values. */
export const escapeJson = (json: string): string =>
  printableAscii.test(json)
    ? json
    : json.replace(everyInvisible, (found) => (found === '\n' ? found : escapeUnits(found)));

/** The search for invisible characters is slow. */
const printableAscii = /^[ -~\n]*$/;

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

const hiddenSecret = /^hidden secret(?: \(SHA-256 [0-9a-f]{8}\))?$/;
const namedSecret = /^the secret ".*" of this server$/;
/** Such as `69 bytes`. */
const count = /^\(?\d+ (?:bytes?|characters?)\)?$/;
const cutText = /…"? \((?:cut, )?\d+ characters\)$/;

export const isPlaceholder = (text: string): boolean =>
  text === hiddenInAnswer ||
  text === shownOnce ||
  text === removedFromAnswer ||
  [hiddenSecret, namedSecret, count, cutText].some((pattern) => pattern.test(text));
