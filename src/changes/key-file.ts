import { randomBytes } from 'node:crypto';
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { devNull } from 'node:os';
import { dirname } from 'node:path';
import { ShownError } from '../util/log.js';
import { regularFile } from '../util/regular-file.js';
import { own, say } from '../util/safe-text.js';
import type { KeyRing } from '../util/seal.js';
import { makeFolder, restrict } from './sqlite-file.js';

/** This file has the keys that seal a journal's private values: the keys of CLOUDOPS_STATE_KEY, or a key in a file next to the journal. */

/**
 * Returns the keys of a journal. A key that was made before CLOUDOPS_STATE_KEY was set still opens what it sealed.
 * @param path the file of the journal. Undefined for a database, whose servers share CLOUDOPS_STATE_KEY
 * @throws ShownError if the file beside the journal has no key, or the system's error
 */
export function keysOfJournal(path: string | undefined, stateKeys: KeyRing | undefined): KeyRing {
  if (path === undefined || path === devNull) return stateKeys ?? [randomBytes(32)];
  const keyFile = `${path}.key`;
  if (stateKeys === undefined) return [readKey(keyFile) ?? createKey(keyFile)];
  const earlier = readKey(keyFile);
  return earlier === undefined ? stateKeys : [...stateKeys, earlier];
}

function readKey(path: string): string | undefined {
  if (regularFile(path) === undefined) return undefined;
  restrict(path);
  const key = readFileSync(path, 'utf8').trim();
  if (!/^[\w-]{43}$/.test(key)) throw new ShownError(say`${own(path)} has no key: remove it, and a new one is made`);
  return key;
}

/** Writes a new key whole, because another process may read the file at any moment. If the other process is faster, its key counts. */
function createKey(path: string): string {
  makeFolder(dirname(path));
  const key = randomBytes(32).toString('base64url');
  const whole = `${path}.${randomBytes(6).toString('hex')}`;
  writeFileSync(whole, `${key}\n`, { mode: 0o600, flag: 'wx', flush: true });
  try {
    linkSync(whole, path);
    return key;
  } catch (error) {
    const other = readKey(path);
    if (other === undefined) throw error;
    return other;
  } finally {
    rmSync(whole, { force: true });
  }
}
