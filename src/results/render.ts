import { isObject } from '../util/objects.js';
import { quote } from '../util/quote.js';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Writes a record as indented lines. Lists of flat records become tables, because that takes a third of the space. Text of the
 * service is quoted. The record is bounded already (see `presentable`).
 */
export function render(record: Fields, indent = ''): string[] {
  return Object.entries(record).flatMap(([name, value]) => field(label(name), value, indent));
}

const isFlat = (value: unknown): value is Fields =>
  isObject(value) && Object.values(value).every((inner) => typeof inner !== 'object' || inner === null);

function field(name: string, value: unknown, indent: string): string[] {
  if (Array.isArray(value)) return list(name, value, indent);
  if (!isObject(value)) return [`${indent}${name}: ${scalar(value)}`];
  const inner = render(value, `${indent}  `);
  return inner.length === 0 ? [`${indent}${name}: none`] : [`${indent}${name}:`, ...inner];
}

function list(name: string, values: readonly unknown[], indent: string): string[] {
  if (values.length === 0) return [`${indent}${name}: none`];
  if (values.every((value) => typeof value !== 'object' || value === null))
    return [`${indent}${name}: ${values.map(scalar).join(', ')}`];
  const columns = values.length > 1 && values.every(isFlat) ? columnsOf(values) : undefined;
  if (columns !== undefined) return table(name, values.filter(isFlat), columns, indent);
  return values.flatMap((value, index) => field(`${name}[${index}]`, value, indent));
}

/** More columns than this make no table: rows with different fields would fill the memory with empty cells. */
const maximumColumns = 30;

function columnsOf(rows: readonly Fields[]): string[] | undefined {
  const columns = new Set<string>();
  for (const row of rows) {
    for (const column of Object.keys(row)) columns.add(column);
    if (columns.size > maximumColumns) return undefined;
  }
  return [...columns];
}

function table(name: string, rows: readonly Fields[], columns: readonly string[], indent: string): string[] {
  return [
    `${indent}${name} (${columns.map(label).join(' | ')}):`,
    ...rows.map((row) => `${indent}  ${columns.map((column) => cell(row, column)).join(' | ')}`),
  ];
}

const cell = (row: Fields, column: string) => (Object.hasOwn(row, column) ? scalar(row[column]) : '');

/** Words, numbers and dates need no quotation marks; everything else could be mistaken for our own text. */
const scalar = (value: unknown) =>
  typeof value === 'string' && !/^[\w.:/@+-]{1,80}$/.test(value) ? quote(value, 2500) : String(value);

const label = (name: string) => (/^[\w-]{1,60}$/.test(name) ? name : quote(name, 120));
