import { defined, own, quoted, type SafeText, say, type Wording, words } from '../../util/safe-text.js';

/** The region that a zone seems to be in: jp-west-2 for `jp-west-21`. */
export function regionOfZone(zone: string): string | undefined {
  const [, side, number] = /^(?:jp-)?(east|west)-(\d)\d$/.exec(zone) ?? [];
  return side === undefined ? undefined : `jp-${side}-${number}`;
}

/** The name of a region or a zone, for a sentence. A name without the usual form is quoted, because it could be any text. */
export const place = (name: string): SafeText =>
  /^[a-z]{2}-[a-z]{1,10}-\d{1,2}$/.test(name) || regionOfZone(name) !== undefined ? own(name) : quoted(name, 100);

function otherRegion(zone = '', region?: string): string | undefined {
  const expected = regionOfZone(zone);
  return region === undefined || region === expected ? undefined : expected;
}

/** Warns about a zone of an unusual form, or one that seems to be in another region. */
export function zoneWarnings(zone: string | undefined, region: string | undefined): SafeText[] {
  if (zone !== undefined && regionOfZone(zone) === undefined)
    return [say`Zone ${quoted(zone, 24)} does not look like those of the API reference, such as east-11.`];
  const other = otherRegion(zone, region);
  if (other === undefined) return [];
  const where = say`in ${own(other)}, not in ${place(region ?? '')}`;
  return [say`Zone ${place(zone ?? '')} seems to be ${where}. What the cloud does then is not documented.`];
}

/** Reports a zone that is not in the requested region. */
export function foreignZone(zone: string | undefined, region: string): SafeText[] {
  const other = otherRegion(zone, region);
  return other === undefined ? [] : [say`zone ${place(zone ?? '')}, which seems to be in ${own(other)}`];
}

/** A status with its meaning: `configuring (being changed)`. */
export function withMeaning(value: string, meanings: Readonly<Record<string, string>>): SafeText {
  const meaning = Object.hasOwn(meanings, value) ? meanings[value] : undefined;
  return meaning === undefined
    ? say`${quoted(value, 60)} (not among the documented values)`
    : say`${own(value)} (${defined(meaning)})`;
}

/** Reports an answer that names another value than the request. */
export const differs = <Value extends string | number, const Field extends string>(
  field: Wording<Field>,
  requested: Value | undefined,
  answered: Value | undefined,
): SafeText[] =>
  requested === undefined || answered === undefined || requested === answered
    ? []
    : [say`${words(field)} ${valueText(answered)} instead of ${valueText(requested)}`];

const valueText = (value: string | number) => (typeof value === 'string' ? quoted(value, 60) : value);
