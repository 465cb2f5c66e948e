import { basename } from 'node:path';
import type { Log } from '../util/log.js';
import { stateOfBudget } from './budget.js';
import { clockWarnings, createClockWarning } from './clock-warnings.js';
import { changeWithNonce, duplicateIn, findConflict, findOverspending, isNonceSpent } from './conflict.js';
import {
  clientBytes,
  type Ending,
  type Entry,
  type Intent,
  notRefusedByPerson,
  type RecordedChange,
  shorten,
  shortenEnding,
  shortenIntent,
  storedCaller,
} from './entry.js';
import { append, checkWritable } from './file-open.js';
import { FileWindow } from './file-window.js';
import { type BeginOptions, type BeginResult, type Journal, unwritable } from './journal.js';
import { createPersistence } from './retry-writes.js';

/** Loaded only when somebody reads the journal, because new changes are compared with a window in memory. */
const loadReading = () => import('./file-read.js');

/**
 * A journal of JSON lines. Each entry is appended in one write and flushed to disk before its change is sent, so the order of the
 * lines decides which of several processes may send. There is no lock that a process could leave behind.
 * @param uptime milliseconds of a monotonic clock, by which a jump of this server's clock is noticed. Tests use the default, the wall clock,
 * by which no jump is noticed
 */
export function createFileJournal(
  path: string,
  now: () => Date,
  log: Log = () => undefined,
  uptime: () => number = () => now().getTime(),
): Journal {
  /** Keeps the recent changes of the file in memory, as a `window` with which new changes are compared. */
  const fileWindow = new FileWindow(path, now, uptime, log);
  const warnOfClock = createClockWarning(log);
  const persistence = createPersistence();

  /** @param beforeWrite called just before the entries are written. If `write` fails before this call, nothing was written */
  const write = async (entries: readonly Entry[], beforeWrite?: () => void) => {
    const lines = entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');
    // Fails if the path now leads to another disk, for example because the journal's disk is not mounted any more.
    await fileWindow.requireSameDevice();
    // The disk is checked again when the file is open, because it may be unmounted in between.
    await append(path, lines, now, { afterOpen: () => fileWindow.requireSameDevice(), beforeWrite });
  };

  const writeEnding = async (ending: Ending) => {
    await write([{ ending: shortenEnding(ending) }]);
    // Reads the ending into the window at once, so that `fileWindow` can write it again if the file disappears. An error here does not matter,
    // because the file has the ending.
    await fileWindow.refresh().catch(() => undefined);
  };

  /** Ends an intent as `not sent`. Resolves after the first attempt. Further attempts follow in the background. */
  const endUnsent = (id: string, code: string) =>
    persistence.writeNowOrLater(() => writeEnding({ id, time: now().toISOString(), outcome: 'not sent', code }));

  /**
   * Decides whether an intent that was written to the file may be sent. Only the entries before it in the file are earlier, whatever its
   * time.
   * @throws OtherVersion from `window.related` if the file has recent entries of another version
   */
  const decide = async (intent: Intent, { allowRepeat, budget }: BeginOptions): Promise<BeginResult> => {
    const { budget: budgetKey } = intent;
    const time = now().getTime();
    const window = await fileWindow.refresh();
    warnOfClock(window.offsetMs(time));

    const position = window.positionOf(intent);
    const result = findConflict(window.related(intent, time, position), intent, allowRepeat, time);
    if (result.kind !== 'begun' || budget === undefined) return result;
    return findOverspending(window.spent(budgetKey, time, position), budget, time);
  };

  const begin: Journal['begin'] = async (fullIntent, options) => {
    const intent = shortenIntent(fullIntent);
    let mayBeWritten = false;
    try {
      await write([{ intent }], () => {
        mayBeWritten = true;
      });
      const result = await decide(intent, options);
      // The intent stays in the file, so it needs an ending.
      if (result.kind !== 'begun') await endUnsent(intent.id, result.kind);
      return result;
    } catch (error) {
      // An intent that was written without an ending would block the same change later.
      if (mayBeWritten) await endUnsent(intent.id, 'unwritable');
      return unwritable(basename(path), error);
    }
  };

  const decline: Journal['decline'] = async (fullIntent) => {
    const intent = shortenIntent(fullIntent);
    const ending = { id: intent.id, time: now().toISOString(), outcome: 'declined' } as const;
    await write([{ intent }, { ending }]);

    // If a later step throws, the entries stay in the file, which does no harm, because the caller declines the change again with another
    // ID.
    const window = await fileWindow.refresh();
    const earlier = window.related(intent, now().getTime(), window.positionOf(intent));
    const isSpent = isNonceSpent(earlier, intent.nonce);
    // The nonce was spent by an earlier decision, so this refusal does not count: `not sent` replaces `declined`.
    if (isSpent) await endUnsent(intent.id, 'consentUsed');
    return !isSpent;
  };

  return {
    healthCheck: async () => {
      await fileWindow.requireSameDevice();
      await checkWritable(path);
      const time = now().getTime();
      const window = await fileWindow.refresh();
      // `begin` and `decline` would fail with the same error, because `window.related` throws it too.
      window.requireOwnVersion(time);
      return [...clockWarnings(window.offsetMs(time)), ...fileWindow.warnings];
    },
    unwritten: persistence.count,
    begin,
    end: (ending) => persistence.write(() => writeEnding(ending)),
    tryEnd: async (ending) => {
      const isUnfinished = (await fileWindow.refresh()).isUnfinished(ending.id);
      if (isUnfinished) await writeEnding(ending);
      return isUnfinished;
    },
    decline,
    findDuplicate: async (digest) => {
      const time = now().getTime();
      const window = await fileWindow.refresh();
      const related = window.related({ digest }, time);
      return duplicateIn(related, digest, time);
    },
    findByNonce: async (nonce) => {
      const window = await fileWindow.refresh();
      const changes = window.withNonce(nonce, now().getTime());
      return changeWithNonce(changes, nonce);
    },
    budgetState: async (key, budget) => {
      const time = now().getTime();
      const window = await fileWindow.refresh();
      const spentAt = window.spent(key, time);
      return stateOfBudget(spentAt, budget, time);
    },
    listDeclined: async (since, caller, client) => {
      const time = now().getTime();
      const window = await fileWindow.refresh();
      return window
        .listDeclined(time)
        .filter((change) => isDeclinedBetween(change, since, time) && isRefusalOf(change, caller, client))
        .map(({ digest }) => digest);
    },
    list: async (options) => (await loadReading()).listNewest(path, options),
    listUnfinished: async () => {
      const window = await fileWindow.refreshWithUnfinished();
      return window.listUnfinished(now().getTime());
    },
    async *read(options) {
      yield* (await loadReading()).readChanges(path, options);
    },
    close: persistence.close,
  };
}

/**
 * True if a change was declined between two times (milliseconds), by the time in its entry. By the journal's clock, which follows the
 * fastest clock of all servers, refusals could count as recent for too long, and people would not be asked.
 */
function isDeclinedBetween({ ending }: RecordedChange, since: number, until: number): boolean {
  const declinedAt = Date.parse(ending?.time ?? '');
  return declinedAt >= since && declinedAt <= until;
}

/** True if a person refused the change, and it came from `caller` or, if callers are not authenticated, from `client`. */
function isRefusalOf(change: RecordedChange, caller: string | undefined, client: string | undefined): boolean {
  if (notRefusedByPerson.includes(change.consent) || change.caller !== storedCaller(caller)) return false;
  return caller !== undefined || client === undefined || change.client === shorten(client, clientBytes);
}
