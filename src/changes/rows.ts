import { createHash } from 'node:crypto';
import * as z from 'zod';
import { attempt, lazy, parseJson, textAt } from '../util/objects.js';
import { withStoredTexts, words } from '../util/safe-text.js';
import { createSeal, type SealingKeys } from '../util/seal.js';
import {
  type Change,
  type Decision,
  type Ending,
  type JournalEntry,
  type NewChange,
  noOptions,
  type OfCaller,
  states,
  storedParts,
} from './change.js';
import type { Transaction, Value } from './sql.js';

/** This file converts changes to rows and back, and seals what is private, so that no reader of the store sees it. */

/** A transaction with the keys of private values. */
export interface Rows extends Transaction {
  readonly keys: SealingKeys;
}

const sealOf = (keys: SealingKeys, id: string) =>
  createSeal(keys, { purpose: 'change', associatedData: id, longest: Number.POSITIVE_INFINITY });

/** @throws if it is private and the keys cannot be read */
export function columnOf(value: object, isPrivate: boolean | undefined, id: string, keys: SealingKeys): string {
  const text = JSON.stringify(withStoredTexts(value));
  return isPrivate === true ? JSON.stringify({ sealed: sealOf(keys, id).seal(text) }) : text;
}

/** Returns the value of a column, undefined if no key opens it. */
export function openColumn(column: string | undefined, id: string, keys: SealingKeys): unknown {
  const value = parseJson(column ?? '');
  const sealed = textAt(value, 'sealed');
  if (sealed === undefined) return value;
  // Changes without private values need no key.
  return attempt(() => parseJson(sealOf(keys, id).open(sealed) ?? ''), undefined);
}

/** A plan that cannot be shown cannot be accepted. Its caller can still withdraw it. */
const unopened = {
  isPrivate: true,
  args: {},
  requestDigest: '',
  repeats: false,
  tokenSource: '',
  options: noOptions,
  plan: {
    summary: words('A change whose values are private, and were sealed with a key that this server does not have.'),
    method: '',
    url: '',
    headers: {},
    where: [],
    consequences: [],
    risks: [],
    defaults: [],
    warnings: [],
    notChecked: [],
  },
  accept: words('Accept'),
} satisfies Omit<Change, keyof JournalEntry>;

/** A text from outside as a column. A long text becomes a digest, because PostgreSQL limits index entries. */
export function keyOf(text: string | undefined): string {
  const json = JSON.stringify(text ?? null);
  return json.length <= 500 ? json : `sha256:${createHash('sha256').update(json).digest('hex')}`;
}

/** Marks for values in SQL. */
export const marksOf = (values: readonly unknown[]): string => `(${values.map(() => '?').join(', ')})`;

/** The row of a change that waits for `lifetimeMs`. */
export function newRow(
  change: NewChange,
  { now, wall, keys }: Pick<Rows, 'now' | 'wall' | 'keys'>,
  lifetimeMs: number,
): Readonly<Record<string, Value>> {
  const { id, tool, requestKey, budget, ...others } = change;
  const { caller, personId, agent, client, account, keyId, mode, what, target, ...details } = others;
  const facts = { caller, personId, agent, client, account, keyId, mode, what, target };
  const { byForm, byClick, onPage } = details.options;
  return {
    id,
    state: 'waiting',
    caller: keyOf(caller),
    client: keyOf(client),
    tool,
    request_key: requestKey,
    budget,
    subject: details.subject?.digest ?? null,
    asks: byForm || byClick || onPage ? 1 : 0,
    facts: JSON.stringify({ ...facts, madeAt: wall, expiresAt: wall + lifetimeMs }),
    plan: columnOf(details, details.isPrivate, id, keys),
    made: now,
    expires: now + lifetimeMs,
    changed: now,
  };
}

export const storedDecision = (decision: Decision, wall: number): string =>
  JSON.stringify({ ...decision, decidedAt: wall });

/** Limits of texts from the cloud. */
const mostEntries = 8;
const longestText = 512;
/** In characters. */
const longestOutcome = 1024 * 1024;

const bounded = (text: string) => text.slice(0, longestText);

/** The columns `ending` and `outcome` of an ended change. */
export function storedEnding(
  { outcome, isPrivate, requestIds, failed, code, ...ending }: Ending,
  id: string,
  { wall, keys }: Pick<Rows, 'wall' | 'keys'>,
): [string, string | null] {
  const ids = Object.entries(requestIds ?? {}).slice(0, mostEntries);
  const facts = {
    ...ending,
    code: code && bounded(code),
    requestIds: requestIds && Object.fromEntries(ids.map(([name, value]) => [bounded(name), bounded(value)])),
    failed: failed && { count: failed.count, codes: failed.codes.slice(0, mostEntries).map(bounded) },
    endedAt: wall,
  };
  const column = outcome === undefined ? null : columnOf(outcome, isPrivate, id, keys);
  return [JSON.stringify(facts), column !== null && column.length > longestOutcome ? null : column];
}

/** A condition on the caller. The client counts only for callers without a name. */
export function callerCondition({ caller, client }: OfCaller): readonly [sql: string, values: readonly Value[]] {
  if (caller === undefined) return ['', []];
  if (caller !== null) return [' and caller = ?', [keyOf(caller)]];
  const [sql, values] = client === undefined ? ['', []] : [' and client = ?', [keyOf(client)]];
  return [` and caller = ?${sql}`, [keyOf(undefined), ...values]];
}

/** No schema takes undefined, which a text that is not JSON becomes. */
const json = <Schema extends z.ZodType>(schema: Schema) => z.string().transform(parseJson).pipe(schema);

const time = () => z.coerce.number();

const entrySchema = lazy(() => {
  const { facts, decision, ending } = storedParts();
  return z.object({
    id: z.string(),
    state: z.enum(states),
    tool: z.string(),
    request_key: z.string(),
    budget: z.string(),
    made: time(),
    expires: time(),
    decided: time().nullable(),
    begun: time().nullable(),
    at: time().nullable(),
    facts: json(facts.extend({ madeAt: z.number(), expiresAt: z.number() })),
    decision: json(
      decision
        .extend({ decidedAt: z.number() })
        .transform(({ decidedAt, ...stored }) => ({ decision: stored, decidedAt })),
    ).nullable(),
    ending: json(
      ending.extend({ endedAt: z.number() }).transform(({ endedAt, ...stored }) => ({ ending: stored, endedAt })),
    ).nullable(),
  });
});

export const entryColumns =
  'id, state, tool, request_key, budget, made, expires, decided, begun, at, facts, decision, ending, changed';

/**
 * Reads a row without the plan. `now` is the time of the store.
 * @throws if the row is not of this version
 */
export function entryOf(row: unknown, now: number): JournalEntry {
  const { request_key: requestKey, facts, decision, ending, ...columns } = entrySchema().parse(row);
  const { made, expires, decided, begun, at, ...shown } = columns;
  return {
    ...shown,
    ...facts,
    requestKey,
    ...decision,
    ...(begun !== null && at !== null && { begunAt: at }),
    ...ending,
    isExpired: shown.state === 'waiting' && expires <= now,
    ageMs: Math.max(0, now - made),
    decidedAgoMs: decided === null ? undefined : Math.max(0, now - decided),
  };
}

/**
 * Reads a row with all columns.
 * @throws if the row is not of this version
 */
export function changeOf(row: unknown, { now, keys }: Pick<Rows, 'now' | 'keys'>): Change {
  const entry = entryOf(row, now);
  const { id, ending } = entry;
  const { details, outcome } = storedParts();
  const opened = openColumn(textAt(row, 'plan'), id, keys);
  const change = { ...entry, ...(opened === undefined ? unopened : details.parse(opened)) };
  const openedOutcome = openColumn(textAt(row, 'outcome'), id, keys);
  return openedOutcome === undefined || ending === undefined
    ? change
    : { ...change, ending: { ...ending, outcome: outcome.parse(openedOutcome) } };
}
