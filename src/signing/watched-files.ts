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
export function watchFiles<Value>({
  paths,
  initial,
  read,
  stat,
  now,
  sleep,
  log,
}: WatchOptions<Value>): WatchedFiles<Value> {
  let value = initial;
  let loaded: string | undefined;
  let seen: { readonly mark: string; readonly since: number } | undefined;
  let problem = new KeysUnavailable(words('a file was written while it was read'), words('Try again.'));
  let turn: Promise<unknown> = Promise.resolve();
  let settling: Promise<void> | undefined;

  /** A fingerprint of the files, and whether it has been the same for `stillMs`. */
  const look = async () => {
    const stats = await Promise.all(paths.map((path) => stat(path).catch(() => undefined)));
    const mark = JSON.stringify(
      stats.map((file) => file && [file.dev, file.ino, file.size, file.mtimeMs, file.ctimeMs]),
    );
    const at = now().getTime();
    if (seen?.mark !== mark) seen = { mark, since: at };
    const ages = stats.map((file) => (file === undefined ? 0 : at - Math.max(file.mtimeMs, file.ctimeMs)));
    return { mark, isStill: Math.min(...ages) >= stillMs || at - seen.since >= stillMs };
  };
  const load = async (mark: string): Promise<void> => {
    const newValue = await read().catch((error: unknown) => {
      problem = error instanceof KeysUnavailable ? error : unreadableKeys(error);
    });
    // A file was written during the read, so the next call tries again.
    if ((await look()).mark !== mark) return;
    loaded = mark;
    if (newValue === undefined) log('error', 'keys', { problem: problem.shown });
    else if (!isDeepStrictEqual(newValue, value)) {
      value = newValue;
      log('info', 'keys', { read: paths });
    }
  };
  /** Reads changed files if they are still. Resolves with false if they are not. */
  const refresh = async (): Promise<boolean> => {
    const { mark, isStill } = await look();
    if (mark === loaded && value !== undefined) return true;
    if (isStill || value === undefined) await load(mark);
    return isStill;
  };
  const inTurn = (): Promise<boolean> => {
    const done = turn.then(refresh);
    turn = done.catch(() => undefined);
    return done;
  };
  const settle = async (): Promise<void> => {
    for (let waitedMs = 0; !(await inTurn()) && waitedMs < longestWaitMs; waitedMs += pollMs) await sleep(pollMs);
  };
  const valueNow = (): Value => {
    if (value === undefined) throw problem;
    return value;
  };
  return {
    current: async () => {
      await inTurn();
      return valueNow();
    },
    settled: async () => {
      // All waiting calls share one wait, and other calls go on.
      settling ??= settle().finally(() => {
        settling = undefined;
      });
      await settling;
      return valueNow();
    },
  };
}
