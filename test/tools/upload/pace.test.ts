import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { UploadPart } from '../../../src/tools/upload/part.js';
import { paceOf } from '../../../src/tools/upload/summary.js';

const mebibyte = 1024 * 1024;
const start = Date.parse('2026-11-20T12:00:00Z');

/** Parts of 8 MiB, with the seconds between one arrival and the next. */
function partsAfter(waits: readonly number[]): UploadPart[] {
  let seconds = 0;
  return waits.map((wait, index) => {
    seconds += wait;
    return { partNumber: index + 1, size: 8 * mebibyte, uploadedAt: start + seconds * 1000 };
  });
}
const endOf = (parts: readonly UploadPart[]) => Math.max(...parts.map(({ uploadedAt }) => uploadedAt));
const paceAfter = (waits: readonly number[], idleSeconds: number, bytesLeft?: number) => {
  const parts = partsAfter(waits);
  return paceOf(parts, endOf(parts) + idleSeconds * 1000, bytesLeft);
};
const waits = (count: number, seconds: number) => Array.from({ length: count }, () => seconds);

describe('a rate', () => {
  test('is that of the last parts', () => {
    expect(paceAfter(waits(40, 4), 2)).toMatchObject({ bytesPerSecond: 2 * mebibyte });
    expect(paceAfter([...waits(40, 1), ...waits(31, 8)], 2)).toMatchObject({ bytesPerSecond: mebibyte });
  });

  test.each([
    ['too few parts have come', waits(8, 4)],
    ['all came within seconds', waits(30, 0.1)],
  ])('is not given if %s', (_why, given) => {
    expect(paceAfter(given, 2)).toEqual({});
  });

  test('is unknown if no part has a time', () => {
    expect(paceOf([{ partNumber: 1, size: 1, uploadedAt: Number.NaN }], start, 1)).toBeUndefined();
  });
});

describe('a time left', () => {
  const left = 100 * 8 * mebibyte;
  test('is one range around the rest at the rate', () => {
    const { from = 0, to = 0 } = paceAfter(waits(30, 4), 2, left)?.secondsLeft ?? {};
    expect(from).toBeLessThan(400);
    expect(to).toBeGreaterThan(400);
    expect(to).toBeLessThan(1.5 * from);
  });

  test.each([
    ['the speed has just changed', [...waits(20, 2), ...waits(9, 30)], 2, left],
    ['it is slower lately', [...waits(11, 3), ...waits(10, 6)], 2, left],
    ['there was a pause', [...waits(20, 4), 60, ...waits(9, 4)], 2, left],
    ['the next part is late', waits(30, 4), 40, left],
    ['nearly all is sent', waits(30, 4), 2, 3 * 8 * mebibyte],
    ['nothing is expected', waits(30, 4), 2, undefined],
  ])('is not given if %s', (_why, given, idle, bytesLeft) => {
    expect(paceAfter(given, idle, bytesLeft)?.secondsLeft).toBeUndefined();
  });
});

describe('slower lately', () => {
  test('is said if the last ten parts took twice as long as the ten before', () => {
    expect(paceAfter([...waits(11, 3), ...waits(10, 6)], 2)?.bytesPerSecondBefore).toBe(Math.round((8 * mebibyte) / 3));
  });

  test.each([
    ['they took less than twice as long', [...waits(11, 3), ...waits(10, 5)]],
    ['one of them took long', [...waits(20, 3), 60]],
    ['fewer than ten came before', [...waits(10, 3), ...waits(10, 9)]],
    ['they were faster', [...waits(11, 9), ...waits(10, 3)]],
  ])('is not said if %s', (_why, given) => {
    expect(paceAfter(given, 2)?.bytesPerSecondBefore).toBeUndefined();
  });
});

test.each([
  ['after two minutes of silence', waits(20, 5), 121, true],
  ['not before', waits(20, 5), 119, false],
  ['after four times the longest recent wait', waits(20, 60), 241, true],
  ['not if parts take long', waits(20, 60), 239, false],
  ['after half an hour, if fewer than three parts show nothing', waits(2, 5), 1801, true],
  ['not after ten minutes, if fewer than three parts show nothing', waits(2, 5), 600, false],
])('an upload has stopped %s', (_when, given, idle, stopped) => {
  const pace = paceAfter(given, idle, 1e9);
  expect(pace?.stopped === true).toBe(stopped);
  // A stopped upload has neither rate nor time left.
  if (stopped) expect(pace).toEqual({ stopped });
});

/** An upload of a real client, recorded through a proxy with a known rate. Arrivals are part, bytes, and milliseconds since the start. */
interface Recording {
  readonly kind: string;
  readonly size: number;
  readonly paused: readonly [number, number] | null;
  readonly arrivals: readonly (readonly [part: number, bytes: number, ms: number])[];
}
const recordings = readFileSync(new URL('../../traces/uploads.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line): Recording => JSON.parse(line));

interface Moment {
  readonly pace: ReturnType<typeof paceOf>;
  /** Seconds to the end. */
  readonly left: number;
}

/** What is estimated every six seconds while an upload goes on. */
function momentsOf({ arrivals, size }: Recording): Moment[] {
  const end = Math.max(...arrivals.map(([, , ms]) => ms));
  // Stores cut times to whole seconds.
  const seconds = (ms: number) => start + Math.floor(ms / 1000) * 1000;
  const moments: Moment[] = [];
  for (let now = (arrivals[0]?.[2] ?? 0) + 500; now < end - 10_000; now += 6000) {
    const parts = arrivals
      .filter(([, , ms]) => ms <= now)
      .map(([partNumber, bytes, ms]) => ({ partNumber, size: bytes, uploadedAt: seconds(ms) }));
    const bytesLeft = size - parts.reduce((sum, part) => sum + part.size, 0);
    moments.push({ pace: paceOf(parts, seconds(now), bytesLeft), left: (end - now) / 1000 });
  }
  return moments;
}

test('on uploads of real clients that go on at one speed, a time left holds the truth, and no change or stop is made up', () => {
  const moments = recordings.filter(({ kind, paused }) => kind.startsWith('constant') && !paused).flatMap(momentsOf);
  expect(moments.length).toBeGreaterThan(300);
  expect(moments.filter(({ pace }) => pace?.stopped)).toEqual([]);
  expect(moments.filter(({ pace }) => pace?.bytesPerSecondBefore).length / moments.length).toBeLessThanOrEqual(0.02);

  const given = moments.flatMap(({ pace, left }) => (pace?.secondsLeft ? [{ ...pace.secondsLeft, left }] : []));
  const inRange = given.filter(({ from, to, left }) => left >= from - 3 && left <= to + 3);
  const isWrong = (from: number, to: number, left: number) =>
    Math.abs(Math.sqrt(from * to) - left) > Math.max(0.3 * left, 5);
  const wrong = given.filter(({ from, to, left }) => isWrong(from, to, left));
  expect(given.length / moments.length).toBeGreaterThanOrEqual(0.4);
  expect(inRange.length / given.length).toBeGreaterThanOrEqual(0.85);
  expect(wrong.length / given.length).toBeLessThanOrEqual(0.2);
});
