import { maximumParts } from '../../src/mcp/views/view-contract.js';
import type { UploadPart } from '../../src/tools/upload/part.js';
import { fieldsOf, readText } from '../shared/read-fields.js';

/** Reads the columns that `partColumns` writes. Returns undefined if they are not valid and of the same length. */
export function readParts(columns: unknown): readonly UploadPart[] | undefined {
  const { numbers, sizes, times, etags } = fieldsOf(columns);
  const [partNumbers, partSizes, partTimes] = [wholeNumbers(numbers), wholeNumbers(sizes), wholeNumbers(times)];
  if (partNumbers === undefined || partNumbers.length > maximumParts) return undefined;
  if (partSizes?.length !== partNumbers.length || partTimes?.length !== partNumbers.length) return undefined;

  return partNumbers.map((partNumber, index): UploadPart => {
    // Each part has a size, because the columns have the same length, so the default is only for the compiler.
    const { [index]: size = 0 } = partSizes;
    // Zero stands for an unknown time, and an empty text for a missing ETag.
    const uploadedAt = partTimes[index] || Number.NaN;
    return { partNumber, size, uploadedAt, etag: (Array.isArray(etags) && readText(etags[index])) || undefined };
  });
}

/** Undefined if a value is not a whole number, or is negative. */
const wholeNumbers = (column: unknown): readonly number[] | undefined =>
  Array.isArray(column) && column.every((value) => Number.isSafeInteger(value) && value >= 0) ? column : undefined;
