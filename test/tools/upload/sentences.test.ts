import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { UploadPart } from '../../../src/tools/upload/part.js';
import { paceSentences, summarySentences } from '../../../src/tools/upload/sentences.js';
import { type Expectation, summarise } from '../../../src/tools/upload/summary.js';
import { say } from '../../../src/util/safe-text.js';

const mebibyte = 1024 * 1024;
const start = Date.parse('2026-11-20T12:00:00Z');

/** An 8 MiB part every ten seconds. */
const parts = (numbers: readonly number[], size = 8 * mebibyte): UploadPart[] =>
  numbers.map((partNumber) => ({ partNumber, size, uploadedAt: start + partNumber * 10_000 }));
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

/** What is there, what is expected, and how many seconds after the start it is looked at. */
const cases: Readonly<Record<string, readonly [readonly UploadPart[], Expectation, number]>> = {
  'no parts': [[], {}, 0],
  'no parts, three expected': [[], { expectedParts: 3 }, 0],
  'one part': [parts([1]), {}, 20],
  'live, with nothing expected': [parts(upTo(20)), {}, 203],
  'live, of 1 GiB': [parts(upTo(20)), { expectedBytes: 1024 * mebibyte }, 203],
  'gaps of a live upload': [parts([1, 2, 3, 4, 6, 7, 8, 9, 10, 13, 14, 15]), { expectedParts: 16 }, 155],
  'many gaps': [parts(upTo(20).map((number) => number * 2)), {}, 405],
  late: [parts(upTo(20)), { expectedParts: 100 }, 260],
  stopped: [parts(upTo(20)), { expectedParts: 100 }, 200 + 27 * 60],
  'stopped with a gap, nothing expected': [parts([...upTo(12), 14]), {}, 10_000],
  'stopped after one part': [parts([1]), { expectedParts: 2 }, 10_000],
  'everything there': [parts(upTo(10)), { expectedBytes: 80 * mebibyte }, 5000],
  'everything there, with unused numbers': [parts([1, 2, 5]), { expectedBytes: 24 * mebibyte }, 60],
  'one part too small': [[...parts([1, 2, 4]), ...parts([3], 1_234_567)], { expectedParts: 4 }, 45],
  'several parts too small': [[...parts([1, 5]), ...parts([2], 1_234_567), ...parts([3, 4], 4_000_000)], {}, 55],
  'fewer parts expected than there are': [parts(upTo(15)), { expectedParts: 12 }, 155],
  'fewer bytes expected than there are': [parts(upTo(15)), { expectedBytes: 1000 }, 155],
  'a part listed twice': [[...parts([1, 2, 3]), ...parts([2])], {}, 35],
};

test('every sentence is as reviewed', async () => {
  const lines = Object.entries(cases).map(([name, [there, expectation, seconds]]) => {
    const checkedAt = new Date(start + seconds * 1000).toISOString();
    return `# ${name}\n${summarySentences(summarise(there, expectation, { checkedAt }), say`The upload of ${'o'}`)}\n`;
  });
  await expect(lines.join('\n')).toMatchFileSnapshot(fileURLToPath(new URL('golden/sentences.txt', import.meta.url)));
});

test('a summary of which fields are missing is still put into words', () => {
  expect(summarySentences({ partCount: 1, inFlight: [{}], noRate: 'late' }, say`The upload of ${'u'}`).text).toContain(
    '1 part',
  );
});

test('a range whose ends are the same in words is one time', () => {
  const said = (from: number, to: number) =>
    paceSentences({ partCount: 3, bytesPerSecond: mebibyte, secondsLeft: { from, to } }).map(({ text }) => text);
  expect(said(1, 1)).toEqual(['Rate 1.0 MiB/s.', 'About 1 s left.']);
  expect(said(610, 620)).toEqual(['Rate 1.0 MiB/s.', 'About 10 min left.']);
  expect(said(300, 1201)).toEqual([
    'Rate 1.0 MiB/s.',
    'At the fastest recent rate about 5 min are left, at the slowest about 20 min.',
  ]);
});
