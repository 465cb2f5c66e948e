import type { Attempt } from '../transport/signed-client.js';
import { isObject, leavesOf, withoutUndefined } from '../util/objects.js';
import { quote } from '../util/quote.js';
import { exact, isSafeText, join, own, quoted, type SafeText, say, time, words } from '../util/safe-text.js';
import type {
  CallOutcome,
  EarlierCall,
  Failure,
  LeftOut,
  OtherArguments,
  Plan,
  RequestIds,
  ServiceSays,
  Success,
} from './outcome.js';
import { isRefusal } from './refusal.js';

type AnyResult = Partial<Omit<Success, 'outcome'>> &
  Partial<Omit<Failure, 'outcome'>> & { readonly outcome?: Success['outcome'] | Failure['outcome'] };

/** The structured content as text. The service's words are quoted and its answer is indented, because both are data. */
export function resultText(result: Success | Failure): string {
  const fields: AnyResult = result;
  const { problems = [], plan, show, answer } = fields;
  const lines: (SafeText | string)[] = [result.summary];
  if (problems.length > 0) lines.push('', ...problems.map((problem) => `- ${problem}`));
  if (show !== undefined) lines.push('', 'show:', show);
  if (plan !== undefined) lines.push('', 'Request:', ...requestLines(plan));
  lines.push('', ...factLines(fields));
  if (answer !== undefined) lines.push(...render({ answer }));
  return lines.join('\n');
}

function factLines(fields: AnyResult): string[] {
  const { failed, where = [], mayHaveHappened, next } = fields;
  const facts: readonly (readonly [string, SafeText | string | number | readonly SafeText[] | undefined])[] = [
    ['account', fields.account],
    ['outcome', fields.outcome],
    ['failed', failed && say`${failed.count} (${joined(failed.codes) ?? words('no codes')})`],
    ['consent', fields.consent],
    ['sentAt', fields.sentAt],
    ['where', joined(where)],
    ['effect', fields.effects],
    ['changeId', fields.changeId],
    ['decideAt', fields.decideAt],
    ['planExpires', fields.planExpires],
    ['code', fields.code],
    ['status', fields.status],
    ['the cloud says', saidBy(fields.serviceSays)],
    ['requestIds', idList(fields.requestIds)],
    ['mayHaveHappened', mayHaveHappened === undefined ? undefined : mayHaveHappened ? 'yes' : 'no'],
    ['attempts', attemptsText(fields.attempts ?? [])],
    ['earlier call', earlierText(fields.earlier)],
    ['warning', fields.warnings],
    ['note', fields.notes],
    ['left out', fields.leftOut?.map(leftOutText)],
    ['to act', next && `${next.who} (${next.action})`],
    ['next', next?.text],
  ];
  return facts.flatMap(([name, value]) => [value ?? []].flat().map((text) => `${name}: ${text}`));
}

/** A sentence with the arguments of a plan that are in no list. */
export const fieldsSentence = (also: OtherArguments | undefined): readonly SafeText[] =>
  also === undefined || also.fields.length === 0 ? [] : [say`Also: ${join(also.fields, ', ')}.`];

/** The lines of a request for review: method and URL, headers, and body. */
export const requestLines = ({
  method,
  url,
  headers,
  body,
}: Pick<Plan, 'method' | 'url' | 'headers' | 'body'>): SafeText[] => [
  say`${own(method)} ${exact(url)}`,
  ...Object.entries(headers).map(([name, value]) => say`${own(name)}: ${exact(value)}`),
  ...(body === undefined ? [] : [typeof body === 'string' ? body.trimEnd() : JSON.stringify(body, null, 2)])
    .flatMap((text) => text.split('\n'))
    .map(exact),
];

function leftOutText(part: LeftOut): SafeText {
  const place = part.path === '' ? words('the answer') : own(part.path);
  return 'entries' in part ? say`${part.entries} entries of ${place}` : say`${place} (${part.characters} characters)`;
}

/** The structured content, with safe texts as strings. Of the plan, only the request is in it, because `show` says the rest. */
export function plainResult(result: Success | Failure): Record<string, unknown> {
  const { plan, answer, ...rest }: AnyResult = result;
  const { method, url, headers, body } = plan ?? {};
  return withoutUndefined({ ...plain(rest), plan: plan && withoutUndefined({ method, url, headers, body }), answer });
}

/** A value with strings in place of safe texts. */
export type Plain<Value> = Value extends SafeText
  ? string
  : Value extends readonly (infer Element)[]
    ? readonly Plain<Element>[]
    : Value extends object
      ? { readonly [Name in keyof Value]: Plain<Value[Name]> }
      : Value;

export function plain<Value>(value: Value): Plain<Value>;
export function plain(value: unknown): unknown {
  if (isSafeText(value)) return value.text;
  if (Array.isArray(value)) return value.map(plain);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, plain(inner)]));
}

const mostAttempts = 10;

/** `429 (waited 150 ms), 429 (waited 300 ms), 200`. A result is an HTTP status, or a failure code. */
export function attemptsText(attempts: readonly Attempt[]): SafeText | undefined {
  const texts = attempts.map(({ result, waitedMs }) =>
    waitedMs === undefined ? own(result) : say`${own(result)} (waited ${waitedMs} ms)`,
  );
  const more = texts.length - mostAttempts;
  return joined(more > 0 ? [...texts.slice(0, mostAttempts), say`and ${more} more`] : texts);
}

const idList = (requestIds: RequestIds = {}): SafeText | undefined =>
  joined(Object.entries(requestIds).map(([name, id]) => say`${own(name)} ${quoted(id, 200)}`));

const joined = (texts: readonly SafeText[]): SafeText | undefined =>
  texts.length === 0 ? undefined : join(texts, ', ');

function saidBy({ message, ...more }: ServiceSays = {}): SafeText | undefined {
  const rest = joined(Object.entries(more).map(([name, value]) => say`${own(name)} ${quoted(value, 500)}`));
  if (message === undefined) return rest;
  return say`${quoted(message, 500)}${rest === undefined ? words('') : say` (${rest})`}`;
}

function earlierText(earlier: EarlierCall | undefined): SafeText | undefined {
  if (earlier === undefined) return undefined;
  const { outcome, sentAt, requestIds } = earlier;
  const ids = idList(requestIds) ?? words('no request IDs');
  return say`${words(outcome)}, sent at ${time(sentAt)}, ${ids}`;
}

/**
 * Writes a record as indented lines, with texts in quotation marks. A list of records becomes a table, which takes a third of the space.
 */
export function render(record: Readonly<Record<string, unknown>>, indent = ''): string[] {
  return Object.entries(record).flatMap(([name, value]) => fieldLines(label(name), value, indent));
}

function fieldLines(name: string, value: unknown, indent: string): string[] {
  if (Array.isArray(value)) return listLines(name, value, indent);
  if (!isObject(value)) return [`${indent}${name}: ${scalar(value)}`];
  const inner = render(value, `${indent}  `);
  return inner.length === 0 ? [`${indent}${name}: none`] : [`${indent}${name}:`, ...inner];
}

function listLines(name: string, values: readonly unknown[], indent: string): string[] {
  if (values.length === 0) return [`${indent}${name}: none`];
  if (values.every((value) => typeof value !== 'object' || value === null))
    return [`${indent}${name}: ${values.map(scalar).join(', ')}`];
  return (
    tableLines(name, values, indent) ?? values.flatMap((value, index) => fieldLines(`${name}[${index}]`, value, indent))
  );
}

/** Returns undefined if a table does not suit the list. */
function tableLines(name: string, values: readonly unknown[], indent: string): string[] | undefined {
  // A single object is easier to read as one line for each field.
  if (values.length < 2 || !values.every((value) => isObject(value) && Object.keys(value).length > 0)) return undefined;

  const columnNames = new Set<string>();
  const rows: ReadonlyMap<string, unknown>[] = [];
  for (const value of values) {
    const row = new Map(leavesOf(value));
    for (const column of row.keys()) columnNames.add(column);
    // With more columns, most cells would be empty.
    if (columnNames.size > 30) return undefined;
    rows.push(row);
  }

  const columns = [...columnNames];
  const title = `${indent}${name} (${columns.map(label).join(' | ')}):`;
  const lines = rows.map((row) => {
    const cells = columns.map((column) => (row.has(column) ? scalar(row.get(column)) : ''));
    return `${indent}  ${cells.join(' | ')}`;
  });
  return [title, ...lines];
}

/** Quotes all text but words, numbers and dates, because it could pass for this server's own. */
function scalar(value: unknown): string {
  if (typeof value === 'object' && value !== null) return 'none';
  const text = String(value);
  return /^[\w.:/@+-]{1,80}$/.test(text) ? text : quote(text, 2500);
}

const label = (path: string) => (/^[\w.[\]-]{1,120}$/.test(path) ? path : quote(path, 240));

/** Returns the outcome of a call in a word. `outcome` is undefined if the call threw an error. */
export function outcomeLabel(outcome: CallOutcome | undefined): string {
  if (outcome === undefined) return 'failed';
  if (outcome.kind === 'inputRequired') return 'asked';
  return outcome.kind === 'succeeded' ? (outcome.success.outcome ?? 'ok') : failureKind(outcome.failure);
}

function failureKind({ code, status, mayHaveHappened }: Failure): string {
  if (mayHaveHappened === true) return 'unknown';
  if (status !== undefined) return 'rejected';
  if (code === 'JournalUnavailable' || code === 'StateUnavailable') return 'journal_unavailable';
  if (isRefusal(code)) return 'refused';
  return mayHaveHappened === false ? 'not_sent' : 'failed';
}
