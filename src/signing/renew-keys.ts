import type { Stats } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { fileFault, type Log } from '../util/log.js';
import { say, words } from '../util/safe-text.js';
import { type KeyOrigin, type KeyReadOptions, KeysUnavailable, keySourceError, type TemporaryKeys } from './keys.js';
import type { Credentials } from './sign.js';

/** Keys are read again when their files change, before they expire, and after a service has refused them. */

export interface RenewalAccess extends KeyReadOptions {
  readonly stat: (path: string) => Promise<Pick<Stats, 'dev' | 'ino' | 'size' | 'mtimeMs' | 'ctimeMs'>>;
  readonly now: () => Date;
  readonly sleep: (milliseconds: number) => Promise<void>;
  readonly log: Log;
}

interface RenewalOptions<Origin extends KeyOrigin> {
  readonly id: string;
  /** Files that hold the keys or say where they are. Empty for a program or a service. */
  readonly paths: readonly string[];
  readonly initial?: TemporaryKeys | undefined;
  /** @throws KeysUnavailable, or any error of reading files */
  readonly findOrigin: () => Promise<Origin>;
}

/** Keys are read again this time before they expire (ms), while calls go on with the old keys. */
const earlyMs = 5 * 60_000;
/** Files must be unchanged for this time (ms), so that a new key ID is not combined with an old secret. */
const quietMs = 1000;
const pollMs = 250;
const longestWaitMs = 5000;

/** Calls share one read. If a read fails, the last keys of the same origin stay in use until they expire. */
export function renewKeys<Origin extends KeyOrigin>(
  { id, paths, initial, findOrigin }: RenewalOptions<Origin>,
  { stat, now, sleep, log, env, stop }: RenewalAccess,
) {
  let keys = initial;
  let origin: Origin | undefined;
  let problem = new KeysUnavailable(words('a file was written while it was read'), words('Try again.'));
  let readFiles: string | undefined;
  /** `since` is when `files` was first seen (ms). */
  let seen: { readonly files: string; readonly since: number } | undefined;
  let startedAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;

  const leftMs = (read: TemporaryKeys | undefined) =>
    read === undefined ? 0 : (read.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY) - now().getTime();

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

  /** Never rejects. A result that may mix old and new files is dropped. */
  const readOnce = async (files: string): Promise<void> => {
    let found: Origin | undefined;
    let read: TemporaryKeys | undefined;
    /** Why there are no keys, now or after the keys that were read expire. */
    let failure: KeysUnavailable;
    try {
      found = await findOrigin();
      read = await found.read({ env, stop });
      failure = keySourceError(found, words('gave keys that have expired'));
    } catch (error) {
      failure = failureOf(error);
    }
    if ((await lookAtFiles()).files !== files) return;
    // The keys of an earlier origin may be for another account.
    if (found !== undefined && files !== readFiles) keys = undefined;
    origin = found ?? origin;
    readFiles = files;
    problem = failure;
    if (read === undefined || leftMs(read) <= 0) {
      log('error', 'keys', { problem: problem.shown, ...(paths.length > 0 && { files: paths }) });
    } else if (!isDeepStrictEqual(read, keys)) {
      keys = read;
      log('info', 'keys', { key: keys.credentials.accessKeyId, expires: keys.expiresAt?.toISOString() });
    }
  };

  const refresh = async (files: string): Promise<void> => {
    const time = now().getTime();
    // `startedAt` is in the future if the clock has been set back.
    const isDue = files !== readFiles || Math.abs(time - startedAt) >= (origin?.pauseMs ?? 0);
    if (reading === undefined && isDue) {
      startedAt = time;
      reading = readOnce(files).finally(() => {
        reading = undefined;
      });
    }
    await reading;
  };

  const look = async () => {
    const { files, areQuiet } = await lookAtFiles();
    const validMs = leftMs(keys);
    if (validMs <= 0 || (files !== readFiles && areQuiet)) await refresh(files);
    else if (validMs < earlyMs) void refresh(files);
  };

  return {
    id,
    current: async (): Promise<Credentials> => {
      await look();
      if (keys === undefined || leftMs(keys) <= 0) throw problem;
      return keys.credentials;
    },
    renewed: async (refused: Credentials): Promise<Credentials | undefined> => {
      const usable = () =>
        leftMs(keys) <= 0 || isDeepStrictEqual(keys?.credentials, refused) ? undefined : keys?.credentials;
      let { files, areQuiet } = await lookAtFiles();
      for (let waitedMs = 0; !areQuiet && waitedMs < longestWaitMs; waitedMs += pollMs) {
        await sleep(pollMs);
        ({ files, areQuiet } = await lookAtFiles());
      }
      if (areQuiet && (files !== readFiles || usable() === undefined)) await refresh(files);
      return usable();
    },
    /** Works without keys, too. @throws KeysUnavailable if the origin is not known */
    origin: async (): Promise<Origin> => {
      await look();
      if (origin === undefined) throw problem;
      return origin;
    },
  };
}

function failureOf(error: unknown): KeysUnavailable {
  if (error instanceof KeysUnavailable) return error;
  const remedy = words('Correct the path, or the file.');
  return new KeysUnavailable(say`a file of keys cannot be read (${fileFault(error)})`, remedy);
}
