import { randomBytes } from 'node:crypto';
import { once, setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Budget } from '../calls/account.js';
import { type Log, reasonOf, shownReason } from '../util/log.js';
import { lazy, valueAt } from '../util/objects.js';
import { own, say } from '../util/safe-text.js';
import type { KeyRing, SealingKeys } from '../util/seal.js';
import type {
  Added,
  Begun,
  Change,
  Decided,
  Decision,
  Ending,
  EndState,
  NewChange,
  OfCaller,
  ReadOptions,
  Unwritable,
} from './change.js';
import {
  claim,
  duplicateWindowMs,
  endedStates,
  type Followed,
  findConflict,
  insertApproved,
  insertWaiting,
  isId,
  keptMs,
  marksOf,
  newestFirst,
  type Rows,
  readEntries,
  readFollow,
  select,
  selectBudget,
  selectDuplicate,
  selectOne,
  storedEnding,
  updateDecided,
  updateEnded,
  waits,
  wholeOf,
  withPartsEnded,
  writeFollow,
} from './change-table.js';
import { CommitPending, type Engine } from './sql.js';
import { leaseMs, type Process, renewLease, runningProcesses } from './system.js';

type Attempt = () => Promise<unknown>;

function createPersistence() {
  const closing = new AbortController();
  const { signal } = closing;
  setMaxListeners(0, signal);
  const closed = once(signal, 'abort').then(() => false);
  const underWay = new Set<Promise<void>>();

  /** True if the error leaves a commit in doubt that succeeds in the end. */
  const succeeds = async (error: unknown): Promise<boolean> =>
    error instanceof CommitPending && Promise.race([error.committed.then(() => true).catch(() => false), closed]);

  const retry = async (attempt: Attempt, earlier: unknown): Promise<void> => {
    await succeeds(earlier);
    for (let pause = 50; ; pause = Math.min(2 * pause, 5_000)) {
      // An attempt that begins after `close` is the last.
      const isLast = signal.aborted;
      try {
        await attempt();
        return;
      } catch (error) {
        if (isLast) throw error;
        if (await succeeds(error)) return;
        // When `signal` aborts, the pause ends, and a last attempt follows.
        await delay(pause, undefined, { signal }).catch(() => undefined);
      }
    }
  };

  return {
    /**
     * Begins after the commit that `earlier` says to be in doubt.
     * @throws the last error after `close`
     */
    write: (attempt: Attempt, earlier?: unknown): Promise<void> => {
      const written = retry(attempt, earlier).finally(() => underWay.delete(written));
      underWay.add(written);
      return written;
    },
    count: () => underWay.size,
    /** Resolves after at most one more attempt of each write. */
    close: async (): Promise<void> => {
      closing.abort();
      // A write that ends may begin another.
      while (underWay.size > 0) await Promise.allSettled(underWay);
    },
  };
}

export interface StoreOptions {
  /** The process that carries out the changes which it approves. */
  readonly process: Process;
  readonly log?: Log | undefined;
  /** Seals private values with the first key. Without keys, no other process can open them. */
  readonly keys?: SealingKeys | undefined;
}

type Work<Result> = (rows: Rows) => Promise<Result>;

/** Creates the table of all changes on an engine, which several processes may share. What the store cannot take at once is retried until it is written. */
export function createChanges(
  engine: Engine,
  { process: self, log = () => undefined, keys = lazy((): KeyRing => [randomBytes(32)]) }: StoreOptions,
) {
  const read = <Result>(work: Work<Result>) => engine.read((transaction) => work({ ...transaction, keys }));
  const write = <Result>(work: Work<Result>, beforeCommit?: () => void) =>
    engine.write((transaction) => work({ ...transaction, keys }), beforeCommit);
  const persistence = createPersistence();
  /** Declines and withdrawals that the store does not have yet, by the ID of the change. */
  const unwritten = new Map<string, Decision>();
  /** IDs of changes that this process has approved and not ended. */
  const underWay = new Set<string>();

  // When the lease of this process ends, other hosts take its changes for abandoned.
  const leaseTimer = setInterval(() => {
    if (underWay.size > 0) write((rows) => renewLease(rows, self)).catch(() => undefined);
  }, leaseMs / 3).unref();

  const unwritable = (error: unknown): Unwritable => {
    log('error', 'journal', { error: reasonOf(error) });
    return { kind: 'unwritable', reason: say`${own(engine.name)}: ${shownReason(error)}` };
  };

  /** Resolves with false if there is no such change. */
  const writeEnding = async (id: string, state: EndState, ending: Ending): Promise<boolean> => {
    const isThere = await write(async (rows) => {
      // Waits for another transaction on this row, because the update would overlook the state that it is about to
      // write.
      const found = await rows.all(`select id from cloudops_changes where id = ?${rows.forUpdate}`, id);
      await updateEnded(rows, id, state, ending);
      return found.length > 0;
    });
    underWay.delete(id);
    return isThere;
  };

  const writeInBackground = (attempt: Attempt, earlier: unknown): void => {
    void persistence.write(attempt, earlier).catch(() => undefined);
  };

  /** Approves or begins a change. If it is in doubt whether that was written, the change ends as `not sent`. */
  const towardsSending = async <Result>(id: string, work: Work<Result>): Promise<Result | Unwritable> => {
    let mayBeWritten = underWay.has(id);
    try {
      return await write(work, () => {
        mayBeWritten = true;
      });
    } catch (error) {
      const stop = () => writeEnding(id, 'not sent', { code: 'JournalUnavailable' });
      if (error instanceof CommitPending) writeInBackground(stop, error);
      else if (mayBeWritten) await stop().catch((failure: unknown) => writeInBackground(stop, failure));
      return unwritable(error);
    }
  };

  const withUnwritten = (change: Change): Change => {
    const decision = unwritten.get(change.id);
    return decision === undefined || change.state !== 'waiting'
      ? change
      : { ...change, state: decision.kind, decision };
  };

  const find = async (id: string): Promise<Change | undefined> => {
    const change = await read(async (rows) => {
      const found = await selectOne(rows, id);
      return found && withPartsEnded(rows, found);
    });
    return change && withUnwritten(change);
  };

  const decideIn =
    (id: string, decision: Decision): Work<Decided> =>
    async (rows) => {
      const isFirst = await updateDecided(rows, id, decision, self.id);
      if (isFirst && decision.kind === 'approved') await renewLease(rows, self);
      const change = await selectOne(rows, id);
      return change === undefined ? { kind: 'gone' } : { kind: isFirst ? 'decided' : 'late', change };
    };

  /** What cannot be written binds this process at once, and is retried. */
  const decline = async (id: string, decision: Decision): Promise<Decided> => {
    const attempt = () => write(decideIn(id, decision));
    try {
      return await attempt();
    } catch (error) {
      unwritten.set(id, decision);
      writeInBackground(async () => {
        await attempt();
        unwritten.delete(id);
      }, error);
      const reason = unwritable(error);
      const change = await find(id).catch(() => undefined);
      return change === undefined ? reason : { kind: 'decided', change, isUnwritten: true };
    }
  };

  /** The first decision on a waiting change counts, and only this process may carry out what it approves. */
  const decide = async (id: string, decision: Decision): Promise<Decided> => {
    if (!isId(id)) return { kind: 'gone' };
    if (unwritten.has(id))
      return find(id).then((change): Decided => (change ? { kind: 'late', change } : { kind: 'gone' }), unwritable);
    if (decision.kind !== 'approved') return decline(id, decision);
    const decided = await towardsSending(id, decideIn(id, decision));
    if (decided.kind === 'decided') underWay.add(id);
    return decided;
  };

  /** Adds a change, and withdraws the waiting change `replaces` in the same transaction. */
  const add = async (
    change: NewChange,
    {
      lifetimeMs,
      approved,
      replaces = '',
    }: {
      readonly lifetimeMs: number;
      readonly approved?: Decision | undefined;
      readonly replaces?: string | undefined;
    },
  ): Promise<Added> => {
    const { id } = change;
    const added = await towardsSending(id, async (rows): Promise<Added> => {
      const kind = await insertWaiting(rows, change, { lifetimeMs, replaces });
      if (kind !== 'added') return { kind };
      const withdrawal = { kind: 'withdrawn', way: 'withdrawn', replacedBy: id } as const;
      const replaced = isId(replaces) && (await updateDecided(rows, replaces, withdrawal, self.id));
      if (approved !== undefined) await decideIn(id, approved)(rows);
      const written = await selectOne(rows, id);
      if (written === undefined) throw new Error('the change was not written');
      return { kind, change: written, replaced };
    });
    if (added.kind === 'added' && approved !== undefined) underWay.add(id);
    return added;
  };

  /** Writes durably that a change is about to be sent. `ifUnknown` becomes its outcome if this process goes away. */
  const begin = async (
    id: string,
    { budget, ifUnknown }: { readonly budget?: Budget | undefined; readonly ifUnknown: Ending },
  ): Promise<Begun> => {
    const begun = await towardsSending(id, async (rows): Promise<Begun> => {
      const isOwn = ` and state = 'approved' and process = ?${rows.forUpdate}`;
      const change = unwritten.has(id) ? undefined : await selectOne(rows, id, isOwn, self.id);
      if (change === undefined) return { kind: 'notApproved' };
      rows.requireSameTime();
      const conflict = await findConflict(rows, change, budget);
      if (conflict !== undefined) {
        await updateEnded(rows, id, 'not sent', { code: conflict.kind });
        return conflict;
      }
      await renewLease(rows, self);
      const { now, wall, run } = rows;
      const [, outcome] = storedEnding(ifUnknown, id, rows);
      await run(
        `update cloudops_changes set state = 'begun', at = ?, begun = ?, changed = ?, outcome = ? where id = ?`,
        ...[wall, now, now, outcome, id],
      );
      return { kind: 'begun', change: (await selectOne(rows, id)) ?? change };
    });
    if (begun.kind === 'duplicate' || begun.kind === 'budgetSpent') underWay.delete(id);
    return begun;
  };

  const abandoned = async (rows: Rows) => {
    const running = [...(await runningProcesses(rows, self))];
    return select(
      rows,
      {},
      `state in ('approved', 'begun') and (process not in ${marksOf(running)} or state = 'approved' and decided < ?)`,
      [...running, rows.now - keptMs],
      'order by made limit 1000',
    );
  };

  /** Returns nothing if another server was first. */
  const recoverOne = async (rows: Rows, change: Change): Promise<readonly Change[]> => {
    if (change.state === 'begun' && change.list !== undefined)
      return (await claim(rows, change, self.id)) ? [change] : [];
    const whole = wholeOf(change.id);
    if (whole !== undefined && (await selectOne(rows, whole))?.state === 'begun') return [];
    const state = change.state === 'begun' ? 'unknown' : 'not sent';
    const ending = { code: 'ProcessEnded' };
    return (await updateEnded(rows, change.id, state, ending)) ? [{ ...change, state, ending }] : [];
  };

  /** Takes over the begun changes of several things of processes that are gone, and ends their other changes: begun ones as `unknown`, approved ones as `not sent`. */
  const recover = async (): Promise<readonly Change[]> => {
    if ((await read(abandoned)).length === 0) return [];
    const recovered = await write(async (rows) => {
      // Another process that takes over at the same time has its lease when this one looks.
      await rows.lock('recovery');
      const recovered: Change[] = [];
      for (const change of await abandoned(rows)) recovered.push(...(await recoverOne(rows, change)));
      if (recovered.some(({ state }) => state === 'begun')) await renewLease(rows, self);
      return recovered;
    });
    for (const { id, state } of recovered) if (state === 'begun') underWay.add(id);
    return recovered;
  };

  /** Adds the parts of a begun change, approved by this process, and returns all of them in the order of `parts`. */
  const addParts = async (parts: readonly NewChange[], decision: Decision): Promise<readonly Change[]> => {
    const ids = parts.map(({ id }) => id);
    const added = await write(async (rows) => {
      for (const part of parts) await insertApproved(rows, part, decision, self.id);
      return select(rows, {}, `id in ${marksOf(ids)}`, ids);
    });
    for (const { id, state } of added) if (state === 'approved' || state === 'begun') underWay.add(id);
    const byId = new Map(added.map((part) => [part.id, part]));
    return ids.flatMap((id) => byId.get(id) ?? []);
  };

  return {
    add,
    find,
    decide,
    begin,
    addParts,
    /**
     * Writes the ending, with retries. A known outcome replaces `unknown`, never the reverse.
     * @throws if there is no such change, or the last error
     */
    end: async (id: string, state: EndState, ending: Ending): Promise<void> => {
      let isGone = false;
      await persistence.write(async () => {
        isGone = !(await writeEnding(id, state, ending));
      });
      if (isGone) throw new Error('the change is not in the journal');
    },
    followed: (id: string) => read((rows) => readFollow(rows, id)),
    keepFollow: (id: string, followed: Followed, kept: Parameters<typeof writeFollow>[3]) =>
      write((rows) => writeFollow(rows, id, followed, kept)),
    /** The last change with this request that may have been carried out recently, or has not ended. */
    duplicateOf: (requestKey: string) => read((rows) => selectDuplicate(rows, requestKey)),
    budgetState: (key: string, budget: Budget) => read((rows) => selectBudget(rows, key, budget)),
    waiting: async (of: OfCaller): Promise<readonly Change[]> => {
      const waiting = await read((rows) => select(rows, of, waits, [rows.now], 'order by made, id'));
      return waiting.filter(({ id }) => !unwritten.has(id));
    },
    newest: ({ limit, ...of }: OfCaller & { readonly limit: number }): Promise<readonly Change[]> =>
      engine.scan((transaction) =>
        select({ ...transaction, keys }, of, 'true', [], `order by made desc, id desc limit ${limit}`),
      ),
    /** A caller's open or just declined changes of a thing or by a tool. */
    open: ({
      subject = '',
      tool,
      ...of
    }: OfCaller & { readonly subject: string | undefined; readonly tool: string }): Promise<readonly Change[]> =>
      read((rows) => {
        const recent = rows.now - duplicateWindowMs;
        return select(
          rows,
          of,
          `(${waits} or state in ('approved', 'begun', 'unknown') or state = 'declined' and decided > ?)
             and (subject = ? or tool = ? and made > ?)`,
          [rows.now, recent, subject, tool, recent],
          `order by ${newestFirst}, id desc limit 100`,
        );
      }),
    /** The changes that were declined or withdrawn in the last 24 hours, oldest first. */
    refused: (of: OfCaller): Promise<readonly Change[]> =>
      read(async (rows) => {
        const since = rows.now - 24 * 60 * 60 * 1000;
        const order = 'order by decided';
        const written = await select(rows, of, `state in ('declined', 'withdrawn') and decided > ?`, [since], order);
        const ids = [...unwritten.keys()];
        if (ids.length === 0) return written;
        const others = await select(rows, of, `state = 'waiting' and id in ${marksOf(ids)}`, ids);
        return [...written, ...others.map(withUnwritten)];
      }),
    count: () =>
      engine.scan(async ({ all }) => {
        const [counts] = await all(
          `select count(*) as changes, count(case when state in ('begun', 'unknown') then 1 end) as unresolved
           from cloudops_changes where state <> 'waiting'`,
        );
        return { changes: Number(valueAt(counts, 'changes')), unresolved: Number(valueAt(counts, 'unresolved')) };
      }),
    /** The decided changes, oldest first, and again when their state changes. */
    read: (options: ReadOptions) => readEntries(engine.scan, options),
    /** Erases ended changes from before a time (milliseconds since 1970). */
    prune: (before: number): Promise<number> =>
      write(({ run }) => run(`delete from cloudops_changes where state in ${endedStates} and at < ?`, before)),
    recover,
    /** Erases expired plans, and processes without changes under way. */
    erase: async () => {
      const expired = await read(({ now, all }) =>
        all(`select id from cloudops_changes where state = 'waiting' and expires < ? limit 1`, now - keptMs),
      );
      if (expired.length === 0) return;
      await write(async ({ now, run }) => {
        await run(`delete from cloudops_changes where state = 'waiting' and expires < ?`, now - keptMs);
        await run(
          `delete from cloudops_processes where lease < ?
             and id not in (select process from cloudops_changes where state in ('approved', 'begun'))`,
          now - keptMs,
        );
      });
    },
    healthCheck: engine.healthCheck,
    /** The number of endings and declines that are not written yet. */
    unwritten: persistence.count,
    close: async () => {
      clearInterval(leaseTimer);
      await persistence.close();
      await engine.close();
    },
  };
}

export type Changes = ReturnType<typeof createChanges>;
