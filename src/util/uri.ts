/**
 * Percent-encodes a path segment, or a name or value of a query (RFC 3986). Only letters, digits and `-._~` stay.
 * @throws URIError if the text has half of a surrogate pair
 */
export const encodeSegment = (segment: string) =>
  encodeURIComponent(segment).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/** A query before encoding: `{ uploads: true, id: ['1', '2'] }` becomes `id=1&id=2&uploads`. */
export type Query = Readonly<Record<string, string | true | readonly string[]>>;

/** Encodes a query, without a question mark. Names are sorted, because the signature is made over the sorted query. */
export const encodeQuery = (query: Query): string =>
  Object.entries(query)
    .map(([name, value]) => [encodeSegment(name), typeof value === 'object' ? value : [value]] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, values]) => values.map((value) => (value === true ? name : `${name}=${encodeSegment(value)}`)))
    .join('&');

/** True if a host name, spelled as by `URL` (`[::1]`), is this machine's loopback interface. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || /^127(\.\d+){3}$/.test(host);
