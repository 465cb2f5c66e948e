import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Part, summarise } from '../../src/tools/upload-summary.js';

const mebibyte = 1024 * 1024;
const start = Date.parse('2026-11-20T12:00:00Z');

/** Parts by number; one a second, 8 MiB each, unless said otherwise. */
const parts = (numbers: readonly number[], size = 8 * mebibyte, stepMs = 1000): Part[] =>
  numbers.map((partNumber, index) => ({ partNumber, size, uploadedAt: start + index * stepMs }));

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

test('an upload without parts', () => {
  expect(summarise([], {}, undefined)).toEqual({
    partCount: 0,
    totalBytes: 0,
    runs: [],
    missingCount: 0,
    missing: [],
    tooSmallCount: 0,
    tooSmall: [],
    duplicatesCount: 0,
    duplicates: [],
  });
});

test('consecutive parts of one size are one run; numbers that are not there are missing, also before the first', () => {
  const summary = summarise([...parts([9, 3, 4, 5]), ...parts([10], 3)], {}, undefined);
  expect(summary.runs).toEqual([
    { from: 3, to: 5, partSize: 8 * mebibyte, bytes: 24 * mebibyte },
    { from: 9, to: 9, partSize: 8 * mebibyte, bytes: 8 * mebibyte },
    { from: 10, to: 10, partSize: 3, bytes: 3 },
  ]);
  expect(summary).toMatchObject({
    missingCount: 5,
    missing: [
      { from: 1, to: 2 },
      { from: 6, to: 8 },
    ],
    smallestPart: { partNumber: 10, size: 3 },
    largestPart: { partNumber: 3 },
  });
});

test('parts under 5 MiB are named, but not the last one', () => {
  const summary = summarise(
    [...parts([1, 2]), ...parts([3, 4], 5 * mebibyte - 1), ...parts([5], 5 * mebibyte), ...parts([6], 1)],
    {},
    undefined,
  );
  expect(summary).toMatchObject({ tooSmallCount: 2, tooSmall: [{ from: 3, to: 4 }] });
});

test('a part number listed twice is a duplicate', () => {
  expect(summarise(parts([1, 2, 2, 3]), {}, undefined)).toMatchObject({
    duplicatesCount: 1,
    duplicates: [{ from: 2, to: 2 }],
  });
});

describe('speed', () => {
  test('is the bytes after the first part by the time after it', () => {
    expect(summarise(parts(upTo(11)), {}, undefined)).toMatchObject({
      firstUploadedAt: '2026-11-20T12:00:00.000Z',
      lastUploadedAt: '2026-11-20T12:00:10.000Z',
      bytesPerSecond: 8 * mebibyte,
      recentBytesPerSecond: 8 * mebibyte,
    });
  });

  test('of the last ten minutes is its own', () => {
    const slow = parts([1, 2, 3], 8 * mebibyte, 3_600_000);
    const fast = parts(upTo(600).map((number) => number + 3)).map((part) => ({
      ...part,
      uploadedAt: part.uploadedAt + 8_000_000,
    }));
    const { bytesPerSecond = 0, recentBytesPerSecond } = summarise([...slow, ...fast], {}, undefined);
    expect(recentBytesPerSecond).toBeGreaterThan(7 * mebibyte);
    expect(bytesPerSecond).toBeLessThan(mebibyte);
  });

  test('is not known from one moment, or from times that cannot be read', () => {
    expect(summarise(parts([1, 2], 1, 0), {}, undefined)).not.toHaveProperty('bytesPerSecond');
    const unreadable = parts([1, 2]).map((part) => ({ ...part, uploadedAt: Number.NaN }));
    expect(summarise(unreadable, {}, undefined)).not.toHaveProperty('firstUploadedAt');
  });
});

describe('progress', () => {
  test.each([
    [{ expectedBytes: 160 * mebibyte }, { percent: 50, remainingBytes: 80 * mebibyte, estimatedSecondsLeft: 10 }],
    [{ expectedParts: 40 }, { percent: 25, remainingParts: 30, estimatedSecondsLeft: 30 }],
    [
      { expectedBytes: 80 * mebibyte, expectedParts: 10 },
      { percent: 100, remainingBytes: 0, remainingParts: 0, estimatedSecondsLeft: 0 },
    ],
    [{ expectedBytes: 1 }, { remainingBytes: 0, estimatedSecondsLeft: 0 }],
    [{ expectedBytes: 0 }, { percent: 100 }],
  ])('measured against %j', (expectation, expected) => {
    expect(summarise(parts(upTo(10)), expectation, undefined)).toMatchObject(expected);
  });

  test('without an expectation there is no percentage', () => {
    expect(summarise(parts([1]), {}, undefined)).not.toHaveProperty('percent');
  });
});

test('however the parts lie, lists are bounded, what was cut is counted, and nothing is lost from the totals', () => {
  const anyParts = fc.array(
    fc.record({
      partNumber: fc.integer({ min: 0, max: 12_000 }),
      size: fc.integer({ min: 0, max: 20 * mebibyte }),
      uploadedAt: fc.integer({ min: 0, max: 1e12 }),
    }),
    { maxLength: 300 },
  );
  fc.assert(
    fc.property(anyParts, (some) => {
      const summary = summarise(some, { expectedBytes: 1e9, expectedParts: 100 }, undefined);
      expect(summary.partCount).toBe(some.length);
      expect(summary.totalBytes).toBe(some.reduce((sum, { size }) => sum + size, 0));
      for (const value of Object.values(summary))
        if (Array.isArray(value)) expect(value.length).toBeLessThanOrEqual(12);
      expect(JSON.stringify(summary).length).toBeLessThan(4000);
    }),
    { numRuns: 300 },
  );
});
