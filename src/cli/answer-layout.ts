import { scalar } from '../calls/result-text.js';
import { nameInWords, namesState } from '../util/field-names.js';
import { humanBytes, humanDuration, sentenceCase, sentences } from '../util/human.js';
import { isObject, leavesOf } from '../util/objects.js';
import { counted, exact, join, listed, type SafeText, say } from '../util/safe-text.js';
import { progressBar } from './command.js';
import { columnGap, labelled, type TextLayout, tableLines, widthOf, wrapped } from './layout.js';

/** Maximum number of rows of a table, and of texts in a list of texts. With `--all`, the whole answer is printed instead. */
const maximumRows = 20;
const maximumColumns = 8;
/** Maximum number of columns that `withStateSecond` moves. */
const maximumStates = 2;

interface AnswerLayout extends TextLayout {
  /** The unit that the operation's schema names for a number at a path of the answer, such as `nodes[0].diskSize`. */
  readonly unitOf: (path: string) => string | undefined;
}

/**
 * Formats an answer. If it has lists of records, shows only these lists, as tables; otherwise shows the fields, one per line. Numbers have
 * human units. A progress bar for the top-level field `percent` comes first.
 */
export function answerLines(answer: Readonly<Record<string, unknown>>, { unitOf, ...layout }: AnswerLayout): string[] {
  const blocks: string[][] = [];
  // Only a top-level `percent` is progress. In an inner record, it may be something else.
  const { percent } = answer;
  if (typeof percent === 'number') blocks.push([`${progressBar(percent / 100)} ${percent}%`]);

  // If the only field of the answer is a record, such as `cluster`, that record is shown, and `prefix` is `cluster.`.
  const { record, prefix } = withoutWrapper(answer);
  // The paths of fields and lists begin at the record, and the paths of the schema at the whole answer.
  const recordLayout = { ...layout, unitOf: (path: string) => unitOf(`${prefix}${path}`) };
  const allFields = fieldsOf(record);
  const lists = allFields.filter(([, value]) => recordsIn(value).length > 0);
  const fields = allFields.filter(([, value]) => recordsIn(value).length === 0);

  if (lists.length === 0) {
    const rows = fields.map(([path, value]) => [labelOf(path), [fieldText(path, value, recordLayout)]] as const);
    blocks.push(labelled(rows, layout));
  }
  for (const [path, list] of lists) blocks.push(listLines(path, recordsIn(list), recordLayout));
  if (lists.length > 0 && fields.length > 0) blocks.push([layout.paint('dim', '--all shows every field.')]);
  return blocks.flatMap((block, index) => (index === 0 ? block : ['', ...block]));
}

/** For an answer such as `{ cluster: {…} }`, whose only field is a record, returns that record and the prefix `cluster.`. */
function withoutWrapper(answer: object): { readonly record: object; readonly prefix: string } {
  const [[name, value] = ['', undefined], ...otherFields] = Object.entries(answer);
  const isWrapper = otherFields.length === 0 && isObject(value);
  return isWrapper ? { record: value, prefix: `${name}.` } : { record: answer, prefix: '' };
}

const isEmpty = (value: unknown) => value === undefined || value === null || value === '';

const recordsIn = (value: unknown): readonly object[] => (Array.isArray(value) ? value.filter(isObject) : []);

/** The fields of a record and of its inner records, with their paths. Empty fields and lists are left out. */
function fieldsOf(record: object, pathOfRecord?: string): [path: string, value: unknown][] {
  return Object.entries(record).flatMap(([name, value]): [string, unknown][] => {
    const path = pathOfRecord === undefined ? name : `${pathOfRecord}.${name}`;
    if (isObject(value)) return fieldsOf(value, path);
    const isEmptyList = Array.isArray(value) && value.length === 0;
    return isEmpty(value) || isEmptyList ? [] : [[path, value]];
  });
}

/**
 * Formats a list as a table, with a row for each of the first `maximumRows` records, and a column for each of the first `maximumColumns`
 * fields. If more records or fields exist, the last line says how many.
 */
function listLines(path: string, records: readonly object[], { unitOf, ...layout }: AnswerLayout): string[] {
  const shownRecords = records
    .slice(0, maximumRows)
    .map((record) => new Map([...leavesOf(record)].filter(([, value]) => !isEmpty(value))));
  const allColumns = withStateSecond([...new Set(shownRecords.flatMap((record) => [...record.keys()]))]);
  const columns = allColumns.slice(0, maximumColumns);
  // All records of a list have the same units, so the path of the first record will do.
  const cellLayout = { ...layout, unitOf: (field: string) => unitOf(`${path}[0].${field}`) };
  const rows = shownRecords.map((record) =>
    columns.map((field) => (record.has(field) ? fieldText(field, record.get(field), cellLayout) : say``)),
  );

  const hiddenRows = records.length - rows.length;
  const hiddenColumns = allColumns.length - columns.length;
  const hidden = sentences(
    hiddenRows > 0 && counted(hiddenRows, 'more row'),
    hiddenColumns > 0 && counted(hiddenColumns, 'more column'),
  );
  return [
    layout.paint('bold', say`${labelOf(path)} (${records.length})`.text),
    ...fittedTable(columns.map(labelOf), rows, layout),
    ...(hidden.length > 0 ? [say`  and ${listed(hidden)}; --all shows them`.text] : []),
  ];
}

/** Formats an indented table with labels above its columns. Cells that do not fit next to the others are on lines below their row. */
function fittedTable(
  labels: readonly SafeText[],
  rows: readonly (readonly SafeText[])[],
  { width, paint }: TextLayout,
): string[] {
  const indent = '  ';
  const tableWidth = width - indent.length;
  const fittingCount = countFittingColumns([labels, ...rows], tableWidth);
  const fittingCells = [labels, ...rows].map((row) => row.slice(0, fittingCount));
  const [head = '', ...body] = tableLines(fittingCells, tableWidth);
  return [
    paint('dim', indent + head),
    ...body.flatMap((line, index) => [
      (indent + line).trimEnd(),
      ...remainingCellLines(labels.slice(fittingCount), rows[index]?.slice(fittingCount) ?? [], width),
    ]),
  ];
}

/** Moves the fields of the state behind the first field, because people look for the state, and later columns may be left out. */
function withStateSecond([first = '', ...others]: readonly string[]): readonly string[] {
  // Moves only states at the outermost level, because inner records have states of their own. A state may be a structure: `State.Name`.
  const levelOf = (path: string) => path.split('.').findIndex(namesState);
  const levels = others.map(levelOf).filter((level) => level >= 0);
  // Not `Math.min(...levels)`, because an answer may have more fields than a call may have arguments.
  const outermost = levels.reduce((lowest, level) => Math.min(lowest, level), Number.POSITIVE_INFINITY);
  const states = others.filter((path) => levelOf(path) === outermost).slice(0, maximumStates);
  return [first, ...states, ...others.filter((path) => !states.includes(path))];
}

/** Counts the columns from the left, at least one, that fit into `width` side by side. */
function countFittingColumns(rows: readonly (readonly SafeText[])[], width: number): number {
  const [firstRow = []] = rows;
  let used = 0;
  const index = firstRow.findIndex((_, column) => {
    used += Math.max(...rows.map((row) => widthOf(row[column]?.text ?? ''))) + (column === 0 ? 0 : columnGap);
    return used > width;
  });
  return index < 0 ? firstRow.length : Math.max(1, index);
}

/** The cells of a row that do not fit next to the others, each with its label, on lines below the row. */
function remainingCellLines(labels: readonly SafeText[], cells: readonly SafeText[], width: number): string[] {
  const facts = cells.flatMap((cell, column) => (cell.text === '' ? [] : [say`${labels[column] ?? say``}: ${cell}`]));
  return facts.length === 0 ? [] : wrapped(join(facts, ', '), width, { indent: 6 });
}

/** The path of a field in words: `Idle` for `idleSeconds`. The unit is left out, because it is printed after the value. */
function labelOf(path: string): SafeText {
  const inWords = path
    .split('.')
    .map(nameInWords)
    .join(' ')
    .replace('bytes per second', 'rate')
    .replace(/(?<=\w )(bytes|seconds)\b|\bseconds (?=left)/g, '');
  return say`${exact(sentenceCase(inWords.trim().replace(/ {2,}/g, ' ')))}`;
}

/** Formats a value. The unit of a number comes from the operation's schema, or else from the name of the field, such as `idleSeconds`. */
function fieldText(path: string, value: unknown, { localTime, unitOf }: AnswerLayout): SafeText {
  if (Array.isArray(value)) return listText(value);
  if (typeof value === 'boolean') return say`${exact(value ? 'yes' : 'no')}`;
  if (typeof value === 'number') return say`${exact(numberText(path, value, unitOf(path)))}`;
  const isTime = typeof value === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value);
  return (isTime ? localTime(value) : undefined) ?? say`${exact(scalar(value))}`;
}

/** Formats a list of texts or numbers on one line: the first `maximumRows`, and the number of others. */
function listText(values: readonly unknown[]): SafeText {
  const shown = exact(values.slice(0, maximumRows).map(scalar).join(', '));
  const hidden = values.length - maximumRows;
  return hidden > 0 ? say`${shown}, and ${hidden} more; --all shows them` : shown;
}

function numberText(path: string, value: number, unit: string | undefined): string {
  if (unit !== undefined) return `${value} ${unit}`;
  if (/bytesPerSecond/i.test(path)) return `${humanBytes(value)}/s`;
  // A `size` below 1 MiB is shown as a plain number, because it may be the size of a disk in GB.
  const isBytes = /(bytes|partSize)$/i.test(path) || (/\bsize$/i.test(path) && value >= 1024 ** 2);
  if (isBytes) return humanBytes(value);
  if (/seconds/i.test(path)) return humanDuration(value);
  return /percent/i.test(path) ? `${value}%` : String(value);
}
