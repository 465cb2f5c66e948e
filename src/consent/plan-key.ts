import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { shownReason } from '../util/log.js';
import { lazy, textAt } from '../util/objects.js';
import { type SafeText, words } from '../util/safe-text.js';
import type { KeyRing } from '../util/seal.js';

const keyBytes = 32;
/** Maximum size of the key file (bytes): the hexadecimal digits of the key, and a line end of one or two characters. */
const longestFile = 2 * keyBytes + 2;

/**
 * Returns a function that reads the key for planIds from a file. At its first call, it makes the file if there is none. Some clients start
 * a server process for each call, and the file lets each process verify the planIds of the previous process. The key is only for planIds, which
 * prove no person's consent, because a model that can read files can read the key too. The function returns undefined if other users can read
 * the file or if it cannot be used. The process then uses a random key of its own.
 * @param onProblem called once if the file cannot be used
 */
export function keptPlanKey(
  path: string,
  onProblem: (problem: SafeText) => void = () => undefined,
): () => KeyRing | undefined {
  const read = lazy(() => {
    const keys = readOrMake(path);
    if (keys === undefined) onProblem(planKeyProblem(path) ?? words('it cannot be made'));
    return { keys };
  });
  return () => read().keys;
}

function readOrMake(path: string): KeyRing | undefined {
  try {
    const key = read(path) ?? make(path);
    return key?.length === keyBytes ? [key] : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the problem with the key file. Undefined if the key is usable, or if there is no file yet. */
export function planKeyProblem(path: string): SafeText | undefined {
  try {
    const length = read(path)?.length ?? keyBytes;
    return length === keyBytes ? undefined : words('it holds no key, or others can read it');
  } catch (error) {
    return shownReason(error);
  }
}

/** Opens no symbolic link, and does not wait for the writer of a pipe. Windows has neither flag. */
const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** Reads the key. Returns undefined if there is no file, and an empty buffer if other users can read the file or if it holds no key. */
function read(path: string): Buffer | undefined {
  const file = openIfThere(path);
  if (file === undefined) return undefined;
  try {
    const stats = fstatSync(file);
    const isShared = process.platform !== 'win32' && (stats.mode & 0o077) !== 0;
    if (!stats.isFile() || isShared || stats.size > longestFile) return Buffer.alloc(0);
    return Buffer.from(readFileSync(file, 'utf8'), 'hex');
  } finally {
    closeSync(file);
  }
}

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, flags);
  } catch (error) {
    if (textAt(error, 'code') === 'ENOENT') return undefined;
    throw error;
  }
}

/** Makes the file and returns its key. If several processes make it at once, all use the first file, because `linkSync` replaces no file. */
function make(path: string): Buffer | undefined {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  writeFileSync(draft, `${randomBytes(keyBytes).toString('hex')}\n`, { mode: 0o600, flag: 'wx' });
  try {
    linkSync(draft, path);
  } catch (error) {
    if (textAt(error, 'code') !== 'EEXIST') throw error;
  } finally {
    unlinkSync(draft);
  }
  return read(path);
}
