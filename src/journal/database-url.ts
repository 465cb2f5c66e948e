import { namesOf, type SafeText, say } from '../util/safe-text.js';

/** True if a journal is the address of a database, valid or not. Otherwise it is the path of a file. */
export const isDatabaseUrl = (journal: string): boolean => /^[a-z][a-z0-9+.-]+:/i.test(journal);

/**
 * True for an address without an @ after its host. Such an @ comes from a password in which /, ? or # was not encoded, and the rest of
 * the password would be read as the name of the database.
 */
const isPostgres = (text: string) => /^postgres(ql)?:\/\/[^/?#]*([/?#][^@]*)?$/i.test(text) && URL.canParse(text);

/** The problem with the address of a database, if any. It does not quote the address, which may hold a password. */
export function databaseUrlProblem(text: string): SafeText | undefined {
  if (severalHosts.test(text))
    return say`it names several hosts: give one address that leads to the primary, such as a virtual IP or a PgBouncer`;
  if (isPostgres(text)) return tlsProblem(new URL(text).searchParams);
  return say`it is neither the path of a file nor an address such as postgres://user@db.example.com:5432/cloudops, where /, ?, # and @ of a name or password are written as %2F, %3F, %23 and %40`;
}

/** Hosts separated by commas, as libpq allows them after the user and in a parameter. */
const severalHosts = /^postgres(ql)?:\/\/([^/?#]*@)?[^/?#@]*,[^/?#@]*([/?#]|$)|[?&]host=[^&]*(,|%2c)/i;

/** The parameters for TLS that PostgreSQL's library knows. It ignores others, and then does not encrypt. */
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

/** Host, port and name of a database, without user, password and options, for people to read. */
export function databaseName(text: string): string {
  if (!isPostgres(text)) return 'a database';
  const { host, pathname, searchParams } = new URL(text);
  return `postgres://${host || (searchParams.get('host') ?? '')}${pathname}`;
}
