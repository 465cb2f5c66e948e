import { basename } from 'node:path';
import { budgetState, spentTimes } from './budget.js';
import { findConflict, findDuplicate, isNonceSpent, writtenBefore } from './conflict.js';
import { boundedCaller, boundedEnding, boundedIntent, type Ending, type Entry, type RecordedChange } from './entry.js';
import { append, checkWritable } from './file-open.js';
import { createTail, listNewest } from './file-read.js';
import { type Journal, unwritable } from './journal.js';
import { createPersistence } from './persistence.js';

/**
 * A journal of JSON lines. Each entry is appended in one write and flushed to disk before anything is sent, so the order of
 * lines decides between processes: no lock is needed, and none can be left behind.
 */
export function createFileJournal(path: string, now: () => Date): Journal {
  const readTail = createTail(path, now);
  const persistence = createPersistence();
  const write = (entries: readonly Entry[], onWrite = () => {}) =>
    append(path, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''), now, onWrite);
  const writeEnding = (ending: Ending) => write([{ ending: boundedEnding(ending) }]);
  const end: Journal['end'] = (ending, signal) => persistence.write(() => writeEnding(ending), signal);
  const endUnsent = (id: string, code: string) =>
    persistence.writeSoon(() => writeEnding({ id, time: now().toISOString(), outcome: 'not sent', code }));
  return {
    examine: async () => {
      await checkWritable(path);
      return [];
    },
    unwritten: persistence.count,
    end,
    findDuplicate: async (digest) => findDuplicate(await readTail(), digest, now().getTime()),
    begin: async (given, options) => {
      const intent = boundedIntent(given);
      let mayBeWritten = false;
      try {
        await write([{ intent }], () => {
          mayBeWritten = true;
        });
        const result = findConflict(writtenBefore(await readTail(), intent), intent, options);
        if (result.kind !== 'begun') await endUnsent(intent.id, result.kind);
        return result;
      } catch (error) {
        if (mayBeWritten) await endUnsent(intent.id, 'unwritable');
        return unwritable(basename(path), error);
      }
    },
    budgetState: async (key, budget) => budgetState(spentTimes(await readTail(), key), budget, now().getTime()),
    decline: async (given) => {
      const intent = boundedIntent(given);
      const ending = { id: intent.id, time: now().toISOString(), outcome: 'declined' } as const;
      await write([{ intent }, { ending }]);
      if (!isNonceSpent(writtenBefore(await readTail(), intent), intent.nonce)) return true;
      await endUnsent(intent.id, 'consentUsed');
      return false;
    },
    listDeclined: async (since, caller) => {
      const name = boundedCaller(caller);
      const isDeclined = ({ ending, caller: other }: RecordedChange) =>
        ending?.outcome === 'declined' && other === name && Date.parse(ending.time) >= since;
      return (await readTail()).filter(isDeclined).map(({ digest }) => digest);
    },
    list: (options) => listNewest(path, options),
    listOpen: async () => (await readTail()).filter(({ ending }) => ending === undefined),
    close: persistence.close,
  };
}
