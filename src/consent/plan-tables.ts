import type { Operation } from '../tools/define-operation.js';
import { fieldInWords, fieldUnit } from '../tools/schema/field-names.js';
import { sentenceCase } from '../util/human.js';
import { leavesOf } from '../util/objects.js';
import { defined, quoted, type SafeText, say, shortNames } from '../util/safe-text.js';
import { listsIn } from './other-arguments.js';

/** A list among the arguments of a change, such as node pools or deleted keys, with names cut as in a headline. */
export interface PlanTable {
  readonly title: SafeText;
  readonly columns: readonly SafeText[];
  /** One cell for each column. A cell is empty if the element lacks the field. */
  readonly rows: readonly (readonly SafeText[])[];
  /** The number of elements that have no row. The request has all of them. */
  readonly more: number;
}

const mostRows = 100;
const mostColumns = 12;

/**
 * Tables of the lists among the arguments: of each list of objects, and of each list of two and more values.
 * @param input without secrets
 */
export function planTables(operation: Operation, input: Readonly<Record<string, unknown>>): PlanTable[] {
  const schema = operation.input();
  return listsIn(input).map(([path, elements]) => {
    const owner = `${fieldInWords(schema, `${path}[0]`) ?? ''}'s `;
    const nameOf = (field: string) => {
      const name = fieldInWords(schema, `${path}[0].${field}`) ?? field;
      return name.startsWith(owner) ? name.slice(owner.length) : name;
    };
    const leaves = elements.slice(0, mostRows).map((element) => new Map(leavesOf(element)));
    const fields = [...new Set(leaves.flatMap((row) => [...row.keys()]))].slice(0, mostColumns);
    return {
      title: say`${defined(sentenceCase(fieldInWords(schema, path) ?? path))}`,
      columns: fields.map((field) => defined(sentenceCase(field === '' ? 'value' : nameOf(field)))),
      rows: leaves.map((row) => fields.map((field) => cell(row.get(field), fieldUnit(schema, `${path}[0].${field}`)))),
      more: Math.max(0, elements.length - mostRows),
    };
  });
}

function cell(value: unknown, unit: string | undefined): SafeText {
  if (value === undefined) return say``;
  if (typeof value === 'string') return shortNames(quoted(value, 100));
  return defined(`${JSON.stringify(value)}${unit === undefined ? '' : ` ${unit}`}`);
}
