/** Whether a journal is in a database, or meant to be, and not in a file. */
export const isDatabaseUrl = (journal: string): boolean => /^[a-z][a-z0-9+.-]+:/i.test(journal);

/**
 * An address without an @ after its host. There, one comes from a password with a slash, question mark or number sign that was
 * not encoded, and the rest of the password would pass for the name of the database.
 */
const isPostgres = (text: string) => /^postgres(ql)?:\/\/[^/?#]*([/?#][^@]*)?$/i.test(text) && URL.canParse(text);

/** What is wrong with the address of a database, or nothing. The address itself is not in it: it may hold a password. */
export function databaseUrlProblem(text: string): string | undefined {
  if (isPostgres(text)) return tlsProblem(new URL(text).searchParams);
  return 'it is neither the path of a file nor an address such as postgres://user@db.example.com:5432/cloudops, where /, ?, # and @ of a name or password are written as %2F, %3F, %23 and %40';
}

/** What PostgreSQL's library reads of TLS. It ignores what it does not know, and then does not encrypt. */
const tlsParameters = ['ssl', 'sslmode', 'sslcert', 'sslkey', 'sslrootcert', 'sslnegotiation'];

const tlsProblem = (parameters: URLSearchParams) =>
  [...parameters].some(([name, value]) => /ssl|tls/i.test(name) && !(tlsParameters.includes(name) && value !== ''))
    ? `it has a parameter of TLS without a value, or one that is none of ${tlsParameters.join(', ')}`
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
