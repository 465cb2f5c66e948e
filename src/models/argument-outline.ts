import type { OperationOutline } from '../tools/define-operation.js';
import { innerFields, resolvePath } from './argument-names.js';
import type { Argument, StructureRules, ValueLimits, ValueRules } from './arguments.js';
import { shortenText } from './documentation-text.js';

/** This file describes arguments in short texts for agents, such as `list of {Key, Value?}`. */

type ArgumentOutline = Omit<OperationOutline, 'hidden'>;

interface Detail {
  /** Length limits of the documentation (characters). */
  readonly required: number;
  readonly optional: number;
  /** Levels of structures whose fields are named. */
  readonly depth: number;
  /** Length limit of all texts together (characters). */
  readonly room: number;
}

/** The most detailed first. The last one may leave out arguments. */
const details: readonly Detail[] = [
  { required: 200, optional: 160, depth: 2, room: 1600 },
  { required: 140, optional: 80, depth: 2, room: 2000 },
  { required: 100, optional: 40, depth: 2, room: 2600 },
  { required: 80, optional: 0, depth: 1, room: 2800 },
  { required: 0, optional: 0, depth: 0, room: 3600 },
];
/** Length limit of the names of the other arguments (characters). */
const roomForNames = 1200;

/** @throws ModelError for an unknown path */
export function outlineOf(fields: readonly Argument[], path: string): ArgumentOutline {
  if (path === '') return fitting(fields);
  const { path: found, rules } = resolvePath(path, fields, { structure: 'the arguments' });
  const inner = rules === undefined ? [] : (innerFields(rules) ?? []);
  if (inner.length > 0) return fitting(inner);
  return { arguments: { [found]: rules === undefined ? 'JSON' : textOf(rules, 1, mostValuesAlone) }, more: [] };
}

function fitting(fields: readonly Argument[], [detail, ...shorter] = details): ArgumentOutline {
  if (detail === undefined) return { arguments: {}, more: [] };
  const sorted = [...fields].sort((a, b) => Number(b.isRequired) - Number(a.isRequired));
  const lines = sorted.map((field) => lineOf(field, detail));
  const shown = countOfFitting(lines, detail.room, ([name, text]) => name.length + text.length + 4);
  if (shown < lines.length && shorter.length > 0) return fitting(fields, shorter);
  const names = sorted.slice(shown).map(({ name }) => name);
  const named = countOfFitting(names, roomForNames, (name) => name.length + 2);
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

function lineOf({ name, isRequired, documentation, rules }: Argument, detail: Detail): readonly [string, string] {
  const about = shortenText(documentation, isRequired ? detail.required : detail.optional);
  const type = textOf(rules, detail.depth, mostValues);
  return [isRequired ? name : `${name}?`, about === '' ? type : `${type}. ${about}`];
}

const mostValues = 8;
/** If only the values are described. */
const mostValuesAlone = 150;
const mostFields = 12;

function textOf(rules: ValueRules, depth: number, values: number): string {
  switch (rules.kind) {
    case 'structure':
      return structureText(rules, depth, values);
    case 'list':
      return `list of ${textOf(rules.element(), depth, values)}`;
    case 'map':
      return `map of ${textOf(rules.element(), depth, values)}`;
    case 'enum':
      return rules.values.length <= values
        ? `one of ${rules.values.join(', ')}`
        : `text such as ${rules.values.slice(0, Math.max(2, values - mostValues)).join(', ')}`;
    case 'integer':
      return `whole number${boundsText(rules.limits)}`;
    case 'bigNumber':
      return 'number as text';
    case 'boolean':
      return 'true or false';
    case 'timestamp':
      return 'ISO 8601';
    case 'blob':
      return 'base64';
    case 'document':
      return 'JSON';
    default:
      return rules.kind;
  }
}

function structureText({ fields, isUnion }: StructureRules, depth: number, values: number): string {
  if (depth === 0) return 'object';
  const all = fields();
  const texts = all.slice(0, mostFields).map(({ name, isRequired, rules }) => {
    const isNested = rules.kind === 'structure' || rules.kind === 'list' || rules.kind === 'map';
    const shown = isRequired || isUnion ? name : `${name}?`;
    return isNested ? `${shown}: ${textOf(rules, depth - 1, values)}` : shown;
  });
  const more = all.length > mostFields ? ', …' : '';
  return `${isUnion ? 'one of ' : ''}{${texts.join(', ')}${more}}`;
}

function boundsText({ min, max }: ValueLimits): string {
  if (min === undefined && max === undefined) return '';
  if (max === undefined) return ` from ${min}`;
  return min === undefined ? ` to ${max}` : ` ${min} to ${max}`;
}
