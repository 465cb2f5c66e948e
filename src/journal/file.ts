import { basename } from 'node:path';
import { type Log, ShownError } from '../util/log.js';
import { counted, type SafeText, say, time as timeText, words } from '../util/safe-text.js';
import { budgetState, longestWindowMs } from './budget.js';
import { clockWarnings, clockWasSet, createClockWarning } from './clock-warnings.js';
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
import { linesAfter } from './file-lines.js';
import { append, checkWritable, deviceOf, maximumBytes, readRotatedFile, rotatedFiles } from './file-open.js';
import { listNewest, readChanges } from './file-read.js';
import { createTail } from './file-tail.js';
import { type Journal, unwritable } from './journal.js';
import { type EndingLine, type IntentLine, readId, readLine } from './line.js';
import { createPersistence } from './retry-writes.js';
import { JournalWindow } from './window.js';

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
  const window = createFileWindow(path, now, uptime, log);
  const warnOfClock = createClockWarning(log);
  const persistence = createPersistence();
  const write = async (entries: readonly Entry[], onWrite = () => {}) => {
    await window.requireDevice();
    await append(path, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''), now, onWrite);
  };
  const writeEnding = async (ending: Ending) => {
    await write([{ ending: boundedEnding(ending) }]);
    // Reads the ending back before the caller gets its answer, so that it is remembered if the file disappears.
    await window.upToDate().catch(() => undefined);
  };
  const end: Journal['end'] = (ending, signal) => persistence.write(() => writeEnding(ending), signal);
  const endUnsent = (id: string, code: string) =>
    persistence.writeSoon(() => writeEnding({ id, time: now().toISOString(), outcome: 'not sent', code }));
  return {
    healthCheck: async () => {
      await window.requireDevice();
      await checkWritable(path);
      const time = now().getTime();
      const recent = await window.upToDate();
      recent.requireComparable(time);
      return [...clockWarnings(-recent.clockSkew(time)), ...window.warnings()];
    },
    unwritten: persistence.count,
    end,
    findDuplicate: async (digest) => {
      const time = now().getTime();
      const recent = await window.upToDate();
      return findDuplicate(recent.related(digest, time), digest, time);
    },
    findByNonce: async (nonce) => {
      const recent = await window.upToDate();
      return findByNonce(recent.withNonce(nonce, now().getTime()), nonce);
    },
    begin: async (unbounded, { allowRepeat, budget }) => {
      const intent = boundedIntent(unbounded);
      let mayBeWritten = false;
      try {
        await write([{ intent }], () => {
          mayBeWritten = true;
        });
        const time = now().getTime();
        const recent = await window.upToDate();
        warnOfClock(-recent.clockSkew(time));
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
      const recent = await window.upToDate();
      return budgetState(recent.spent(key, time), budget, time);
    },
    decline: async (unbounded) => {
      const intent = boundedIntent(unbounded);
      const ending = { id: intent.id, time: now().toISOString(), outcome: 'declined' } as const;
      await write([{ intent }, { ending }]);
      const recent = await window.upToDate();
      if (!isNonceSpent(recent.before(intent, now().getTime()), intent.nonce)) return true;
      await endUnsent(intent.id, 'consentUsed');
      return false;
    },
    listDeclined: async (since, caller, client) => {
      const callerName = boundedCaller(caller);
      const clientName = caller === undefined && client !== undefined ? bounded(client, clientBytes) : undefined;
      const time = now().getTime();
      const isListed = (change: RecordedChange): boolean => {
        // Not by the clock of the journal, because a server whose clock was ahead would then keep people from being asked for that long.
        const declinedAt = Date.parse(change.ending?.time ?? '');
        const isRecent = declinedAt >= since && declinedAt <= time;
        const isOfClient = clientName === undefined || change.client === clientName;
        return !withoutRefusal.includes(change.consent) && change.caller === callerName && isOfClient && isRecent;
      };
      const recent = await window.upToDate();
      return recent
        .listDeclined(time)
        .filter(isListed)
        .map(({ digest }) => digest);
    },
    list: (options) => listNewest(path, options),
    listUnfinished: async () => (await window.withUnfinished()).listUnfinished(now().getTime()),
    read: (options) => readChanges(path, options),
    close: persistence.close,
  };
}

/** A larger difference between two clocks, in milliseconds, means that one was set. The uptime may be in whole seconds. */
const clockToleranceMs = 2_000;

/**
 * The window of a journal in a file. `upToDate` first adds the lines that were appended since the last time. `withUnfinished` also
 * adds the unfinished changes of older files. Both throw if a file cannot be read or is not a journal. If the file is gone, was emptied
 * or replaced, the window keeps its changes, and writes the entries into the file that it does not have.
 */
function createFileWindow(path: string, now: () => Date, uptime: () => number, log: Log) {
  const tail = createTail(path);
  const window = new JournalWindow();
  let lastRefresh: Promise<unknown> = Promise.resolve();
  /** Files last written before this time are not in the window. Undefined once their unfinished changes were added. */
  let readSince: number | undefined;
  /** The device of the journal's folder. */
  let device: number | undefined;
  /** Entries that the file does not have any more. */
  const lost = new Map<string, IntentLine | EndingLine>();
  let warning: SafeText | undefined;
  /** Both clocks at the last refresh, in milliseconds. */
  let lastClocks: { readonly time: number; readonly uptime: number } | undefined;

  const noticeClockChange = (time: number): void => {
    const clocks = { time, uptime: uptime() };
    const expected = lastClocks === undefined ? time : lastClocks.time + clocks.uptime - lastClocks.uptime;
    lastClocks = clocks;
    const byMs = time - expected;
    if (Math.abs(byMs) <= clockToleranceMs) return;
    window.setClock(byMs, expected);
    log('warn', 'clock', { problem: clockWasSet(byMs) });
  };
  /** @throws if the folder of the journal is on another device, for example because its disk is not mounted any more */
  const requireDevice = async (): Promise<void> => {
    const current = await deviceOf(path);
    device ??= current;
    // A disk that is mounted again may have another number.
    if (current !== device && !(await tail.isSameJournal()))
      throw new ShownError(words('its folder is on another device than before: mount that device again'));
    device = current;
  };
  /** Writes the lost entries into the file. */
  const restore = async (time: number): Promise<void> => {
    const restored = new Date(time).toISOString();
    for (const lines of batches([...lost.values()].map((line) => restoredText(line, restored))))
      await append(path, lines, now, () => undefined);
    warning = say`the file was removed, emptied or replaced while this server ran: it wrote ${counted(lost.size, 'line')} of the last day again at ${timeText(restored)}, and older lines are gone`;
    log('error', 'journal', { message: warning });
    lost.clear();
  };
  const add = (text: string, time: number): void => {
    const line = readLine(text);
    if (line === undefined) return;
    window.add(line, time);
    if (lost.size > 0 && line.kind !== 'notUnderstood') lost.delete(keyOf(line));
  };
  const refresh = async (): Promise<JournalWindow> => {
    await requireDevice();
    const time = now().getTime();
    noticeClockChange(time);
    const onRestart = () => {
      for (const line of window.entries()) lost.set(keyOf(line), line);
      window.clear();
      // Added before the lines of the new file, so that they keep their place before its intents.
      for (const line of lost.values()) window.add(line, time);
      readSince = time - longestWindowMs;
    };
    for await (const lines of tail.read(time - longestWindowMs, onRestart)) for (const text of lines) add(text, time);
    window.prune(time);
    if (lost.size > 0) await restore(time);
    return window;
  };
  const upToDate = (): Promise<JournalWindow> => {
    const refreshed = lastRefresh.then(refresh);
    lastRefresh = refreshed.catch(() => undefined);
    return refreshed;
  };
  const withUnfinished = async (): Promise<JournalWindow> => {
    await upToDate();
    const until = readSince;
    if (until === undefined) return window;
    const unfinished = await unfinishedIn(await rotatedFiles(path, 0, until));
    await upToDate();
    if (until === readSince) {
      window.addUnfinished(unfinished);
      readSince = undefined;
    }
    return window;
  };
  return { upToDate, withUnfinished, requireDevice, warnings: () => (warning === undefined ? [] : [warning]) };
}

const keyOf = ({ kind, id }: IntentLine | EndingLine) => `${kind} ${id}`;

const restoredText = ({ kind, fields }: IntentLine | EndingLine, restored: string): string =>
  `${JSON.stringify({ [kind]: { ...Object(fields), restored } })}\n`;

/** Joins texts into fewer texts, each short enough for one write. */
function batches(texts: readonly string[]): string[] {
  const joined: string[] = [];
  for (const text of texts) {
    const last = joined.at(-1);
    if (last !== undefined && Buffer.byteLength(last) + Buffer.byteLength(text) < maximumBytes)
      joined[joined.length - 1] = last + text;
    else joined.push(text);
  }
  return joined;
}

/** The intents in these files that have no ending in any of them. */
async function unfinishedIn(paths: readonly string[]): Promise<IntentLine[]> {
  const unfinished = new Map<string, IntentLine>();
  for (const path of paths) {
    await using file = await readRotatedFile(path);
    if (file !== undefined) for await (const { lines } of linesAfter(file, 0)) trackUnfinished(unfinished, lines);
  }
  return [...unfinished.values()];
}

/**
 * Updates the unfinished intents with further lines. Parses only intents that do not end within these lines, because most changes end soon
 * and the lines are all of a journal.
 */
function trackUnfinished(unfinished: Map<string, IntentLine>, lines: readonly string[]): void {
  const begun = new Map<string, string>();
  for (const text of lines) {
    const line = readId(text);
    if (line?.kind === 'intent') begun.set(line.id, text);
    else if (line?.kind === 'ending' && !begun.delete(line.id)) unfinished.delete(line.id);
  }
  for (const [id, text] of begun) {
    const line = readLine(text);
    if (line?.kind === 'intent') unfinished.set(id, line);
  }
}
