import type { JsonSchema } from '../../tools/define-operation.js';
import { lazy } from '../../util/objects.js';
import { argumentListing } from './argument-listing.js';
import type { Detail } from './argument-schema.js';
import type { Argument } from './arguments.js';
import type { ChosenOperation, ModelContext } from './chosen-operation.js';
import { shortenText } from './documentation-text.js';
import { type FoldedArguments, foldArguments } from './folded-arguments.js';
import { ModelError } from './model.js';
import type { OperationSettings } from './model-settings.js';
import { secretPaths } from './secret-members.js';

/** A tool as language models read it in the list of tools, at one level of detail. */
export interface Listing {
  readonly description: string;
  readonly detail: Detail;
  readonly folded: FoldedArguments | undefined;
  readonly input: JsonSchema;
  /** Characters of the tool in the list of tools. */
  readonly size: number;
}

interface Level extends Detail {
  /** Length limit of the tool's description (characters). */
  readonly toolDescriptionLimit: number;
  /** Length limit of the names of folded arguments (characters). 0 if no argument is folded. */
  readonly foldedNamesLimit: number;
}

/** Levels of detail, the most detailed first. */
const levels: readonly Level[] = [
  { depth: 2, descriptionLimit: 36, valuesLimit: 8, namesLimit: 60, toolDescriptionLimit: 90, foldedNamesLimit: 0 },
  { depth: 2, descriptionLimit: 24, valuesLimit: 4, namesLimit: 40, toolDescriptionLimit: 90, foldedNamesLimit: 0 },
  { depth: 1, descriptionLimit: 0, valuesLimit: 0, namesLimit: 20, toolDescriptionLimit: 60, foldedNamesLimit: 0 },
  { depth: 1, descriptionLimit: 36, valuesLimit: 4, namesLimit: 40, toolDescriptionLimit: 60, foldedNamesLimit: 4000 },
  { depth: 1, descriptionLimit: 0, valuesLimit: 0, namesLimit: 20, toolDescriptionLimit: 40, foldedNamesLimit: 4000 },
  { depth: 0, descriptionLimit: 0, valuesLimit: 0, namesLimit: 120, toolDescriptionLimit: 40, foldedNamesLimit: 120 },
];
/** Size limit of an input schema (characters of JSON). */
const maximumSchema = 5000;
/** Average size limit of the tools of an API model in the list of tools (characters). With it, 30 tools take at most 6,000 tokens. */
const charactersPerTool = 800;
/** An API model with fewer tools gets the budget of this number of tools. */
const fewTools = 30;

/** The listings of one operation whose input schemas are not too large, the most detailed first. Each is made when it is first needed. */
type Listings = readonly [() => Listing, ...(() => Listing)[]];

/** Returns the listings whose schema is within the size limit. Throws a `ModelError` if there is none. */
export function listingsOf(context: ModelContext, chosen: ChosenOperation): Listings {
  const listings = levels.map((level) => lazy(() => listingAt(level, context, chosen)));
  const firstSmallEnough = listings.findIndex((listing) => JSON.stringify(listing().input).length <= maximumSchema);
  const [mostDetailed, ...others] = firstSmallEnough < 0 ? [] : listings.slice(firstSmallEnough);
  if (mostDetailed === undefined)
    throw new ModelError(
      `its arguments need a schema of more than ${maximumSchema} characters: choose arguments with only, or leave some out with omit`,
    );
  return [mostDetailed, ...others];
}

/**
 * Makes the listing of a tool at one level of detail. At some levels, optional arguments are folded: in the listing, one argument with JSON
 * text then stands for all of them.
 */
function listingAt(level: Level, context: ModelContext, chosen: ChosenOperation): Listing {
  const { toolDescriptionLimit, foldedNamesLimit, ...detail } = level;
  const { toolArguments, settings, texts, isSecret } = chosen;
  // A description that the file gives is never shortened. If too little of another description would remain, the title replaces it.
  const description =
    settings.description ?? (shortenText(texts.description, toolDescriptionLimit) || `${texts.title}.`);

  // An argument with a secret is not folded, because a plan would then hide all folded arguments.
  const hasSecret = (argument: Argument) => secretPaths([argument], detail, isSecret).length > 0;
  // An argument that the read after a change needs is not folded, because the read takes the argument by its path. The path may go on inside
  // the argument: `input.cluster.id`. So `cluster` also matches `input.clusters`, which only means that one argument more is not folded.
  const followPaths = Object.values(settings.follow?.arguments ?? {});
  const isUsedByFollow = ({ name, memberName }: Argument) =>
    followPaths.some((path) => path.startsWith(`input.${name}`) || path.startsWith(`input.${memberName}`));
  const isNeverFolded = (argument: Argument) => hasSecret(argument) || isUsedByFollow(argument);
  // Levels that fold nothing have the limit 0. `folded` has the folded arguments, and the name of the argument that stands for them.
  const folded = foldedNamesLimit === 0 ? undefined : foldArguments(toolArguments, isNeverFolded);

  const controlArguments = controlArgumentsOf(settings, context);
  const input = argumentListing({ fields: toolArguments, folded, foldedNamesLimit, detail, controlArguments });
  const size = JSON.stringify({ ...texts, description, input }).length;
  return { description, detail, folded, input, size };
}

/** Returns the schemas of the arguments that this server adds to a change, such as `planId`. A read gets none. */
function controlArgumentsOf({ effect, repeatable }: OperationSettings, { controlArguments }: ModelContext) {
  if (effect === 'read') return {};
  return repeatable === true ? controlArguments.repeatable : controlArguments.notRepeatable;
}

/** Returns the function that chooses a listing, so that all tools fit into the list of tools. The largest tools lose detail first. */
export function listingChooser(operations: readonly Listings[]): (listings: Listings) => Listing {
  const budget = charactersPerTool * Math.max(fewTools, operations.length);
  const totalSize = (toolLimit: number) =>
    operations.reduce((sum, listings) => sum + fittingListing(listings, toolLimit).size, 0);
  let toolLimit = maximumSchema;
  while (toolLimit > smallestToolLimit && totalSize(toolLimit) > budget) toolLimit *= 0.85;
  return (listings) => fittingListing(listings, toolLimit);
}

/** Lowest size limit of a single tool (characters). Every tool is larger, so a lower limit would change nothing. */
const smallestToolLimit = 200;

/** Returns the most detailed listing of at most `toolLimit` characters, or else the shortest listing. */
function fittingListing([mostDetailed, ...others]: Listings, toolLimit: number): Listing {
  let shortest = mostDetailed();
  for (const listing of others) {
    if (shortest.size <= toolLimit) break;
    if (listing().size < shortest.size) shortest = listing();
  }
  return shortest;
}
