/** Reads values as APIs write them. Unreadable text gives undefined, never a default. */

export function readBoolean(text: string): boolean | undefined {
  const word = text.trim().toLowerCase();
  if (word === 'true' || word === '1') return true;
  return word === 'false' || word === '0' ? false : undefined;
}

/** JavaScript holds 15 digits exactly. */
export function readWholeNumber(text: string): number | undefined {
  const digits = text.trim();
  return /^[+-]?\d{1,15}$/.test(digits) ? Number(digits) : undefined;
}

/** `Date.parse` would read almost any text. */
const timeOrDate = /\d:\d\d|^\d{4}-\d\d-\d\d$/;
const zoneAtEnd = /(?:z|gmt|utc?|[+-]\d\d:?\d\d)$/i;

/** `20261121T120000Z`. */
const shortTime = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)/;

/** In milliseconds since 1970. Without a zone, in UTC. */
export function readTime(text: string): number | undefined {
  const time = text.trim().replace(shortTime, '$1-$2-$3T$4:$5:$6');
  if (!timeOrDate.test(time)) return undefined;
  const hasZone = zoneAtEnd.test(time) || !time.includes(':');
  const zone = /^\d{4}-/.test(time) ? 'Z' : ' UTC';
  const ms = Date.parse(hasZone ? time : `${time}${zone}`);
  return Number.isNaN(ms) ? undefined : ms;
}
