import type { OperationOutline } from '../tools/define-operation.js';
import { innerFields, resolvePath } from './argument-names.js';
import { shortenText } from './documentation-text.js';
import { limitsOf, type Member, type StructureShape } from './model.js';

/** This file describes arguments in short texts, such as `list of {Key, Value?}`. */

type ArgumentOutline = Omit<OperationOutline, 'hidden'>;

/**
 * The most detailed first. `required` and `optional` limit the documentation, `room` all texts together (characters), and `depth` the levels of
 * structures whose fields are named.
 */
const details = [
  { required: 200, optional: 160, depth: 2, room: 1600 },
  { required: 140, optional: 80, depth: 2, room: 2000 },
  { required: 100, optional: 40, depth: 2, room: 2600 },
  { required: 80, optional: 0, depth: 1, room: 2800 },
  { required: 0, optional: 0, depth: 0, room: 3600 },
];
const mostValues = 8;
const mostFields = 12;

/** @throws ModelError for an unknown path */
export function outlineOf(fields: readonly Member[], path: string): ArgumentOutline {
  if (path === '') return fitting(fields);
  const { path: found, member } = resolvePath(path, fields, { structure: 'the arguments' });
  const inner = (member && innerFields(member)) ?? [];
  // A value alone is described with up to 150 of its allowed values.
  return inner.length > 0
    ? fitting(inner)
    : { arguments: { [found]: member === undefined ? 'JSON' : textOf(member, 1, 150) }, more: [] };
}

function fitting(fields: readonly Member[], [detail, ...shorter] = details): ArgumentOutline {
  if (detail === undefined) return { arguments: {}, more: [] };
  const sorted = [...fields].sort((a, b) => Number(b.isRequired) - Number(a.isRequired));
  const lines = sorted.map((field): readonly [string, string] => {
    const { name, isRequired, documentation } = field;
    const about = shortenText(documentation, isRequired ? detail.required : detail.optional);
    const type = textOf(field, detail.depth, mostValues);
    return [isRequired ? name : `${name}?`, about === '' ? type : `${type}. ${about}`];
  });
  const shown = countOfFitting(lines, detail.room, ([name, text]) => name.length + text.length + 4);
  if (shown < lines.length && shorter.length > 0) return fitting(fields, shorter);
  const names = sorted.slice(shown).map(({ name }) => name);
  const named = countOfFitting(names, 1200, (name) => name.length + 2);
  const unnamed = names.length - named;
  const more = [...names.slice(0, named), ...(unnamed > 0 ? [`and ${unnamed} more`] : [])];
  return { arguments: Object.fromEntries(lines.slice(0, shown)), more };
}

function countOfFitting<Entry>(entries: readonly Entry[], room: number, sizeOf: (entry: Entry) => number): number {
  let left = room;
  const first = entries.findIndex((entry) => {
    left -= sizeOf(entry);
    return left < 0;
  });
  return first < 0 ? entries.length : first;
}

const simpleTexts = {
  text: 'text',
  number: 'number',
  bigNumber: 'number as text',
  boolean: 'true or false',
  timestamp: 'ISO 8601',
  blob: 'base64',
  document: 'JSON',
} as const;

/** @param values length limit of an enumeration of which all values are shown */
function textOf(member: Member, depth: number, values: number): string {
  const { shape } = member;
  switch (shape.kind) {
    case 'structure':
      return structureText(shape, depth, values);
    case 'list':
    case 'map':
      return `${shape.kind} of ${textOf(shape.element, depth, values)}`;
    case 'enum':
      return shape.values.length <= values
        ? `one of ${shape.values.join(', ')}`
        : `text such as ${shape.values.slice(0, Math.max(2, values - mostValues)).join(', ')}`;
    case 'integer': {
      const { min, max } = limitsOf(member);
      const upTo = max === undefined ? '' : ` to ${max}`;
      const from = max === undefined ? ` from ${min}` : ` ${min}`;
      return `whole number${min === undefined ? upTo : from + upTo}`;
    }
    default:
      return simpleTexts[shape.kind];
  }
}

function structureText({ members, isUnion }: StructureShape, depth: number, values: number): string {
  if (depth === 0) return 'object';
  const texts = members.slice(0, mostFields).map((member) => {
    const { name, isRequired, shape } = member;
    const shown = isRequired || isUnion ? name : `${name}?`;
    const isNested = ['structure', 'list', 'map'].includes(shape.kind);
    return isNested ? `${shown}: ${textOf(member, depth - 1, values)}` : shown;
  });
  const more = members.length > mostFields ? ', …' : '';
  return `${isUnion ? 'one of ' : ''}{${texts.join(', ')}${more}}`;
}
