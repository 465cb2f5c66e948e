import { randomBytes } from 'node:crypto';
import { type Log, reasonOf, shownReason } from '../util/log.js';
import { lazy } from '../util/objects.js';
import { own, say } from '../util/safe-text.js';
import type { KeyRing, SealingKeys } from '../util/seal.js';
import type {
  Added,
  Begun,
  Change,
  Changes,
  Decided,
  Decision,
  Ending,
  EndState,
  OfCaller,
  Unwritable,
} from './change.js';
import {
  countDecided,
  deleteExpired,
  duplicateWindowMs,
  endedStates,
  findConflict,
  insertWaiting,
  isId,
  keptMs,
  newestFirst,
  readEntries,
  select,
  selectAbandoned,
  selectBudget,
  selectDuplicate,
  selectOne,
  updateBegun,
  updateDecided,
  updateEnded,
} from './change-table.js';
import { leaseMs, type Process, renewLease, runningProcesses } from './processes.js';
import { CommitPending, createPersistence, Permanent } from './retry-writes.js';
import { keyOf, type Rows } from './rows.js';
import type { Engine } from './sql.js';

/** How long a client counts as one in which a program answers (milliseconds). */
const programMs = 24 * 60 * 60 * 1000;

export interface StoreOptions {
  /** The process that carries out the changes which it approves. */
  readonly process: Process;
  readonly log?: Log | undefined;
  /** Seals private values with the first key. Without keys, no other process can open them. */
  readonly keys?: SealingKeys | undefined;
}

type Work<Result> = (rows: Rows) => Promise<Result>;

/** Creates the table of changes on an engine. What the store cannot take at once is retried until it is written. */
export function createChanges(
  engine: Engine,
  { process: self, log = () => undefined, keys = lazy((): KeyRing => [randomBytes(32)]) }: StoreOptions,
): Changes {
  const read = <Result>(work: Work<Result>) => engine.read((transaction) => work({ ...transaction, keys }));
  const write = <Result>(work: Work<Result>, beforeCommit?: () => void) =>
    engine.write((transaction) => work({ ...transaction, keys }), beforeCommit);
  const persistence = createPersistence();
  /** Declines and withdrawals that the store does not have yet. */
  const unwritten = new Map<string, { readonly decision: Decision; readonly change?: Change }>();
  /** IDs of changes that this process has approved and not ended. */
  const underWay = new Set<string>();

  // When the lease of this process ends, other hosts take its changes for abandoned.
  const leaseTimer = setInterval(() => {
    if (underWay.size > 0) write((transaction) => renewLease(transaction, self)).catch(() => undefined);
  }, leaseMs / 3).unref();

  const unwritable = (error: unknown): Unwritable => {
    log('error', 'journal', { error: reasonOf(error) });
    return { kind: 'unwritable', reason: say`${own(engine.name)}: ${shownReason(error)}` };
  };

  /** @throws Permanent if there is no such change */
  const writeEnding = async (id: string, state: EndState, ending: Ending): Promise<void> => {
    const isThere = await write(async (transaction) => {
      // Waits for another transaction on this row, because the update would overlook the state that it is about to
      // write.
      const rows = await transaction.all(`select id from cloudops_changes where id = ?${transaction.forUpdate}`, id);
      await updateEnded(transaction, id, state, ending);
      return rows.length > 0;
    });
    underWay.delete(id);
    if (!isThere) throw new Permanent('the change is not in the journal');
  };

  /** Approves or begins a change. If it is in doubt whether that was written, the change ends as `not sent`, because it will not be carried out. */
  const towardsSending = async <Result>(id: string, work: Work<Result>): Promise<Result | Unwritable> => {
    let mayBeWritten = false;
    try {
      return await write(work, () => {
        mayBeWritten = true;
      });
    } catch (error) {
      const stop = () => writeEnding(id, 'not sent', { code: 'JournalUnavailable' });
      if (error instanceof CommitPending) persistence.writeAfter(error, stop);
      else if (mayBeWritten || underWay.has(id)) await persistence.writeNowOrLater(stop);
      return unwritable(error);
    }
  };

  const withUnwritten = (change: Change): Change => {
    const decision = unwritten.get(change.id)?.decision;
    return decision === undefined || change.state !== 'waiting'
      ? change
      : { ...change, state: decision.kind, decision };
  };

  const find: Changes['find'] = async (id) => {
    const change = await read((transaction) => selectOne(transaction, id));
    return change && withUnwritten(change);
  };

  const decideIn =
    (id: string, decision: Decision): Work<Decided> =>
    async (transaction) => {
      const isFirst = await updateDecided(transaction, id, decision, self.id);
      if (isFirst && decision.kind === 'approved') await renewLease(transaction, self);
      const change = await selectOne(transaction, id);
      if (change === undefined) return { kind: 'gone' };
      return { kind: isFirst ? 'decided' : 'late', change };
    };

  const approve = async (id: string, decision: Decision): Promise<Decided> => {
    const decided = await towardsSending(id, decideIn(id, decision));
    if (decided.kind === 'decided') underWay.add(id);
    return decided;
  };

  /** What cannot be written binds this process at once, and is retried. */
  const decline = async (id: string, decision: Decision): Promise<Decided> => {
    const attempt = () => write(decideIn(id, decision));
    try {
      return await attempt();
    } catch (error) {
      unwritten.set(id, { decision });
      const retry = async () => {
        await attempt();
        unwritten.delete(id);
      };
      if (error instanceof CommitPending) persistence.writeAfter(error, retry);
      else void persistence.write(retry).catch(() => undefined);

      const reason = unwritable(error);
      const change = await find(id).catch(() => undefined);
      if (change === undefined) return reason;
      if (unwritten.has(id)) unwritten.set(id, { decision, change });
      return { kind: 'decided', change, isUnwritten: true };
    }
  };

  const decide: Changes['decide'] = async (id, decision) => {
    if (!isId(id)) return { kind: 'gone' };
    if (!unwritten.has(id)) return decision.kind === 'approved' ? approve(id, decision) : decline(id, decision);
    try {
      const change = await find(id);
      return change === undefined ? { kind: 'gone' } : { kind: 'late', change };
    } catch (error) {
      return unwritable(error);
    }
  };

  const add: Changes['add'] = async (change, { lifetimeMs, approved, replaces = '' }) => {
    const { id } = change;
    const added = await towardsSending(id, async (transaction): Promise<Added> => {
      const kind = await insertWaiting(transaction, change, { lifetimeMs, replaces });
      if (kind !== 'added') return { kind };
      const withdrawal = { kind: 'withdrawn', way: 'withdrawn', replacedBy: id } as const;
      const replaced = isId(replaces) && (await updateDecided(transaction, replaces, withdrawal, self.id));
      if (approved !== undefined) await decideIn(id, approved)(transaction);
      const written = await selectOne(transaction, id);
      if (written === undefined) throw new Error('the change was not written');
      return { kind, change: written, replaced };
    });
    if (added.kind === 'added' && approved !== undefined) underWay.add(id);
    return added;
  };

  const begin: Changes['begin'] = async (id, { budget, ifUnknown }) => {
    const begun = await towardsSending(id, async (transaction): Promise<Begun> => {
      const isOwn = ` and state = 'approved' and process = ?${transaction.forUpdate}`;
      const change = unwritten.has(id) ? undefined : await selectOne(transaction, id, isOwn, self.id);
      if (change === undefined) return { kind: 'notApproved' };
      transaction.requireSameTime();
      const conflict = await findConflict(transaction, change, budget);
      if (conflict !== undefined) {
        await updateEnded(transaction, id, 'not sent', { code: conflict.kind });
        return conflict;
      }
      await renewLease(transaction, self);
      await updateBegun(transaction, id, ifUnknown);
      return { kind: 'begun', change: (await selectOne(transaction, id)) ?? change };
    });
    if (begun.kind === 'duplicate' || begun.kind === 'budgetSpent') underWay.delete(id);
    return begun;
  };

  const declined: Changes['declined'] = async (of) => {
    const written = await read((transaction) =>
      select(
        transaction,
        of,
        `state = 'declined' and way <> 'program' and decided > ?`,
        [transaction.now - duplicateWindowMs],
        'order by decided',
      ),
    );
    const writtenIds = new Set(written.map(({ id }) => id));
    const others = [...unwritten.values()].flatMap(({ change }) =>
      change === undefined ? [] : [withUnwritten(change)],
    );
    return [...written, ...others.filter((change) => !writtenIds.has(change.id) && isRefusalOf(change, of))];
  };

  const abandoned = async (rows: Rows) => selectAbandoned(rows, await runningProcesses(rows, self));

  const recover: Changes['recover'] = async () => {
    // Usually there is nothing to write.
    if ((await read(abandoned)).length === 0) return [];
    return write(async (transaction) => {
      const recovered: Change[] = [];
      for (const change of await abandoned(transaction)) {
        const state = change.state === 'begun' ? 'unknown' : 'not sent';
        const ending = { code: 'ProcessEnded' };
        // False if another server has ended the change meanwhile.
        if (await updateEnded(transaction, change.id, state, ending)) recovered.push({ ...change, state, ending });
      }
      return recovered;
    });
  };

  return {
    add,
    find,
    decide,
    begin,
    end: (id, state, ending) => persistence.write(() => writeEnding(id, state, ending)),
    duplicateOf: (requestKey) => read((transaction) => selectDuplicate(transaction, requestKey)),
    budgetState: (key, budget) => read((transaction) => selectBudget(transaction, key, budget)),
    waiting: async (of) => {
      const waiting = await read((transaction) =>
        select(transaction, of, `state = 'waiting' and expires > ?`, [transaction.now], 'order by made, id'),
      );
      return waiting.filter(({ id }) => !unwritten.has(id));
    },
    newest: ({ limit, ...of }) =>
      engine.scan((transaction) =>
        select({ ...transaction, keys }, of, 'true', [], `order by made desc, id desc limit ${limit}`),
      ),
    open: ({ subject = '', tool, ...of }) =>
      read((transaction) => {
        const recent = transaction.now - duplicateWindowMs;
        return select(
          transaction,
          of,
          `state in ('waiting', 'approved', 'begun', 'unknown', 'declined') and (state <> 'waiting' or expires > ?)
             and (state <> 'declined' or decided > ?) and (subject = ? or tool = ? and made > ?)`,
          [transaction.now, recent, subject, tool, recent],
          `order by ${newestFirst}, id desc limit 100`,
        );
      }),
    declined,
    isAnsweredByProgram: async ({ caller, client }) => {
      const answered = await read(({ now, all }) =>
        all(
          `select id from cloudops_changes where state in ('declined', 'withdrawn') and way = 'program'
             and caller = ? and client = ? and decided > ? limit 1`,
          ...[keyOf(caller ?? undefined), keyOf(client), now - programMs],
        ),
      );
      return answered.length > 0;
    },
    countWaiting: async () => {
      const waiting = await read(({ now, all }) =>
        all(`select id from cloudops_changes where state = 'waiting' and expires > ?`, now),
      );
      return waiting.length;
    },
    count: () => engine.scan(countDecided),
    read: (options) => readEntries(engine.scan, options),
    prune: (before) =>
      write(({ run }) => run(`delete from cloudops_changes where state in ${endedStates} and at < ?`, before)),
    recover,
    erase: async () => {
      const expired = await read(({ now, all }) =>
        all(`select id from cloudops_changes where state = 'waiting' and expires < ? limit 1`, now - keptMs),
      );
      if (expired.length > 0) await write(deleteExpired);
    },
    healthCheck: engine.healthCheck,
    unwritten: persistence.count,
    close: async () => {
      clearInterval(leaseTimer);
      await persistence.close();
      await engine.close();
    },
  };
}

function isRefusalOf({ state, decision, caller, client }: Change, of: OfCaller): boolean {
  const isOfCaller = of.caller === undefined || (of.caller ?? undefined) === caller;
  const isOfClient = caller !== undefined || of.client === undefined || of.client === client;
  return state === 'declined' && decision?.way !== 'program' && isOfCaller && isOfClient;
}
