import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createByteWriter } from '../../../../src/mcp/views/contract/bytes.js';
import { maximumPacked, maximumParts, packParts, unpackParts } from '../../../../src/mcp/views/contract/parts.js';
import type { UploadPart } from '../../../../src/tools/upload/part.js';

const mebibyte = 1024 * 1024;
const start = Date.parse('2026-11-20T12:00:00Z');

/** Numbers that look random and are the same in every run. */
const scrambled = (index: number, below: number) => Math.imul(index + 1, 2_654_435_761) % below;
const positive = (index: number, below: number) => (scrambled(index, below) + below) % below;

const etagOf = (index: number) =>
  Array.from({ length: 4 }, (_, word) =>
    positive(index * 4 + word, 2 ** 31)
      .toString(16)
      .padStart(8, '0'),
  ).join('');

const upload = (count: number, part: (index: number) => Partial<UploadPart> = () => ({})): UploadPart[] =>
  Array.from({ length: count }, (_, index) => ({
    partNumber: index + 1,
    size: 8 * mebibyte,
    uploadedAt: start + 1000 * (4 * index + positive(index, 9)),
    etag: etagOf(index),
    ...part(index),
  }));

const packed = (parts: readonly UploadPart[]): string => {
  const text = packParts(parts);
  expect(text).toBeDefined();
  return text ?? '';
};

const anyPart = fc.record({
  partNumber: fc.integer({ min: 1, max: 10_000 }),
  size: fc.integer({ min: 0, max: 5 * 1024 * mebibyte }),
  uploadedAt: fc.oneof(fc.constant(Number.NaN), fc.integer({ min: 0, max: start * 2 })),
  etag: fc.oneof(
    fc.constant(undefined),
    fc.stringMatching(/^[0-9a-f]{32}$/),
    fc.string({ unit: 'grapheme', maxLength: 40 }),
  ),
});

test('parts come back as they were, in order of their numbers', () => {
  fc.assert(
    fc.property(fc.uniqueArray(anyPart, { selector: ({ partNumber }) => partNumber, maxLength: 200 }), (parts) => {
      const expected = parts.toSorted((a, b) => a.partNumber - b.partNumber);
      expect(unpackParts(packed(parts)).parts).toEqual(expected);
    }),
  );
});

test.each([
  ['an even upload', upload(maximumParts)],
  ['no two sizes alike', upload(maximumParts, (index) => ({ size: 5 * mebibyte + positive(index, 3 * mebibyte) }))],
  [
    'sizes and times without any order',
    upload(maximumParts, (index) => ({
      size: positive(index, 2 ** 31),
      uploadedAt: start + positive(index * 7, 2 ** 31),
    })),
  ],
  ['every other number', upload(maximumParts, (index) => ({ partNumber: 2 * index + 1 }))],
])('10,000 parts fit: %s', (_, parts) => {
  const text = packed(parts);
  expect(text.length).toBeLessThanOrEqual(maximumPacked);
  const { parts: unpacked, sizeUnit, timeUnit } = unpackParts(text);
  expect(unpacked).toHaveLength(maximumParts);
  for (const [index, part] of unpacked.entries()) {
    const { partNumber, size, uploadedAt } = parts[index] ?? { partNumber: 0, size: 0, uploadedAt: 0 };
    expect(part.partNumber).toBe(partNumber);
    expect(Math.abs(part.size - size)).toBeLessThanOrEqual(sizeUnit / 2);
    expect(Math.abs(part.uploadedAt - uploadedAt)).toBeLessThanOrEqual(timeUnit / 2);
  }
});

test('an even upload of 10,000 parts keeps exact sizes, and times to the second', () => {
  const { sizeUnit, timeUnit } = unpackParts(packed(upload(maximumParts)));
  expect({ sizeUnit, timeUnit }).toEqual({ sizeUnit: 1, timeUnit: 1000 });
});

test('ETags are whole, or not there at all', () => {
  const etags = (count: number) => unpackParts(packed(upload(count))).parts.map(({ etag }) => etag);
  expect(etags(2500)).toEqual(upload(2500).map(({ etag }) => etag));
  expect(new Set(etags(maximumParts))).toEqual(new Set([undefined]));
});

test('of parts with the same number the last counts', () => {
  const [first] = upload(1);
  if (first === undefined) throw new Error('one part');
  expect(unpackParts(packed([first, { ...first, size: 7 }])).parts).toEqual([{ ...first, size: 7 }]);
});

test.each([
  ['more parts than an upload has', upload(maximumParts + 1)],
  ['a size that is no number of bytes', upload(1, () => ({ size: -1 }))],
  ['a size beyond all storage', upload(1, () => ({ size: 2 ** 53 }))],
])('nothing is packed of %s', (_, parts) => {
  expect(packParts(parts)).toBeUndefined();
});

test('a run that would fill the memory is refused', () => {
  const writer = createByteWriter();
  // Version, one part, units, no ETags; then a difference of 1 that is repeated 2^40 times.
  for (const number of [1, 1, 1, 1, 0, 5, 2 ** 40]) writer.number(number);
  expect(() => unpackParts(writer.toBase64())).toThrow(RangeError);
});

test('whatever was not packed here is refused, and nothing else is thrown', () => {
  const sound = packed(upload(50));
  fc.assert(
    fc.property(
      fc.oneof(
        fc.base64String(),
        fc.string(),
        fc.nat(sound.length - 1).map((end) => sound.slice(0, end)),
      ),
      (text) => {
        try {
          unpackParts(text);
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
        }
      },
    ),
  );
  expect(() => unpackParts(sound.slice(0, 40))).toThrow(RangeError);
});
