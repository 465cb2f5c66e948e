import type { ChangeTexts, Default, Operation } from '../tools/define-operation.js';
import { sentences } from '../util/human.js';
import { valueAt } from '../util/objects.js';
import { distinct, join, listed, type SafeText, say, words } from '../util/safe-text.js';

type Fields = Readonly<Record<string, unknown>>;

/** Returns the cloud's defaults for absent arguments, and warnings about values that are probably not meant. */
export function hintsOf(
  operation: Operation,
  change: ChangeTexts,
  input: Fields,
  region: string,
  nameOf: (path: string) => SafeText,
) {
  const { costDrivers = [] } = operation;
  const undocumented = undocumentedDefaults(operation, input, region);
  const costly = undocumented.filter((path) => costDrivers.includes(path));
  const cost = costly.length === 0 ? words('') : say`, and the cost depends on ${listed(costly.map(nameOf))}`;
  return {
    defaults: knownDefaults(operation, input, region),
    warnings: sentences(
      ...distinct(change.warnings(input, region)),
      undocumented.length > 0 &&
        say`Not given: ${join(undocumented.map(nameOf), ', ')}. What the cloud uses instead is not documented${cost}.`,
    ),
  };
}

const isAbsent = (args: Fields, path: string) => valueAt(args, path) === undefined;

/** The documented defaults of a region for the absent arguments. */
export function knownDefaults(
  { defaults }: Operation,
  args: Fields,
  region: string,
): { path: string; value: string }[] {
  return defaults.flatMap((documented) => {
    const value = valueIn(region, documented);
    return value !== undefined && isAbsent(args, documented.path) ? [{ path: documented.path, value }] : [];
  });
}

const valueIn = (region: string, { value, inRegion }: Default): string | undefined => {
  if (inRegion === undefined) return value;
  // A caller may name any region, even `constructor`, which every object inherits.
  return Object.hasOwn(inRegion, region) ? inRegion[region] : undefined;
};

/** If a whole object is absent, its fields are left out. */
function undocumentedDefaults(operation: Operation, args: Fields, region: string): readonly string[] {
  const { unknownDefaults = [], costDrivers = [], defaults } = operation;
  const isInAbsentObject = (path: string) => {
    const object = path.split('.').slice(0, -1).join('.');
    return object !== '' && isAbsent(args, object);
  };
  const unknown = [...costDrivers, ...unknownDefaults].filter((path) => !isInAbsentObject(path));
  const unknownInRegion = defaults.filter((documented) => valueIn(region, documented) === undefined);
  return [...unknown, ...unknownInRegion.map(({ path }) => path)].filter((path) => isAbsent(args, path));
}
