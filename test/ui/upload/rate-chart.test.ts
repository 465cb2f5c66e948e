import { expect, test } from 'vitest';
import { ratesOf, scaleTopFor } from '../../../ui/upload/rate-chart.js';

const start = Date.parse('2026-11-20T12:00:00Z');
const part = (partNumber: number, seconds: number) => ({ partNumber, size: 1000, uploadedAt: start + 1000 * seconds });

test('all bytes but those of the first part are in the rates', () => {
  const rates = ratesOf([part(1, 0), part(2, 10), part(3, 20), part(4, 48)], start + 96_000);
  const stepSeconds = 96 / (rates?.perSecond.length ?? 1);
  expect((rates?.perSecond ?? []).reduce((sum, rate) => sum + rate * stepSeconds, 0)).toBeCloseTo(3000);
  expect(rates?.to).toBe(start + 96_000);
});

test('an upload that stands still shows no rate from then on', () => {
  const rates = ratesOf([part(1, 0), part(2, 10)], start + 1000_000);
  expect(rates?.perSecond.slice(24)).toEqual(Array.from({ length: 24 }, () => 0));
});

test.each([
  ['no part', []],
  ['one part', [part(1, 0)]],
  ['parts of one moment', [part(1, 0), part(2, 0)]],
  ['parts without a time', [part(1, Number.NaN), part(2, Number.NaN)]],
])('there is no rate of %s', (_, parts) => {
  expect(ratesOf(parts, undefined)).toBeUndefined();
});

test.each([
  [0, 1],
  [999, 1024],
  [3 * 1024, 5 * 1024],
  [1024 ** 2, 1024 ** 2],
  [8.1 * 1024 ** 2, 10 * 1024 ** 2],
  [501 * 1024 ** 2, 1024 ** 3],
])('the scale of a rate of %d ends at %d', (highest, end) => {
  expect(scaleTopFor(highest)).toBeGreaterThanOrEqual(Math.min(highest, end));
  expect(scaleTopFor(highest)).toBe(end);
});
