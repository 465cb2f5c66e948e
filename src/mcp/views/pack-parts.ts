import { deflateSync } from 'node:zlib';
import type { UploadPart } from '../../tools/upload/part.js';
import { escapeInvisible } from '../../util/quote.js';
import { maximumPacked, maximumParts, type PartColumns } from './contract/parts-data.js';

/** A service may return ETags of any length (characters). */
const longestEtag = 200;
/** An MD5 in hexadecimal (characters). */
const packedEtagLength = 22;

/** Packs parts for the upload view. Undefined if the view could not draw the parts. */
export function packParts(listedParts: readonly UploadPart[]): string | undefined {
  const byNumber = new Map(listedParts.map((part) => [part.partNumber, part]));
  const parts = [...byNumber.values()].sort((a, b) => a.partNumber - b.partNumber);
  if (parts.length > maximumParts || parts.some(({ partNumber, size }) => !isWhole(partNumber) || !isWhole(size)))
    return undefined;

  // ETags hardly deflate.
  if (parts.length * packedEtagLength < maximumPacked) {
    // The view shows the ETags.
    const etags = parts.map(({ etag = '' }) => escapeInvisible(etag.slice(0, longestEtag)));
    const withEtags = pack(parts, { unit: 1, etags });
    if (withEtags !== undefined) return withEtags;
  }

  // Each step rounds sizes and times by five more bits.
  for (let step = 0; step <= 8; step += 1) {
    const packed = pack(parts, { unit: 32 ** step });
    if (packed !== undefined) return packed;
  }
  return undefined;
}

/** Sums of differences of such numbers are exact. */
const isWhole = (value: number) => Number.isSafeInteger(value) && value >= 0 && value <= 2 ** 50;

/** Undefined if the text is too long. */
function pack(parts: readonly UploadPart[], { unit, etags }: Pick<PartColumns, 'unit' | 'etags'>): string | undefined {
  const columns: PartColumns = {
    unit,
    numbers: differences(parts.map(({ partNumber }) => partNumber)),
    sizes: differences(parts.map(({ size }) => Math.round(size / unit))),
    times: differences(parts.map(({ uploadedAt }) => (isWhole(uploadedAt) ? Math.round(uploadedAt / unit) : 0))),
    ...(etags !== undefined && { etags }),
  };
  const packed = deflateSync(JSON.stringify(columns)).toString('base64');
  return packed.length <= maximumPacked ? packed : undefined;
}

const differences = (values: readonly number[]) => values.map((value, index) => value - (values[index - 1] ?? 0));
