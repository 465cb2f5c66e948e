import type { UploadPart } from '../../../tools/upload/part.js';
import { type Fields, fieldsOf, numberOf, readText } from './read-fields.js';

/**
 * Key of an upload's parts in the `_meta` of a `list_parts` result, which only the upload view reads. The parts are JSON, deflated, in
 * base64.
 *
 * Numbers, sizes and times are columns of differences, because these deflate well. An even upload of 10,000 parts takes 8 KB. ETags
 * are nearly random and take 220 KB for 10,000 parts, so they are included only if all of them fit (up to about 2,500 parts). For
 * larger uploads, the view requests the page with the selected part. Shortened ETags would fit, but an incomplete ETag cannot be
 * compared with anything.
 *
 * Sizes and times that are too uneven to fit are rounded until they fit, and marked as rounded.
 */
export const partsKey = 'cloudops/parts';

/** The advice after a read that the service refused, in words for people. Text, in `_meta` of the result. */
export const adviceKey = 'cloudops/advice';

/** Length limit of the packed text in characters. */
export const maximumPacked = 64 * 1024;

/** Length limit of the text before it is deflated, in characters. No packed upload comes near it. */
const maximumUnpacked = 1024 * 1024;

/** The API has this many part numbers, so longer lists are not packed. */
export const maximumParts = 10_000;

interface UnpackedParts {
  /** Parts in the order of their numbers, each number once. */
  readonly parts: readonly UploadPart[];
  /** Sizes are rounded to a multiple of `unit` bytes, and times to a multiple of `unit` milliseconds. Exact values have the unit 1. */
  readonly unit: number;
}

/** Parts as columns. Each number is the difference to the number before it. */
export interface PartColumns {
  readonly unit: number;
  readonly numbers: readonly number[];
  readonly sizes: readonly number[];
  /** Zero stands for an unknown time. */
  readonly times: readonly number[];
  /** An empty text stands for a missing ETag. */
  readonly etags?: readonly string[];
}

/** Unpacks parts. Returns undefined for any text that `packParts` did not write. */
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

function readColumns(columns: Fields): UnpackedParts | undefined {
  const unit = numberOf(columns.unit);
  const [numbers, sizes, times] = [columns.numbers, columns.sizes, columns.times].map(sums);
  if (unit === undefined || numbers === undefined || numbers.length > maximumParts) return undefined;
  if (sizes?.length !== numbers.length || times?.length !== numbers.length) return undefined;
  const etags: readonly unknown[] = Array.isArray(columns.etags) ? columns.etags : [];
  const parts = numbers.map((partNumber, index): UploadPart => {
    const time = times[index] ?? 0;
    return {
      partNumber,
      size: (sizes[index] ?? 0) * unit,
      uploadedAt: time === 0 ? Number.NaN : time * unit,
      etag: readText(etags[index]) || undefined,
    };
  });
  return { parts, unit };
}

/** Returns the values of a column from its differences; undefined if the column has other entries. */
function sums(differences: unknown): number[] | undefined {
  if (!Array.isArray(differences)) return undefined;
  let sum = 0;
  const values = differences.map((difference: unknown) => {
    sum += numberOf(difference) ?? Number.NaN;
    return sum;
  });
  return values.every((value) => Number.isSafeInteger(value) && value >= 0) ? values : undefined;
}
