import { readFileSync, statSync } from 'node:fs';
import { textAt } from '../util/objects.js';

/** Replaces the modes that PostgreSQL's library treats as `verify-full`, because it warns of each. */
export const connectionString = (url: string): string =>
  /[?&]uselibpqcompat=/.test(url)
    ? url
    : url.replace(/([?&]sslmode=)(prefer|require|verify-ca)(?=&|$)/g, '$1verify-full');

/**
 * Returns a function that returns the address with its present password, so that a new password needs no restart.
 * @param file the file that `url` comes from
 */
export function followPassword(url: string, file: string | undefined): () => string {
  let current = url;
  return () => {
    const text = file === undefined ? undefined : readAgain(file);
    if (text !== undefined && withoutPassword(text) === withoutPassword(url)) current = text;
    return current;
  };
}

/** A pipe of a shell is not read again, because that might never end. */
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

/** Adds the name of a certificate's file that the library could not read. */
export function namingFile(error: unknown): unknown {
  // A folder can be opened, but not read.
  const isOfFile = textAt(error, 'syscall') === 'open' || textAt(error, 'code') === 'EISDIR';
  if (!isOfFile) return error;
  const file = textAt(error, 'path') ?? 'a file of sslrootcert, sslcert or sslkey';
  // Not a `ShownError`, because `/readyz` would show the path to everybody.
  return new Error(`${file} cannot be read: ${textAt(error, 'code')}`);
}
