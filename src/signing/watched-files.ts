import { isDeepStrictEqual } from 'node:util';
import type { Log } from '../util/log.js';
import { words } from '../util/safe-text.js';
import { KeysUnavailable, unreadableKeys } from './keys.js';

/** The facts that change when a file is written or replaced. */
interface Stats {
  readonly dev: number;
  readonly ino: number;
  readonly size: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
}

/** Access to files and time. */
export interface FileAccess {
  readonly stat: (path: string) => Promise<Stats>;
  readonly now: () => Date;
  readonly sleep: (milliseconds: number) => Promise<void>;
  readonly log: Log;
}

interface WatchOptions<Value> extends FileAccess {
  readonly paths: readonly string[];
  /** The value at the start; undefined if it is still to be read. */
  readonly initial: Value | undefined;
  /** @throws KeysUnavailable, or any error of reading */
  readonly read: () => Promise<Value>;
}

/** Files are read when none has changed for this time (milliseconds), so that a new key ID is not combined with an old secret. */
const quietMs = 1000;
const pollMs = 250;
/** The longest wait for files that keep changing (milliseconds). */
const longestWaitMs = 5000;

interface FilesState {
  /** Text that changes when a file is written or replaced. */
  readonly fingerprint: string;
  /** True if no file has changed for `quietMs`. */
  readonly isQuiet: boolean;
}

/**
 * A value that is made from files, and made again when a file has changed. If the files cannot be read or used, the value of the last
 * successful read stays in use.
 */
export class FileWatcher<Value> {
  readonly #options: WatchOptions<Value>;
  #value: Value | undefined;
  /** The fingerprint of the files that were read last. */
  #readFingerprint: string | undefined;
  /** The latest fingerprint, and the time at which it was seen first (milliseconds). */
  #lastSeen: { readonly fingerprint: string; readonly since: number } | undefined;
  /** The error to throw while there is no value. Until a read fails, the only reason is that a file changed during each read. */
  #problem = new KeysUnavailable(words('a file was written while it was read'), words('Try again.'));
  #lastRefresh: Promise<unknown> = Promise.resolve();
  #settling: Promise<void> | undefined;

  constructor(options: WatchOptions<Value>) {
    this.#options = options;
    this.#value = options.initial;
  }

  /**
   * Reads the files if they have changed, and returns the value of the last successful read.
   * @throws KeysUnavailable if no read has succeeded yet
   */
  async current(): Promise<Value> {
    await this.#refreshInTurn();
    return this.#lastValue();
  }

  /** Like `current`, but waits until files that are being written have stopped changing. */
  async settled(): Promise<Value> {
    // All calls that wait for new keys share one wait. Calls of `current` do not wait for it.
    this.#settling ??= this.#settle().finally(() => {
      this.#settling = undefined;
    });
    await this.#settling;
    return this.#lastValue();
  }

  #lastValue(): Value {
    if (this.#value === undefined) throw this.#problem;
    return this.#value;
  }

  /** Refreshes until the files have stopped changing, or `longestWaitMs` are over. */
  async #settle(): Promise<void> {
    let waitedMs = 0;
    while (!(await this.#refreshInTurn()) && waitedMs < longestWaitMs) {
      await this.#options.sleep(pollMs);
      waitedMs += pollMs;
    }
  }

  /** Refreshes after all earlier refreshes have ended, so that two refreshes never read at the same time. */
  #refreshInTurn(): Promise<boolean> {
    const refreshed = this.#lastRefresh.then(() => this.#refresh());
    // The error is for this caller. The next refresh runs nevertheless.
    this.#lastRefresh = refreshed.catch(() => undefined);
    return refreshed;
  }

  /** Reads changed files if they have been quiet for `quietMs`, or if there is no value yet. Resolves with false if they are not quiet yet. */
  async #refresh(): Promise<boolean> {
    const { fingerprint, isQuiet } = await this.#filesState();
    if (fingerprint === this.#readFingerprint && this.#value !== undefined) return true;
    if (isQuiet || this.#value === undefined) await this.#read(fingerprint);
    return isQuiet;
  }

  async #filesState(): Promise<FilesState> {
    const { paths, stat, now } = this.#options;
    const files = await Promise.all(paths.map((path) => stat(path).catch(() => undefined)));
    const facts = files.map((file) => file && [file.dev, file.ino, file.size, file.mtimeMs, file.ctimeMs]);
    const fingerprint = JSON.stringify(facts);
    const time = now().getTime();
    if (this.#lastSeen?.fingerprint !== fingerprint) this.#lastSeen = { fingerprint, since: time };

    // A missing file counts as changed just now, because it may be about to be written.
    const agesMs = files.map((file) => (file === undefined ? 0 : time - Math.max(file.mtimeMs, file.ctimeMs)));
    // If nothing changes for `quietMs`, missing files and files with a time in the future count as quiet, too.
    const isQuiet = Math.min(...agesMs) >= quietMs || time - this.#lastSeen.since >= quietMs;
    return { fingerprint, isQuiet };
  }

  /**
   * Reads the files, and logs a new value or a failure. After a failure, the earlier value stays in use until the files change again. The result
   * is dropped if the files were written during the read.
   * @param fingerprint text that describes the files just before this read, and changes when a file is written
   */
  async #read(fingerprint: string): Promise<void> {
    const { paths, read, log } = this.#options;
    const result = await read().then(
      (value) => ({ value }),
      (error: unknown) => ({ problem: error instanceof KeysUnavailable ? error : unreadableKeys(error) }),
    );
    const wasWritten = (await this.#filesState()).fingerprint !== fingerprint;
    // Also if the files were written during the read, because callers get this problem as long as there is no value.
    if ('problem' in result) this.#problem = result.problem;
    // A value from files that were written during the read may be a mixture of old and new. The files do not count as read, so the next call reads
    // them again.
    if (wasWritten) return;

    this.#readFingerprint = fingerprint;
    if ('problem' in result) {
      log('error', 'keys', { problem: result.problem.shown, files: paths });
    } else if (!isDeepStrictEqual(result.value, this.#value)) {
      this.#value = result.value;
      log('info', 'keys', { read: paths });
    }
  }
}
