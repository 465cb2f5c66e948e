/**
 * Key in the `_meta` of a `list_parts` result: `PartColumns` as JSON, deflated, in base64. ETags hardly deflate, so they are included only
 * if all fit.
 */
export const partsKey = 'cloudops/parts';

/** Key of the advice for people on a refused read. */
export const adviceKey = 'cloudops/advice';

/** Characters. */
export const maximumPacked = 64 * 1024;

/** No valid list of parts is longer. */
export const maximumParts = 10_000;

/** Columns of differences, which deflate well. */
export interface PartColumns {
  readonly numbers: readonly number[];
  readonly sizes: readonly number[];
  /** Zero stands for an unknown time. */
  readonly times: readonly number[];
  /** An empty text stands for a missing ETag. */
  readonly etags?: readonly string[];
}
