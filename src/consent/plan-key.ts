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
import { textAt } from '../util/objects.js';
import { type SafeText, words } from '../util/safe-text.js';
import type { KeyRing } from '../util/seal.js';

const keyBytes = 32;
/** In bytes: the key in hexadecimal digits, and the end of its line. */
const longestFile = 2 * keyBytes + 2;

/**
 * The key for planIds, which is kept in a file so that a server that is started anew for each call knows the planIds of the one before.
 * It is for planIds alone: a model that can read files can read it, and a planId proves no consent of a person. It is made once, and first
 * needed when a plan is made. Undefined if it cannot be kept for this user alone: then it has to be one of the process.
 */
export function keptPlanKey(path: string): () => KeyRing | undefined {
  let found: { readonly keys: KeyRing | undefined } | undefined;
  return () => {
    found ??= { keys: readOrMake(path) };
    return found.keys;
  };
}

function readOrMake(path: string): KeyRing | undefined {
  try {
    const key = read(path) ?? make(path);
    return key?.length === keyBytes ? [key] : undefined;
  } catch {
    return undefined;
  }
}

/** The reason why the key in a file cannot be used; undefined if it can, or is still to be made. */
export function planKeyProblem(path: string): SafeText | undefined {
  try {
    const length = read(path)?.length ?? keyBytes;
    return length === keyBytes ? undefined : words('it holds no key, or others can read it');
  } catch (error) {
    return shownReason(error);
  }
}

/** No link is followed and no pipe is waited for. Windows has neither flag. */
const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** The key of the file, empty if others could read it as well or if it is none; undefined if there is no file. */
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

/** Of several processes that make one at the same time, the first wins: its file appears whole, and is never replaced. */
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
