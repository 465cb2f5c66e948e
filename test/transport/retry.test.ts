import { describe, expect, test } from 'vitest';
import type { AttemptReply } from '../../src/transport/reply.js';
import { clockOffset, retryDelay } from '../../src/transport/retry.js';

const now = new Date('2026-11-21T12:00:00Z');
const answered = (status: number, headers: Record<string, string> = {}, code = ''): AttemptReply => ({
  kind: 'answered',
  response: { kind: 'response', status, headers },
  body: { kind: 'xml', value: { Error: { Code: code } } },
  readText: async (read) => read(''),
});
const failed = (code: 'ConnectionRefused' | 'ConnectionLost' | 'Cancelled', mayHaveArrived: boolean): AttemptReply => ({
  kind: 'failed',
  failure: { kind: 'failure', code, detail: '', mayHaveArrived },
});

describe("a signature is made for the service's time only if that is less than a day away", () => {
  const skewed = (date: string | undefined) =>
    clockOffset(answered(403, date === undefined ? {} : { date }, 'RequestTimeTooSkewed'), now);
  test.each([
    ['Sat, 21 Nov 2026 12:20:00 GMT', 20 * 60_000],
    ['Sat, 21 Nov 2026 11:00:00 GMT', -60 * 60_000],
    ['Sun, 22 Nov 2026 12:00:00 GMT', 24 * 60 * 60_000],
    ['Sun, 22 Nov 2026 12:00:01 GMT', undefined],
    ['Fri, 20 Nov 2026 11:59:59 GMT', undefined],
    ['Sat, 21 Nov 2036 12:00:00 GMT', undefined],
    ['Thu, 01 Jan 1970 00:00:00 GMT', undefined],
    ['not a date', undefined],
    [undefined, undefined],
  ])('%s', (date, offset) => {
    expect(skewed(date)).toBe(offset);
  });

  test('and only for a refusal that says so', () => {
    const headers = { date: 'Sat, 21 Nov 2026 12:20:00 GMT' };
    expect(clockOffset(answered(403, headers, 'AccessDenied'), now)).toBeUndefined();
    expect(clockOffset(answered(400, headers, 'RequestTimeTooSkewed'), now)).toBeUndefined();
    expect(clockOffset(failed('ConnectionRefused', false), now)).toBeUndefined();
  });
});

describe('a change is sent again only where it cannot have been acted on', () => {
  const delay = (reply: AttemptReply, repeatable: boolean) => retryDelay(reply, repeatable, 0, now, () => 0.5);
  const throttles = [
    ...['Throttling', 'ThrottlingException', 'ThrottledException', 'RequestThrottled', 'RequestThrottledException'],
    ...['ProvisionedThroughputExceededException', 'RequestLimitExceeded', 'TooManyRequestsException', 'SlowDown'],
    ...['PriorRequestNotComplete', 'BandwidthLimitExceeded'],
  ];
  const rows: readonly (readonly [string, AttemptReply, boolean, boolean])[] = [
    ['429', answered(429), true, true],
    ['a refused connection', failed('ConnectionRefused', false), true, true],
    ['a lost connection', failed('ConnectionLost', true), false, true],
    ['cancelled', failed('Cancelled', false), false, false],
    ...throttles.map((code) => [`400 ${code}`, answered(400, {}, code), true, true] as const),
    ['400 LimitExceededException', answered(400, {}, 'LimitExceededException'), false, false],
    ['403 SlowDown', answered(403, {}, 'SlowDown'), false, false],
    ['503 SlowDown', answered(503, {}, 'SlowDown'), false, true],
    ...[500, 502, 503, 504, 509].map((status) => [String(status), answered(status), false, true] as const),
    ...[200, 301, 400, 403, 404, 408, 501].map((status) => [String(status), answered(status), false, false] as const),
  ];
  test.each(rows)('%s', (_what, reply, change, read) => {
    expect(delay(reply, false) !== undefined).toBe(change);
    expect(delay(reply, true) !== undefined).toBe(read);
  });
});

test.each([
  ['3', 3000],
  ['Sat, 21 Nov 2026 12:00:05 GMT', 5000],
  ['Sat, 21 Nov 2026 11:00:00 GMT', 0],
  ['soon', 150],
])('Retry-After: %s', (header, wait) => {
  expect(retryDelay(answered(429, { 'retry-after': header }), false, 0, now, () => 0.5)).toBe(wait);
});

test('without it, waits grow to five seconds at most', () => {
  const waits = Array.from({ length: 8 }, (_, failures) => retryDelay(answered(503), true, failures, now, () => 1));
  expect(waits).toEqual([200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
});
