/**
 * Encodes all but letters, digits and `-._~` (RFC 3986).
 * @throws URIError for half of a surrogate pair
 */
export const encodeSegment = (segment: string) =>
  encodeURIComponent(segment).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/** `{ uploads: true, id: ['1', '2'] }` becomes `id=1&id=2&uploads`. */
export type Query = Readonly<Record<string, string | true | readonly string[]>>;

/** The signature is made over the sorted query. */
export const encodeQuery = (query: Query): string =>
  Object.entries(query)
    .map(([name, value]) => [encodeSegment(name), typeof value === 'object' ? value : [value]] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, values]) => values.map((value) => (value === true ? name : `${name}=${encodeSegment(value)}`)))
    .join('&');

/** Takes the spelling of `URL` (`[::1]`). */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || /^127(\.\d+){3}$/.test(host);

/** Commas and slashes separate the parts of a signature. */
export const signableRegion = /^[!-+.0-~-]{1,64}$/;

/** A region in a host name, which cannot choose another domain. */
export const regionInHost = /^[a-z0-9]+(-[a-z0-9]+)*$/;
