import type { UploadPart } from '../../../tools/upload/part.js';
import { type ByteReader, type ByteWriter, createByteReader, createByteWriter } from './bytes.js';

/**
 * The parts of an upload for the upload view, packed into one text that travels in `_meta` of a `list_parts` result, where no
 * model reads it.
 *
 * Numbers, sizes and times are columns of differences, with runs of equal differences counted: an even upload of 10,000 parts
 * takes 5 to 20 KB. ETags are near-random, 160 KB for 10,000 parts, so they are in it only where all of them fit (up to about
 * 2,700 parts); for larger uploads the view asks for the page that the looked-at part is on. Shortened ETags would fit, but an
 * ETag that is not whole can be compared with nothing.
 *
 * Sizes and times that are too uneven to fit are rounded, ever more coarsely until they do, and marked as rounded.
 */
export const partsKey = 'cloudops/parts';

/** The longest packed text, in characters. */
export const maximumPacked = 64 * 1024;

/** More parts than the API has numbers for are not packed. */
export const maximumParts = 10_000;

export interface UnpackedParts {
  /** In order of their numbers, each number once. */
  readonly parts: readonly UploadPart[];
  /** Sizes are rounded to a multiple of this many bytes; 1 if they are exact. */
  readonly sizeUnit: number;
  /** Times are rounded to a multiple of this many milliseconds. */
  readonly timeUnit: number;
}

const version = 1;

/**
 * Packs parts in any order; of parts with the same number the last counts. The result is undefined where the list is not one
 * that a view could draw: more parts than `maximumParts`, or numbers and sizes that no upload has.
 */
export function packParts(given: readonly UploadPart[]): string | undefined {
  const byNumber = new Map(given.map((part) => [part.partNumber, part]));
  const parts = [...byNumber.values()].sort((a, b) => a.partNumber - b.partNumber);
  if (parts.length > maximumParts || parts.some((part) => !isWhole(part.partNumber) || !isWhole(part.size)))
    return undefined;
  const wholeSeconds = parts.every(({ uploadedAt }) => Number.isNaN(uploadedAt) || uploadedAt % 1000 === 0);
  const timeUnit = wholeSeconds ? 1000 : 1;
  if (parts.length * 16 < maximumPacked) {
    const complete = write(parts, 1, timeUnit, true);
    if (complete.length <= maximumPacked) return complete;
  }
  // A step takes five bits from every size and time; after eight, little is left of them.
  for (let step = 0; step <= 8; step += 1) {
    const coarser = 32 ** step;
    const packed = write(parts, coarser, step === 0 ? timeUnit : 1000 * coarser, false);
    if (packed.length <= maximumPacked) return packed;
  }
  return undefined;
}

/** Up to 2^50, so that four times a difference is still exact. */
const isWhole = (value: number) => Number.isSafeInteger(value) && value >= 0 && value <= 2 ** 50;

function write(parts: readonly UploadPart[], sizeUnit: number, timeUnit: number, withEtags: boolean): string {
  const writer = createByteWriter();
  for (const number of [version, parts.length, sizeUnit, timeUnit, withEtags ? 1 : 0]) writer.number(number);
  writeColumn(
    writer,
    parts.map(({ partNumber }) => partNumber),
  );
  writeColumn(
    writer,
    parts.map(({ size }) => Math.round(size / sizeUnit)),
  );
  const times = parts.map(({ uploadedAt }) => (isWhole(uploadedAt) ? Math.round(uploadedAt / timeUnit) : undefined));
  const known = times.filter((time) => time !== undefined);
  const earliest = known.reduce((a, b) => Math.min(a, b), known[0] ?? 0);
  writer.number(earliest);
  // 0 stands for a time that is not known.
  writeColumn(
    writer,
    times.map((time) => (time === undefined ? 0 : time - earliest + 1)),
  );
  if (withEtags) for (const { etag } of parts) writeEtag(writer, etag);
  return writer.toBase64();
}

/**
 * @throws RangeError if the text was not packed by this version of `packParts`
 */
export function unpackParts(packed: string): UnpackedParts {
  if (packed.length > maximumPacked) throw new RangeError('the data is too long');
  const reader = createByteReader(packed);
  if (reader.number() !== version) throw new RangeError('the data is of another version');
  const count = reader.number();
  if (count > maximumParts) throw new RangeError('the data holds too many parts');
  const sizeUnit = reader.number();
  const timeUnit = reader.number();
  const withEtags = reader.number() === 1;
  const numbers = readColumn(reader, count);
  const sizes = readColumn(reader, count);
  const earliest = reader.number();
  const times = readColumn(reader, count);
  const parts = numbers.map((partNumber, index): UploadPart => {
    const time = times[index] ?? 0;
    return {
      partNumber,
      size: (sizes[index] ?? 0) * sizeUnit,
      uploadedAt: time === 0 ? Number.NaN : (time - 1 + earliest) * timeUnit,
      etag: withEtags ? readEtag(reader) : undefined,
    };
  });
  if (!reader.atEnd) throw new RangeError('there is more data than parts');
  return { parts, sizeUnit, timeUnit };
}

/** Differences between neighbours, the first to 0. An even token is one difference; an odd one has a count of repeats after it. */
function writeColumn(writer: ByteWriter, values: readonly number[]): void {
  const differences = values.map((value, index) => value - (values[index - 1] ?? 0));
  for (let index = 0; index < differences.length; ) {
    const difference = differences[index] ?? 0;
    let end = index + 1;
    while (differences[end] === difference) end += 1;
    const token = (difference < 0 ? -2 * difference - 1 : 2 * difference) * 2;
    const repeats = end - index - 1;
    writer.number(repeats === 0 ? token : token + 1);
    if (repeats > 0) writer.number(repeats);
    index = end;
  }
}

function readColumn(reader: ByteReader, count: number): number[] {
  const values: number[] = [];
  let value = 0;
  while (values.length < count) {
    const token = reader.number();
    const folded = Math.floor(token / 2);
    const difference = folded % 2 === 1 ? -(folded + 1) / 2 : folded / 2;
    const repeats = token % 2 === 1 ? reader.number() : 0;
    if (repeats >= count - values.length) throw new RangeError('a run is longer than the column');
    for (let index = 0; index <= repeats; index += 1) {
      value += difference;
      values.push(value);
    }
  }
  return values;
}

/** 0: none; 1: 16 bytes that are written as 32 hexadecimal digits; otherwise the length + 2 of text in UTF-8. */
function writeEtag(writer: ByteWriter, etag: string | undefined): void {
  if (etag === undefined) writer.number(0);
  else if (/^[0-9a-f]{32}$/.test(etag)) {
    writer.number(1);
    writer.bytes(Array.from({ length: 16 }, (_, index) => Number.parseInt(etag.slice(2 * index, 2 * index + 2), 16)));
  } else {
    const text = new TextEncoder().encode(etag);
    writer.number(text.length + 2);
    writer.bytes(text);
  }
}

function readEtag(reader: ByteReader): string | undefined {
  const kind = reader.number();
  if (kind === 0) return undefined;
  if (kind === 1) return [...reader.bytes(16)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return new TextDecoder().decode(reader.bytes(kind - 2));
}
