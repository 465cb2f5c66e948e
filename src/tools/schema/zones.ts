import { quote } from '../../util/quote.js';

/** `east-11` is in jp-east-1, `west-13` in jp-west-1, `jp-west-21` in jp-west-2 (from the defaults of section 4.4). */
const regionOf = (zone: string) => /^(?:jp-)?(east|west)-(\d)\d$/.exec(zone)?.slice(1).join('-');

const otherRegion = (zone: string, region: string): string | undefined => {
  const expected = regionOf(zone);
  return expected === undefined || region === `jp-${expected}` ? undefined : `jp-${expected}`;
};

/** A warning if a zone and a region are both given and do not belong together. Zones of another form are left alone. */
export function zoneWarnings(zone: string | undefined, region: string | undefined): string[] {
  if (zone === undefined || region === undefined) return [];
  const expected = otherRegion(zone, region);
  return expected === undefined
    ? []
    : [
        `Zone ${zone} seems to be in ${expected}, not in ${quote(region, 40)}. What the cloud does then is not documented.`,
      ];
}

/** For an answer whose zone does not belong to the region that was asked for: `zone "east-11", which seems to be in jp-east-1`. */
export function foreignZone(zone: string | undefined, region: string): string[] {
  const expected = zone === undefined ? undefined : otherRegion(zone, region);
  return expected === undefined ? [] : [`zone ${quote(zone ?? '', 60)}, which seems to be in ${expected}`];
}

/** For an answer that names another value than was asked for: `region "jp-east-1" instead of "jp-east-3"`. */
export const differs = <Value extends string | number>(
  what: string,
  asked: Value | undefined,
  answered: Value | undefined,
): string[] =>
  asked === undefined || answered === undefined || asked === answered
    ? []
    : [`${what} ${show(answered)} instead of ${show(asked)}`];

const show = (value: string | number) => (typeof value === 'string' ? quote(value, 60) : String(value));
