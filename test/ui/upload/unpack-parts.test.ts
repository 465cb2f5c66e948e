import { deflateSync } from 'node:zlib';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { packParts } from '../../../src/mcp/views/results.js';
import { maximumPacked, maximumParts } from '../../../src/mcp/views/view-contract.js';
import type { UploadPart } from '../../../src/tools/upload/part.js';
import { escapeInvisible } from '../../../src/util/quote.js';
import { unpackParts } from '../../../ui/upload/unpack-parts.js';

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

const unpacked = async (parts: readonly UploadPart[]) => {
  const result = await unpackParts(packed(parts));
  if (result === undefined) throw new Error('packed parts can be unpacked');
  return result;
};

/** Whatever JSON a text may hold, deflated as parts are. */
const deflated = (value: unknown) => deflateSync(JSON.stringify(value)).toString('base64');

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

test('parts come back as they were, in order of their numbers', async () => {
  const anyParts = fc.uniqueArray(anyPart, { selector: ({ partNumber }) => partNumber, maxLength: 200 });
  await fc.assert(
    fc.asyncProperty(anyParts, async (parts) => {
      const expected = parts.toSorted((a, b) => a.partNumber - b.partNumber);
      expect(await unpacked(parts)).toEqual(
        expected.map((part) => ({ ...part, etag: escapeInvisible(part.etag ?? '') || undefined })),
      );
    }),
  );
});

test.each([
  ['an even upload', upload(maximumParts)],
  ['no two sizes alike', upload(maximumParts, (index) => ({ size: 5 * mebibyte + positive(index, 3 * mebibyte) }))],
  ['every other number', upload(maximumParts, (index) => ({ partNumber: 2 * index + 1 }))],
])('10,000 parts fit: %s', async (_, parts) => {
  expect(packed(parts).length).toBeLessThanOrEqual(maximumPacked);
  expect(await unpacked(parts)).toEqual(parts.map((part) => ({ ...part, etag: undefined })));
});

test('ETags are whole, or not there at all', async () => {
  const etags = async (count: number) => (await unpacked(upload(count))).map(({ etag }) => etag);
  expect(await etags(2400)).toEqual(upload(2400).map(({ etag }) => etag));
  expect(new Set(await etags(maximumParts))).toEqual(new Set([undefined]));
});

test('of parts with the same number the last counts', async () => {
  const [first] = upload(1);
  if (first === undefined) throw new Error('one part');
  expect(await unpacked([first, { ...first, size: 7 }])).toEqual([{ ...first, size: 7 }]);
});

test.each([
  ['more parts than an upload has', upload(maximumParts + 1)],
  ['a size that is no number of bytes', upload(1, () => ({ size: -1 }))],
  ['a size beyond all storage', upload(1, () => ({ size: 2 ** 53 }))],
])('nothing is packed of %s', (_, parts) => {
  expect(packParts(parts)).toBeUndefined();
});

const one = { numbers: [1], sizes: [1], times: [1] };
test.each([
  ['a text that would fill the memory', deflated({ ...one, etags: ['x'.repeat(2_000_000)] })],
  ['columns of different lengths', deflated({ ...one, sizes: [1, 1] })],
  ['a number that is none', deflated({ ...one, numbers: ['1'] })],
  ['a number below 0', deflated({ ...one, numbers: [-1] })],
  [
    'more parts than an upload has',
    deflated({
      ...one,
      ...(({ numbers }) => ({ numbers, sizes: numbers, times: numbers }))({ numbers: Array(maximumParts + 1).fill(0) }),
    }),
  ],
  ['no columns', deflated([])],
  ['a text that is too long', 'A'.repeat(maximumPacked + 1)],
])('%s is not unpacked', async (_, text) => {
  expect(await unpackParts(deflated(one))).toBeDefined();
  expect(await unpackParts(text)).toBeUndefined();
});

test('whatever was not packed here is not unpacked, and nothing is thrown', async () => {
  const sound = packed(upload(50));
  const cut = fc.nat(sound.length - 5).map((end) => sound.slice(0, end));
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.base64String(), fc.string(), cut), async (text) => {
      expect(await unpackParts(text)).toBeUndefined();
    }),
  );
});

test('an ETag that would change the order of what is read is spelled out, and one that is too long is cut', async () => {
  const odd = ['a\u202etxt', 'b\u200b', `c${'c'.repeat(500)}`].map((etag, index) => ({
    partNumber: index + 1,
    size: 1,
    uploadedAt: 0,
    etag,
  }));
  expect((await unpacked(odd)).map(({ etag }) => etag)).toEqual(['a\\u202etxt', 'b\\u200b', 'c'.repeat(200)]);
});
