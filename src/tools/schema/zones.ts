import { sentences } from '../../util/human.js';
import {
  argument,
  defined,
  listed,
  own,
  quoted,
  type SafeText,
  say,
  type Wording,
  words,
} from '../../util/safe-text.js';

/**
 * The region that a zone seems to be in: `east-11` is in jp-east-1, `west-13` in jp-west-1, `jp-west-21` in jp-west-2 (from the
 * defaults in docs/API.md: Zones). Nothing is known of zones of another form.
 */
export function regionOfZone(zone: string): string | undefined {
  const [, side, number] = /^(?:jp-)?(east|west)-(\d)\d$/.exec(zone) ?? [];
  return side === undefined ? undefined : `jp-${side}-${number}`;
}

const hasFormOfRegion = (name: string): boolean => /^[a-z]{2}-[a-z]{1,10}-\d{1,2}$/.test(name);

/** The name of a region or a zone. A name without the usual form is quoted, because it could be any words. */
export const place = (name: string): SafeText =>
  hasFormOfRegion(name) || regionOfZone(name) !== undefined ? own(name) : quoted(name, 100);

/** The region that a zone seems to be in, if it is not `region`. */
function otherRegion(zone = '', region?: string): string | undefined {
  const expected = regionOfZone(zone);
  return region === undefined || region === expected ? undefined : expected;
}

/** A warning if a region does not have the usual form. It is not refused, because the API reference has no rule for regions. */
export const regionFormWarnings = (region: string | undefined): SafeText[] =>
  region === undefined || hasFormOfRegion(region)
    ? []
    : [say`Region ${quoted(region, 24)} does not look like those of the API reference, such as jp-east-1.`];

/** A warning if a zone does not have the usual form, or does not belong to the region. */
export function zoneWarnings(zone: string | undefined, region: string | undefined): SafeText[] {
  if (zone !== undefined && regionOfZone(zone) === undefined)
    return [say`Zone ${quoted(zone, 24)} does not look like those of the API reference, such as east-11.`];
  const other = otherRegion(zone, region);
  if (other === undefined) return [];
  const where = say`in ${own(other)}, not in ${place(region ?? '')}`;
  return [say`Zone ${place(zone ?? '')} seems to be ${where}. What the cloud does then is not documented.`];
}

/** A contradiction if the zone of an answer does not belong to the region: `zone east-11, which seems to be in jp-east-1`. */
export function foreignZone(zone: string | undefined, region: string): SafeText[] {
  const other = otherRegion(zone, region);
  return other === undefined ? [] : [say`zone ${place(zone ?? '')}, which seems to be in ${own(other)}`];
}

/** A contradiction if an answer names another value than the request: `region "jp-east-1" instead of "jp-east-3"`. */
export const differs = <Value extends string | number, const Field extends string>(
  field: Wording<Field>,
  requested: Value | undefined,
  answered: Value | undefined,
): SafeText[] =>
  requested === undefined || answered === undefined || requested === answered
    ? []
    : [say`${words(field)} ${valueText(answered)} instead of ${valueText(requested)}`];

const valueText = (value: string | number) => (typeof value === 'string' ? quoted(value, 60) : value);

/** A warning about a region that is not in the list of the reference, if the reference has a list for the operation. */
export const regionWarnings = (listed: readonly string[] | undefined, region: string | undefined): SafeText[] =>
  listed === undefined || region === undefined || listed.includes(region)
    ? []
    : [
        say`Region ${quoted(region, 40)} is not among those that the API reference lists: ${defined(listed.join(', '))}. Whether the operation is available there is not documented.`,
      ];

/**
 * A warning about servers without region and zone, which proposes those of the whole group.
 * @param servers by the path of their arguments
 */
export function unplacedWarnings(
  servers: Readonly<Record<string, { readonly region?: unknown; readonly availabilityZone?: unknown } | undefined>>,
  zone: string | undefined,
  region: string | undefined,
): SafeText[] {
  const placeOfGroup = sentences(
    region !== undefined && say`region ${place(region)}`,
    zone !== undefined && say`zone ${place(zone)}`,
  );
  const unplacedServers = Object.entries(servers).filter(
    ([, server]) => server !== undefined && server.region === undefined && server.availabilityZone === undefined,
  );
  if (unplacedServers.length === 0 || placeOfGroup.length === 0) return [];
  const names = listed(unplacedServers.map(([path]) => argument(path)));
  return [
    say`${names} ${words(unplacedServers.length === 1 ? 'has' : 'have')} no region and zone. Whether those of the group apply there is not documented; ${listed(placeOfGroup)} could be given there too.`,
  ];
}
