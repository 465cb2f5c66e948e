import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { UploadPart } from '../../../src/tools/upload/part.js';
import { summarySentences } from '../../../src/tools/upload/sentences.js';
import { type Expectation, summarise } from '../../../src/tools/upload/summary.js';
import { say } from '../../../src/util/safe-text.js';

const mebibyte = 1024 * 1024;
const start = Date.parse('2026-11-20T12:00:00Z');
const at = (seconds: number) => new Date(start + seconds * 1000).toISOString();
/** The times of an answer that came `seconds` after the start, by all clocks. */
const cameAt = (seconds: number) => ({ answeredAt: at(seconds), receivedAt: at(seconds) });

/** An 8 MiB part every ten seconds. */
const parts = (numbers: readonly number[], size = 8 * mebibyte): UploadPart[] =>
  numbers.map((partNumber) => ({ partNumber, size, uploadedAt: start + partNumber * 10_000 }));
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);
const summaryOf = (there: readonly UploadPart[], expectation: Expectation = {}, seconds = 1000) =>
  summarise(there, expectation, cameAt(seconds));

test('the numbers below the highest part that are not there are missing', () => {
  expect(summaryOf(parts([9, 3, 4, 5]))).toMatchObject({
    highestPart: 9,
    missing: [
      { from: 1, to: 2 },
      { from: 6, to: 8 },
    ],
    missingCount: 5,
  });
});

test('a part number that is listed twice counts once', () => {
  expect(summaryOf(parts([1, 2, 2, 3]), { expectedParts: 4 })).toMatchObject({ partCount: 3, percent: 75 });
});

describe('progress', () => {
  test.each([
    [{ expectedBytes: 1600 * mebibyte }, { percent: 5 }],
    [{ expectedParts: 40 }, { percent: 25 }],
    [{ expectedBytes: 80 * mebibyte }, { percent: 100 }],
  ])('is measured against %j', (expectation, progress) => {
    expect(summaryOf(parts(upTo(10)), expectation)).toMatchObject(progress);
  });

  test.each([
    ['more parts than expected', parts(upTo(10)), { expectedParts: 9 }],
    ['a higher part than expected', parts([1, 2, 3, 12]), { expectedParts: 9 }],
    ['more bytes than expected', parts(upTo(10)), { expectedBytes: 79 * mebibyte }],
    ['a part of unknown size', parts(upTo(10), Number.NaN), { expectedParts: 20 }],
    ['no expectation', parts(upTo(10)), {}],
  ])('is left out with %s', (_what, there, expectation) => {
    const summary = summaryOf(there, expectation, 101);
    for (const field of ['percent', 'secondsLeft']) expect(summary).not.toHaveProperty(field);
  });
});

test('a client may count in tens: high numbers do not contradict the expected number of parts', () => {
  expect(summaryOf(parts([10, 20, 30]), { expectedParts: 4 })).toMatchObject({ percent: 75 });
});

describe('clocks that contradict each other', () => {
  const hours = 3600;
  test.each([
    ['parts from the future', -hours, -hours],
    ['an answer from another time than this machine', 2000, 2 * hours],
    ['a Date of 1970', -start / 1000, 2000],
  ])('leave neither age nor rate nor end: %s', (_what, answered, received) => {
    const times = { answeredAt: at(answered), receivedAt: at(received) };
    const summary = summarise(parts(upTo(30)), { expectedParts: 90 }, times);
    expect(summary).toMatchObject({ timesContradict: true, partCount: 30 });
    for (const field of ['idleSeconds', 'sinceFirstSeconds', 'bytesPerSecond', 'secondsLeft', 'stopped'])
      expect(summary).not.toHaveProperty(field);
    expect(summarySentences(summary, say`The upload`).text).not.toMatch(/ago|left/);
  });

  test('may differ by less than fifteen minutes', () => {
    const summary = summarise(parts([1]), {}, { answeredAt: at(0), receivedAt: at(14 * 60) });
    expect(summary).toMatchObject({ idleSeconds: 0 });
    expect(summary).not.toHaveProperty('timesContradict');
  });
});

test('without a time of the answer, no age follows from the clock of this machine', () => {
  const summary = summarise(parts([1]), {}, { receivedAt: at(60) });
  expect(summary).not.toHaveProperty('idleSeconds');
  expect(summarySentences(summary, say`The upload`).text).toContain('The answer has no usable times');
});

test('however the parts lie, lists are bounded, and nothing is lost from the totals', () => {
  const anyParts = fc.uniqueArray(
    fc.record({
      partNumber: fc.integer({ min: 0, max: 12_000 }),
      size: fc.integer({ min: 0, max: 20 * mebibyte }),
      uploadedAt: fc.oneof(fc.integer({ min: start, max: start + 1e9 }), fc.constant(Number.NaN)),
    }),
    { maxLength: 300, selector: ({ partNumber }) => partNumber },
  );
  fc.assert(
    fc.property(anyParts, (some) => {
      const summary = summaryOf(some, { expectedBytes: 1e9, expectedParts: 100 }, 1e6);
      expect(summary.partCount).toBe(some.length);
      expect(summary.totalBytes).toBe(some.reduce((sum, { size }) => sum + size, 0));
      for (const value of Object.values(summary))
        if (Array.isArray(value)) expect(value.length).toBeLessThanOrEqual(12);
      expect(JSON.stringify(summary).length).toBeLessThan(3000);
    }),
    { numRuns: 300 },
  );
});

/** What is there, what is expected, and how many seconds after the start it is looked at. */
const cases: Readonly<Record<string, readonly [readonly UploadPart[], Expectation, number, object?]>> = {
  'no parts, and nobody could look': [[], {}, 0],
  'no parts, listed': [[], {}, 0, { isListed: true, ageHours: 3 }],
  'no parts, listed, just started': [[], {}, 0, { isListed: true, ageHours: 0 }],
  'no parts, listed without a time': [[], { expectedParts: 3 }, 0, { isListed: true }],
  'no parts, not listed': [[], {}, 0, { isListed: false }],
  'one part': [parts([1]), {}, 20],
  'live, with nothing expected': [parts(upTo(20)), {}, 203],
  'live, of 1 GiB': [parts(upTo(20)), { expectedBytes: 1024 * mebibyte }, 203],
  'gaps of a live upload': [parts([1, 2, 3, 4, 6, 7, 8, 9, 10, 13, 14, 15]), { expectedParts: 16 }, 155],
  'many gaps': [parts(upTo(20).map((number) => number * 2)), {}, 405],
  stopped: [parts(upTo(20)), { expectedParts: 100 }, 200 + 27 * 60],
  'stopped with a gap, nothing expected': [parts([...upTo(12), 14]), {}, 10_000],
  'everything there': [parts(upTo(10)), { expectedBytes: 80 * mebibyte }, 5000],
  'everything there, with unused numbers': [parts([1, 2, 5]), { expectedBytes: 24 * mebibyte }, 60],
  'fewer parts expected than there are': [parts(upTo(15)), { expectedParts: 12 }, 155],
  'fewer bytes expected than there are': [parts(upTo(15)), { expectedBytes: 1000 }, 155],
  'slower lately': [
    [
      ...parts(upTo(11)),
      ...upTo(12).map((index) => ({
        partNumber: 11 + index,
        size: 8 * mebibyte,
        uploadedAt: start + 110_000 + index * 30_000,
      })),
    ],
    { expectedParts: 100 },
    475,
  ],
  'times from the future': [parts(upTo(5)), {}, -4000],
};

test('every sentence is as reviewed', async () => {
  const lines = Object.entries(cases).map(([name, [there, expectation, seconds, more = {}]]) => {
    const summary = { ...summaryOf(there, expectation, seconds), ...more };
    return `# ${name}\n${summarySentences(summary, say`The upload of ${'o'}`)}\n`;
  });
  await expect(lines.join('\n')).toMatchFileSnapshot(fileURLToPath(new URL('golden/sentences.txt', import.meta.url)));
});
