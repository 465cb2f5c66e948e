import { randomBytes } from 'node:crypto';
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { ShownError } from '../util/log.js';
import { regularFile } from '../util/regular-file.js';
import { own, say } from '../util/safe-text.js';

/** This file has the key that seals a journal's private values if CLOUDOPS_STATE_KEY is not set. */

/**
 * Returns the key in the file beside a journal, which is made if it is missing (mode 600).
 * @throws ShownError if the file has no key
 */
export function keyBeside(journal: string): string {
  const path = `${journal}.key`;
  if (regularFile(path) === undefined) createKey(path);
  const key = readFileSync(path, 'utf8').trim();
  if (!/^[\w-]{43}$/.test(key)) throw new ShownError(say`${own(path)} has no key: remove it, and a new one is made`);
  return key;
}

/** Writes a new key whole, because another process may read the file at any moment. */
function createKey(path: string): void {
  const key = randomBytes(32).toString('base64url');
  const whole = `${path}.${randomBytes(6).toString('hex')}`;
  writeFileSync(whole, `${key}\n`, { mode: 0o600, flag: 'wx' });
  try {
    linkSync(whole, path);
  } catch (error) {
    if (regularFile(path) === undefined) throw error;
  } finally {
    rmSync(whole, { force: true });
  }
}
