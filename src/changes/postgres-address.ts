import { readFileSync, statSync } from 'node:fs';
import { textAt } from '../util/objects.js';

/**
 * Replaces the modes `prefer`, `require` and `verify-ca` in an address by `verify-full`. PostgreSQL's library treats them as `verify-full`,
 * too, but prints a warning of eight lines about each.
 */
export const connectionString = (url: string): string =>
  /[?&]uselibpqcompat=/.test(url)
    ? url
    : url.replace(/([?&]sslmode=)(prefer|require|verify-ca)(?=&|$)/g, '$1verify-full');

/**
 * Returns a function that returns the address with the password that its file has now, so that a new password needs no restart. Any other
 * change in the file needs a restart, because another database has another journal. A file that cannot be read changes nothing.
 * @param file the file that `url` comes from. Undefined if there is none
 */
export function followPassword(url: string, file: string | undefined): () => string {
  let current = url;
  return () => {
    const text = file === undefined ? undefined : readAgain(file);
    if (text !== undefined && withoutPassword(text) === withoutPassword(url)) current = text;
    return current;
  };
}

/** Reads synchronously, as the library reads certificates. A pipe of a shell is not read again, because that might never end. */
function readAgain(file: string): string | undefined {
  try {
    return statSync(file).isFile() ? readFileSync(file, 'utf8').trim() : undefined;
  } catch {
    return undefined;
  }
}

function withoutPassword(address: string): string | undefined {
  if (!URL.canParse(address)) return undefined;
  const url = new URL(address);
  url.password = '';
  url.searchParams.delete('password');
  return url.href;
}

/** Returns the error of a connection, which names the file if the library could not read a file of `sslrootcert`, `sslcert` or `sslkey`. */
export function namingFile(error: unknown): unknown {
  // EISDIR: a folder can be opened, but not read.
  const isOfFile = textAt(error, 'syscall') === 'open' || textAt(error, 'code') === 'EISDIR';
  if (!isOfFile) return error;
  const file = textAt(error, 'path') ?? 'a file of sslrootcert, sslcert or sslkey';
  // Not a `ShownError`, because `/readyz` would show the path to everybody.
  return new Error(`${file} cannot be read: ${textAt(error, 'code')}`);
}
