/** Reads values as APIs write them. Unreadable text gives undefined, never a default. */

export function readBoolean(text: string): boolean | undefined {
  const word = text.trim().toLowerCase();
  if (word === 'true' || word === '1') return true;
  return word === 'false' || word === '0' ? false : undefined;
}

/** Also `5242880.0` and `5.24288e+06`. */
export function readWholeNumber(text: string): number | undefined {
  const isNumber = /^[+-]?(?:\d+(?:\.0+)?|\d\.\d+e\+?\d+)$/i.test(text.trim());
  const number = isNumber ? Number(text) : Number.NaN;
  return Number.isSafeInteger(number) ? number : undefined;
}

const rewrites: readonly (readonly [form: RegExp, replacement: string])[] = [
  // `20261121T120000Z`, `20261121T1200Z`.
  [/^(\d{4})-?(\d\d)-?(\d\d)t(\d\d)(\d\d)(\d\d)/i, '$1-$2-$3 $4:$5:$6'],
  [/^(\d{4})-?(\d\d)-?(\d\d)t(\d\d)(\d\d)/i, '$1-$2-$3 $4:$5'],
  [/(\d)t(\d)/i, '$1 $2'],
  [/(:\d\d),(\d)/, '$1.$2'],
  [/(\d) ?(z|utc|gmt)$/i, '$1 $2'],
  [/(:.*[+-]\d\d)$/, '$1:00'],
  // `date` of Unix: `UTC 2026`.
  [/ (utc|gmt|[+-]\d{4}) (\d{4})$/i, ' $2 $1'],
  // Go: `+0900 JST m=+0.1`.
  [/ m=[+-][\d.]+$/, ''],
  [/([+-]\d{4}) [a-z]{2,5}$/i, '$1'],
];

/** In milliseconds since 1970. Without a zone, in UTC. */
export function readTime(text: string, { needsZone = false } = {}): number | undefined {
  const given = text.trim();
  if (!needsZone && /^\d{10}(?:\.\d+)?$/.test(given)) return Math.round(Number(given) * 1000);
  if (!needsZone && /^\d{13}$/.test(given)) return Number(given);

  // The fast way, for lists.
  const time = /^[12]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/.test(given)
    ? given
    : rewrites.reduce((written, [form, replacement]) => written.replace(form, replacement), given);
  const hasZone = /:.*(?:z|gmt|utc?|[+-]\d\d:?\d\d)$/i.test(time);
  // `Date.parse` would read almost any text, and the year 1 as 2001.
  const isTime = /\d:\d\d|^\d{4}-\d\d-\d\d$/.test(time) && !/^0\d{3}-/.test(time);
  if (!isTime || (needsZone && !hasZone)) return undefined;
  const ms = Date.parse(hasZone || !time.includes(':') ? time : `${time} UTC`);
  return Number.isNaN(ms) ? undefined : ms;
}
