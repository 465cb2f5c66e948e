import type { Attempt } from '../transport/signed-client.js';
import { isObject, leavesOf } from '../util/objects.js';
import { quote, quoteName } from '../util/quote.js';
import type { Failure, RequestIds } from './failure.js';
import { planLines } from './plan.js';
import type { Success } from './success.js';

/**
 * The same facts as the structured content, as text for hosts that show only text. The service's words are quoted, and its answer
 * stands indented under `answer:`: they are data.
 */
export function textOf(result: Success | Failure): string {
  const { summary, problems = [], plan, code, status, message, mayHaveHappened, next, answer }: AnyResult = result;
  const { account, outcome, consent, sentAt, planId, planExpires, requestIds, attempts = [] }: AnyResult = result;
  const { defaults = [], warnings = [], notes = [] }: AnyResult = result;
  const line = (name: string, value: string | number | undefined) => (value === undefined ? [] : [`${name}: ${value}`]);
  return [
    summary,
    ...(problems.length === 0 ? [] : ['', ...problems.map((problem) => `- ${problem}`)]),
    ...(plan === undefined ? [] : ['', ...planLines(plan)]),
    '',
    ...line('account', account),
    ...line('outcome', outcome),
    ...line('consent', consent),
    ...line('sentAt', sentAt),
    ...line('planId', planId),
    ...line('planExpires', planExpires),
    ...line('code', code === undefined ? undefined : quoteName(code)),
    ...line('status', status),
    ...line('service says', message === undefined ? undefined : quote(message, 500)),
    ...line('requestIds', idList(requestIds)),
    ...line('mayHaveHappened', mayHaveHappened === undefined ? undefined : mayHaveHappened ? 'yes' : 'no'),
    ...line('attempts', attemptList(attempts)),
    ...defaults.flatMap((one) => line('default', one)),
    ...warnings.flatMap((warning) => line('warning', warning)),
    ...notes.flatMap((note) => line('note', note)),
    ...line('next', next),
    ...(answer === undefined ? [] : render({ answer })),
  ].join('\n');
}

/** A result of either kind: a success has no code, a failure no answer. */
type AnyResult = Partial<Success> & Partial<Failure>;

/** `x-ext-request-id "…", x-ext-id-2 "…"` */
const idList = (requestIds: RequestIds = {}) =>
  Object.entries(requestIds)
    .map(([name, id]) => `${name} ${quote(id, 200)}`)
    .join(', ') || undefined;

/** `503 (waited 210 ms), 200` */
const attemptList = (attempts: readonly Attempt[]) =>
  attempts
    .map(({ result, waitedMs }) => (waitedMs === undefined ? result : `${result} (waited ${waitedMs} ms)`))
    .join(', ') || undefined;

/**
 * Writes a record as indented lines. Lists of alike records become tables, with a column for each field however deep, because that
 * takes a third of the space. Text of the service is quoted. The record is bounded already (see `presentable`).
 */
export function render(record: Readonly<Record<string, unknown>>, indent = ''): string[] {
  return Object.entries(record).flatMap(([name, value]) => field(label(name), value, indent));
}

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
  return table(name, values, indent) ?? values.flatMap((value, index) => field(`${name}[${index}]`, value, indent));
}

/** More columns than this make no table: rows with different fields would fill the memory with empty cells. */
const maximumColumns = 30;

const hasFields = (value: unknown) => isObject(value) && Object.keys(value).length > 0;

function table(name: string, values: readonly unknown[], indent: string): string[] | undefined {
  if (values.length === 1 || !values.every(hasFields)) return undefined;
  const columns = new Set<string>();
  const rows: ReadonlyMap<string, unknown>[] = [];
  for (const value of values) {
    const row = new Map(leavesOf(value));
    for (const column of row.keys()) columns.add(column);
    if (columns.size > maximumColumns) return undefined;
    rows.push(row);
  }
  const cells = (row: ReadonlyMap<string, unknown>) =>
    [...columns].map((column) => (row.has(column) ? scalar(row.get(column)) : ''));
  return [
    `${indent}${name} (${[...columns].map(label).join(' | ')}):`,
    ...rows.map((row) => `${indent}  ${cells(row).join(' | ')}`),
  ];
}

/** Words, numbers and dates need no quotation marks; everything else could be mistaken for our own text. */
function scalar(value: unknown): string {
  if (typeof value === 'object' && value !== null) return 'none';
  return typeof value === 'string' && !/^[\w.:/@+-]{1,80}$/.test(value) ? quote(value, 2500) : String(value);
}

/** The name of a field, or the path to it: `volumes[0].size`. */
const label = (path: string) => (/^[\w.[\]-]{1,120}$/.test(path) ? path : quote(path, 240));
