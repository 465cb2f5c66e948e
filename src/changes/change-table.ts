import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { Budget } from '../calls/account.js';
import { resultSchemas } from '../calls/outcome.js';
import { attempt, lazy, parseJson, textAt, valueAt } from '../util/objects.js';
import { withStoredTexts, words } from '../util/safe-text.js';
import { createSeal, type SealingKeys } from '../util/seal.js';
import {
  type Begun,
  type BudgetState,
  type Change,
  type Decision,
  type Ending,
  type EndState,
  type JournalEntry,
  type NewChange,
  noOptions,
  type OfCaller,
  type ReadOptions,
  type State,
  sentStates,
  states,
  storedParts,
} from './change.js';
import type { Engine, Transaction, Value } from './sql.js';

/** This file converts changes to rows of their table and back, and has the SQL on the table. Private values are sealed. */

export interface Rows extends Transaction {
  readonly keys: SealingKeys;
}

const sealOf = (keys: SealingKeys, id: string) =>
  createSeal(keys, { purpose: 'change', associatedData: id, longest: Number.POSITIVE_INFINITY });

/** @throws if it is private and the keys cannot be read */
function columnOf(value: object, isPrivate: boolean | undefined, id: string, keys: SealingKeys): string {
  const text = JSON.stringify(withStoredTexts(value));
  return isPrivate === true ? JSON.stringify({ sealed: sealOf(keys, id).seal(text) }) : text;
}

/** Undefined if no key opens it. */
function openColumn(column: string | undefined, id: string, keys: SealingKeys): unknown {
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

export const marksOf = (values: readonly unknown[]): string => `(${values.map(() => '?').join(', ')})`;

/** Makes the row of a waiting change, whose plan expires after `lifetimeMs`. */
function newRow(
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

const storedDecision = (decision: Decision, wall: number): string => JSON.stringify({ ...decision, decidedAt: wall });

export const storedEnding = (
  { outcome, isPrivate, ...facts }: Ending,
  id: string,
  { wall, keys }: Pick<Rows, 'wall' | 'keys'>,
): [string, string | null] => [
  JSON.stringify({ ...facts, endedAt: wall }),
  outcome === undefined ? null : columnOf(outcome, isPrivate, id, keys),
];

/** A condition on the caller. The client counts only for callers without a name. */
function callerCondition({ caller, client }: OfCaller): readonly [sql: string, values: readonly Value[]] {
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

/**
 * Reads a row without the plan. `now` is the time of the store.
 * @throws if the row is not of this version
 */
function entryOf(row: unknown, now: number): JournalEntry {
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
function changeOf(row: unknown, { now, keys }: Pick<Rows, 'now' | 'keys'>): Change {
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

/** How long an ended change counts as repeated, and a decline counts (milliseconds). */
export const duplicateWindowMs = 10 * 60 * 1000;

/** In characters. */
const longestRow = 1024 * 1024;
const mostAsking = 20;
/** Most waiting plans of a caller. The oldest make room. */
const mostUnasked = 100;
/** How long expired plans, and approved changes that do not begin, are kept (milliseconds). */
export const keptMs = 60 * 60 * 1000;

/** With `+ 0`, SQLite does not read all rows of a caller. */
export const newestFirst = 'made + 0 desc';

/** Its value is the time of the store. */
export const waits = `state = 'waiting' and expires > ?`;

const listOf = (names: readonly State[]) => `(${names.map((name) => `'${name}'`).join(', ')})`;
const sent = listOf(sentStates);
export const endedStates = listOf(['accepted', 'partly', 'rejected', 'not sent', 'unknown', 'declined', 'withdrawn']);

export async function select(
  rows: Rows,
  of: OfCaller,
  condition: string,
  values: readonly Value[],
  order = '',
): Promise<Change[]> {
  const [ofCaller, callers] = callerCondition(of);
  const sql = `select * from cloudops_changes where ${condition}${ofCaller} ${order}`;
  const found = await rows.all(sql, ...values, ...callers);
  return found.map((row) => changeOf(row, rows));
}

export const isId = (text: string): boolean => /^[\w-]{1,64}$/.test(text);

export async function selectOne(rows: Rows, id: string, condition = '', ...values: readonly Value[]) {
  const [change] = isId(id) ? await select(rows, {}, `id = ?${condition}`, [id, ...values]) : [];
  return change;
}

/** Inserts a waiting change, unless its row or its caller's list would be too long. */
export async function insertWaiting(
  rows: Rows,
  change: NewChange,
  { lifetimeMs, replaces }: { readonly lifetimeMs: number; readonly replaces: string },
): Promise<'added' | 'tooMany' | 'tooLong'> {
  const { now, all, run, lock } = rows;
  const row = newRow(change, rows, lifetimeMs);
  if (Object.values(row).join('').length > longestRow) return 'tooLong';
  const caller = keyOf(change.caller);
  await lock(`caller ${caller}`);
  if (row.asks === 1) {
    const sql = `select id from cloudops_changes where ${waits} and caller = ? and asks = 1 and id <> ?`;
    if ((await all(sql, now, caller, replaces)).length >= mostAsking) return 'tooMany';
  }
  await insert(rows, row);
  if (row.asks === 0)
    await run(
      `delete from cloudops_changes where state = 'waiting' and asks = 0 and caller = ? and id in (
         select id from cloudops_changes where state = 'waiting' and asks = 0 and caller = ?
         order by ${newestFirst}, id limit 1000 offset ${mostUnasked})`,
      ...[caller, caller],
    );
  return 'added';
}

/** Decides on a waiting change. Resolves with false if an earlier decision stands, or the change has expired. */
export async function updateDecided(
  { now, wall, run }: Transaction,
  id: string,
  decision: Decision,
  process: string,
): Promise<boolean> {
  const count = await run(
    `update cloudops_changes set state = ?, decision = ?, way = ?, process = ?, at = ?, decided = ?, changed = ?
     where id = ? and ${waits}`,
    ...[decision.kind, storedDecision(decision, wall), decision.way, process, wall, now, now, id, now],
  );
  return count === 1;
}

export async function insertApproved(rows: Rows, part: NewChange, decision: Decision, process: string): Promise<void> {
  const { now, wall } = rows;
  const approval = { state: 'approved', decision: storedDecision(decision, wall), way: decision.way, process };
  const row = { ...newRow(part, rows, 0), ...approval, decided: now, at: wall };
  await insert(rows, row, 'on conflict (id) do nothing');
}

const insert = ({ run }: Rows, row: ReturnType<typeof newRow>, otherwise = '') =>
  run(
    `insert into cloudops_changes (${Object.keys(row)}) values ${marksOf(Object.keys(row))} ${otherwise}`,
    ...Object.values(row),
  );

/** Takes over a begun change with its parts. Resolves with false if another process was first. */
export async function claim({ all, run }: Rows, { id, list = [] }: Change, process: string): Promise<boolean> {
  const [row] = await all('select process from cloudops_changes where id = ?', id);
  const ids = [id, ...partIds(id, list)];
  const count = await run(
    `update cloudops_changes set process = ? where process = ? and state in ('approved', 'begun') and id in ${marksOf(ids)}`,
    ...[process, textAt(row, 'process') ?? '', ...ids],
  );
  return count > 0;
}

export async function withPartsEnded(rows: Rows, change: Change): Promise<Change> {
  const { id, state, list } = change;
  if (state !== 'begun' || list === undefined) return change;
  const ids = partIds(id, list);
  const sql = `select id from cloudops_changes where state in ${endedStates} and id in ${marksOf(ids)}`;
  return { ...change, partsEnded: (await rows.all(sql, ...ids)).length };
}

const partIds = (id: string, list: readonly unknown[]) => list.map((_, index) => partId(id, index));

export const partId = (id: string, index: number): string => `${id}-${index + 1}`;

/** The change of which another is a part. */
export const wholeOf = (id: string): string | undefined => /^([\w-]{22})-\d{1,4}$/.exec(id)?.[1];

/** The states that an ending replaces. */
const replacedBy: Readonly<Record<EndState, readonly State[]>> = {
  'not sent': ['approved', 'begun'],
  unknown: ['begun'],
  accepted: ['begun', 'unknown'],
  partly: ['begun', 'unknown'],
  rejected: ['begun', 'unknown'],
};

/** Ends a change, unless its state stands. An unknown change keeps the outcome written in advance. */
export async function updateEnded(rows: Rows, id: string, state: EndState, ending: Ending): Promise<boolean> {
  const { now, run } = rows;
  const [facts, outcome] = storedEnding(ending, id, rows);
  const count = await run(
    `update cloudops_changes set state = ?, ending = ?, ended = ?, changed = ?,
       outcome = ${state === 'unknown' ? 'coalesce(?, outcome)' : '?'}
     where id = ? and state in ${listOf(replacedBy[state])}`,
    ...[state, facts, now, now, outcome, id],
  );
  return count === 1;
}

/** The last other change with this request that may have been carried out recently. A begun one counts at any age. */
export async function selectDuplicate(rows: Rows, requestKey: string, exceptId = ''): Promise<Change | undefined> {
  const condition = `request_key = ? and id <> ? and state in ${sent} and (state = 'begun' or ended > ?)`;
  const values = [requestKey, exceptId, rows.now - duplicateWindowMs];
  const [last] = await select(rows, {}, condition, values, 'order by begun desc, id desc limit 1');
  return last;
}

export async function selectBudget(
  { now, wall, all }: Transaction,
  key: string,
  { mostChanges, windowMs }: Budget,
): Promise<BudgetState> {
  const sql = `select begun from cloudops_changes where budget = ? and state in ${sent} and begun > ? order by begun`;
  const spent = (await all(sql, key, now - windowMs)).map((row) => Number(valueAt(row, 'begun')));
  const blocking = spent[spent.length - mostChanges];
  return {
    left: Math.max(0, mostChanges - spent.length),
    nextAt: blocking === undefined ? undefined : blocking + windowMs - now + wall,
  };
}

/** Returns the reason why an approved change must not begin, which stays valid until the transaction ends. */
export async function findConflict(
  rows: Rows,
  { id, requestKey, budget: budgetKey, repeats }: Change,
  budget: Budget | undefined,
): Promise<Extract<Begun, { kind: 'duplicate' | 'budgetSpent' }> | undefined> {
  // Always in this order, so that no two transactions wait for each other.
  await rows.lock(`budget ${budgetKey}`);
  await rows.lock(`request ${requestKey}`);
  const earlier = await selectDuplicate(rows, requestKey, id);
  if (earlier !== undefined && repeats !== true && repeats !== earlier.id) return { kind: 'duplicate', earlier };
  if (budget === undefined) return undefined;
  const state = await selectBudget(rows, budgetKey, budget);
  return state.left > 0 ? undefined : { kind: 'budgetSpent', budget, ...state };
}

const pageSize = 500;

/** How far each pass goes back (milliseconds), because a row can be read only after its commit. */
const overlapMs = 60_000;

const positionSchema = lazy(() => z.object({ id: z.string(), state: z.string(), changed: z.coerce.number() }));

/** Streams the journal in the order of the last writes. Leaves out rows that cannot be read. */
export async function* readEntries(
  scan: Engine['scan'],
  { since = 0, until = Number.MAX_SAFE_INTEGER, follow, ...of }: ReadOptions,
): AsyncGenerator<JournalEntry> {
  const [ofCaller, callers] = callerCondition(of);
  /** The rows of the last `overlapMs`, by ID. */
  const recent = new Map<string, z.output<ReturnType<typeof positionSchema>>>();
  let newest = 0;
  do {
    let position = { changed: newest - overlapMs, id: '' };
    for (let count = pageSize; count === pageSize; ) {
      const { rows, now } = await scan(async (transaction) => ({
        now: transaction.now,
        rows: await transaction.all(
          `select id, state, tool, request_key, budget, made, expires, decided, begun, at, facts, decision, ending, changed
           from cloudops_changes where (changed > ? or changed = ? and id > ?) and state <> 'waiting' and at >= ? and at < ?${ofCaller}
           order by changed, id limit ${pageSize}`,
          ...[position.changed, position.changed, position.id, since, until, ...callers],
        ),
      }));
      count = rows.length;
      for (const row of rows) {
        const read = positionSchema().parse(row);
        const isNew = recent.get(read.id)?.state !== read.state;
        position = read;
        recent.set(read.id, read);
        newest = Math.max(newest, read.changed);
        const entry = attempt(() => entryOf(row, now), undefined);
        if (isNew && entry !== undefined) yield entry;
      }
      forget(recent, newest - overlapMs);
    }
  } while (await follow?.());
}

function forget(recent: Map<string, { readonly changed: number }>, before: number): void {
  for (const [id, { changed }] of recent) if (changed < before) recent.delete(id);
}

/** `blind`: this server cannot read the progress. `late`: the change was not finished in time. */
const followStates = ['going', 'done', 'failed', 'late', 'blind'] as const;
export type FollowState = (typeof followStates)[number];

const seenSchema = lazy(() => z.object({ text: resultSchemas().text, value: z.string().optional() }));

export type Seen = z.output<ReturnType<typeof seenSchema>>;

/** `due`: the time of the next read, by the clock of the store (milliseconds). */
const followSchema = lazy(() =>
  z.object({
    state: z.enum(followStates),
    began: z.number(),
    reads: z.number(),
    due: z.number(),
    /** As a column of its own, because it may be sealed. */
    seen: z.string().optional(),
  }),
);

export interface Followed extends Omit<z.output<ReturnType<typeof followSchema>>, 'due' | 'seen'> {
  readonly seen?: Seen | undefined;
  readonly ageMs: number;
  /** True if the follow has to begin, or its next read is due. */
  readonly isDue: boolean;
  /** As the column has it. Undefined if the follow has not begun. */
  readonly stored?: string | undefined;
}

export async function readFollow({ all, now, keys }: Rows, id: string): Promise<Followed> {
  const [row] = await all('select follow from cloudops_changes where id = ?', id);
  const stored = textAt(row, 'follow');
  if (stored === undefined) return { state: 'going', began: now, reads: 0, ageMs: 0, isDue: true };
  const { due, seen, ...follow } = followSchema().parse(parseJson(stored));
  return {
    ...follow,
    seen: seenSchema().safeParse(openColumn(seen, id, keys)).data,
    ageMs: Math.max(0, now - follow.began),
    isDue: follow.state === 'going' && due <= now,
    stored,
  };
}

/** Writes how far a follow is. Returns undefined if another process has written since it was read. */
export async function writeFollow(
  { now, keys, run }: Rows,
  id: string,
  { state, began, reads, seen, stored = '' }: Omit<Followed, 'ageMs' | 'isDue'>,
  { pauseMs, isPrivate }: { readonly pauseMs: number; readonly isPrivate: boolean | undefined },
): Promise<string | undefined> {
  const column = seen && columnOf(seen, isPrivate, id, keys);
  const follow = JSON.stringify({ state, began, reads, due: now + pauseMs, seen: column });
  const sql = `update cloudops_changes set follow = ? where id = ? and coalesce(follow, '') = ?`;
  return (await run(sql, follow, id, stored)) === 1 ? follow : undefined;
}
