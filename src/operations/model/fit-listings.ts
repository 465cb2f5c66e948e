import type { JsonSchema } from '../../tools/define-operation.js';
import { lazy } from '../../util/objects.js';
import { argumentListing } from './argument-listing.js';
import type { Detail } from './argument-schema.js';
import type { Argument } from './arguments.js';
import type { ChosenOperation, ModelContext } from './chosen-operation.js';
import { shortenText } from './documentation-text.js';
import { type FoldedArguments, foldArguments } from './folded-arguments.js';
import { ModelError } from './model.js';
import { secretPaths } from './secret-members.js';

/** A tool as models read it in the list of tools, at one level of detail. */
export interface Listing {
  readonly description: string;
  readonly detail: Detail;
  readonly folded: FoldedArguments | undefined;
  readonly input: JsonSchema;
  /** Characters of the tool in the list of tools. */
  readonly size: number;
}

interface Level {
  readonly detail: Detail;
  /** Length limit of the tool's description (characters). */
  readonly toolDescription: number;
  /** Length limit of the names of folded arguments (characters). 0 if no argument is folded. */
  readonly foldedNames: number;
}

/** Levels of detail, the most detailed first. */
const levels: readonly Level[] = [
  { detail: { levels: 2, description: 36, values: 8, names: 60 }, toolDescription: 90, foldedNames: 0 },
  { detail: { levels: 2, description: 24, values: 4, names: 40 }, toolDescription: 90, foldedNames: 0 },
  { detail: { levels: 1, description: 0, values: 0, names: 20 }, toolDescription: 60, foldedNames: 0 },
  { detail: { levels: 1, description: 36, values: 4, names: 40 }, toolDescription: 60, foldedNames: 4000 },
  { detail: { levels: 1, description: 0, values: 0, names: 20 }, toolDescription: 40, foldedNames: 4000 },
  { detail: { levels: 0, description: 0, values: 0, names: 120 }, toolDescription: 40, foldedNames: 120 },
];
/** Size limit of an input schema (characters of JSON). */
const maximumSchema = 5000;
/** Characters for each tool of a model with 30 tools or more, so that 30 tools take at most 6,000 tokens. */
const charactersPerTool = 800;
const fewTools = 30;

/** The listings of one operation within the size limit, the most detailed first. Each is made when it is first needed. */
type Listings = readonly [() => Listing, ...(() => Listing)[]];

/**
 * Returns the listings of an operation.
 * @throws ModelError if none is within the size limit
 */
export function listingsOf(context: ModelContext, chosen: ChosenOperation): Listings {
  const listings = levels.map((level) => lazy(() => listingAt(level, context, chosen)));
  const firstIndex = listings.findIndex((listing) => JSON.stringify(listing().input).length <= maximumSchema);
  const [first, ...others] = firstIndex < 0 ? [] : listings.slice(firstIndex);
  if (first !== undefined) return [first, ...others];
  throw new ModelError(
    `its arguments need a schema of more than ${maximumSchema} characters: choose arguments with only, or leave some out with omit`,
  );
}

/** The tool at one level of detail. */
function listingAt(
  { detail, toolDescription, foldedNames }: Level,
  { control }: ModelContext,
  { fields, settings, texts, isSecret }: ChosenOperation,
): Listing {
  const shortDescription = shortenText(texts.description, toolDescription) || `${texts.title}.`;
  const description = settings.description ?? shortDescription;
  const followPaths = Object.values(settings.follow?.arguments ?? {});
  const isFollowed = ({ name, member }: Argument) =>
    followPaths.some((path) => path.startsWith(`input.${name}`) || path.startsWith(`input.${member}`));
  const isNeverFolded = (field: Argument) => secretPaths([field], detail, isSecret).length > 0 || isFollowed(field);
  const folded = foldedNames > 0 ? foldArguments(fields, isNeverFolded) : undefined;
  const changeControl = control[settings.repeatable === true ? 'repeatable' : 'other'];
  const controlArguments = settings.effect === 'read' ? {} : changeControl;
  const input = argumentListing({ fields, folded, foldedNames, detail, control: controlArguments });
  return { description, detail, folded, input, size: JSON.stringify({ ...texts, description, input }).length };
}

/**
 * Returns the function that chooses a listing of each operation, with as much detail as fits into the list of tools. Large tools are
 * shortened first.
 */
export function fitListings(operations: readonly Listings[]): (listings: Listings) => Listing {
  const budget = charactersPerTool * Math.max(fewTools, operations.length);
  const totalSize = (toolLimit: number) =>
    operations.reduce((sum, listings) => sum + fittingListing(listings, toolLimit).size, 0);
  let toolLimit = maximumSchema;
  while (toolLimit > smallestToolLimit && totalSize(toolLimit) > budget) toolLimit *= 0.85;
  return (listings) => fittingListing(listings, toolLimit);
}

/** Lowest limit of a tool (characters). No tool is shorter. */
const smallestToolLimit = 200;

/** The most detailed listing of at most `toolLimit` characters, or else the shortest. */
function fittingListing([first, ...others]: Listings, toolLimit: number): Listing {
  let shortest = first();
  for (const listing of others) {
    if (shortest.size <= toolLimit) break;
    if (listing().size < shortest.size) shortest = listing();
  }
  return shortest;
}
