import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { UploadPart } from '../../../src/tools/upload/part.js';
import { summarise } from '../../../src/tools/upload/summary.js';

const mebibyte = 1024 * 1024;
const start = Date.parse('2026-11-20T12:00:00Z');
const at = (seconds: number) => new Date(start + seconds * 1000).toISOString();

/** Parts by number; one a second, 8 MiB each, unless said otherwise. */
const parts = (numbers: readonly number[], size = 8 * mebibyte, stepMs = 1000): UploadPart[] =>
  numbers.map((partNumber, index) => ({ partNumber, size, uploadedAt: start + index * stepMs }));

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

test('an upload without parts', () => {
  expect(summarise([], {})).toEqual({
    partCount: 0,
    totalBytes: 0,
    runs: [],
    tooSmallCount: 0,
  });
});

test('consecutive parts of one size are one run; the numbers that are not there are passed over, also before the first', () => {
  const summary = summarise([...parts([9, 3, 4, 5]), ...parts([10], 3)], {});
  expect(summary.runs).toEqual([
    { from: 3, to: 5, partSize: 8 * mebibyte, bytes: 24 * mebibyte },
    { from: 9, to: 9, partSize: 8 * mebibyte, bytes: 8 * mebibyte },
    { from: 10, to: 10, partSize: 3, bytes: 3 },
  ]);
  expect(summary).toMatchObject({
    highestPart: 10,
    passedOver: [
      { from: 1, to: 2 },
      { from: 6, to: 8 },
    ],
  });
});

describe('what is still to come after the highest part', () => {
  test.each([
    ['is known from the number of parts', { expectedParts: 16 }, { from: 11, to: 16 }],
    ['is known from the bytes, if parts are even', { expectedBytes: 100 * mebibyte }, { from: 11, to: 13 }],
    ['is nothing once the last part is there', { expectedBytes: 80 * mebibyte, expectedParts: 10 }, undefined],
    ['is unknown without an expectation', {}, undefined],
  ])('%s', (_, expectation, toCome) => {
    expect(summarise(parts(upTo(10)), expectation)).toEqual(
      toCome === undefined
        ? expect.not.objectContaining({ toCome: expect.anything() })
        : expect.objectContaining({ toCome: [toCome] }),
    );
  });

  test('is unknown from the bytes if parts are uneven', () => {
    const uneven = [...parts([1]), ...parts([2, 3], 6 * mebibyte)];
    expect(summarise(uneven, { expectedBytes: 100 * mebibyte })).not.toHaveProperty('toCome');
  });

  test('is everything if there are no parts', () => {
    expect(summarise([], { expectedParts: 3 })).toMatchObject({ toCome: [{ from: 1, to: 3 }], percent: 0 });
  });
});

test('without the size of a part, nothing is said that depends on it', () => {
  const known = [...parts([1]), ...parts([2], mebibyte), ...parts([4, 5])];
  const listed = [...known, { partNumber: 6, size: Number.NaN, uploadedAt: start }];
  const summary = summarise(listed, { expectedParts: 9, expectedBytes: 90 * mebibyte }, { checkedAt: at(60) });
  expect(summary).toEqual({
    partCount: 5,
    highestPart: 6,
    passedOver: [{ from: 3, to: 3 }],
    toCome: [{ from: 7, to: 9 }],
    tooSmallCount: 1,
    tooSmall: [{ from: 2, to: 2, partSize: mebibyte, bytes: mebibyte }],
    firstUploadedAt: expect.any(String),
    lastUploadedAt: expect.any(String),
    checkedAt: at(60),
    idleSeconds: expect.any(Number),
    expectedParts: 9,
    expectedBytes: 90 * mebibyte,
  });
});

test('a negative sum of sizes, of which one must be wrong, says as little as an unknown one', () => {
  const listed = [...parts([1]), ...parts([2], -100 * mebibyte)];
  const summary = summarise(listed, { expectedBytes: 16 * mebibyte }, { checkedAt: at(60) });
  for (const field of ['totalBytes', 'percent', 'remainingBytes', 'bytesPerSecond'])
    expect(summary).not.toHaveProperty(field);
});

describe('parts under 5 MiB', () => {
  const small = [...parts([1, 2]), ...parts([3, 4], mebibyte), ...parts([5], 5 * mebibyte), ...parts([6], 1)];

  test('are named with their sizes, but not the last part', () => {
    expect(summarise(small, {})).toMatchObject({
      tooSmallCount: 2,
      tooSmall: [{ from: 3, to: 4, partSize: mebibyte }],
    });
  });

  test('are too small also as the highest part, if more are expected', () => {
    expect(summarise(small, { expectedParts: 7 })).toMatchObject({ tooSmallCount: 3 });
  });

  test.each<readonly [string, readonly number[], object, number]>([
    ['parts below it are still missing', [1, 2, 3, 5], { expectedParts: 5 }, 0],
    ['the bytes that are missing fit below it', [1, 2, 3, 5], { expectedBytes: 33 * mebibyte }, 0],
    ['the client began with it', [5], { expectedParts: 5 }, 0],
    ['the client counts in tens', [10, 20, 30, 50], { expectedParts: 5 }, 0],
    ['the client counts unevenly, and nothing is missing', [1, 2, 4, 6], { expectedParts: 4 }, 0],
    ['the client counts unevenly, and nothing is expected', [1, 4, 7, 10, 11, 12], {}, 0],
    ['every other part is missing', [1, 3, 5, 6], { expectedParts: 6 }, 0],
    ['half of a count in tens is missing', [10, 20, 40], { expectedParts: 4 }, 0],
    ['more are missing than fit below it', [1, 2, 3, 5], { expectedParts: 6 }, 1],
  ])('the highest part may be the last: %s', (_what, numbers, expectation, tooSmallCount) => {
    const lastIsSmall = [...parts(numbers.slice(0, -1)), ...parts(numbers.slice(-1), mebibyte)];
    expect(summarise(lastIsSmall, expectation)).toMatchObject({ tooSmallCount });
  });

  test('are left to do', () => {
    expect(summarise(small, { expectedParts: 6 })).toMatchObject({ percent: 66.6, remainingParts: 2 });
    expect(summarise(small, { expectedBytes: 23 * mebibyte + 1 })).toMatchObject({
      remainingBytes: 2 * mebibyte,
    });
  });
});

test('a part number listed twice is a duplicate, and counts once towards what is done', () => {
  const summary = summarise(parts([1, 2, 2, 3]), { expectedParts: 4 });
  expect(summary).toMatchObject({ duplicates: [{ from: 2, to: 2 }], percent: 75 });
});

describe('progress', () => {
  test.each([
    [{ expectedBytes: 1600 * mebibyte }, { percent: 5, remainingBytes: 1520 * mebibyte, estimatedSecondsLeft: 190 }],
    [{ expectedParts: 40 }, { percent: 25, remainingParts: 30, estimatedSecondsLeft: 30 }],
    [
      { expectedBytes: 80 * mebibyte, expectedParts: 10 },
      { percent: 100, remainingBytes: 0, remainingParts: 0 },
    ],
  ])('measured against %j', (expectation, expected) => {
    expect(summarise(parts(upTo(10)), expectation, { checkedAt: at(9) })).toMatchObject(expected);
  });

  test('without an expectation there is no percentage', () => {
    expect(summarise(parts([1]), {})).not.toHaveProperty('percent');
  });

  test.each([
    ['more parts', { expectedParts: 9 }],
    ['more bytes', { expectedBytes: 79 * mebibyte }],
    ['one of the two', { expectedParts: 9, expectedBytes: 160 * mebibyte }],
  ])('is not given where the upload has %s than expected', (_, expectation) => {
    const summary = summarise(parts(upTo(10)), expectation, { checkedAt: at(9) });
    expect(summary).toMatchObject(expectation);
    for (const field of ['percent', 'remainingParts', 'remainingBytes', 'estimatedSecondsLeft', 'toCome'])
      expect(summary).not.toHaveProperty(field);
  });
});

describe('time', () => {
  test('of a live upload', () => {
    expect(summarise(parts(upTo(30)), { expectedParts: 90 }, { checkedAt: at(31) })).toMatchObject({
      firstUploadedAt: '2026-11-20T12:00:00.000Z',
      lastUploadedAt: '2026-11-20T12:00:29.000Z',
      checkedAt: '2026-11-20T12:00:31.000Z',
      idleSeconds: 2,
      bytesPerSecond: expect.any(Number),
      estimatedSecondsLeft: expect.any(Number),
    });
  });

  test('a stopped upload has nothing that can be read as its present rate or as a promise', () => {
    const summary = summarise(parts(upTo(30)), { expectedParts: 90 }, { checkedAt: at(29 + 27 * 60) });
    expect(summary).toMatchObject({
      stopped: true,
      idleSeconds: 27 * 60,
      bytesPerSecondBefore: 8 * mebibyte,
      secondsLeftIfResumed: 60,
    });
    expect(summary).not.toHaveProperty('bytesPerSecond');
    expect(summary).not.toHaveProperty('estimatedSecondsLeft');
  });

  test('an upload that has all its parts has not stopped', () => {
    expect(summarise(parts(upTo(30)), { expectedParts: 30 }, { checkedAt: at(5000) })).not.toHaveProperty('stopped');
  });

  test('is not known from times that cannot be read', () => {
    const unreadable = parts([1, 2]).map((part) => ({ ...part, uploadedAt: Number.NaN }));
    expect(summarise(unreadable, {}, { checkedAt: at(0) })).not.toHaveProperty('firstUploadedAt');
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
      const summary = summarise(some, { expectedBytes: 1e9, expectedParts: 100 }, { checkedAt: at(0) });
      expect(summary.partCount).toBe(some.length);
      expect(summary.totalBytes).toBe(some.reduce((sum, { size }) => sum + size, 0));
      for (const value of Object.values(summary))
        if (Array.isArray(value)) expect(value.length).toBeLessThanOrEqual(12);
      expect(JSON.stringify(summary).length).toBeLessThan(4000);
    }),
    { numRuns: 300 },
  );
});

test('no part is named as in flight if a client fills its memory before it sends', () => {
  const summaryWithGaps = (gaps: readonly number[]) => {
    let seconds = 0;
    const buffered = Array.from({ length: 24 }, (_, index) => {
      seconds += gaps[index % gaps.length] ?? 0;
      return { partNumber: index + 1, size: 8 * mebibyte, uploadedAt: start + seconds * 1000 };
    });
    return summarise(buffered, { expectedParts: 100 }, { checkedAt: at(seconds + 1), startedAt: at(0) });
  };
  expect(summaryWithGaps([5, 5]).inFlight).toEqual([{ from: 25, to: 25 }]);
  expect(summaryWithGaps([2, 9, 4, 14, 1, 6, 3, 12, 1, 8, 5]).inFlight).toBeUndefined();
});
