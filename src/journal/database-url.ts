import { namesOf, type SafeText, say } from '../util/safe-text.js';

/** True for the address of a database, also for one that is not usable; otherwise a journal is the path of a file. */
export const isDatabaseUrl = (journal: string): boolean => /^[a-z][a-z0-9+.-]+:/i.test(journal);

/**
 * True for an address without an @ after its host. An @ there comes from a password with a slash, question mark or number sign that was
 * not encoded: the rest of the password would pass for the name of the database.
 */
const isPostgres = (text: string) => /^postgres(ql)?:\/\/[^/?#]*([/?#][^@]*)?$/i.test(text) && URL.canParse(text);

/** The problem with the address of a database, if there is one. It does not quote the address, which may hold a password. */
export function databaseUrlProblem(text: string): SafeText | undefined {
  if (severalHosts.test(text))
    return say`it names several hosts: give one address that leads to the primary, such as a virtual IP or a PgBouncer`;
  if (isPostgres(text)) return tlsProblem(new URL(text).searchParams);
  return say`it is neither the path of a file nor an address such as postgres://user@db.example.com:5432/cloudops, where /, ?, # and @ of a name or password are written as %2F, %3F, %23 and %40`;
}

/** Hosts apart by commas, as in libpq, after the user and before the path, or as a parameter. */
const severalHosts = /^postgres(ql)?:\/\/([^/?#]*@)?[^/?#@]*,[^/?#@]*([/?#]|$)|[?&]host=[^&]*(,|%2c)/i;

/** Parameters for TLS that PostgreSQL's library knows. It ignores any other, and then does not encrypt. */
const tlsParameters = ['ssl', 'sslmode', 'sslcert', 'sslkey', 'sslrootcert', 'sslnegotiation'];

const tlsProblem = (parameters: URLSearchParams) =>
  [...parameters].some(([name, value]) => /ssl|tls/i.test(name) && !(tlsParameters.includes(name) && value !== ''))
    ? say`it has a parameter of TLS without a value, or one that is none of ${namesOf(tlsParameters)}`
    : undefined;

export function holdsPassword(text: string): boolean {
  if (!isPostgres(text)) return true;
  const { password, searchParams } = new URL(text);
  return password !== '' || searchParams.has('password');
}

/** Host, port and name of a database, for people to read: no user, no password, no options. */
export function databaseName(text: string): string {
  if (!isPostgres(text)) return 'a database';
  const { host, pathname, searchParams } = new URL(text);
  return `postgres://${host || (searchParams.get('host') ?? '')}${pathname}`;
}
