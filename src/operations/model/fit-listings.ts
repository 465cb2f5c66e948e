import type { JsonSchema } from '../../tools/define-operation.js';
import { lazy } from '../../util/objects.js';
import { argumentListing, type ListingLimits, namesHint } from './argument-listing.js';
import type { ChosenOperation } from './chosen-operation.js';
import { shortenText } from './documentation-text.js';
import { type FoldedArguments, foldArguments } from './folded-arguments.js';
import { ModelError } from './model.js';
import { type ArgumentsWithNames, secretPaths, withSecretNames } from './secret-members.js';

/** Size limit of an input schema (characters of JSON). */
const maximumSchema = 5000;

/** A tool in the list of tools, at one level of detail. */
export interface Listing {
  readonly description: string;
  readonly depth: number;
  readonly folded: FoldedArguments | undefined;
  /** The arguments that a call may have. */
  readonly takes: ArgumentsWithNames;
  readonly input: JsonSchema;
  /** Size in the list of tools (characters). */
  readonly size: number;
}

interface Level extends ListingLimits {
  readonly depth: number;
  readonly toolDescriptionLimit: number;
  /** 0 if no argument is folded. */
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
/** Average size limit of a tool (characters), so that 30 tools take at most 6,000 tokens. */
const charactersPerTool = 800;
/** Smaller API models get the budget of this number of tools. */
const fewTools = 30;

/** Returns the most detailed listing with at most `sizeLimit` characters, or else the shortest one. */
type FitListing = (sizeLimit: number) => Listing;

/**
 * Returns the function that chooses the listing of a tool.
 * @throws ModelError if the input schema is too large at every level of detail
 */
export function listingFitter(chosen: ChosenOperation): FitListing {
  const all = levels.map((level) => lazy(() => listingAt(level, chosen)));
  const firstSmallEnough = all.findIndex((listing) => JSON.stringify(listing().input).length <= maximumSchema);
  if (firstSmallEnough < 0)
    throw new ModelError(
      `its arguments need a schema of more than ${maximumSchema} characters: choose arguments with only, or leave some out with omit`,
    );
  const candidates = all.slice(firstSmallEnough);
  const shortest = lazy(() => candidates.map((listing) => listing()).reduce((a, b) => (b.size < a.size ? b : a)));
  return (sizeLimit) => (candidates.find((listing) => listing().size <= sizeLimit) ?? shortest)();
}

function listingAt(level: Level, chosen: ChosenOperation): Listing {
  const { depth, toolDescriptionLimit, foldedNamesLimit, ...argumentLimits } = level;
  const { toolArguments, controlArguments, settings, texts, isSecret, mayBeSecret, listsSecretNames } = chosen;
  // A description in the file is never shortened.
  const description =
    settings.description ?? (shortenText(texts.description, toolDescriptionLimit) || `${texts.title}.`);

  const takes = withSecretNames(toolArguments, { depth, around: [] }, mayBeSecret);
  const fields = listsSecretNames ? takes.fields : toolArguments;
  const isFolding = foldedNamesLimit > 0;
  const folded = isFolding
    ? foldArguments(fields, (argument) => secretPaths([argument], depth, isSecret).length > 0)
    : undefined;
  const foldedFields = folded?.fields ?? [];
  const listedArguments = fields.filter((argument) => !foldedFields.includes(argument));
  const { properties, ...schema } = argumentListing(listedArguments, depth, argumentLimits);
  const foldedListing = folded && {
    [folded.name]: { type: 'string', description: namesHint(foldedFields, foldedNamesLimit) },
  };
  const input = { ...schema, properties: { ...properties, ...foldedListing, ...controlArguments.listing } };

  const size = JSON.stringify({ ...texts, description, input }).length;
  return { description, depth, folded, takes, input, size };
}

/** Returns the size limit of a single tool with which the list of tools keeps its budget. */
export function commonSizeLimit(tools: readonly FitListing[]): number {
  const budget = charactersPerTool * Math.max(fewTools, tools.length);
  const totalSize = (sizeLimit: number) => tools.reduce((sum, fitListing) => sum + fitListing(sizeLimit).size, 0);
  let sizeLimit = maximumSchema;
  while (sizeLimit > smallestSizeLimit && totalSize(sizeLimit) > budget) sizeLimit *= 0.85;
  return sizeLimit;
}

/** Every tool has more characters. */
const smallestSizeLimit = 200;
