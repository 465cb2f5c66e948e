import { deflateSync } from 'node:zlib';
import type { UploadPart } from '../../tools/upload/part.js';
import { escapeInvisible } from '../../util/quote.js';
import { maximumPacked, maximumParts, type PartColumns } from './contract/parts-data.js';

/** A service may return ETags of any length (characters). */
const longestEtag = 200;

/** Packs parts for the upload view, without ETags if they do not fit. Undefined if the view could not draw the parts. */
export function packParts(listedParts: readonly UploadPart[]): string | undefined {
  const byNumber = new Map(listedParts.map((part) => [part.partNumber, part]));
  const parts = [...byNumber.values()].sort((a, b) => a.partNumber - b.partNumber);
  if (parts.length > maximumParts || parts.some(({ partNumber, size }) => !isWhole(partNumber) || !isWhole(size)))
    return undefined;

  const columns: PartColumns = {
    numbers: differences(parts.map(({ partNumber }) => partNumber)),
    sizes: differences(parts.map(({ size }) => size)),
    times: differences(parts.map(({ uploadedAt }) => (isWhole(uploadedAt) ? uploadedAt : 0))),
  };
  // The view shows the ETags.
  const etags = parts.map(({ etag = '' }) => escapeInvisible(etag.slice(0, longestEtag)));
  return pack({ ...columns, etags }) ?? pack(columns);
}

/** Sums of differences of such numbers are exact. */
const isWhole = (value: number) => Number.isSafeInteger(value) && value >= 0 && value <= 2 ** 50;

/** Undefined if the text is too long. */
function pack(columns: PartColumns): string | undefined {
  const packed = deflateSync(JSON.stringify(columns)).toString('base64');
  return packed.length <= maximumPacked ? packed : undefined;
}

const differences = (values: readonly number[]) => values.map((value, index) => value - (values[index - 1] ?? 0));
