import type { JsonSchema } from '../../tools/define-operation.js';
import { nameInWords } from '../../util/field-names.js';
import { sentenceCase } from '../../util/human.js';
import { withoutUndefined } from '../../util/objects.js';
import { insideOf, isJsonText, type Nesting } from './argument-schema.js';
import type { Argument, StructureRules, ValueRules } from './arguments.js';
import { shortenText } from './documentation-text.js';

/** Limits for the listing of arguments in the list of tools. */
export interface ListingLimits {
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
export function namesHint(fields: readonly Argument[], limit: number): string {
  const names = fields.map(({ name, isRequired }) => (isRequired ? name : `${name}?`));
  return shortenText(`JSON text: {${names.join(', ')}}`, limit + 'JSON text: {}'.length);
}
