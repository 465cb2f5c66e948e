import { isDeepStrictEqual } from 'node:util';
import type { Log } from '../util/log.js';
import { words } from '../util/safe-text.js';
import { KeysUnavailable, unreadableKeys } from './keys.js';

interface Stats {
  readonly dev: number;
  readonly ino: number;
  readonly size: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
}

export interface Access {
  readonly stat: (path: string) => Promise<Stats>;
  readonly now: () => Date;
  readonly sleep: (milliseconds: number) => Promise<void>;
  readonly log: Log;
}

export interface RenewalOptions<Value> extends Access {
  /** Empty if the value comes from a program or a service. */
  readonly paths: readonly string[];
  readonly initial?: Value | undefined;
  /** @throws KeysUnavailable, or any error of reading files */
  readonly read: () => Promise<Value>;
  /** Between the starts of two reads (ms), unless a file has changed. */
  readonly pauseMs: number;
  readonly expiry?: { readonly of: (value: Value) => Date | undefined; readonly error: KeysUnavailable };
  /** For the log. No secrets. */
  readonly describe: (value: Value) => Readonly<Record<string, unknown>>;
}

/** A value, such as keys, that may be another one later. */
interface RenewedValue<Value> {
  /** @throws KeysUnavailable if there is no value, or if it has expired */
  current(): Promise<Value>;
  /** Waits while files are being written, and reads again if the value is still refused. Undefined if the new value is refused too. */
  renewed(isRefused: (value: Value) => boolean): Promise<Value | undefined>;
}

/** A value is read again this time before it expires (ms), while calls go on with the old value. */
const earlyMs = 5 * 60_000;
/** Files must be unchanged for this time (ms), so that a new key ID is not combined with an old secret. */
const quietMs = 1000;
const pollMs = 250;
const longestWaitMs = 5000;

/** Calls share one read. If a read fails, the last value stays in use until it expires. */
export function createRenewedValue<Value>(options: RenewalOptions<Value>): RenewedValue<Value> {
  const { paths, read, pauseMs, expiry, describe, stat, now, sleep, log } = options;
  let value = options.initial;
  let problem = new KeysUnavailable(words('a file was written while it was read'), words('Try again.'));
  let readFiles: string | undefined;
  /** `since` is when `files` was first seen (ms). */
  let seen: { readonly files: string; readonly since: number } | undefined;
  let startedAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;

  const leftMs = (candidate: Value): number =>
    (expiry?.of(candidate)?.getTime() ?? Number.POSITIVE_INFINITY) - now().getTime();
  const remainingMs = () => (value === undefined ? 0 : leftMs(value));

  /** `files` changes when a file is written or replaced. */
  const lookAtFiles = async () => {
    const stats = await Promise.all(paths.map((path) => stat(path).catch(() => undefined)));
    const files = JSON.stringify(
      stats.map((file) => file && [file.dev, file.ino, file.size, file.mtimeMs, file.ctimeMs]),
    );
    const time = now().getTime();
    if (seen?.files !== files) seen = { files, since: time };
    // A missing file may be about to be written.
    const agesMs = stats.map((file) => (file === undefined ? 0 : time - Math.max(file.mtimeMs, file.ctimeMs)));
    // Missing files and files with a time in the future become quiet, too.
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

  /** Never rejects. A result that may mix old and new files is dropped. */
  const readOnce = async (files: string): Promise<void> => {
    const result = await readOrFail();
    problem = result instanceof KeysUnavailable ? result : (expiry?.error ?? problem);
    if ((await lookAtFiles()).files !== files) return;
    readFiles = files;
    if (result instanceof KeysUnavailable) {
      log('error', 'keys', { problem: result.shown, ...(paths.length > 0 && { files: paths }) });
    } else if (!isDeepStrictEqual(result.found, value)) {
      value = result.found;
      log('info', 'keys', describe(value));
    }
  };

  const refresh = async (files: string): Promise<void> => {
    const time = now().getTime();
    // `startedAt` is in the future if the clock has been set back.
    const isDue = files !== readFiles || Math.abs(time - startedAt) >= pauseMs;
    if (reading === undefined && isDue) {
      startedAt = time;
      reading = readOnce(files).finally(() => {
        reading = undefined;
      });
    }
    await reading;
  };

  return {
    current: async () => {
      const { files, areQuiet } = await lookAtFiles();
      const validMs = remainingMs();
      if (validMs <= 0 || (files !== readFiles && areQuiet)) await refresh(files);
      else if (validMs < earlyMs) void refresh(files);
      if (value === undefined || remainingMs() <= 0) throw problem;
      return value;
    },
    renewed: async (isRefused) => {
      const usable = () => (value === undefined || remainingMs() <= 0 || isRefused(value) ? undefined : value);
      let look = await lookAtFiles();
      for (let waitedMs = 0; !look.areQuiet && waitedMs < longestWaitMs; waitedMs += pollMs) {
        await sleep(pollMs);
        look = await lookAtFiles();
      }
      if (look.areQuiet && (look.files !== readFiles || usable() === undefined)) await refresh(look.files);
      return usable();
    },
  };
}
