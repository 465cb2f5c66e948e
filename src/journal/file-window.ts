import { type Log, ShownError } from '../util/log.js';
import { counted, type SafeText, say, time as timeText, words } from '../util/safe-text.js';
import { createTurns } from '../util/turns.js';
import { longestWindowMs } from './budget.js';
import { clockWasSet } from './clock-warnings.js';
import { linesAfter } from './file-lines.js';
import { append, deviceOf, maximumBytes, openRotatedFile, rotatedFiles } from './file-open.js';
import { FileTail } from './file-tail.js';
import { type EndingLine, type IntentLine, readId, readLine } from './line.js';
import { JournalWindow } from './window.js';

/** The clock was set if it advanced by this many milliseconds more or less than the uptime, which may be in whole seconds. */
const clockToleranceMs = 2_000;

/** Keeps the window of a journal up to date with its file. If the file is lost, writes the entries into a new file. */
export class FileWindow {
  readonly #path: string;
  readonly #now: () => Date;
  readonly #uptime: () => number;
  readonly #log: Log;
  readonly #tail: FileTail;
  readonly #window = new JournalWindow();
  /** Runs one refresh after another. */
  readonly #takeTurn = createTurns();
  /**
   * Files last written before this time (milliseconds) are not in the window. Undefined before the first read, and once the unfinished
   * changes of these files were added.
   */
  #readSince: number | undefined;
  /** The device of the journal's folder at the last check. */
  #device: number | undefined;
  /** Entries that the file has lost, by kind and id. */
  readonly #lost = new Map<string, IntentLine | EndingLine>();
  #warnings: readonly SafeText[] = [];
  /** Both clocks at the last refresh, in milliseconds. */
  #lastClocks: { readonly time: number; readonly uptime: number } | undefined;

  constructor(path: string, now: () => Date, uptime: () => number, log: Log) {
    this.#path = path;
    this.#now = now;
    this.#uptime = uptime;
    this.#log = log;
    // The disk may be unmounted between the check before a read and the opening of the file.
    this.#tail = new FileTail(path, () => this.requireSameDevice());
  }

  /** Warnings for operators, for example that entries had to be written again. */
  get warnings(): readonly SafeText[] {
    return this.#warnings;
  }

  /** @throws if the folder of the journal is on another device, for example because its disk is not mounted any more */
  async requireSameDevice(): Promise<void> {
    const current = await deviceOf(this.#path);
    this.#device ??= current;
    // A disk that was mounted again may have another number, but the same journal.
    if (current !== this.#device && !(await this.#tail.isSameJournal()))
      throw new ShownError(words('its folder is on another device than before: mount that device again'));
    this.#device = current;
  }

  /**
   * Returns the window with all lines of the file.
   * @throws if a file cannot be read or is not a journal
   */
  refresh(): Promise<JournalWindow> {
    return this.#takeTurn(() => this.#readNewLines());
  }

  async #readNewLines(): Promise<JournalWindow> {
    await this.requireSameDevice();
    const time = this.#now().getTime();
    this.#noticeClockChange(time);

    const newLines = this.#tail.read(time - longestWindowMs, () => this.#restart(time));
    for await (const lines of newLines) for (const text of lines) this.#add(text, time);
    this.#window.prune(time);

    if (this.#lost.size > 0) await this.#restoreLost(time);
    return this.#window;
  }

  /** Moves the times of the window if the clock was set since the last refresh. The uptime shows how far the clock should have gone. */
  #noticeClockChange(time: number): void {
    const uptime = this.#uptime();
    const last = this.#lastClocks ?? { time, uptime };
    this.#lastClocks = { time, uptime };
    const expected = last.time + uptime - last.uptime;
    const byMs = time - expected;
    if (Math.abs(byMs) <= clockToleranceMs) return;
    this.#window.setClock(byMs, expected);
    this.#log('warn', 'clock', { problem: clockWasSet(byMs) });
  }

  /** Begins a new window, because the file will be read from its beginning. Known entries count as lost until they are found in the file. */
  #restart(time: number): void {
    for (const line of this.#window.entries()) this.#lost.set(keyOf(line), line);
    this.#window.clear();
    // Added now, so that the intents of the new file come later.
    for (const line of this.#lost.values()) this.#window.add(line, time);
    this.#readSince = time - longestWindowMs;
  }

  #add(text: string, time: number): void {
    const line = readLine(text);
    if (line === undefined) return;
    this.#window.add(line, time);
    if (line.kind !== 'notUnderstood') this.#lost.delete(keyOf(line));
  }

  /** Writes the lost entries into the file. */
  async #restoreLost(time: number): Promise<void> {
    const restored = new Date(time).toISOString();
    const texts = [...this.#lost.values()].map(
      ({ kind, fields }) => `${JSON.stringify({ [kind]: { ...Object(fields), restored } })}\n`,
    );
    for (const lines of batches(texts))
      await append(this.#path, lines, this.#now, { afterOpen: () => this.requireSameDevice() });
    const warning = say`the file was removed, emptied or replaced while this server ran: it wrote ${counted(this.#lost.size, 'line')} of the last day again at ${timeText(restored)}, and older lines are gone`;
    this.#warnings = [warning];
    this.#log('error', 'journal', { message: warning });
    this.#lost.clear();
  }

  /**
   * Returns the window with all lines of the file and the unfinished changes of older files.
   * @throws if a file cannot be read or is not a journal
   */
  async refreshWithUnfinished(): Promise<JournalWindow> {
    await this.refresh();
    const until = this.#readSince;
    if (until === undefined) return this.#window;

    const unfinished = await unfinishedIn(await rotatedFiles(this.#path, 0, until));
    // Changes may have ended while the older files were read.
    await this.refresh();
    // If the window was cleared meanwhile, it begins at another time, so these were the wrong files. The next call reads the right ones.
    if (until !== this.#readSince) return this.#window;
    this.#window.addUnfinished(unfinished);
    this.#readSince = undefined;
    return this.#window;
  }
}

const keyOf = ({ kind, id }: IntentLine | EndingLine) => `${kind} ${id}`;

/** Joins texts, to need few writes. Each joined text fits into one write. */
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
    await using file = await openRotatedFile(path);
    if (file === undefined) continue;
    for await (const { lines } of linesAfter(file, 0)) trackUnfinished(unfinished, lines);
  }
  return [...unfinished.values()];
}

/** Updates the unfinished intents with the next lines. Parses only the intents that have no ending in `lines`, because most changes end soon. */
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
