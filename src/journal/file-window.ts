import type { Log } from '../util/log.js';
import { longestWindowMs } from './budget.js';
import { clockWasSet } from './clock-warnings.js';
import { linesAfter } from './file-lines.js';
import { readRotatedFile, rotatedFiles } from './file-open.js';
import { createTail } from './file-tail.js';
import { type IntentLine, readId, readLine } from './line.js';
import { createWindow } from './window.js';

type Window = ReturnType<typeof createWindow>;

/** What two clocks said at the same moment, in milliseconds: the server's, and one that nobody sets. */
interface Moment {
  readonly time: number;
  readonly uptime: number;
}

/** A clock that differs by more, in milliseconds, was set. The other one may tell whole seconds. */
const setMs = 2_000;

/**
 * The window of a journal in a file. `upToDate` resolves with it after what was appended since the last time is in it, `withLeftOpen`
 * after the intents are in it, too, that were left open in files that were rotated long ago. Both throw if a file cannot be read or
 * is not a journal.
 * @param uptime milliseconds of a clock that nobody sets, by which it is noticed that somebody set the server's
 */
export function createFileWindow(path: string, now: () => Date, uptime: () => number, log: Log) {
  const tail = createTail(path);
  const window = createWindow();
  let turn: Promise<unknown> = Promise.resolve();
  /** The time from which on files are in the window as a whole; undefined if what earlier ones left open is in it, too. */
  let readSince: number | undefined;
  let last: Moment | undefined;

  const noticeClock = (moment: Moment): void => {
    const expected = last === undefined ? moment.time : last.time + moment.uptime - last.uptime;
    last = moment;
    const by = moment.time - expected;
    if (Math.abs(by) <= setMs) return;
    window.setClock(by, expected);
    log('warn', 'clock', { problem: clockWasSet(by) });
  };
  const refresh = async (): Promise<Window> => {
    const time = now().getTime();
    noticeClock({ time, uptime: uptime() });
    const onRestart = () => {
      window.clear();
      readSince = time - longestWindowMs;
    };
    for await (const lines of tail.read(time - longestWindowMs, onRestart))
      for (const line of lines) {
        const read = readLine(line);
        if (read !== undefined) window.add(read, time);
      }
    window.prune(time);
    window.sortIn();
    return window;
  };
  const upToDate = (): Promise<Window> => {
    const result = turn.then(refresh);
    turn = result.catch(() => undefined);
    return result;
  };
  const withLeftOpen = async (): Promise<Window> => {
    await upToDate();
    const until = readSince;
    if (until === undefined) return window;
    const left = await leftOpen(await rotatedFiles(path, 0, until));
    await upToDate();
    if (until === readSince) {
      window.addLeftOpen(left);
      readSince = undefined;
    }
    return window;
  };
  return { upToDate, withLeftOpen };
}

/** The intents in files that have no ending in them. All of a journal is read for these, but little of it is kept. */
async function leftOpen(paths: readonly string[]): Promise<IntentLine[]> {
  const open = new Map<string, IntentLine>();
  for (const path of paths) {
    await using file = await readRotatedFile(path);
    if (file !== undefined) for await (const { lines } of linesAfter(file, 0)) addOpen(open, lines);
  }
  return [...open.values()];
}

/** Most changes end within the lines that are read at once: what is not needed after these is not kept. */
function addOpen(open: Map<string, IntentLine>, lines: readonly string[]): void {
  const begun = new Map<string, string>();
  for (const line of lines) {
    const read = readId(line);
    if (read?.kind === 'intent') begun.set(read.id, line);
    else if (read?.kind === 'ending' && !begun.delete(read.id)) open.delete(read.id);
  }
  for (const [id, line] of begun) {
    // Without a copy, the line would keep all in memory that was read with it.
    const read = readLine(Buffer.from(line, 'latin1').toString('latin1'));
    if (read?.kind === 'intent') open.set(id, read);
  }
}
