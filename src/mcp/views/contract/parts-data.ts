/**
 * Key in the `_meta` of a `list_parts` result, with the parts for the upload view: `PartColumns` as JSON, deflated, in base64.
 *
 * The columns are differences, because these deflate well: 10,000 parts of the same size take 8 KB. ETags are nearly random and do not
 * deflate, so they are included only if they all fit (about 2,500 parts). Otherwise, the view calls `list_parts` for the ETag of the
 * selected part.
 *
 * If sizes and times do not fit, they are rounded to multiples of `unit`.
 */
export const partsKey = 'cloudops/parts';

/** Key in the `_meta` of a read that the service refused, with the advice for people as text. */
export const adviceKey = 'cloudops/advice';

/** Length limit of the packed text in characters. */
export const maximumPacked = 64 * 1024;

/** The number of part numbers in the API. No valid list of parts is longer. */
export const maximumParts = 10_000;

/** Parts as columns. In each column of numbers, a value is the difference to the value before it. Sizes and times are divided by `unit`. */
export interface PartColumns {
  readonly unit: number;
  /** The part numbers. */
  readonly numbers: readonly number[];
  readonly sizes: readonly number[];
  /** Zero stands for an unknown time. */
  readonly times: readonly number[];
  /** An empty text stands for a missing ETag. */
  readonly etags?: readonly string[];
}
