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

/** A value made from files, which is updated when they change. */
interface WatchedFiles<Value> {
  /**
   * The last value that could be read.
   * @throws KeysUnavailable if none could be read yet
   */
  current(): Promise<Value>;
  /** Like `current`, but waits until files that are being written have stopped changing. */
  settled(): Promise<Value>;
}

/** Files are read when none has changed for this time, because two files cannot be replaced at the same moment (milliseconds). */
const stillMs = 1000;
const pollMs = 250;
/** The longest wait for files that keep changing. */
const longestWaitMs = 5000;

/** Reads files again after they have changed. If they cannot be read or used, the last value stays. */
export function watchFiles<Value>(options: WatchOptions<Value>): WatchedFiles<Value> {
  return new FileWatcher(options);
}

/** The state of the files at one moment. */
interface Look {
  /** Differs if a file was written or replaced. */
  readonly fingerprint: string;
  /** True if no file has changed for `stillMs`. */
  readonly isStill: boolean;
}

class FileWatcher<Value> implements WatchedFiles<Value> {
  readonly #options: WatchOptions<Value>;
  #value: Value | undefined;
  /** The fingerprint of the files that were read last. */
  #readFingerprint: string | undefined;
  /** The last fingerprint, and since when it has been the same (milliseconds). */
  #lastSeen: { readonly fingerprint: string; readonly since: number } | undefined;
  /** The reason for a missing value. */
  #problem = new KeysUnavailable(words('a file was written while it was read'), words('Try again.'));
  #lastRefresh: Promise<unknown> = Promise.resolve();
  #settling: Promise<void> | undefined;

  constructor(options: WatchOptions<Value>) {
    this.#options = options;
    this.#value = options.initial;
  }

  readonly current = async (): Promise<Value> => {
    await this.#refreshInTurn();
    return this.#lastValue();
  };

  readonly settled = async (): Promise<Value> => {
    // All waiting calls share one wait, and other calls go on.
    this.#settling ??= this.#settle().finally(() => {
      this.#settling = undefined;
    });
    await this.#settling;
    return this.#lastValue();
  };

  #lastValue(): Value {
    if (this.#value === undefined) throw this.#problem;
    return this.#value;
  }

  async #settle(): Promise<void> {
    let waitedMs = 0;
    while (!(await this.#refreshInTurn()) && waitedMs < longestWaitMs) {
      await this.#options.sleep(pollMs);
      waitedMs += pollMs;
    }
  }

  /** Refreshes after all earlier refreshes have ended. */
  #refreshInTurn(): Promise<boolean> {
    const refreshed = this.#lastRefresh.then(() => this.#refresh());
    this.#lastRefresh = refreshed.catch(() => undefined);
    return refreshed;
  }

  /** Reads changed files if they are still, or if there is no value yet. Resolves with false if the files may still be changing. */
  async #refresh(): Promise<boolean> {
    const { fingerprint, isStill } = await this.#look();
    if (fingerprint === this.#readFingerprint && this.#value !== undefined) return true;
    if (isStill || this.#value === undefined) await this.#read(fingerprint);
    return isStill;
  }

  async #look(): Promise<Look> {
    const { paths, stat, now } = this.#options;
    const files = await Promise.all(paths.map((path) => stat(path).catch(() => undefined)));
    const facts = files.map((file) => file && [file.dev, file.ino, file.size, file.mtimeMs, file.ctimeMs]);
    const fingerprint = JSON.stringify(facts);
    const time = now().getTime();
    if (this.#lastSeen?.fingerprint !== fingerprint) this.#lastSeen = { fingerprint, since: time };
    // A missing file may be about to be written.
    const ages = files.map((file) => (file === undefined ? 0 : time - Math.max(file.mtimeMs, file.ctimeMs)));
    return { fingerprint, isStill: Math.min(...ages) >= stillMs || time - this.#lastSeen.since >= stillMs };
  }

  /** @param fingerprint the fingerprint of the files before they are read */
  async #read(fingerprint: string): Promise<void> {
    const { paths, read, log } = this.#options;
    const newValue = await read().catch((error: unknown) => {
      this.#problem = error instanceof KeysUnavailable ? error : unreadableKeys(error);
    });
    // A file was written during the read, so the next call tries again.
    if ((await this.#look()).fingerprint !== fingerprint) return;
    this.#readFingerprint = fingerprint;
    if (newValue === undefined) log('error', 'keys', { problem: this.#problem.shown });
    else if (!isDeepStrictEqual(newValue, this.#value)) {
      this.#value = newValue;
      log('info', 'keys', { read: paths });
    }
  }
}
