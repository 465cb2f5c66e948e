import { maximumPacked, maximumParts } from '../../src/mcp/views/view-contract.js';
import type { UploadPart } from '../../src/tools/upload/part.js';
import { type Fields, fieldsOf, numberOf, readText } from '../shared/read-fields.js';

/** This file unpacks the parts that the server packs for the view of an upload. */

/** Length limit of the inflated text in characters. It stops input that inflates without end. The text of a real upload is far shorter. */
const maximumUnpacked = 1024 * 1024;

/** Unpacks parts. Returns undefined for a text that `packParts` cannot have written. */
export async function unpackParts(packed: string): Promise<readonly UploadPart[] | undefined> {
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

/** Joins the columns to parts, in the order of their numbers. Returns undefined if the columns are not valid and of the same length. */
function readColumns(columns: Fields): readonly UploadPart[] | undefined {
  const partNumbers = runningTotals(columns.numbers);
  const sizes = runningTotals(columns.sizes);
  const times = runningTotals(columns.times);
  if (partNumbers === undefined || partNumbers.length > maximumParts) return undefined;
  if (sizes?.length !== partNumbers.length || times?.length !== partNumbers.length) return undefined;

  const etags: readonly unknown[] = Array.isArray(columns.etags) ? columns.etags : [];
  return partNumbers.map((partNumber, index): UploadPart => {
    // Each part has a size and a time, because the columns have the same length, so the defaults are only for the compiler.
    const [size = 0, time = 0] = [sizes[index], times[index]];
    return {
      partNumber,
      size,
      // In the columns, zero stands for an unknown time, and an empty text for a missing ETag.
      uploadedAt: time === 0 ? Number.NaN : time,
      etag: readText(etags[index]) || undefined,
    };
  });
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
