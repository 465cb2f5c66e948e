import type { PlanTable } from '../calls/outcome.js';
import type { Operation } from '../tools/define-operation.js';
import { fieldInWords, fieldUnit } from '../util/field-names.js';
import { sentenceCase } from '../util/human.js';
import { leavesOf } from '../util/objects.js';
import { defined, quoted, type SafeText, shortNames, words } from '../util/safe-text.js';
import { outerListsIn } from './other-arguments.js';

const mostRows = 100;
const mostColumns = 12;

/** Makes a table of each list in `input`, the arguments without secrets. */
export const planTables = (operation: Operation, input: Readonly<Record<string, unknown>>): PlanTable[] =>
  outerListsIn(input).map(([path, elements]) => tableOf(operation, path, elements));

function tableOf(operation: Operation, path: string, elements: readonly unknown[]): PlanTable {
  const schema = operation.input();
  const rows = elements.slice(0, mostRows).map((element) => new Map(leavesOf(element)));
  const allFields = new Set(rows.flatMap((row) => [...row.keys()]));
  const fields = [...allFields].slice(0, mostColumns);
  const units = fields.map((field) => fieldUnit(schema, `${path}[0].${field}`));
  return {
    title: defined(sentenceCase(fieldInWords(schema, path) ?? path)),
    columns: fields.map((field) => defined(sentenceCase(columnName(schema, path, field)))),
    rows: rows.map((row) => fields.map((field, index) => cell(row.get(field), units[index]))),
    more: Math.max(0, elements.length - mostRows),
  };
}

/** `disk size` and not `node pool's disk size`. */
function columnName(schema: ReturnType<Operation['input']>, path: string, field: string): string {
  if (field === '') return 'value';
  const name = fieldInWords(schema, `${path}[0].${field}`) ?? field;
  const owner = `${fieldInWords(schema, `${path}[0]`) ?? ''}'s `;
  return name.startsWith(owner) ? name.slice(owner.length) : name;
}

function cell(value: unknown, unit: string | undefined): SafeText {
  if (value === undefined) return words('');
  if (typeof value === 'string') return shortNames(quoted(value, 100));
  return defined(`${JSON.stringify(value)}${unit === undefined ? '' : ` ${unit}`}`);
}
