import { isDeepStrictEqual } from 'node:util';
import { type Log, shownReason } from '../util/log.js';
import { say } from '../util/safe-text.js';
import { KeysUnavailable } from './keys.js';

/** The facts that tell that a file was written or replaced. */
interface Stats {
  readonly dev: number;
  readonly ino: number;
  readonly size: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
}

/** Access to files and time. */
export interface Looking {
  readonly stat: (path: string) => Promise<Stats>;
  readonly now: () => Date;
  readonly sleep: (milliseconds: number) => Promise<void>;
  readonly log: Log;
}

export interface WatchOptions<Value> extends Looking {
  readonly paths: readonly string[];
  /** The value at the start; undefined if it is still to be read. */
  readonly initial: Value | undefined;
  /** @throws KeysUnavailable, or any error of reading */
  readonly read: () => Promise<Value>;
}

/** A value that is made of files, and follows them. */
export interface WatchedFiles<Value> {
  /**
   * The value of the files as they last made sense.
   * @throws KeysUnavailable if they never did
   */
  current(): Promise<Value>;
  /** The same, but of files that are changing just now it waits for the end of that. */
  settled(): Promise<Value>;
}

/** Files are read when none of them has changed for so long: several cannot be replaced at the same moment. */
const stillMs = 1000;
const pollMs = 250;
/** The longest wait for files that keep changing. */
const longestWaitMs = 5000;

/** Reads files again when they were changed. Those that cannot be read, or make no sense, leave the value as it is. */
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
  let problem = say`a file was written while it was read`;
  let turn: Promise<unknown> = Promise.resolve();
  let settling: Promise<void> | undefined;

  /** The files as they are, and whether they have been so for a second. */
  const look = async () => {
    const stats = await Promise.all(paths.map((path) => stat(path).catch(() => undefined)));
    const mark = JSON.stringify(
      stats.map((each) => each && [each.dev, each.ino, each.size, each.mtimeMs, each.ctimeMs]),
    );
    const at = now().getTime();
    if (seen?.mark !== mark) seen = { mark, since: at };
    const ages = stats.map((each) => (each === undefined ? 0 : at - Math.max(each.mtimeMs, each.ctimeMs)));
    return { mark, isStill: Math.min(...ages) >= stillMs || at - seen.since >= stillMs };
  };
  const load = async (mark: string): Promise<void> => {
    const found = await read().catch((error: unknown) => {
      problem = error instanceof KeysUnavailable ? error.shown : say`a file cannot be read (${shownReason(error)})`;
    });
    // Written while it was read: the next call tries again.
    if ((await look()).mark !== mark) return;
    loaded = mark;
    if (found === undefined) log('error', 'keys', { problem });
    else if (!isDeepStrictEqual(found, value)) {
      value = found;
      log('info', 'keys', { read: paths });
    }
  };
  /** Reads files that have changed, once they are still. Resolves with false while they are not. */
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
    if (value === undefined) throw new KeysUnavailable(problem);
    return value;
  };
  return {
    current: async () => {
      await inTurn();
      return valueNow();
    },
    settled: async () => {
      // Calls wait together, and hold up no other.
      settling ??= settle().finally(() => {
        settling = undefined;
      });
      await settling;
      return valueNow();
    },
  };
}
