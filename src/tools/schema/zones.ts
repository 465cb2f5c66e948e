import { quote } from '../../util/quote.js';

/** `east-11` is in jp-east-1, `west-13` in jp-west-1, `jp-west-21` in jp-west-2 (from the defaults of section 4.4). */
const regionOf = (zone: string) => /^(?:jp-)?(east|west)-(\d)\d$/.exec(zone)?.slice(1).join('-');

/** A warning if a zone and a region are both given and do not belong together. Zones of another form are left alone. */
export function zoneWarnings(zone: string | undefined, region: string | undefined): string[] {
  if (zone === undefined || region === undefined) return [];
  const expected = regionOf(zone);
  return expected === undefined || region === `jp-${expected}`
    ? []
    : [`Zone ${zone} seems to be in jp-${expected}, not in ${quote(region, 40)}.`];
}

/** A sentence if the answer names another value than was asked for. */
export const differs = (what: string, asked: string | undefined, answered: string | undefined): string[] =>
  asked === undefined || answered === undefined || asked === answered
    ? []
    : [`The answer names another ${what} than was asked for: ${quote(answered, 60)} instead of ${quote(asked, 60)}.`];
