/** Reads values as APIs write them. Unreadable text gives undefined, never a default. */

export function readBoolean(text: string): boolean | undefined {
  const word = text.trim().toLowerCase();
  if (word === 'true' || word === '1') return true;
  return word === 'false' || word === '0' ? false : undefined;
}

/** Some stores write whole numbers as floating-point numbers: `5242880.0`, `5.24288e+06`. */
const wholeNumber = /^[+-]?(?:\d+(?:\.0+)?|\d\.\d+e\+?\d+)$/i;

export function readWholeNumber(text: string): number | undefined {
  const number = wholeNumber.test(text.trim()) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(number) ? number : undefined;
}

/** `Date.parse` would read almost any text. */
const timeOrDate = /\d:\d\d|^\d{4}-\d\d-\d\d$/;
const zoneAtEnd = /:.*(?:z|gmt|utc?|[+-]\d\d:?\d\d)$/i;

/** Changes forms of times that `Date.parse` does not read. */
const rewrites: readonly (readonly [form: RegExp, replacement: string])[] = [
  // The basic form of ISO 8601: `20261121T120000Z`, `20261121T1200Z`.
  [/^(\d{4})-?(\d\d)-?(\d\d)t(\d\d)(\d\d)(\d\d)/i, '$1-$2-$3 $4:$5:$6'],
  [/^(\d{4})-?(\d\d)-?(\d\d)t(\d\d)(\d\d)/i, '$1-$2-$3 $4:$5'],
  [/(\d)t(\d)/i, '$1 $2'],
  [/(:\d\d),(\d)/, '$1.$2'],
  [/(\d) ?(z|utc|gmt)$/i, '$1 $2'],
  [/(:.*[+-]\d\d)$/, '$1:00'],
  // The `date` of Unix writes the year behind the zone.
  [/ (utc|gmt|[+-]\d{4}) (\d{4})$/i, ' $2 $1'],
  // Go writes the name of the zone too, and the reading of a second clock.
  [/ m=[+-][\d.]+$/, ''],
  [/([+-]\d{4}) [a-z]{2,5}$/i, '$1'],
];

/** `Date.parse` would read the year 1 as 2001. */
const ancient = /^0\d{3}-/;

/** The form of S3, which lists have thousands of times. */
const usual = /^[12]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;

const epochSeconds = /^\d{10}(?:\.\d+)?$/;
const epochMilliseconds = /^\d{13}$/;

/** In milliseconds since 1970. By default, a time without a zone is in UTC. */
export function readTime(text: string, { needsZone = false } = {}): number | undefined {
  const given = text.trim();
  if (!needsZone && epochSeconds.test(given)) return Math.round(Number(given) * 1000);
  if (!needsZone && epochMilliseconds.test(given)) return Number(given);

  const time = usual.test(given)
    ? given
    : rewrites.reduce((written, [form, replacement]) => written.replace(form, replacement), given);
  const hasZone = zoneAtEnd.test(time);
  if (!timeOrDate.test(time) || ancient.test(time) || (needsZone && !hasZone)) return undefined;
  const ms = Date.parse(hasZone || !time.includes(':') ? time : `${time} UTC`);
  return Number.isNaN(ms) ? undefined : ms;
}
