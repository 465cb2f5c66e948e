import type { UploadPart } from '../../../tools/upload/part.js';
import { type Fields, fieldsOf, numberOf, readText } from './read-fields.js';

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

/** Length limit of the inflated text in characters. It stops input that inflates without end. The text of a real upload is far shorter. */
const maximumUnpacked = 1024 * 1024;

/** The number of part numbers in the API. No valid list of parts is longer. */
export const maximumParts = 10_000;

interface UnpackedParts {
  /** Parts in the order of their numbers, each number once. */
  readonly parts: readonly UploadPart[];
  /** Sizes are rounded to a multiple of `unit` bytes, and times to a multiple of `unit` milliseconds. Exact values have the unit 1. */
  readonly unit: number;
}

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

/** Unpacks parts. Returns undefined for a text that `packParts` cannot have written. */
export async function unpackParts(packed: string): Promise<UnpackedParts | undefined> {
  try {
    if (packed.length > maximumPacked) return undefined;
    return readColumns(fieldsOf(JSON.parse(await inflate(packed))));
  } catch {
    return undefined;
  }
}

async function inflate(base64: string): Promise<string> {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  let text = '';
  for await (const chunk of stream.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (text.length > maximumUnpacked) throw new RangeError('the data is too long');
  }
  return text;
}

/**
 * Joins the columns to parts. Returns undefined if the columns are not complete, valid and of the same length.
 */
function readColumns(columns: Fields): UnpackedParts | undefined {
  const unit = numberOf(columns.unit);
  const partNumbers = runningTotals(columns.numbers);
  const sizes = runningTotals(columns.sizes);
  const times = runningTotals(columns.times);
  if (unit === undefined || partNumbers === undefined || partNumbers.length > maximumParts) return undefined;
  if (sizes?.length !== partNumbers.length || times?.length !== partNumbers.length) return undefined;

  const etags: readonly unknown[] = Array.isArray(columns.etags) ? columns.etags : [];
  const parts = partNumbers.map((partNumber, index): UploadPart => {
    // Each part has a size and a time, because the columns have the same length, so the defaults are only for the compiler.
    const [size = 0, time = 0] = [sizes[index], times[index]];
    return {
      partNumber,
      size: size * unit,
      // In the columns, zero stands for an unknown time, and an empty text for a missing ETag.
      uploadedAt: time === 0 ? Number.NaN : time * unit,
      etag: readText(etags[index]) || undefined,
    };
  });
  return { parts, unit };
}

/** Returns the values of a column from its differences. Undefined if a value is not a whole number or is negative. */
function runningTotals(differences: unknown): number[] | undefined {
  if (!Array.isArray(differences)) return undefined;
  let sum = 0;
  const values = differences.map((difference: unknown) => {
    sum += numberOf(difference) ?? Number.NaN;
    return sum;
  });
  return values.every((value) => Number.isSafeInteger(value) && value >= 0) ? values : undefined;
}
