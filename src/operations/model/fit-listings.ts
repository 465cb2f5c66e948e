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
  /** Characters of the tool's description. */
  readonly about: number;
  /** Characters of the names of folded arguments. 0 if no argument is folded. */
  readonly folded: number;
}

/** Levels of detail, the most detailed first. */
const levels: readonly Level[] = [
  { detail: { levels: 2, description: 36, values: 8, names: 60 }, about: 90, folded: 0 },
  { detail: { levels: 2, description: 24, values: 4, names: 40 }, about: 90, folded: 0 },
  { detail: { levels: 1, description: 0, values: 0, names: 20 }, about: 60, folded: 0 },
  { detail: { levels: 1, description: 36, values: 4, names: 40 }, about: 60, folded: 4000 },
  { detail: { levels: 1, description: 0, values: 0, names: 20 }, about: 40, folded: 4000 },
  { detail: { levels: 0, description: 0, values: 0, names: 120 }, about: 40, folded: 120 },
];
/** Characters of JSON, for hosts. */
const maximumSchema = 5000;
/** Characters for each tool of a model with 30 tools or more, so that 30 tools take at most 6,000 tokens. */
const charactersPerTool = 800;
const fewTools = 30;

/** The listings of one operation that hosts take, the most detailed first. Each is made when it is first needed. */
export type Listings = readonly [() => Listing, ...(() => Listing)[]];

/**
 * Returns the listings of an operation.
 * @throws ModelError if hosts take none
 */
export function listingsOf(context: ModelContext, chosen: ChosenOperation): Listings {
  const listings = levels.map((level) => lazy(() => listingAt(level, context, chosen)));
  const isShort = (listing: () => Listing) => JSON.stringify(listing().input).length <= maximumSchema;
  const [first, ...others] = listings.slice(listings.findIndex(isShort));
  if (first !== undefined && isShort(first)) return [first, ...others];
  throw new ModelError(
    `its arguments need a schema of more than ${maximumSchema} characters: choose arguments with only, or leave some out with omit`,
  );
}

function listingAt(
  { detail, about, folded: foldedNames }: Level,
  { control }: ModelContext,
  { fields, settings, texts, isSecret }: ChosenOperation,
): Listing {
  const description = settings.description ?? (shortenText(texts.description, about) || `${texts.title}.`);
  const followed = Object.values(settings.follow?.arguments ?? {});
  const isKept = (field: Argument) =>
    secretPaths([field], detail, isSecret).length > 0 ||
    [field.name, field.member].some((name) => followed.some((path) => path.startsWith(`input.${name}`)));
  const folded = foldedNames > 0 ? foldArguments(fields, isKept) : undefined;
  const ofServer = settings.effect === 'read' ? {} : control[settings.repeatable === true ? 'repeatable' : 'other'];
  const input = argumentListing({ fields, folded, foldedNames, detail, control: ofServer });
  return { description, detail, folded, input, size: JSON.stringify({ ...texts, description, input }).length };
}

/**
 * Returns the function that chooses a listing of each operation, with as much detail as fits into the list of tools. Large tools are
 * shortened first.
 */
export function fitListings(operations: readonly Listings[]): (listings: Listings) => Listing {
  const budget = charactersPerTool * Math.max(fewTools, operations.length);
  const sizeWith = (room: number) => operations.reduce((sum, listings) => sum + fittingListing(listings, room).size, 0);
  let room = maximumSchema;
  while (room > smallestRoom && sizeWith(room) > budget) room *= 0.85;
  return (listings) => fittingListing(listings, room);
}

/** Characters of one tool. No tool is shorter. */
const smallestRoom = 200;

/** The most detailed listing of at most `room` characters, or else the shortest. */
function fittingListing([first, ...others]: Listings, room: number): Listing {
  let shortest = first();
  for (const listing of others) {
    if (shortest.size <= room) break;
    if (listing().size < shortest.size) shortest = listing();
  }
  return shortest;
}
