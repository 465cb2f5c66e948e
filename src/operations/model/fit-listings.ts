import type { JsonSchema } from '../../tools/define-operation.js';
import { lazy } from '../../util/objects.js';
import { argumentListing, type ListingLimits, namesHint } from './argument-listing.js';
import type { ChosenOperation } from './chosen-operation.js';
import { shortenText } from './documentation-text.js';
import { type FoldedArguments, foldArguments } from './folded-arguments.js';
import { ModelError } from './model.js';
import { secretPaths } from './secret-members.js';

/** Size limit of an input schema, in characters of JSON. Language models read the schemas in every list of tools. */
const maximumSchema = 5000;

/** A tool as language models read it in the list of tools, at one level of detail. */
export interface Listing {
  readonly description: string;
  /** Number of levels of structures whose fields are shown. */
  readonly depth: number;
  /** Optional arguments that are listed together as one argument, whose description names them. */
  readonly folded: FoldedArguments | undefined;
  readonly input: JsonSchema;
  /** Characters of the tool in the list of tools. */
  readonly size: number;
}

interface Level extends ListingLimits {
  readonly depth: number;
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
/** Average size limit of the tools of an API model in the list of tools (characters). With it, 30 tools take at most 6,000 tokens. */
const charactersPerTool = 800;
/** An API model with fewer tools gets the budget of this number of tools. */
const fewTools = 30;

/** Returns the most detailed listing of a tool with at most `sizeLimit` characters, or else its shortest listing. */
type FitListing = (sizeLimit: number) => Listing;

/**
 * Returns the function that chooses the listing of a tool.
 * @throws ModelError if the input schema is too large at every level of detail
 */
export function listingFitter(chosen: ChosenOperation): FitListing {
  // Each listing is made when it is first needed, because most tools are listed at the first level.
  const all = levels.map((level) => lazy(() => listingAt(level, chosen)));
  // `maximumSchema` limits the input schema of every operation. `sizeLimit` limits the whole listing.
  const firstSmallEnough = all.findIndex((listing) => JSON.stringify(listing().input).length <= maximumSchema);
  if (firstSmallEnough < 0)
    throw new ModelError(
      `its arguments need a schema of more than ${maximumSchema} characters: choose arguments with only, or leave some out with omit`,
    );
  const candidates = all.slice(firstSmallEnough);
  const shortest = lazy(() => candidates.map((listing) => listing()).reduce((a, b) => (b.size < a.size ? b : a)));
  return (sizeLimit) => (candidates.find((listing) => listing().size <= sizeLimit) ?? shortest)();
}

/**
 * Makes the listing of a tool at one level of detail. At the levels with a `foldedNamesLimit`, optional arguments are folded: one argument with
 * JSON text stands for all of them.
 */
function listingAt(level: Level, chosen: ChosenOperation): Listing {
  const { depth, toolDescriptionLimit, foldedNamesLimit, ...argumentLimits } = level;
  const { toolArguments, controlArguments, settings, texts, isSecret } = chosen;
  // A description that the file gives is never shortened. If too little of another description would remain, the title replaces it.
  const description =
    settings.description ?? (shortenText(texts.description, toolDescriptionLimit) || `${texts.title}.`);

  const isFolding = foldedNamesLimit > 0;
  const folded = isFolding
    ? foldArguments(toolArguments, (argument) => secretPaths([argument], depth, isSecret).length > 0)
    : undefined;
  const foldedFields = folded?.fields ?? [];
  const listedArguments = toolArguments.filter((argument) => !foldedFields.includes(argument));
  const { properties, ...schema } = argumentListing(listedArguments, depth, argumentLimits);
  const foldedListing = folded && {
    [folded.name]: { type: 'string', description: namesHint(foldedFields, foldedNamesLimit) },
  };
  const input = { ...schema, properties: { ...properties, ...foldedListing, ...controlArguments.listing } };

  const size = JSON.stringify({ ...texts, description, input }).length;
  return { description, depth, folded, input, size };
}

/** Returns the size limit of a single tool with which all tools fit into the list of tools. The largest tools lose detail first. */
export function commonSizeLimit(tools: readonly FitListing[]): number {
  const budget = charactersPerTool * Math.max(fewTools, tools.length);
  const totalSize = (sizeLimit: number) => tools.reduce((sum, fitListing) => sum + fitListing(sizeLimit).size, 0);
  let sizeLimit = maximumSchema;
  while (sizeLimit > smallestSizeLimit && totalSize(sizeLimit) > budget) sizeLimit *= 0.85;
  return sizeLimit;
}

/** Lowest size limit of a single tool (characters). Every tool is larger, so a lower limit would change nothing. */
const smallestSizeLimit = 200;
