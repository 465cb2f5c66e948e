import * as z from 'zod';
import type { Budget } from '../calls/account.js';
import { attempt, lazy } from '../util/objects.js';
import {
  type Begun,
  type BudgetState,
  type Change,
  type Decision,
  type Ending,
  type EndState,
  type JournalEntry,
  type NewChange,
  type OfCaller,
  type ReadOptions,
  type State,
  sentStates,
} from './change.js';
import {
  callerCondition,
  changeOf,
  entryColumns,
  entryOf,
  keyOf,
  marksOf,
  newRow,
  type Rows,
  storedDecision,
  storedEnding,
} from './rows.js';
import type { Engine, Transaction, Value } from './sql.js';

/** This file has the SQL on the table of changes, save the queries that only the store makes. */

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

/** Selects changes of callers. */
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

/** Selects the change with an ID. */
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
  const [columns, values] = [Object.keys(row), Object.values(row)];
  if (values.join('').length > longestRow) return 'tooLong';
  const caller = keyOf(change.caller);
  await lock(`caller ${caller}`);
  if (row.asks === 1) {
    const sql = `select id from cloudops_changes where ${waits} and caller = ? and asks = 1 and id <> ?`;
    if ((await all(sql, now, caller, replaces)).length >= mostAsking) return 'tooMany';
  }
  await run(`insert into cloudops_changes (${columns}) values ${marksOf(columns)}`, ...values);
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

/** Inserts a part of a change that was approved as a whole, unless the store has the part. */
export async function insertApproved(rows: Rows, part: NewChange, decision: Decision, process: string): Promise<void> {
  const { now, wall, run } = rows;
  const approval = { state: 'approved', decision: storedDecision(decision, wall), way: decision.way, process };
  const row = { ...newRow(part, rows, 0), ...approval, decided: now, at: wall };
  await run(
    `insert into cloudops_changes (${Object.keys(row)}) values ${marksOf(Object.keys(row))} on conflict (id) do nothing`,
    ...Object.values(row),
  );
}

const processSchema = lazy(() => z.array(z.object({ process: z.string().nullable() })));

/** Takes over a begun change with its parts. Resolves with false if another process was first. */
export async function claim({ all, run }: Rows, { id, list = [] }: Change, process: string): Promise<boolean> {
  const [row] = processSchema().parse(await all('select process from cloudops_changes where id = ?', id));
  const ids = [id, ...partIds(id, list)];
  const count = await run(
    `update cloudops_changes set process = ? where process = ? and state in ('approved', 'begun') and id in ${marksOf(ids)}`,
    ...[process, row?.process ?? '', ...ids],
  );
  return count > 0;
}

/** Counts the parts that have ended, if a change of several things is begun. */
export async function withPartsEnded(rows: Rows, change: Change): Promise<Change> {
  const { id, state, list } = change;
  if (state !== 'begun' || list === undefined) return change;
  const ids = partIds(id, list);
  const sql = `select id from cloudops_changes where state in ${endedStates} and id in ${marksOf(ids)}`;
  return { ...change, partsEnded: (await rows.all(sql, ...ids)).length };
}

const partIds = (id: string, list: readonly unknown[]) => list.map((_, index) => partId(id, index));

/** The ID of a part of a change. */
export const partId = (id: string, index: number): string => `${id}-${index + 1}`;

/** The change of which another is a part. */
export const wholeOf = (id: string): string | undefined => /^([\w-]{22})-\d{1,4}$/.exec(id)?.[1];

const replacedBy = (state: EndState): readonly State[] => {
  if (state === 'unknown') return ['begun'];
  return state === 'not sent' ? ['approved', 'begun'] : ['begun', 'unknown'];
};

/** Ends a change, unless its state stands. An unknown change keeps the outcome written in advance. */
export async function updateEnded(rows: Rows, id: string, state: EndState, ending: Ending): Promise<boolean> {
  const { now, run } = rows;
  const [facts, outcome] = storedEnding(ending, id, rows);
  const count = await run(
    `update cloudops_changes set state = ?, ending = ?, ended = ?, changed = ?,
       outcome = ${state === 'unknown' ? 'coalesce(?, outcome)' : '?'}
     where id = ? and state in ${listOf(replacedBy(state))}`,
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

const begunSchema = lazy(() => z.array(z.object({ begun: z.coerce.number() })));

export async function selectBudget(
  { now, wall, all }: Transaction,
  key: string,
  { mostChanges, windowMs }: Budget,
): Promise<BudgetState> {
  const sql = `select begun from cloudops_changes where budget = ? and state in ${sent} and begun > ? order by begun`;
  const spent = begunSchema().parse(await all(sql, key, now - windowMs));
  const blocking = spent[spent.length - mostChanges];
  return {
    left: Math.max(0, mostChanges - spent.length),
    nextAt: blocking === undefined ? undefined : blocking.begun + windowMs - now + wall,
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
type Position = z.output<ReturnType<typeof positionSchema>>;

/** Streams the journal in the order of the last writes. Leaves out rows that cannot be read. */
export async function* readEntries(
  scan: Engine['scan'],
  { since = 0, until = Number.MAX_SAFE_INTEGER, follow, ...of }: ReadOptions,
): AsyncGenerator<JournalEntry> {
  const [ofCaller, callers] = callerCondition(of);
  /** The rows of the last `overlapMs`, oldest first. */
  const recent = new Map<string, Position>();
  let newest = 0;
  do {
    let position = { changed: newest - overlapMs, id: '' };
    for (;;) {
      const { rows, now } = await scan(async (transaction) => ({
        now: transaction.now,
        rows: await transaction.all(
          `select ${entryColumns} from cloudops_changes
           where (changed > ? or changed = ? and id > ?) and state <> 'waiting' and at >= ? and at < ?${ofCaller}
           order by changed, id limit ${pageSize}`,
          ...[position.changed, position.changed, position.id, since, until, ...callers],
        ),
      }));
      for (const row of rows) {
        const read = positionSchema().parse(row);
        position = read;
        newest = Math.max(newest, read.changed);
        const isNew = recent.get(read.id)?.state !== read.state;
        remember(recent, read, newest - overlapMs);
        const entry = attempt(() => entryOf(row, now), undefined);
        if (isNew && entry !== undefined) yield entry;
      }
      if (rows.length < pageSize) break;
    }
  } while (await follow?.());
}

function remember(recent: Map<string, Position>, read: Position, since: number): void {
  recent.delete(read.id);
  recent.set(read.id, read);
  for (const { id, changed } of recent.values()) {
    if (changed >= since) break;
    recent.delete(id);
  }
}
