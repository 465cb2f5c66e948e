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
} from './entry.js';
import { append, checkWritable } from './file-open.js';
import { listNewest, readChanges } from './file-read.js';
import { createFileWindow } from './file-window.js';
import { type Journal, unwritable } from './journal.js';
import { createPersistence } from './retry-writes.js';

/**
 * A journal of JSON lines. Each entry is appended in one write and flushed to disk before anything is sent, so the order of
 * lines decides between processes: no lock is needed, and none can be left behind.
 * @param uptime milliseconds of a clock that nobody sets; without it, the server's own is trusted when it leaps
 */
export function createFileJournal(
  path: string,
  now: () => Date,
  log: Log = () => undefined,
  uptime: () => number = () => now().getTime(),
): Journal {
  const window = createFileWindow(path, now, uptime, log);
  const warnOfClock = createClockWarning(log);
  const persistence = createPersistence();
  const write = (entries: readonly Entry[], onWrite = () => {}) =>
    append(path, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''), now, onWrite);
  const writeEnding = (ending: Ending) => write([{ ending: boundedEnding(ending) }]);
  const end: Journal['end'] = (ending, signal) => persistence.write(() => writeEnding(ending), signal);
  const endUnsent = (id: string, code: string) =>
    persistence.writeSoon(() => writeEnding({ id, time: now().toISOString(), outcome: 'not sent', code }));
  return {
    healthCheck: async () => {
      await checkWritable(path);
      return clockWarnings(-(await window.upToDate()).behind(now().getTime()));
    },
    unwritten: persistence.count,
    end,
    findDuplicate: async (digest) => {
      const time = now().getTime();
      return findDuplicate((await window.upToDate()).related(digest, time), digest, time);
    },
    findByNonce: async (nonce) => findByNonce((await window.upToDate()).withNonce(nonce, now().getTime()), nonce),
    begin: async (given, { allowRepeat, budget }) => {
      const intent = boundedIntent(given);
      let mayBeWritten = false;
      try {
        await write([{ intent }], () => {
          mayBeWritten = true;
        });
        const time = now().getTime();
        const recent = await window.upToDate();
        warnOfClock(-recent.behind(time));
        const conflict = findConflict(recent.before(intent, time), intent, { allowRepeat }, time);
        const result =
          conflict.kind === 'begun' && budget !== undefined
            ? findOverspending(recent.spentBefore(intent, time), budget, time)
            : conflict;
        if (result.kind !== 'begun') await endUnsent(intent.id, result.kind);
        return result;
      } catch (error) {
        if (mayBeWritten) await endUnsent(intent.id, 'unwritable');
        return unwritable(basename(path), error);
      }
    },
    budgetState: async (key, budget) => {
      const time = now().getTime();
      return budgetState((await window.upToDate()).spent(key, time), budget, time);
    },
    decline: async (given) => {
      const intent = boundedIntent(given);
      const ending = { id: intent.id, time: now().toISOString(), outcome: 'declined' } as const;
      await write([{ intent }, { ending }]);
      const earlier = (await window.upToDate()).before(intent, now().getTime());
      if (!isNonceSpent(earlier, intent.nonce)) return true;
      await endUnsent(intent.id, 'consentUsed');
      return false;
    },
    listDeclined: async (since, caller, client) => {
      const name = boundedCaller(caller);
      const program = caller === undefined && client !== undefined ? bounded(client, clientBytes) : undefined;
      const time = now().getTime();
      const isDeclined = ({ ending, consent, caller: other, client: through }: RecordedChange) => {
        const refused = Date.parse(ending?.time ?? '');
        // By the clocks of those who refused: one that was ahead must not keep people from being asked for as long as it was.
        const isTheirs = other === name && (program === undefined || through === program);
        return consent !== 'withdrawn' && isTheirs && refused >= since && refused <= time;
      };
      return (await window.upToDate())
        .listDeclined(time)
        .filter(isDeclined)
        .map(({ digest }) => digest);
    },
    list: (options) => listNewest(path, options),
    listOpen: async () => (await window.withLeftOpen()).listOpen(now().getTime()),
    read: (options) => readChanges(path, options),
    close: persistence.close,
  };
}
