import { describe, expect, test } from 'vitest';
import { partColumns } from '../../../src/mcp/views/results.js';
import { partsKey } from '../../../src/mcp/views/view-contract.js';
import type { ToolResult } from '../../../ui/host/host.js';
import {
  amountText,
  gapsText,
  isComplete,
  type PartState,
  progressText,
  readUpload,
  statesOf,
} from '../../../ui/upload/upload.js';

const mebibyte = 1024 * 1024;
const start = Date.parse('2026-11-20T12:00:00Z');
const iso = (seconds: number) => new Date(start + 1000 * seconds).toISOString();

const parts = (numbers: readonly number[], size = 8 * mebibyte) =>
  numbers.map((partNumber) => ({ partNumber, size, uploadedAt: start + 1000 * partNumber }));

const result = (
  { summary, ...answer }: Record<string, unknown>,
  numbers: readonly number[] = [1, 2, 3],
  size?: number,
): ToolResult => ({
  text: 'In words.\n\nAnd in detail.',
  structured: { summary, answer },
  meta: { [partsKey]: partColumns(parts(numbers, size)) },
  isError: false,
});

describe('what an upload is', () => {
  test('comes from the result, and where that is silent from the arguments', async () => {
    const { bucket, object, summary } = await readUpload(result({ object: 'k', summary: 'Said.' }), {
      bucket: 'b',
      object: 'o',
    });
    expect({ bucket, object, summary }).toEqual({ bucket: 'b', object: 'k', summary: 'Said.' });
    expect((await readUpload(result({}), { object: 'o' })).object).toBe('o');
    expect((await readUpload(result({}), {})).summary).toBe('In words.');
  });

  test.each([undefined, 'AAAA', 'not base64', 7])('parts that cannot be read (%j) are not known', async (packed) => {
    expect(await readUpload({ ...result({ partCount: 3 }), meta: { [partsKey]: packed } }, {})).toMatchObject({
      parts: undefined,
      partCount: 3,
    });
  });

  test.each([
    ['the highest part', {}, 3],
    ['the last part that is expected', { expectedParts: 5 }, 5],
    ['no more than can be drawn', { expectedParts: 1e12 }, 100_000],
    ['the highest part, whatever else the answer says', { expectedParts: 'many' }, 3],
  ])('it goes up to %s', async (_, answer, numbers) => {
    expect((await readUpload(result(answer), {})).highestNumber).toBe(numbers);
  });
});

describe('the state of a part', () => {
  test('is there, missing or still to come', async () => {
    const upload = await readUpload(result({ expectedParts: 5 }, [1, 3]), {});
    expect(statesOf(upload, undefined)).toEqual(['there', 'missing', 'there', 'expected', 'expected']);
  });

  test('is too small, unless it is the last', async () => {
    expect(statesOf(await readUpload(result({}, [1, 2], mebibyte), {}), undefined)).toEqual(['small', 'there']);
  });

  test('is new where an earlier look did not find it', async () => {
    const before = await readUpload(result({}, [1]), {});
    expect(statesOf(await readUpload(result({}, [1, 2]), {}), before)).toEqual(['there', 'new']);
  });
});

describe('how it goes', () => {
  const at = { lastUploadedAt: iso(60) };
  const text = async (structured: Record<string, unknown>) =>
    progressText(await readUpload(result(structured), {}), (time) => new Date(time).toISOString());

  test.each([
    [
      { ...at, partCount: 3, idleSeconds: 10, bytesPerSecond: mebibyte },
      'Rate 1.0 MiB/s over the last parts. The last part came 10 s ago.',
    ],
    [
      { ...at, partCount: 3, idleSeconds: 10, bytesPerSecond: mebibyte, secondsLeft: { from: 480, to: 720 } },
      'Rate 1.0 MiB/s over the last parts. The last part came 10 s ago. About 8 min to 12 min left.',
    ],
    [
      { ...at, partCount: 3, stopped: true, idleSeconds: 600 },
      `No part since ${iso(60)}: the upload has stood still for 10 min.`,
    ],
    [
      { ...at, partCount: 3, checkedAt: iso(660), percent: 100 },
      'All of it is there. The upload still has to be completed by its client.',
    ],
    [{ partCount: 0 }, 'No part has arrived yet.'],
    [{ ...at, partCount: 3, idleSeconds: 120 }, 'The last part came 2 min ago.'],
    [{ partCount: 3 }, 'The answer has no usable times, so no age, rate or end is given.'],
    [{ view: 'parts' }, 'Parts are there.'],
  ])('%j', async (structured, said) => {
    expect(await text(structured)).toBe(said);
  });

  test('without a size to measure by, nothing is complete', async () => {
    expect(isComplete(await readUpload(result({}), {}))).toBe(false);
  });

  test('amounts are of what is expected, where that is known', async () => {
    const done = { partCount: 1200, totalBytes: 3 * mebibyte, percent: 30 };
    const text = async (more: object) => amountText(await readUpload(result({ ...done, ...more }), {}));
    expect(await text({ expectedParts: 4000, expectedBytes: 10 * mebibyte })).toBe(
      '1,200 of 4,000 parts · 3.0 MiB of 10.0 MiB · 30%',
    );
    expect(await text({})).toBe('1,200 parts · 3.0 MiB · 30%');
    expect(await text({ totalBytes: undefined })).toBe('1,200 parts · 30%');
    expect(await text({ percent: 0, totalBytes: 1200 })).toBe('1,200 parts · 1.2 KiB · under 1%');
    // Parts that are too small count for nothing.
    expect(await text({ percent: 0, totalBytes: 1200, expectedParts: 4000 })).toBe('1,200 of 4,000 parts · 1.2 KiB');
  });
});

describe('gaps', () => {
  const statesWith = (marked: Readonly<Record<number, PartState>>, count = 30) =>
    Array.from({ length: count }, (_, index) => marked[index + 1] ?? 'there');

  test.each<[string, Readonly<Record<number, PartState>>]>([
    ['', { 30: 'expected' }],
    ['Missing: part 4.', { 4: 'missing' }],
    ['Missing: parts 4–6 and 9.', { 4: 'missing', 5: 'missing', 6: 'missing', 9: 'missing' }],
    ['Missing: part 4. To be sent again, because parts but the last need 5 MiB: part 9.', { 4: 'missing', 9: 'small' }],
  ])('%j', (text, marked) => expect(gapsText(statesWith(marked))).toBe(text));

  test('beyond a dozen are counted', () => {
    const every = Array.from({ length: 60 }, (_, index): PartState => (index % 2 === 0 ? 'there' : 'missing'));
    expect(gapsText(every)).toBe('Missing: parts 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24 and 18 more.');
  });
});
