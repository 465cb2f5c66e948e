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

/** Access to files, time and the log. */
export interface Access {
  readonly stat: (path: string) => Promise<Stats>;
  readonly now: () => Date;
  readonly sleep: (milliseconds: number) => Promise<void>;
  readonly log: Log;
}

export interface RenewalOptions<Value> extends Access {
  /** The files that the value comes from. Empty if it comes from a program or a service. */
  readonly paths: readonly string[];
  /** The value at the start. Undefined if it is still to be read. */
  readonly initial?: Value | undefined;
  /** @throws KeysUnavailable, or any error of reading files */
  readonly read: () => Promise<Value>;
  /** Least time between the starts of two reads (milliseconds), unless a file has changed. */
  readonly pauseMs: number;
  /** When a value expires, and the error of a value that has expired. Undefined if values do not expire. */
  readonly expiry?: { readonly of: (value: Value) => Date | undefined; readonly error: KeysUnavailable };
  /** The fields of the log's entry about a new value. No secrets. */
  readonly describe: (value: Value) => Readonly<Record<string, unknown>>;
}

/** A value, such as keys, that may be another one later. */
interface RenewedValue<Value> {
  /** @throws KeysUnavailable if no value could be read, or if the last one has expired */
  current(): Promise<Value>;
  /** Waits until files that are being written have stopped changing, and reads again if the value is still refused. Undefined if it then is. */
  renewed(isRefused: (value: Value) => boolean): Promise<Value | undefined>;
}

/** A value that expires is read again this time before it expires (milliseconds), while calls go on with the old value. */
const earlyMs = 5 * 60_000;
/** Files are read when none has changed for this time (milliseconds), so that a new key ID is not combined with an old secret. */
const quietMs = 1000;
const pollMs = 250;
/** The longest wait for files that keep changing (milliseconds). */
const longestWaitMs = 5000;

/**
 * A value that is read again when its files have changed, when it is about to expire, and when a service has refused it. Calls share one read.
 * If a read fails, the last value stays in use until it expires.
 */
export function createRenewedValue<Value>(options: RenewalOptions<Value>): RenewedValue<Value> {
  const { paths, read, pauseMs, expiry, describe, stat, now, sleep, log } = options;
  let value = options.initial;
  /** The error to throw without a usable value. Until a read fails, the only reason is that a file changed during each read. */
  let problem = new KeysUnavailable(words('a file was written while it was read'), words('Try again.'));
  /** Text that describes the files that were read last. */
  let readFiles: string | undefined;
  /** The latest such text, and the time at which it was seen first (milliseconds). */
  let seen: { readonly files: string; readonly since: number } | undefined;
  let startedAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;
  let settling: Promise<boolean> | undefined;

  const leftMs = (candidate: Value): number =>
    (expiry?.of(candidate)?.getTime() ?? Number.POSITIVE_INFINITY) - now().getTime();
  /** Time until the value expires (milliseconds). At most 0 if there is no usable value. */
  const remainingMs = () => (value === undefined ? 0 : leftMs(value));

  /** Returns a text that changes when a file is written or replaced, and whether no file has changed for `quietMs`. */
  const lookAtFiles = async () => {
    const stats = await Promise.all(paths.map((path) => stat(path).catch(() => undefined)));
    const files = JSON.stringify(
      stats.map((file) => file && [file.dev, file.ino, file.size, file.mtimeMs, file.ctimeMs]),
    );
    const time = now().getTime();
    if (seen?.files !== files) seen = { files, since: time };
    // A missing file counts as changed just now, because it may be about to be written.
    const agesMs = stats.map((file) => (file === undefined ? 0 : time - Math.max(file.mtimeMs, file.ctimeMs)));
    // If nothing changes for `quietMs`, missing files and files with a time in the future count as quiet, too.
    const areQuiet = Math.min(...agesMs) >= quietMs || time - seen.since >= quietMs;
    return { files, areQuiet };
  };

  const readOrFail = async (): Promise<{ readonly found: Value } | KeysUnavailable> => {
    try {
      const found = await read();
      return expiry === undefined || leftMs(found) > 0 ? { found } : expiry.error;
    } catch (error) {
      return error instanceof KeysUnavailable ? error : unreadableKeys(error);
    }
  };

  /** Reads once. Never rejects. The result is dropped if the files were written meanwhile, because it may mix old and new. */
  const readOnce = async (files: string): Promise<void> => {
    const result = await readOrFail();
    if (result instanceof KeysUnavailable) problem = result;
    else if (expiry !== undefined) problem = expiry.error;
    // The files do not count as read, so the next call reads them again.
    if ((await lookAtFiles()).files !== files) return;
    readFiles = files;
    if (result instanceof KeysUnavailable) {
      log('error', 'keys', { problem: result.shown, ...(paths.length > 0 && { files: paths }) });
    } else if (!isDeepStrictEqual(result.found, value)) {
      value = result.found;
      log('info', 'keys', describe(value));
    }
  };

  /** Joins the read that runs, or reads if that is due. */
  const refresh = async (files: string): Promise<void> => {
    const time = now().getTime();
    // An absolute difference, because `startedAt` is in the future if the clock has been set back.
    const isDue = files !== readFiles || Math.abs(time - startedAt) >= pauseMs;
    if (reading === undefined && isDue) {
      startedAt = time;
      reading = readOnce(files).finally(() => {
        reading = undefined;
      });
    }
    await reading;
  };

  /** Refreshes until the files have stopped changing. Resolves with false if `longestWaitMs` are over before that. */
  const settle = async (): Promise<boolean> => {
    for (let waitedMs = 0; ; waitedMs += pollMs) {
      const { files, areQuiet } = await lookAtFiles();
      if (files !== readFiles && (areQuiet || value === undefined)) await refresh(files);
      if (areQuiet || waitedMs >= longestWaitMs) return areQuiet;
      await sleep(pollMs);
    }
  };

  return {
    current: async () => {
      const { files, areQuiet } = await lookAtFiles();
      const validMs = remainingMs();
      if (validMs <= 0 || (files !== readFiles && areQuiet)) await refresh(files);
      // The value is still valid, so this call does not wait for a new one.
      else if (validMs < earlyMs) void refresh(files);
      if (value === undefined || remainingMs() <= 0) throw problem;
      return value;
    },
    renewed: async (isRefused) => {
      const usable = () => (value === undefined || remainingMs() <= 0 || isRefused(value) ? undefined : value);
      // Calls share one wait. Calls of `current` do not wait for it.
      settling ??= settle().finally(() => {
        settling = undefined;
      });
      const areQuiet = await settling;
      if (usable() === undefined && areQuiet) await refresh((await lookAtFiles()).files);
      return usable();
    },
  };
}
