import type { JsonSchema } from '../../tools/define-operation.js';
import { nameInWords } from '../../tools/schema/field-names.js';
import { sentenceCase } from '../../util/human.js';
import { withoutUndefined } from '../../util/objects.js';
import { type Detail, isJsonText, type Place } from './argument-schema.js';
import type { Argument, ArgumentValue, StructureValue } from './arguments.js';
import { shortenText } from './documentation-text.js';
import type { FoldedArguments } from './folded-arguments.js';

/** The arguments of a tool, and the limits of their listing. */
interface ListedArguments {
  readonly fields: readonly Argument[];
  /** Optional arguments that are listed together as one argument, whose description names them. */
  readonly folded: FoldedArguments | undefined;
  /** Length limit of the names of the folded arguments (characters). */
  readonly foldedNames: number;
  readonly detail: Detail;
  /** Schemas of the arguments that this server adds, by name. */
  readonly control: Readonly<Record<string, JsonSchema>>;
}

/** Returns the JSON Schema of arguments with types and short descriptions only. A call that breaks another rule gets the rule in words. */
export function argumentListing({ fields, folded, foldedNames, detail, control }: ListedArguments): JsonSchema {
  const single = folded === undefined ? fields : fields.filter((field) => !folded.fields.includes(field));
  const { properties, ...schema } = objectListing(single, requiredNames(single), { detail, around: [] });
  if (folded === undefined) return { ...schema, properties: { ...properties, ...control } };
  const foldedArgument = { type: 'string', description: namesHint(folded.fields, foldedNames) };
  return { ...schema, properties: { ...properties, [folded.name]: foldedArgument, ...control } };
}

interface ObjectListing extends JsonSchema {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, JsonSchema>>;
}

const requiredNames = (fields: readonly Argument[]): readonly string[] =>
  fields.filter(({ isRequired }) => isRequired).map(({ name }) => name);

function objectListing(fields: readonly Argument[], required: readonly string[], place: Place): ObjectListing {
  const properties = Object.fromEntries(fields.map((field) => [field.name, propertyListing(field, place)]));
  return { type: 'object', properties, ...(required.length > 0 && { required }), additionalProperties: false };
}

function propertyListing({ name, documentation, value }: Argument, place: Place): JsonSchema {
  const text = shortenText(documentation, place.detail.description) || lastWordOf(name);
  const hint = formatHint(value, place);
  return { ...valueListing(value, place), description: hint === '' ? text : `${text} ${hint}` };
}

/** Returns the last word of a name as a description: `Identifier.` for `DBClusterIdentifier`. Hosts require a description. */
const lastWordOf = (name: string): string => `${sentenceCase(nameInWords(name).split(' ').at(-1) ?? name)}.`;

/** Returns the JSON Schema of a value, without a description. */
function valueListing(value: ArgumentValue, place: Place): JsonSchema {
  if (isJsonText(value, place)) return { type: 'string' };
  switch (value.kind) {
    case 'structure':
      return structureListing(value, place);
    case 'list':
      return { type: 'array', items: valueListing(value.element(), place) };
    case 'enum':
      return areValuesShown(value.values, place) ? { type: 'string', enum: value.values } : { type: 'string' };
    case 'integer':
      return withoutUndefined({ type: 'integer', minimum: value.limits.min, maximum: value.limits.max });
    case 'number':
    case 'boolean':
      return { type: value.kind };
    default:
      return { type: 'string' };
  }
}

function structureListing({ id, fields, isUnion }: StructureValue, { detail, around }: Place): JsonSchema {
  // A union needs exactly one field, but no particular field is required.
  const required = isUnion ? [] : requiredNames(fields());
  return objectListing(fields(), required, { detail, around: [...around, id] });
}

const areValuesShown = (values: readonly string[], { detail }: Place): boolean => values.length <= detail.values;

/** Returns the format of a value for its description. Empty if the type in the schema says it. */
function formatHint(value: ArgumentValue, place: Place): string {
  switch (value.kind) {
    case 'list':
      return formatHint(value.element(), place);
    case 'timestamp':
      return 'ISO 8601.';
    case 'blob':
      return 'Base64.';
    case 'enum':
      return areValuesShown(value.values, place) ? '' : `Such as ${value.values.slice(0, 2).join(', ')}.`;
    case 'structure':
      return isJsonText(value, place) ? namesHint(value.fields(), place.detail.names) : '';
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
