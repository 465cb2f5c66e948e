import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { partColumns } from '../../../src/mcp/views/results.js';
import { maximumParts } from '../../../src/mcp/views/view-contract.js';
import type { UploadPart } from '../../../src/tools/upload/part.js';
import { readParts } from '../../../ui/upload/read-parts.js';
import { partText } from '../../../ui/upload/upload.js';

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

/** The parts that the view reads, after their way as JSON. */
const readBack = (parts: readonly UploadPart[]) => readParts(JSON.parse(JSON.stringify(partColumns(parts))));

const anyPart = fc.record({
  partNumber: fc.integer({ min: 1, max: 10_000 }),
  size: fc.integer({ min: 0, max: 5 * 1024 * mebibyte }),
  uploadedAt: fc.oneof(fc.constant(Number.NaN), fc.integer({ min: 1, max: start * 2 })),
  etag: fc.oneof(
    fc.constant(undefined),
    fc.stringMatching(/^[0-9a-f]{32}$/),
    fc.string({ unit: 'grapheme', maxLength: 40 }),
  ),
});

test('parts come back as they were, in order of their numbers', () => {
  const anyParts = fc.uniqueArray(anyPart, { selector: ({ partNumber }) => partNumber, maxLength: 200 });
  fc.assert(
    fc.property(anyParts, (parts) => {
      const expected = parts.toSorted((a, b) => a.partNumber - b.partNumber);
      expect(readBack(parts)).toEqual(expected.map((part) => ({ ...part, etag: part.etag || undefined })));
    }),
  );
});

test.each([
  ['an even upload', upload(maximumParts)],
  ['no two sizes alike', upload(maximumParts, (index) => ({ size: 5 * mebibyte + positive(index, 3 * mebibyte) }))],
  ['every other number', upload(maximumParts, (index) => ({ partNumber: 2 * index + 1 }))],
])('10,000 parts are few bytes: %s', (_, parts) => {
  expect(JSON.stringify(partColumns(parts)).length).toBeLessThanOrEqual(300_000);
  expect(readBack(parts)).toEqual(parts.map((part) => ({ ...part, etag: undefined })));
});

test('ETags are whole, or not there at all', () => {
  const etags = (count: number) => readBack(upload(count))?.map(({ etag }) => etag);
  expect(etags(2400)).toEqual(upload(2400).map(({ etag }) => etag));
  expect(new Set(etags(maximumParts))).toEqual(new Set([undefined]));
});

test('of parts with the same number the last counts', () => {
  const [first] = upload(1);
  if (first === undefined) throw new Error('one part');
  expect(readBack([first, { ...first, size: 7 }])).toEqual([{ ...first, size: 7 }]);
});

test.each([
  ['more parts than an upload has', upload(maximumParts + 1)],
  ['a size that is no number of bytes', upload(1, () => ({ size: -1 }))],
  ['a size beyond all storage', upload(1, () => ({ size: 2 ** 53 }))],
])('there are no columns of %s', (_, parts) => {
  expect(partColumns(parts)).toBeUndefined();
});

const one = { numbers: [1], sizes: [1], times: [1] };
const tooMany = Array.from({ length: maximumParts + 1 }, (_, index) => index);
test.each([
  ['columns of different lengths', { ...one, sizes: [1, 1] }],
  ['a number that is none', { ...one, numbers: ['1'] }],
  ['a number below 0', { ...one, numbers: [-1] }],
  ['a missing column', { numbers: [1], sizes: [1] }],
  ['more parts than an upload has', { numbers: tooMany, sizes: tooMany, times: tooMany }],
  ['no columns', []],
])('%s are not read', (_, columns) => {
  expect(readParts(one)).toBeDefined();
  expect(readParts(columns)).toBeUndefined();
});

test('whatever was not written here is not read, and nothing is thrown', () => {
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), fc.string()), (value) => {
      expect(readParts(value)).toBeUndefined();
    }),
  );
});

test('an ETag that is too long is cut, and one that is no plain text is shown in quotation marks', () => {
  const etags = ['a\u202etxt', '", complete', `c${'c'.repeat(500)}`];
  const odd = etags.map((etag, index) => ({ partNumber: index + 1, size: 1, uploadedAt: Number.NaN, etag }));
  const shown = (readBack(odd) ?? []).map((part) =>
    partText(part.partNumber, 'there', part, String).split(' · ').at(-1),
  );
  expect(shown).toEqual(['ETag "a\\u202etxt"', 'ETag "\\", complete"', `ETag ${'c'.repeat(200)}`]);
});
