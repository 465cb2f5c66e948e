import type { UploadPart } from '../../../tools/upload/part.js';
import { type Fields, fieldsOf, numberOf, readText } from './read-fields.js';

/**
 * The parts of an upload for the upload view: JSON, deflated, as base64. It travels in `_meta` of a `list_parts` result, where no
 * model reads it.
 *
 * Numbers, sizes and times are columns of differences, which deflate well: an even upload of 10,000 parts takes 8 KB. ETags are
 * near-random, 220 KB for 10,000 parts, so they are in it only where all of them fit (up to about 2,500 parts); for larger uploads
 * the view asks for the page that the looked-at part is on. Shortened ETags would fit, but an ETag that is not whole can be compared
 * with nothing.
 *
 * Sizes and times that are too uneven to fit are rounded, ever more coarsely until they do, and marked as rounded.
 */
export const partsKey = 'cloudops/parts';

/** The longest packed text, in characters. */
export const maximumPacked = 64 * 1024;

/** The longest text before it is deflated, in characters. No upload that is packed comes near it. */
const maximumUnpacked = 1024 * 1024;

/** More parts than the API has numbers for are not packed. */
export const maximumParts = 10_000;

export interface UnpackedParts {
  /** In order of their numbers, each number once. */
  readonly parts: readonly UploadPart[];
  /** Sizes are rounded to a multiple of this many bytes, and times to one of this many milliseconds; 1 if they are exact. */
  readonly unit: number;
}

/** Parts as columns, each number as the difference to the one before it. */
export interface PartColumns {
  readonly unit: number;
  readonly numbers: readonly number[];
  readonly sizes: readonly number[];
  /** 0 stands for a time that is not known: all others are later. */
  readonly times: readonly number[];
  /** An empty text stands for an absent one. */
  readonly etags?: readonly string[];
}

/** Unpacks parts. Resolves with undefined for anything that was not packed as above. */
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

/** The numbers of a column from their differences; undefined if there is anything else in it. */
function sums(differences: unknown): number[] | undefined {
  if (!Array.isArray(differences)) return undefined;
  let sum = 0;
  const values = differences.map((difference: unknown) => {
    sum += numberOf(difference) ?? Number.NaN;
    return sum;
  });
  return values.every((value) => Number.isSafeInteger(value) && value >= 0) ? values : undefined;
}
