import { exact, namesOf, type SafeText, say } from '../util/safe-text.js';

/** Returns the name of a store, without a password, and its path, undefined for a database. The problem does not quote the address. */
export function storePlace(journal: string): {
  readonly name: string;
  readonly path: string | undefined;
  readonly problem: SafeText | undefined;
} {
  // A path on Windows may begin with `C:`.
  const isAddress = /^[a-z][a-z0-9+.-]+:/i.test(journal);
  // A text such as `host=db password=…` was meant as a database.
  if (!isAddress && !looksLikeConnection.test(journal))
    return { name: journal, path: journal, problem: pathProblem(journal) };

  const severalHostsProblem = severalHosts.test(journal)
    ? say`it names several hosts: give one address that leads to the primary, such as a virtual IP or a PgBouncer`
    : undefined;
  // An invalid address may hold a password anywhere.
  if (!isPostgres(journal)) return { name: 'a database', path: undefined, problem: severalHostsProblem ?? noAddress };
  const { host, pathname, searchParams } = new URL(journal);
  return {
    name: `postgres://${host || (searchParams.get('host') ?? '')}${pathname}`,
    path: undefined,
    problem: severalHostsProblem ?? tlsProblem(searchParams),
  };
}

/** Refuses placeholders of shells and MCP clients that nothing has replaced, and the home folders of other users. */
export const pathProblem = (path: string): SafeText | undefined =>
  /\$\{|\$\(|\$[a-z_]\w*|%[a-z_]\w*%|\{env:|\{\{|`|^~[^/\\]/i.test(path)
    ? say`it has a placeholder such as ${exact('$HOME')}, which nothing replaces: write the whole path, or ~ for the home folder`
    : undefined;

/** Finds `url=mysql:/db`, `p://db` and `host=db password=…`. */
const looksLikeConnection =
  /[a-z][a-z0-9+.-]+:\/|^[a-z]:\/\/|(^|[\s;'"])(host(addr|name)?|server|data source|port|db(name)?|database|user( ?id|name)?|uid|pwd|pass(word|file)?|service|sslmode)\s*=/i;

/** An @ after the host shows that /, ? or # in a password was not encoded. */
const isPostgres = (text: string) => /^postgres(ql)?:\/\/[^/?#]*([/?#][^@]*)?$/i.test(text) && URL.canParse(text);

const noAddress = say`it is neither the path of a file nor an address such as postgres://user@db.example.com:5432/cloudops, where /, ?, # and @ of a name or password are written as %2F, %3F, %23 and %40`;

const severalHosts = /^postgres(ql)?:\/\/([^/?#]*@)?[^/?#@]*,[^/?#@]*([/?#]|$)|[?&]host=[^&]*(,|%2c)/i;

/** PostgreSQL's library ignores other parameters, and then does not encrypt. */
const tlsParameters = ['ssl', 'sslmode', 'sslcert', 'sslkey', 'sslrootcert', 'sslnegotiation'];

const tlsProblem = (parameters: URLSearchParams) =>
  [...parameters].some(([name, value]) => /ssl|tls/i.test(name) && !(tlsParameters.includes(name) && value !== ''))
    ? say`it has a parameter of TLS without a value, or one that is none of ${namesOf(tlsParameters)}`
    : undefined;
