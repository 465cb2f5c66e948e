import type { FileHandle } from 'node:fs/promises';
import { abandonedMs, addEntry, type Mutations } from './conflict.js';
import type { Mutation } from './entry.js';
import { linesAfter, readLine } from './file-lines.js';
import { readJournalFile, readRotatedFile, rotatedFiles } from './file-open.js';

/** How far a file was read. */
interface Position {
  readonly dev: number;
  readonly ino: number;
  readonly offset: number;
  /** The last bytes before the offset: a file that was emptied or made anew may have grown beyond it since. */
  readonly last: Buffer;
}

const comparedBytes = 256;

/** What this process knows of the recent past of a journal in a file, which others write to as well. */
export function createTail(path: string, now: () => Date) {
  let position: Position | undefined;
  let mutations: Mutations = new Map();
  let notUnderstood: number[] = [];
  let turn: Promise<unknown> = Promise.resolve();

  const add = async (file: FileHandle, from: number): Promise<void> => {
    const { dev, ino } = await file.stat();
    for await (const { line, end } of linesAfter(file, from)) {
      position = { dev, ino, offset: end, last: line.subarray(-comparedBytes) };
      const entry = readLine(line);
      if (entry === undefined) continue;
      if ('time' in entry) notUnderstood.push(entry.time);
      else addEntry(mutations, entry);
    }
  };
  const startAnew = async (since: number): Promise<void> => {
    mutations = new Map();
    notUnderstood = [];
    for (const rotated of await rotatedFiles(path, since)) {
      await using file = await readRotatedFile(rotated);
      if (file !== undefined) await add(file, 0);
    }
    position = undefined;
  };
  const refresh = async (): Promise<readonly Mutation[]> => {
    const since = now().getTime() - abandonedMs;
    await using current = await readJournalFile(path);
    try {
      if (current === undefined || position === undefined || !(await hasGrown(position, current)))
        await startAnew(since);
      if (current !== undefined) await add(current, position?.offset ?? 0);
    } catch (error) {
      position = undefined;
      throw error;
    }
    for (const [id, { time, ending }] of mutations)
      if (ending !== undefined && Date.parse(time) < since && Date.parse(ending.time) < since) mutations.delete(id);
    notUnderstood = notUnderstood.filter((time) => time >= since);
    if (notUnderstood.length > 0) throw new Error('it has a recent entry that this version does not understand');
    return [...mutations.values()];
  };
  return {
    /**
     * Reads what was appended since the last time. Resolves with the changes of the last two hours, and those without an
     * outcome, in the order in which their intents were written.
     * @throws if the file cannot be read, is not a journal, or has a recent intent that is not understood
     */
    read: (): Promise<readonly Mutation[]> => {
      const result = turn.then(refresh);
      turn = result.catch(() => undefined);
      return result;
    },
  };
}

/** Whether a file is the one that was read before, and only grew. */
async function hasGrown({ dev, ino, offset, last }: Position, file: FileHandle): Promise<boolean> {
  const stats = await file.stat();
  if (stats.dev !== dev || stats.ino !== ino) return false;
  const length = last.length;
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length + 1), 0, length + 1, offset - length - 1);
  return bytesRead === length + 1 && buffer.subarray(0, length).equals(last) && buffer[length] === 0x0a;
}
