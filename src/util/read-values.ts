/** Reads booleans, numbers and times as APIs write them. A text that cannot be read gives undefined, never a default. */

/** Reads `true`, `False` or ` 1 `. */
export function readBoolean(text: string): boolean | undefined {
  const word = text.trim().toLowerCase();
  if (word === 'true' || word === '1') return true;
  return word === 'false' || word === '0' ? false : undefined;
}

/** Reads a whole number of at most 15 digits, which JavaScript holds exactly. */
export function readWholeNumber(text: string): number | undefined {
  const digits = text.trim();
  return /^[+-]?\d{1,15}$/.test(digits) ? Number(digits) : undefined;
}

/** A time of day, or a date alone. `Date.parse` would read a time in almost any other text, too. */
const timeOrDate = /\d:\d\d|^\d{4}-\d\d-\d\d$/;
const zoneAtEnd = /(?:z|gmt|utc?|[+-]\d\d:?\d\d)$/i;

/** The short form of a time in ISO 8601: `20261121T120000Z`. */
const shortTime = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)/;

/** Reads a time in ISO 8601 or as in HTTP headers, in milliseconds since 1970. A time without a zone is in UTC. */
export function readTime(text: string): number | undefined {
  const time = text.trim().replace(shortTime, '$1-$2-$3T$4:$5:$6');
  if (!timeOrDate.test(time)) return undefined;
  const hasZone = zoneAtEnd.test(time) || !time.includes(':');
  const zone = /^\d{4}-/.test(time) ? 'Z' : ' UTC';
  const ms = Date.parse(hasZone ? time : `${time}${zone}`);
  return Number.isNaN(ms) ? undefined : ms;
}
