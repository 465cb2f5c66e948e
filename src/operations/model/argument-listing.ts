import type { JsonSchema } from '../../tools/define-operation.js';
import { nameInWords } from '../../tools/schema/field-names.js';
import { sentenceCase } from '../../util/human.js';
import { withoutUndefined } from '../../util/objects.js';
import { type Detail, isJsonText, type Place } from './argument-schema.js';
import type { Argument, ArgumentValue, StructureValue } from './arguments.js';
import { shortenText } from './documentation-text.js';
import type { FoldedArguments } from './folded-arguments.js';

/** The arguments of a tool, and how much of them the list of tools shows. */
interface ListedArguments {
  readonly fields: readonly Argument[];
  /** Arguments that are listed by their names only. */
  readonly folded: FoldedArguments | undefined;
  /** Length limit of the names of the folded arguments (characters). */
  readonly foldedNames: number;
  readonly detail: Detail;
  /** Schemas of the arguments that this server adds, by name. */
  readonly control: Readonly<Record<string, JsonSchema>>;
}

/**
 * Returns the JSON Schema of arguments for the list of tools. It has types and short descriptions only: a value that breaks another rule
 * is answered with the rule in words, and the reference of the operation has all rules and the full texts.
 */
export function argumentListing({ fields, folded, foldedNames, detail, control }: ListedArguments): JsonSchema {
  const shown = folded === undefined ? fields : fields.filter((field) => !folded.fields.includes(field));
  const { properties, ...schema } = objectListing(shown, false, { detail, around: [] });
  const others = folded && { [folded.name]: { type: 'string', description: namesHint(folded.fields, foldedNames) } };
  return { ...schema, properties: { ...properties, ...others, ...control } };
}

interface ObjectListing extends JsonSchema {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, JsonSchema>>;
}

function objectListing(fields: readonly Argument[], isUnion: boolean, place: Place): ObjectListing {
  const properties = Object.fromEntries(fields.map((field) => [field.name, propertyListing(field, place)]));
  const required = isUnion ? [] : fields.filter(({ isRequired }) => isRequired).map(({ name }) => name);
  return { type: 'object', properties, ...(required.length > 0 && { required }), additionalProperties: false };
}

function propertyListing({ name, documentation, value }: Argument, place: Place): JsonSchema {
  const text = shortenText(documentation, place.detail.description) || lastWordOf(name);
  const hint = formatHint(value, place);
  return { ...valueListing(value, place), description: hint === '' ? text : `${text} ${hint}` };
}

/** `Identifier.` for `DBClusterIdentifier`. Hosts require a description, and the name says the rest. */
const lastWordOf = (name: string): string => `${sentenceCase(nameInWords(name).split(' ').at(-1) ?? name)}.`;

function valueListing(value: ArgumentValue, place: Place): JsonSchema {
  if (isJsonText(value, place)) return { type: 'string' };
  switch (value.kind) {
    case 'structure':
      return objectListing(value.fields(), value.isUnion, insideOf(value, place));
    case 'list':
      return { type: 'array', items: valueListing(value.element(), place) };
    case 'enum':
      return { type: 'string', ...(value.values.length <= place.detail.values && { enum: value.values }) };
    case 'integer':
      return withoutUndefined({ type: 'integer', minimum: value.limits.min, maximum: value.limits.max });
    case 'number':
    case 'boolean':
      return { type: value.kind };
    default:
      return { type: 'string' };
  }
}

const insideOf = ({ id }: StructureValue, { detail, around }: Place): Place => ({ detail, around: [...around, id] });

/** The format of a value, if its type does not say it. */
function formatHint(value: ArgumentValue, place: Place): string {
  switch (value.kind) {
    case 'list':
      return formatHint(value.element(), place);
    case 'timestamp':
      return 'ISO 8601.';
    case 'blob':
      return 'Base64.';
    case 'enum':
      return value.values.length <= place.detail.values ? '' : `Such as ${value.values.slice(0, 2).join(', ')}.`;
    case 'structure':
      return isJsonText(value, place) ? namesHint(value.fields(), place.detail.names) : '';
    case 'map':
    case 'document':
      return 'JSON text.';
    default:
      return '';
  }
}

/** The format of JSON text, with the names that it may have. */
function namesHint(fields: readonly Argument[], limit: number): string {
  const names = fields.map(({ name, isRequired }) => (isRequired ? name : `${name}?`));
  return shortenText(`JSON text: {${names.join(', ')}}`, limit + 'JSON text: {}'.length);
}
