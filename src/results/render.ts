import { isObject } from '../util/objects.js';
import { quote } from '../util/quote.js';

/**
 * Writes a record as indented text for hosts that show only text. Lists of flat records become tables, because that
 * takes a third of the space. Text of the service is quoted. Nothing is left out, but what would fill an agent's context
 * is cut, and said to be.
 */
export function render(record: Readonly<Record<string, unknown>>): string {
  const text = fields(record, '').join('\n');
  return text.length > maximumText ? `${text.slice(0, maximumText)}…\n(cut: ${text.length} characters in all)` : text;
}

/** About 25,000 tokens. */
const maximumText = 60_000;

type Fields = Readonly<Record<string, unknown>>;

const isFlat = (value: unknown): value is Fields =>
  isObject(value) && Object.values(value).every((field) => typeof field !== 'object' || field === null);

function fields(record: Fields, indent: string): string[] {
  return Object.entries(record).flatMap(([name, value]) => field(label(name), value, indent));
}

function field(name: string, value: unknown, indent: string): string[] {
  if (Array.isArray(value)) return list(name, value, indent);
  if (!isObject(value)) return [`${indent}${name}: ${scalar(value)}`];
  const inner = fields(value, `${indent}  `);
  return inner.length === 0 ? [`${indent}${name}: none`] : [`${indent}${name}:`, ...inner];
}

function list(name: string, values: readonly unknown[], indent: string): string[] {
  if (values.length === 0) return [`${indent}${name}: none`];
  if (values.every((value) => typeof value !== 'object' || value === null))
    return [`${indent}${name}: ${values.map(scalar).join(', ')}`];
  if (values.length > 1 && values.every(isFlat)) return table(name, values, indent);
  return values.flatMap((value, index) => field(`${name}[${index}]`, value, indent));
}

function table(name: string, rows: readonly Fields[], indent: string): string[] {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return [
    `${indent}${name} (${columns.map(label).join(' | ')}):`,
    ...rows.map((row) => `${indent}  ${columns.map((column) => cell(row, column)).join(' | ')}`),
  ];
}

const cell = (row: Fields, column: string) => (Object.hasOwn(row, column) ? scalar(row[column]) : '');

/** Words, numbers and dates need no quotation marks; everything else could be mistaken for our own text. */
const scalar = (value: unknown) =>
  typeof value === 'string' && !/^[\w.:/@+-]{1,80}$/.test(value) ? quote(value, 2000) : String(value);

const label = (name: string) => (/^[\w-]{1,60}$/.test(name) ? name : quote(name, 60));
