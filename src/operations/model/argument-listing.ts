import type { JsonSchema } from '../../tools/define-operation.js';
import { nameInWords } from '../../tools/schema/field-names.js';
import { sentenceCase } from '../../util/human.js';
import { withoutUndefined } from '../../util/objects.js';
import { type Detail, isJsonText, type ValueContext } from './argument-schema.js';
import type { Argument, StructureRules, ValueRules } from './arguments.js';
import { shortenText } from './documentation-text.js';
import type { FoldedArguments } from './folded-arguments.js';

/** The arguments of a tool, and the limits of their listing. */
interface ListedArguments {
  readonly fields: readonly Argument[];
  /** Optional arguments that are listed together as one argument, whose description names them. */
  readonly folded: FoldedArguments | undefined;
  /** Length limit of the names of the folded arguments (characters). */
  readonly foldedNamesLimit: number;
  readonly detail: Detail;
  /** Schemas of the arguments that this server adds, by name. */
  readonly controlArguments: Readonly<Record<string, JsonSchema>>;
}

/** Returns the JSON Schema of arguments with types and short descriptions only. A call that breaks another rule gets the rule in words. */
export function argumentListing(listed: ListedArguments): JsonSchema {
  const { fields, folded, foldedNamesLimit, detail, controlArguments } = listed;
  const single = folded === undefined ? fields : fields.filter((field) => !folded.fields.includes(field));
  const { properties, ...schema } = objectListing(single, requiredNames(single), { detail, around: [] });
  if (folded === undefined) return { ...schema, properties: { ...properties, ...controlArguments } };
  const foldedArgument = { type: 'string', description: namesHint(folded.fields, foldedNamesLimit) };
  return { ...schema, properties: { ...properties, [folded.name]: foldedArgument, ...controlArguments } };
}

interface ObjectListing extends JsonSchema {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, JsonSchema>>;
}

const requiredNames = (fields: readonly Argument[]): readonly string[] =>
  fields.filter(({ isRequired }) => isRequired).map(({ name }) => name);

function objectListing(fields: readonly Argument[], required: readonly string[], context: ValueContext): ObjectListing {
  const properties = Object.fromEntries(fields.map((field) => [field.name, propertyListing(field, context)]));
  return { type: 'object', properties, ...(required.length > 0 && { required }), additionalProperties: false };
}

function propertyListing({ name, documentation, rules }: Argument, context: ValueContext): JsonSchema {
  const text = shortenText(documentation, context.detail.descriptionLimit) || lastWordOf(name);
  const hint = formatHint(rules, context);
  return { ...valueListing(rules, context), description: hint === '' ? text : `${text} ${hint}` };
}

/** Returns the last word of a name as a description: `Identifier.` for `DBClusterIdentifier`. Hosts require a description. */
const lastWordOf = (name: string): string => `${sentenceCase(nameInWords(name).split(' ').at(-1) ?? name)}.`;

/**
 * Returns the JSON Schema of a value, without a description. Of the rules, it has short enumerations and the bounds of integers, because
 * each rule takes room in the list of tools. A call that breaks another rule gets the rule in words.
 */
function valueListing(rules: ValueRules, context: ValueContext): JsonSchema {
  // A map, a document, and a structure that is nested too deeply or contains itself, are given as JSON text.
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
    // A text, a time, a blob or a big number.
    default:
      return { type: 'string' };
  }
}

function structureListing({ id, fields, isUnion }: StructureRules, { detail, around }: ValueContext): JsonSchema {
  // A union needs exactly one field, but no particular field is required.
  const required = isUnion ? [] : requiredNames(fields());
  return objectListing(fields(), required, { detail, around: [...around, id] });
}

const areValuesShown = (values: readonly string[], { detail }: ValueContext): boolean =>
  values.length <= detail.valuesLimit;

/** Returns the format of a value for its description. Empty if the type in the schema says it. */
function formatHint(rules: ValueRules, context: ValueContext): string {
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
      return isJsonText(rules, context) ? namesHint(rules.fields(), context.detail.namesLimit) : '';
    case 'map':
    case 'document':
      return 'JSON text.';
    default:
      return '';
  }
}

/** Returns the format of JSON text with the names in it, such as `JSON text: {Key, Value?}`. A "?" marks an optional name. */
function namesHint(fields: readonly Argument[], limit: number): string {
  const names = fields.map(({ name, isRequired }) => (isRequired ? name : `${name}?`));
  return shortenText(`JSON text: {${names.join(', ')}}`, limit + 'JSON text: {}'.length);
}
