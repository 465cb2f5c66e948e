import * as z from 'zod';
import { lazy } from '../util/objects.js';
import { stateOfBudget } from './budget.js';
import {
  type Begun,
  type Budget,
  type BudgetState,
  type Change,
  type Decision,
  type Ending,
  type EndState,
  type NewChange,
  type OfCaller,
  type State,
  sentStates,
  states,
} from './change.js';
import { asksPerson, callerCondition, changeOf, keyOf, newRow, storedDecision, storedEnding } from './rows.js';
import type { Transaction, Value } from './sql.js';

/**
 * This file has the SQL of the table of changes. Each function is a step of a transaction. `wall` is the time of this server's clock, which
 * is only shown.
 */

/** Time after its end in which a change counts as repeated, and after a decline in which the decline counts (milliseconds). */
export const duplicateWindowMs = 10 * 60 * 1000;

/** The longest row (characters). */
const longestRow = 1024 * 1024;
/** The most changes of a caller that wait for a person. */
const mostAsking = 20;
/** The most other waiting changes of a caller. The oldest make room for new ones. */
const mostUnasked = 100;
/** Expired plans are erased after this time, and approved changes that do not begin are given up (milliseconds). */
export const keptMs = 60 * 60 * 1000;
/** How long a client counts as one in which a program answers (milliseconds). */
const programMs = 24 * 60 * 60 * 1000;

/** With `+ 0`, SQLite sorts the few rows that it selects. Without it, SQLite reads all rows of a caller in the order of an index. */
const newestFirst = 'made + 0 desc';

const listOf = (names: readonly State[]) => `(${names.map((name) => `'${name}'`).join(', ')})`;
const sent = listOf(sentStates);
const ended = listOf(['accepted', 'partly', 'rejected', 'not sent', 'unknown', 'declined', 'withdrawn']);

/** Selects changes. `condition` follows `where`. */
export async function select(
  { now, all }: Transaction,
  condition: string,
  ...values: readonly Value[]
): Promise<Change[]> {
  const rows = await all(`select * from cloudops_changes where ${condition}`, ...values);
  return rows.map((row) => changeOf(row, now));
}

export const isId = (text: string): boolean => /^[\w-]{1,64}$/.test(text);

export const selectOne = async (transaction: Transaction, id: string): Promise<Change | undefined> =>
  isId(id) ? (await select(transaction, 'id = ?', id))[0] : undefined;

/** Inserts a waiting change, unless its row or its caller's list would be too long. `replaces` makes room for it. */
export async function insertWaiting(
  transaction: Transaction,
  change: NewChange,
  { wall, lifetimeMs, replaces }: { readonly wall: number; readonly lifetimeMs: number; readonly replaces: string },
): Promise<'added' | 'tooMany' | 'tooLong'> {
  const { now, all, run, lock } = transaction;
  const row = newRow(change, 'waiting', { wall, now, lifetimeMs });
  if (row.length > longestRow) return 'tooLong';
  const caller = keyOf(change.caller);
  await lock(`caller ${caller}`);
  if (asksPerson(change)) {
    const asking = await all(
      `select id from cloudops_changes where state = 'waiting' and caller = ? and asks = 1 and expires > ? and id <> ?`,
      ...[caller, now, replaces],
    );
    if (asking.length >= mostAsking) return 'tooMany';
  }
  const marks = row.columns.map(() => '?').join(', ');
  await run(`insert into cloudops_changes (${row.columns.join(', ')}) values (${marks})`, ...row.values);
  if (!asksPerson(change))
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
  { now, run }: Transaction,
  id: string,
  decision: Decision,
  { wall, process }: { readonly wall: number; readonly process: string },
): Promise<boolean> {
  const count = await run(
    `update cloudops_changes set state = ?, decision = ?, way = ?, process = ?, at = ?, decided = ?, changed = ?
     where id = ? and state = 'waiting' and expires > ?`,
    ...[decision.kind, storedDecision(decision, wall), decision.way, process, wall, now, now, id, now],
  );
  return count === 1;
}

/** Selects a change that this process has approved, and keeps others from changing it. */
export const selectApproved = async (
  transaction: Transaction,
  id: string,
  { process, forUpdate }: { readonly process: string; readonly forUpdate: string },
): Promise<Change | undefined> =>
  isId(id)
    ? (await select(transaction, `id = ? and state = 'approved' and process = ?${forUpdate}`, id, process))[0]
    : undefined;

export async function updateBegun(
  { now, run }: Transaction,
  id: string,
  { wall, ifUnknown }: { readonly wall: number; readonly ifUnknown: Ending },
): Promise<void> {
  const [, outcome] = storedEnding(ifUnknown, wall);
  await run(
    `update cloudops_changes set state = 'begun', at = ?, begun = ?, changed = ?, outcome = ? where id = ?`,
    ...[wall, now, now, outcome, id],
  );
}

/** The states that an ending replaces. */
const replacedBy = (state: EndState): readonly State[] => {
  if (state === 'unknown') return ['begun'];
  return state === 'not sent' ? ['approved', 'begun'] : ['begun', 'unknown'];
};

/** Ends a change, unless its present state stands. `isInterrupted` keeps the outcome that `updateBegun` has written in advance. */
export async function updateEnded(
  { now, run }: Transaction,
  id: string,
  state: EndState,
  {
    ending,
    wall,
    isInterrupted = false,
  }: { readonly ending: Ending; readonly wall: number; readonly isInterrupted?: boolean },
): Promise<boolean> {
  const [facts, outcome] = storedEnding(ending, wall);
  const count = await run(
    `update cloudops_changes set state = ?, ending = ?, ended = ?, changed = ?${isInterrupted ? '' : ', outcome = ?'}
     where id = ? and state in ${listOf(replacedBy(state))}`,
    ...[state, facts, now, now, ...(isInterrupted ? [] : [outcome]), id],
  );
  return count === 1;
}

/**
 * The last other change with this request that was or may have been carried out recently. A change that has not ended counts at any age,
 * because recovery ends it if its process is gone.
 */
export const selectDuplicate = async (
  transaction: Transaction,
  requestKey: string,
  exceptId = '',
): Promise<Change | undefined> =>
  (
    await select(
      transaction,
      `request_key = ? and id <> ? and state in ${sent} and (state = 'begun' or ended > ?)
       order by begun desc, id desc limit 1`,
      ...[requestKey, exceptId, transaction.now - duplicateWindowMs],
    )
  )[0];

const begunSchema = lazy(() => z.array(z.object({ begun: z.coerce.number() }).transform(({ begun }) => begun)));

export async function selectBudget(
  { now, all }: Transaction,
  key: string,
  { budget, wall }: { readonly budget: Budget; readonly wall: number },
): Promise<BudgetState> {
  const rows = await all(
    `select begun from cloudops_changes where budget = ? and state in ${sent} and begun > ? order by begun`,
    ...[key, now - budget.windowMs],
  );
  const { left, nextAt } = stateOfBudget(begunSchema().parse(rows), budget, now);
  // By the clock that people see.
  return { left, nextAt: nextAt === undefined ? undefined : nextAt - now + wall };
}

/** Returns the reason why an approved change must not begin. It stays valid until the transaction ends. */
export async function findConflict(
  transaction: Transaction,
  { id, requestKey, budget: budgetKey, repeats }: Change,
  { budget, wall }: { readonly budget: Budget | undefined; readonly wall: number },
): Promise<Extract<Begun, { kind: 'duplicate' | 'budgetSpent' }> | undefined> {
  // Always in this order, so that no two transactions wait for each other.
  await transaction.lock(`budget ${budgetKey}`);
  await transaction.lock(`request ${requestKey}`);
  const earlier = await selectDuplicate(transaction, requestKey, id);
  if (earlier !== undefined && repeats !== true && repeats !== earlier.id) return { kind: 'duplicate', earlier };
  if (budget === undefined) return undefined;
  const state = await selectBudget(transaction, budgetKey, { budget, wall });
  return state.left > 0 ? undefined : { kind: 'budgetSpent', budget, ...state };
}

export const selectWaiting = (transaction: Transaction, of: OfCaller): Promise<Change[]> => {
  const [condition, values] = callerCondition(of);
  return select(
    transaction,
    `state = 'waiting' and expires > ?${condition} order by made, id`,
    transaction.now,
    ...values,
  );
};

export async function countWaiting({ now, all }: Transaction): Promise<number> {
  const rows = await all(`select id from cloudops_changes where state = 'waiting' and expires > ?`, now);
  return rows.length;
}

const countsSchema = lazy(() => z.array(z.object({ state: z.enum(states), count: z.coerce.number() })));

/** See `Changes.count`. */
export async function countDecided({ all }: Transaction) {
  const rows = countsSchema().parse(
    await all(`select state, count(*) as count from cloudops_changes where state <> 'waiting' group by state`),
  );
  const sum = (...counted: readonly State[]) =>
    rows.reduce((total, { state, count }) => total + (counted.includes(state) ? count : 0), 0);
  return { changes: sum(...states), unresolved: sum('begun', 'unknown') };
}

export const selectNewest = (transaction: Transaction, { limit, ...of }: OfCaller & { limit: number }) => {
  const [condition, values] = callerCondition(of);
  return select(transaction, `true${condition} order by made desc, id desc limit ?`, ...values, limit);
};

/** See `Changes.open`. */
export const selectOpen = (
  transaction: Transaction,
  { subject, tool, ...of }: OfCaller & { readonly subject: string | undefined; readonly tool: string },
): Promise<Change[]> => {
  const [condition, values] = callerCondition(of);
  const recent = transaction.now - duplicateWindowMs;
  return select(
    transaction,
    `state in ('waiting', 'approved', 'begun', 'unknown', 'declined') and (state <> 'waiting' or expires > ?)
       and (state <> 'declined' or decided > ?)
       and (subject = ? or tool = ? and made > ?)${condition}
     order by ${newestFirst}, id desc limit 100`,
    ...[transaction.now, recent, subject ?? '', tool, recent],
    ...values,
  );
};

export const selectDeclined = (transaction: Transaction, of: OfCaller): Promise<Change[]> => {
  const [condition, values] = callerCondition(of);
  return select(
    transaction,
    `state = 'declined' and way <> 'program' and decided > ?${condition} order by decided`,
    transaction.now - duplicateWindowMs,
    ...values,
  );
};

export async function isAnsweredByProgram({ now, all }: Transaction, { caller, client }: OfCaller): Promise<boolean> {
  const rows = await all(
    `select id from cloudops_changes
     where state in ('declined', 'withdrawn') and way = 'program' and caller = ? and client = ? and decided > ? limit 1`,
    ...[keyOf(caller ?? undefined), keyOf(client), now - programMs],
  );
  return rows.length > 0;
}

/** Selects the approved and begun changes of processes that do not run any more. Approved changes that did not begin for long count, too. */
export const selectAbandoned = async (transaction: Transaction, running: ReadonlySet<string>): Promise<Change[]> => {
  const marks = [...running].map(() => '?').join(', ');
  return select(
    transaction,
    `state in ('approved', 'begun') and (process not in (${marks}) or state = 'approved' and decided < ?) order by made limit 1000`,
    ...running,
    transaction.now - keptMs,
  );
};

/** Erases ended changes that began, or were decided, before a time by the wall clock. */
export const deleteBefore = ({ run }: Transaction, before: number): Promise<number> =>
  run(`delete from cloudops_changes where state in ${ended} and at < ?`, before);

/** True if `deleteExpired` would erase plans. */
export async function hasExpired({ now, all }: Transaction): Promise<boolean> {
  const rows = await all(
    `select id from cloudops_changes where state = 'waiting' and expires < ? limit 1`,
    now - keptMs,
  );
  return rows.length > 0;
}

/** Erases expired plans, and processes without changes under way. */
export async function deleteExpired({ now, run }: Transaction): Promise<void> {
  await run(`delete from cloudops_changes where state = 'waiting' and expires < ?`, now - keptMs);
  await run(
    `delete from cloudops_processes where lease < ?
       and id not in (select process from cloudops_changes where state in ('approved', 'begun'))`,
    now - keptMs,
  );
}
