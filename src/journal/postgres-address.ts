import { textAt } from '../util/objects.js';

/**
 * Returns an address for PostgreSQL's library, which treats the modes `prefer`, `require` and `verify-ca` as `verify-full`, and prints a
 * warning of eight lines about each. This names the mode that it uses.
 */
export const connectionString = (url: string): string =>
  /[?&]uselibpqcompat=/.test(url)
    ? url
    : url.replace(/([?&]sslmode=)(prefer|require|verify-ca)(?=&|$)/g, '$1verify-full');

/** A file that the address of a database names cannot be read. Not a `ShownError`, because `/readyz` would show the path to everybody. */
export class AddressFileUnreadable extends Error {}

/** Returns the error of a connection, which names the file if the library could not read a file of `sslrootcert`, `sslcert` or `sslkey`. */
export function namingFile(error: unknown): unknown {
  // A folder can be opened, but not read.
  const isOfFile = textAt(error, 'syscall') === 'open' || textAt(error, 'code') === 'EISDIR';
  if (!isOfFile) return error;
  const file = textAt(error, 'path') ?? 'a file of sslrootcert, sslcert or sslkey';
  return new AddressFileUnreadable(`${file} cannot be read: ${textAt(error, 'code')}`);
}
