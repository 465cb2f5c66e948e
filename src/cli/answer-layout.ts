import { scalar } from '../calls/result-text.js';
import { nameInWords } from '../tools/schema/field-names.js';
import { humanBytes, humanDuration, sentenceCase } from '../util/human.js';
import { isObject, leavesOf } from '../util/objects.js';
import { counted, exact, type SafeText, say } from '../util/safe-text.js';
import { progressBar } from './command.js';
import { type HelpPage, labelled, localTime, tableLines } from './layout.js';

/** Size limits of a table. `--all` shows the whole list. */
const maximumRows = 20;
const maximumColumns = 8;

/** One field of an answer, or a list of records in it. */
type Fact =
  | { readonly kind: 'field'; readonly path: string; readonly value: unknown }
  | { readonly kind: 'list'; readonly path: string; readonly records: readonly object[] };

/** The page, and the unit of a number if the operation's schema names it, by the path in the answer. */
interface AnswerPage extends HelpPage {
  readonly unitOf: (path: string) => string | undefined;
}

/**
 * Formats an answer: its lists as tables or, without lists, its fields in words. Numbers have human units, and a percentage has a bar.
 * `--all` shows the rest.
 */
export function answerLines(answer: Readonly<Record<string, unknown>>, { unitOf, ...page }: AnswerPage): string[] {
  const { record, prefix } = withoutWrapper(answer);
  const inner = { ...page, unitOf: (path: string) => unitOf(`${prefix}${path}`) };
  const facts = factsIn(record, '');
  const lists = facts.filter((fact) => fact.kind === 'list');
  const fields = facts
    .filter((fact) => fact.kind === 'field')
    .map(({ path, value }) => [labelOf(path), [fieldText(path, value, inner)]] as const);
  const blocks: string[][] = [];
  const { percent } = answer;
  if (typeof percent === 'number') blocks.push([`${progressBar(percent / 100)} ${percent}%`]);
  if (lists.length === 0) blocks.push(labelled(fields, page));
  for (const { path, records } of lists) blocks.push(listLines(path, records, inner));
  if (lists.length > 0 && fields.length > 0) blocks.push([page.paint('dim', '--all shows every field.')]);
  return blocks.flatMap((block, index) => (index === 0 ? block : ['', ...block]));
}

/** Returns the inner record of an answer whose only field is a record, with the path to it. Returns other answers unchanged. */
function withoutWrapper(answer: object): { readonly record: object; readonly prefix: string } {
  const [[name, only] = ['', undefined], ...others] = Object.entries(answer);
  return others.length === 0 && isObject(only) ? { record: only, prefix: `${name}.` } : { record: answer, prefix: '' };
}

const isEmpty = (value: unknown) => value === undefined || value === null || value === '';

/** The fields and lists in a record and its inner records, without empty ones. */
function factsIn(record: object, pathOfRecord: string): Fact[] {
  return Object.entries(record).flatMap(([name, value]): Fact[] => {
    const path = pathOfRecord === '' ? name : `${pathOfRecord}.${name}`;
    if (isEmpty(value)) return [];
    if (Array.isArray(value)) {
      const records = value.filter(isObject);
      if (records.length > 0) return [{ kind: 'list', path, records }];
      return value.length === 0 ? [] : [{ kind: 'field', path, value }];
    }
    return isObject(value) ? factsIn(value, path) : [{ kind: 'field', path, value }];
  });
}

/** Formats a list as a table with a column for each field. */
function listLines(path: string, records: readonly object[], { unitOf, ...page }: AnswerPage): string[] {
  const inner = { ...page, unitOf: (name: string) => unitOf(`${path}[0].${name}`) };
  const rows = records
    .slice(0, maximumRows)
    .map((record) => [...leavesOf(record)].filter(([, value]) => !isEmpty(value)));
  const columns = [...new Set(rows.flat().map(([name]) => name))].slice(0, maximumColumns);
  const cells = rows.map((row) => {
    const values = new Map(row);
    return columns.map((name) => (values.has(name) ? fieldText(name, values.get(name), inner) : say``));
  });
  const indent = '  ';
  const [head = '', ...body] = tableLines([columns.map(labelOf), ...cells], page.width - indent.length);
  const hiddenCount = records.length - rows.length;
  return [
    page.paint('bold', say`${labelOf(path)} (${records.length})`.text),
    page.paint('dim', indent + head),
    ...body.map((line) => (indent + line).trimEnd()),
    ...(hiddenCount > 0 ? [say`  and ${counted(hiddenCount, 'more row')}; --all shows them`.text] : []),
  ];
}

/** The path of a field in words, without its unit, which stands behind the value: `Idle` for `idleSeconds`. */
function labelOf(path: string): SafeText {
  const inWords = path
    .split('.')
    .map(nameInWords)
    .join(' ')
    .replace('bytes per second', 'rate')
    .replace(/(?<=\w )(bytes|seconds)\b|\bseconds (?=left)/g, '');
  return say`${exact(sentenceCase(inWords.trim().replace(/ {2,}/g, ' ')))}`;
}

/** A value as text. The schema or the name of its field says in which unit a number is. */
function fieldText(path: string, value: unknown, { timeZone, unitOf }: AnswerPage): SafeText {
  if (Array.isArray(value)) return say`${exact(value.map(scalar).join(', '))}`;
  if (typeof value === 'boolean') return say`${exact(value ? 'yes' : 'no')}`;
  if (typeof value === 'number') return say`${exact(numberText(path, value, unitOf(path)))}`;
  const isTime = typeof value === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value);
  return (isTime ? localTime(value, timeZone) : undefined) ?? say`${exact(scalar(value))}`;
}

function numberText(path: string, value: number, unit: string | undefined): string {
  if (unit !== undefined) return `${value} ${unit}`;
  if (/bytesPerSecond/i.test(path)) return `${humanBytes(value)}/s`;
  // A `size` may also be the size of a disk in GB, which is a small number.
  const isBytes = /(bytes|partSize)$/i.test(path) || (/\bsize$/i.test(path) && value >= 1024 ** 2);
  if (isBytes) return humanBytes(value);
  if (/seconds/i.test(path)) return humanDuration(value);
  return /percent/i.test(path) ? `${value}%` : String(value);
}
