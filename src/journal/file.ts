import { basename } from 'node:path';
import { abandonedMs, type Entry, findConflict, findDuplicate, isNonceSpent, writtenBefore } from './conflict.js';
import { boundedCaller, boundedEnding, boundedIntent } from './entry.js';
import { append } from './file-append.js';
import { linesFromEnd, readLine, writeLine } from './file-lines.js';
import { readJournalFile, readRotatedFile, rotatedFiles } from './file-open.js';
import { createTail } from './file-tail.js';
import { defaultLimit, type Ending, type Journal, type ListOptions, type Mutation } from './journal.js';
import { createPersistence } from './persistence.js';

/**
 * A journal of JSON lines. Each entry is appended in one write and flushed to disk before anything is sent, so the order of
 * lines decides between processes: no lock is needed, and none can be left behind.
 */
export function createFileJournal(path: string, now: () => Date): Journal {
  const tail = createTail(path, now);
  const persistence = createPersistence();
  const write = (entries: readonly Entry[], onWrite = () => {}) =>
    append(path, entries.map(writeLine).join(''), now, onWrite);
  const writeEnding = (ending: Ending) => write([{ ending: boundedEnding(ending) }]);
  const end: Journal['end'] = (ending, signal) => persistence.write(() => writeEnding(ending), signal);
  const endUnsent = (id: string, code: string) =>
    persistence.writeSoon(() => writeEnding({ id, time: now().toISOString(), outcome: 'not sent', code }));
  return {
    end,
    findDuplicate: async (digest) => findDuplicate(await tail.read(), digest, now().getTime()),
    begin: async (given, { allowRepeat }) => {
      const intent = boundedIntent(given);
      let mayBeWritten = false;
      try {
        await write([{ intent }], () => {
          mayBeWritten = true;
        });
        const result = findConflict(writtenBefore(await tail.read(), intent), intent, allowRepeat);
        if (result.kind !== 'begun') await endUnsent(intent.id, result.kind);
        return result;
      } catch (error) {
        if (mayBeWritten) await endUnsent(intent.id, 'unwritable');
        return { kind: 'unwritable', reason: `${basename(path)}: ${reasonOf(error)}` };
      }
    },
    decline: async (given) => {
      const intent = boundedIntent(given);
      const ending = { id: intent.id, time: now().toISOString(), outcome: 'declined' } as const;
      await write([{ intent }, { ending }]);
      if (!isNonceSpent(writtenBefore(await tail.read(), intent), intent.nonce)) return true;
      await endUnsent(intent.id, 'consentUsed');
      return false;
    },
    countDeclined: async (since, caller) => {
      const name = boundedCaller(caller);
      return (await tail.read()).filter(
        (each) => each.ending?.outcome === 'declined' && each.caller === name && Date.parse(each.ending.time) >= since,
      ).length;
    },
    list: (options) => listFromEnd(path, options),
    listOpen: async () => (await tail.read()).filter(({ ending }) => ending === undefined),
    close: persistence.close,
  };
}

/** A resource of some entries never reads more than this for each of them, in bytes. */
const listedBytes = 16 * 1024;

/** Reads from the newest line backwards, no further than is necessary. */
async function listFromEnd(
  path: string,
  { since = 0, limit = defaultLimit, caller }: ListOptions,
): Promise<Mutation[]> {
  const name = boundedCaller(caller);
  const endings = new Map<string, Ending>();
  const mutations = new Map<string, Mutation>();
  const seen = new Set<string>();
  for await (const line of linesNewestFirst(path, since, limit * listedBytes)) {
    const entry = readLine(line);
    if (entry === undefined || 'time' in entry) continue;
    if ('ending' in entry) {
      const { id } = entry.ending;
      // What is known is not made unknown by a process that took another to be gone.
      if ((endings.get(id)?.outcome ?? 'unknown') === 'unknown') endings.set(id, entry.ending);
      continue;
    }
    const { intent } = entry;
    if (Date.parse(intent.time) < since - abandonedMs) break;
    if (seen.has(intent.id)) continue;
    seen.add(intent.id);
    if (Date.parse(intent.time) < since || (name !== undefined && intent.caller !== name)) continue;
    mutations.set(intent.id, { ...intent, ending: endings.get(intent.id) });
    if (mutations.size === limit) break;
  }
  return [...mutations.values()].reverse();
}

async function* linesNewestFirst(path: string, since: number, maximumBytes: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  const rotated = (await rotatedFiles(path, since)).reverse();
  for (const each of [path, ...rotated]) {
    const opened = await (each === path ? readJournalFile : readRotatedFile)(each);
    if (opened === undefined) continue;
    try {
      for await (const line of linesFromEnd(opened.file, opened.size)) {
        bytes += line.length;
        if (bytes > maximumBytes) return;
        yield line;
      }
    } finally {
      await opened.file.close();
    }
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  return 'code' in error ? String(error.code) : error.message;
}
