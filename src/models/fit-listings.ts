/** Fits tools into the list of tools: the more tools a file has, the less each of them shows. */
import type { JsonSchema } from '../tools/define-operation.js';
import { nameInWords } from '../util/field-names.js';
import { sentenceCase } from '../util/human.js';
import { isObject, withoutUndefined } from '../util/objects.js';
import { isNamed, valueInText } from './argument-names.js';
import { shortenText } from './documentation-text.js';
import { limitsOf, type Member } from './model.js';

export interface Listing {
  readonly description: string;
  readonly input: JsonSchema;
}

interface ListedTool {
  readonly title: string;
  /** A description that the file gives is never shortened. */
  readonly description: string | { readonly documented: string };
  readonly fields: readonly Member[];
  readonly control: Readonly<Record<string, JsonSchema>>;
}

interface Level {
  /** Levels of structures whose fields are listed. Deeper ones are JSON text. */
  readonly depth: number;
  /** Length limit of the description of an argument (characters). */
  readonly about: number;
  /** The values of longer enumerations are not listed. */
  readonly values: number;
  /** Length limit of the description of the tool (characters). */
  readonly tool: number;
}

/** The most detailed first. */
const levels: readonly Level[] = [
  { depth: 2, about: 36, values: 8, tool: 90 },
  { depth: 1, about: 24, values: 4, tool: 90 },
  { depth: 1, about: 0, values: 0, tool: 60 },
];
/** With this level, optional arguments are only named. */
const lowest: Level = { depth: 0, about: 0, values: 0, tool: 40 };

export function listTool(tool: ListedTool, tools: number): Listing {
  // Characters of JSON. All tools together share 24,000, so that 30 tools take at most 6,000 tokens.
  const limit = Math.max(800, Math.min(5000, 24_000 / tools));
  const sizeOf = ({ description, input }: Listing) =>
    tool.title.length + description.length + JSON.stringify(input).length;
  for (const level of levels) {
    const listing = listingAt(level, tool);
    if (sizeOf(listing) <= limit) return listing;
  }
  const required = tool.fields.filter(({ isRequired }) => isRequired);
  const others = tool.fields.filter(({ isRequired }) => !isRequired);
  const base = { ...tool, fields: required };
  const name = nameOfOthers(tool.fields);
  if (others.length === 0 || name === undefined) return listingAt(lowest, base);
  // The argument itself takes 50 characters.
  const room = limit - sizeOf(listingAt(lowest, base)) - 50;
  const listed = { [name]: { type: 'string', description: namesHint(others, Math.max(120, room)) } };
  return listingAt(lowest, { ...base, control: { ...listed, ...tool.control } });
}

/** The name of the argument that holds others. Undefined if the API has arguments of these names. */
const nameOfOthers = (fields: readonly Member[]): string | undefined =>
  ['others', 'otherArguments'].find((name) => !fields.some((field) => isNamed([name], field)));

/** Returns the arguments of a call one by one. An argument that is given twice stays, and the schema refuses it. */
export function withoutOthers(fields: readonly Member[], args: Readonly<Record<string, unknown>>) {
  const { [nameOfOthers(fields) ?? '']: given, ...rest } = args;
  const others = valueInText(given);
  const isClear = isObject(others) && !Object.keys(others).some((name) => Object.hasOwn(rest, name));
  return isClear ? { ...others, ...rest } : args;
}

function listingAt(level: Level, { title, description, fields, control }: ListedTool): Listing {
  const { properties, ...schema } = objectListing(fields, level);
  return {
    description:
      typeof description === 'string' ? description : shortenText(description.documented, level.tool) || `${title}.`,
    input: { ...schema, properties: { ...properties, ...control } },
  };
}

function objectListing(fields: readonly Member[], level: Level, isUnion = false) {
  const required = isUnion ? [] : fields.filter(({ isRequired }) => isRequired).map(({ name }) => name);
  const properties = fields.map((field) => {
    const { hint, ...schema } = valueListing(field, level);
    // Hosts require a description, such as `Identifier.` for `DBClusterIdentifier`.
    const text =
      shortenText(field.documentation, level.about) ||
      `${sentenceCase(nameInWords(field.name).split(' ').at(-1) ?? '')}.`;
    return [field.name, { ...schema, description: hint === undefined ? text : `${text} ${hint}` }] as const;
  });
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}

/** The hint is the format, if the type does not say it. */
function valueListing(member: Member, level: Level): JsonSchema & { readonly hint?: string | undefined } {
  const { shape } = member;
  switch (shape.kind) {
    case 'structure':
      return level.depth === 0
        ? // Characters.
          { type: 'string', hint: namesHint(shape.members, 60) }
        : objectListing(shape.members, { ...level, depth: level.depth - 1 }, shape.isUnion);
    case 'list': {
      const { hint, ...items } = valueListing(shape.element, level);
      return withoutUndefined({ type: 'array', items, hint });
    }
    case 'enum':
      return shape.values.length <= level.values
        ? { type: 'string', enum: shape.values }
        : { type: 'string', hint: `Such as ${shape.values.slice(0, 2).join(', ')}.` };
    case 'integer': {
      const { min, max } = limitsOf(member);
      return withoutUndefined({ type: 'integer', minimum: min, maximum: max });
    }
    case 'number':
    case 'boolean':
      return { type: shape.kind };
    default:
      return withoutUndefined({ type: 'string', hint: hints.get(shape.kind) });
  }
}

const hints: ReadonlyMap<string, string> = new Map([
  ['timestamp', 'ISO 8601.'],
  ['blob', 'Base64.'],
  ['map', 'JSON text.'],
  ['document', 'JSON text.'],
]);

/** Returns the format of JSON text with the names in it, such as `JSON text: {Key, Value?}`. */
function namesHint(fields: readonly Member[], limit: number): string {
  const names = fields.map(({ name, isRequired }) => (isRequired ? name : `${name}?`));
  return shortenText(`JSON text: {${names.join(', ')}}`, limit);
}
