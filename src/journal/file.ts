import { basename } from 'node:path';
import type { Log } from '../util/log.js';
import { budgetState } from './budget.js';
import { clockWarnings, createClockWarning } from './clock-warnings.js';
import { findByNonce, findConflict, findDuplicate, findOverspending, isNonceSpent } from './conflict.js';
import {
  bounded,
  boundedCaller,
  boundedEnding,
  boundedIntent,
  clientBytes,
  type Ending,
  type Entry,
  type RecordedChange,
  withoutRefusal,
} from './entry.js';
import { append, checkWritable } from './file-open.js';
import { listNewest, readChanges } from './file-read.js';
import { FileWindow } from './file-window.js';
import { type Journal, unwritable } from './journal.js';
import { createPersistence } from './retry-writes.js';

/**
 * A journal of JSON lines. Each entry is appended in one write and flushed to disk before anything is sent, so the order of the
 * lines decides between processes. There is no lock that a process could leave behind.
 * @param uptime milliseconds of a monotonic clock. Without it, changes of the server's clock go unnoticed.
 */
export function createFileJournal(
  path: string,
  now: () => Date,
  log: Log = () => undefined,
  uptime: () => number = () => now().getTime(),
): Journal {
  const fileWindow = new FileWindow(path, now, uptime, log);
  const warnOfClock = createClockWarning(log);
  const persistence = createPersistence();
  const write = async (entries: readonly Entry[], onWrite = () => {}) => {
    await fileWindow.requireDevice();
    await append(path, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''), now, onWrite);
  };
  const writeEnding = async (ending: Ending) => {
    await write([{ ending: boundedEnding(ending) }]);
    // Reads the ending back before the caller gets its answer, so that it is remembered if the file disappears.
    await fileWindow.refresh().catch(() => undefined);
  };
  const endUnsent = (id: string, code: string) =>
    persistence.writeSoon(() => writeEnding({ id, time: now().toISOString(), outcome: 'not sent', code }));
  const begin: Journal['begin'] = async (unboundedIntent, { allowRepeat, budget }) => {
    const intent = boundedIntent(unboundedIntent);
    let mayBeWritten = false;
    try {
      await write([{ intent }], () => {
        mayBeWritten = true;
      });
      const time = now().getTime();
      const window = await fileWindow.refresh();
      warnOfClock(-window.clockSkew(time));
      let result = findConflict(window.before(intent, time), intent, { allowRepeat }, time);
      if (result.kind === 'begun' && budget !== undefined)
        result = findOverspending(window.spentBefore(intent, time), budget, time);
      if (result.kind !== 'begun') await endUnsent(intent.id, result.kind);
      return result;
    } catch (error) {
      if (mayBeWritten) await endUnsent(intent.id, 'unwritable');
      return unwritable(basename(path), error);
    }
  };
  const decline: Journal['decline'] = async (unboundedIntent) => {
    const intent = boundedIntent(unboundedIntent);
    const ending = { id: intent.id, time: now().toISOString(), outcome: 'declined' } as const;
    await write([{ intent }, { ending }]);
    const window = await fileWindow.refresh();
    const isSpent = isNonceSpent(window.before(intent, now().getTime()), intent.nonce);
    if (isSpent) await endUnsent(intent.id, 'consentUsed');
    return !isSpent;
  };
  return {
    healthCheck: async () => {
      await fileWindow.requireDevice();
      await checkWritable(path);
      const time = now().getTime();
      const window = await fileWindow.refresh();
      window.requireComparable(time);
      return [...clockWarnings(-window.clockSkew(time)), ...fileWindow.warnings];
    },
    unwritten: persistence.count,
    begin,
    end: (ending, signal) => persistence.write(() => writeEnding(ending), signal),
    decline,
    findDuplicate: async (digest) => {
      const time = now().getTime();
      const window = await fileWindow.refresh();
      return findDuplicate(window.related(digest, time), digest, time);
    },
    findByNonce: async (nonce) => {
      const window = await fileWindow.refresh();
      return findByNonce(window.withNonce(nonce, now().getTime()), nonce);
    },
    budgetState: async (key, budget) => {
      const time = now().getTime();
      const window = await fileWindow.refresh();
      return budgetState(window.spent(key, time), budget, time);
    },
    listDeclined: async (since, caller, client) => {
      const time = now().getTime();
      const window = await fileWindow.refresh();
      const declined = window.listDeclined(time).filter((change) => isDeclinedBetween(change, since, time));
      return declined.filter((change) => isRefusalOf(change, caller, client)).map(({ digest }) => digest);
    },
    list: (options) => listNewest(path, options),
    listUnfinished: async () => {
      const window = await fileWindow.refreshWithUnfinished();
      return window.listUnfinished(now().getTime());
    },
    read: (options) => readChanges(path, options),
    close: persistence.close,
  };
}

/**
 * Compares times in milliseconds, and not by the clock of the journal, because a server whose clock was ahead would then keep people
 * from being asked for that long.
 */
function isDeclinedBetween({ ending }: RecordedChange, since: number, until: number): boolean {
  const declinedAt = Date.parse(ending?.time ?? '');
  return declinedAt >= since && declinedAt <= until;
}

/** True if a person refused the change of a caller or, if callers are not authenticated, of a client. */
function isRefusalOf(change: RecordedChange, caller: string | undefined, client: string | undefined): boolean {
  if (withoutRefusal.includes(change.consent) || change.caller !== boundedCaller(caller)) return false;
  return caller !== undefined || client === undefined || change.client === bounded(client, clientBytes);
}
