import * as z from 'zod';
import type { JsonSchema } from '../tools/define-operation.js';
import { nameInWords } from '../util/field-names.js';
import { sentenceCase } from '../util/human.js';
import { isObject, lazy, withoutUndefined } from '../util/objects.js';
import { isNamed } from './argument-names.js';
import { insideOf, isJsonText, jsonText, type Nesting, parseJsonArgument } from './argument-schema.js';
import type { Argument, StructureRules, ValueRules } from './arguments.js';
import type { ChosenOperation } from './chosen-operation.js';
import { shortenText } from './documentation-text.js';
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
const mostDetailed: Level = {
  depth: 2,
  descriptionLimit: 36,
  valuesLimit: 8,
  namesLimit: 60,
  toolDescriptionLimit: 90,
  foldedNamesLimit: 0,
};
const levels: readonly Level[] = [
  mostDetailed,
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

/** Returns the function that lists all arguments, whatever the size limit. */
export function unlimitedFitter(chosen: ChosenOperation): FitListing {
  const listing = lazy(() => listingAt({ ...mostDetailed, toolDescriptionLimit: longestAbout }, chosen));
  return () => listing();
}

/** Length limit of the description of an operation that is no tool (characters). */
const longestAbout = 300;

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

/** Limits for the listing of arguments in the list of tools. */
interface ListingLimits {
  /** Length limit of a description (characters). */
  readonly descriptionLimit: number;
  /** The values of longer enumerations are not shown. */
  readonly valuesLimit: number;
  /** Length limit of the list of names in the description of JSON text (characters). */
  readonly namesLimit: number;
}

interface ListingContext extends Nesting {
  readonly limits: ListingLimits;
}

interface ObjectListing extends JsonSchema {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, JsonSchema>>;
}

/** Returns the JSON Schema of arguments for the list of tools, with short descriptions and few rules. */
export const argumentListing = (fields: readonly Argument[], depth: number, limits: ListingLimits): ObjectListing =>
  objectListing(fields, requiredNames(fields), { depth, around: [], limits });

const requiredNames = (fields: readonly Argument[]): readonly string[] =>
  fields.filter(({ isRequired }) => isRequired).map(({ name }) => name);

function objectListing(
  fields: readonly Argument[],
  required: readonly string[],
  context: ListingContext,
): ObjectListing {
  const properties = Object.fromEntries(fields.map((field) => [field.name, propertyListing(field, context)]));
  return { type: 'object', properties, ...(required.length > 0 && { required }), additionalProperties: false };
}

function propertyListing({ name, documentation, rules }: Argument, context: ListingContext): JsonSchema {
  const text = shortenText(documentation, context.limits.descriptionLimit) || lastWordOf(name);
  const hint = formatHint(rules, context);
  return { ...valueListing(rules, context), description: hint === '' ? text : `${text} ${hint}` };
}

/** Hosts require a description, such as `Identifier.` for `DBClusterIdentifier`. */
const lastWordOf = (name: string): string => `${sentenceCase(nameInWords(name).split(' ').at(-1) ?? name)}.`;

/** Most rules are left out, because they take room. The error of a call names the broken rule. */
function valueListing(rules: ValueRules, context: ListingContext): JsonSchema {
  if (isJsonText(rules, context)) return { type: 'string' };
  switch (rules.kind) {
    case 'structure':
      return structureListing(rules, context);
    case 'list':
      return { type: 'array', items: valueListing(rules.element(), context) };
    case 'enum':
      return areValuesShown(rules.values, context) ? { type: 'string', enum: rules.values } : { type: 'string' };
    case 'integer':
      return withoutUndefined({ type: 'integer', minimum: rules.limits.min, maximum: rules.limits.max });
    case 'number':
    case 'boolean':
      return { type: rules.kind };
    default:
      return { type: 'string' };
  }
}

function structureListing(rules: StructureRules, context: ListingContext): JsonSchema {
  const fields = rules.fields();
  // A union needs exactly one field, but no particular field is required.
  const required = rules.isUnion ? [] : requiredNames(fields);
  return objectListing(fields, required, { ...context, ...insideOf(rules, context) });
}

const areValuesShown = (values: readonly string[], { limits }: ListingContext): boolean =>
  values.length <= limits.valuesLimit;

/** Empty if the schema already has the format. */
function formatHint(rules: ValueRules, context: ListingContext): string {
  switch (rules.kind) {
    case 'list':
      return formatHint(rules.element(), context);
    case 'timestamp':
      return 'ISO 8601.';
    case 'blob':
      return 'Base64.';
    case 'enum':
      return areValuesShown(rules.values, context) ? '' : `Such as ${rules.values.slice(0, 2).join(', ')}.`;
    case 'structure':
      return isJsonText(rules, context) ? namesHint(rules.fields(), context.limits.namesLimit) : '';
    case 'map':
    case 'document':
      return 'JSON text.';
    default:
      return '';
  }
}

/** Returns the format of JSON text with the names in it, such as `JSON text: {Key, Value?}`. */
function namesHint(fields: readonly Argument[], limit: number): string {
  const names = fields.map(({ name, isRequired }) => (isRequired ? name : `${name}?`));
  return shortenText(`JSON text: {${names.join(', ')}}`, limit + 'JSON text: {}'.length);
}

/** Optional arguments that the list of tools combines in one argument with JSON text. */
interface FoldedArguments {
  readonly name: string;
  readonly fields: readonly Argument[];
}

/** Combines optional arguments. A secret must not be combined, because errors quote the JSON text. */
function foldArguments(
  fields: readonly Argument[],
  isNeverFolded: (field: Argument) => boolean,
): FoldedArguments | undefined {
  const folded = fields.filter((field) => !field.isRequired && !isNeverFolded(field));
  if (folded.length < fewest) return undefined;
  const name = ['others', 'otherArguments'].find((candidate) => fields.every((field) => field.name !== candidate));
  return name === undefined ? undefined : { name, fields: folded };
}

const fewest = 3;

type Values = Readonly<Record<string, unknown>>;

/** Returns the arguments of a call one by one. The combined argument keeps only what is invalid. */
export function unfolded(args: Values, folded: FoldedArguments | undefined): Values {
  if (folded === undefined) return args;
  const { [folded.name]: combined, ...others } = args;
  const values = typeof combined === 'string' ? parseJsonArgument(combined) : combined;
  if (!isObject(values)) return args;
  const isArgument = ([name]: readonly [string, unknown]) =>
    !Object.hasOwn(others, name) && folded.fields.some((field) => isNamed([name], field));
  const entries = Object.entries(values);
  const rest = entries.filter((entry) => !isArgument(entry));
  return {
    ...others,
    ...Object.fromEntries(entries.filter(isArgument)),
    ...(rest.length > 0 && { [folded.name]: Object.fromEntries(rest) }),
  };
}

/** Returns the schema of the combined argument that `unfolded` has left. */
export function foldedSchema({ name, fields }: FoldedArguments): Readonly<Record<string, z.ZodType>> {
  const givenTwice = z.never(`must not be given twice: it is beside ${name} too`).optional();
  const rest = jsonText(() => z.strictObject(Object.fromEntries(fields.map((field) => [field.name, givenTwice]))));
  return { [name]: rest.describe('Further arguments as JSON text.').optional() };
}
