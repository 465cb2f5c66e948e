/** Percent-encoding as RFC 3986 defines it, and host names. */

/**
 * Percent-encodes a path segment, or a name or value of a query, except for letters, digits and `-._~`.
 * @throws URIError for half of a surrogate pair
 */
export const encodeSegment = (segment: string) =>
  encodeURIComponent(segment).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/** Names and values before encoding. `true` stands for a name without a value, as in `?uploads`. A list repeats the name. */
export type Query = Readonly<Record<string, string | true | readonly string[]>>;

/** The query string for the wire, without a question mark, in the order in which it is signed. */
export const encodeQuery = (query: Query): string =>
  Object.entries(query)
    .map(([name, value]) => [encodeSegment(name), typeof value === 'object' ? value : [value]] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, values]) => values.map((value) => (value === true ? name : `${name}=${encodeSegment(value)}`)))
    .join('&');

/** True if a host name, as `URL` spells it, is this machine's loopback interface. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || /^127(\.\d+){3}$/.test(host);
