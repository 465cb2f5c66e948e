import { describe, expect, test } from 'vitest';
import { parseBody } from '../../src/transport/parse-body.js';
import { type AttemptReply, clockOffset, retryDelay } from '../../src/transport/retry.js';

const now = new Date('2026-11-21T12:00:00Z');
const answered = (status: number, headers: Record<string, string> = {}, code = ''): AttemptReply => ({
  kind: 'answered',
  response: { kind: 'response', status, headers },
  body: { kind: 'xml', value: { Error: { Code: code } } },
  readText: async (read) => read(''),
});
const withBody = (
  status: number,
  body: string,
  headers: Record<string, string> | '' | undefined = {},
): AttemptReply => ({
  kind: 'answered',
  response: { kind: 'response', status, headers: headers || {} },
  body: parseBody(body),
  readText: async (read) => read(body),
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
    expect(clockOffset(answered(200, headers, 'RequestTimeTooSkewed'), now)).toBeUndefined();
    expect(clockOffset(answered(503, headers, 'RequestTimeTooSkewed'), now)).toBeUndefined();
    expect(clockOffset(failed('ConnectionRefused', false), now)).toBeUndefined();
  });
});

describe("the time in the error comes before the answer's Date", () => {
  const refusal = (serverTime: string, date?: string, code = 'RequestTimeTooSkewed', status = 403) =>
    withBody(status, `<Error><Code>${code}</Code><ServerTime>${serverTime}</ServerTime></Error>`, date && { date });
  const in40Minutes = 40 * 60_000;
  test.each<readonly [string, AttemptReply, number | undefined]>([
    ['a gateway whose clock is unset', refusal('2026-11-21T12:40:00Z', 'Thu, 01 Jan 1970 00:00:00 GMT'), in40Minutes],
    ['no Date', refusal('2026-11-21T12:40:00.000Z'), in40Minutes],
    ['a Date of its own', refusal('2026-11-21T12:40:00Z', 'Sat, 21 Nov 2026 11:00:00 GMT'), in40Minutes],
    ['the short form', refusal('20261121T124000Z'), in40Minutes],
    ['no zone, which means UTC', refusal('2026-11-21T12:40:00'), in40Minutes],
    ['a space, and no zone', refusal('2026-11-21 12:40:00'), in40Minutes],
    ['another zone', refusal('2026-11-21T21:40:00+09:00'), in40Minutes],
    ['the form of HTTP', refusal('Sat, 21 Nov 2026 12:40:00 GMT'), in40Minutes],
    ['a time that cannot be read', refusal('soon', 'Sat, 21 Nov 2026 12:40:00 GMT'), in40Minutes],
    ['a time of another year', refusal('2036-11-21T12:40:00Z', 'Sat, 21 Nov 2026 12:40:00 GMT'), in40Minutes],
    ['the code of another API', refusal('2026-11-21T12:40:00Z', undefined, 'RequestExpired', 400), in40Minutes],
    ['JSON', withBody(401, '{"code":"RequestTimeTooSkewed","serverTime":"2026-11-21T12:40:00Z"}'), in40Minutes],
    ['two times that cannot be used', refusal('soon', 'Thu, 01 Jan 1970 00:00:00 GMT'), undefined],
    ['another error', refusal('2026-11-21T12:40:00Z', undefined, 'AccessDenied'), undefined],
  ])('%s', (_what, reply, offset) => {
    expect(clockOffset(reply, now)).toBe(offset);
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
    ['403 SlowDown', answered(403, {}, 'SlowDown'), false, true],
    ['503 SlowDown', answered(503, {}, 'SlowDown'), false, true],
    // A gateway's own statuses are among them.
    ...[500, 502, 503, 504, 509, 520, 522, 524, 529, 530, 598, 599, 408, 425, 444, 460, 499].map(
      (status) => [String(status), answered(status), false, true] as const,
    ),
    ...[200, 204, 301, 307, 400, 401, 403, 404, 405, 407, 409, 416, 501, 505, 507, 511].map(
      (status) => [String(status), answered(status), false, false] as const,
    ),
    // Whatever the status, the answer may say that the trouble passes.
    ['403 with Retry-After', answered(403, { 'retry-after': '1' }), false, true],
    ['301 with Retry-After', answered(301, { 'retry-after': '1' }), false, false],
    ...[
      ...['RequestTimeout', 'RequestTimeoutException', 'OperationTimedOut', 'ServiceUnavailable', 'ServerBusy'],
      ...['RateLimitExceeded', 'server_busy', 'internal_error', 'SERVICE_UNAVAILABLE', 'userRateLimitExceeded'],
      ...['InternalError', 'InternalFailure', 'Server.InternalServerError', 'OperationAborted', 'ServerNotInitialized'],
    ].flatMap((code) => [
      [`400 ${code}`, answered(400, {}, code), false, true] as const,
      [`200 ${code}`, answered(200, {}, code), false, true] as const,
    ]),
    ...['AccessDenied', 'NoSuchUpload', 'InvalidArgument', 'RequestTimeTooSkewed', 'InternalUseOnly'].flatMap(
      (code) => [
        [`400 ${code}`, answered(400, {}, code), false, false] as const,
        [`200 ${code}`, answered(200, {}, code), false, false] as const,
      ],
    ),
    ['403 in words', withBody(403, 'Too busy. Please try your request again later.'), false, true],
    [
      '400 in fewer words',
      withBody(400, '<Error><Message>Something broke, please retry.</Message></Error>'),
      false,
      true,
    ],
    [
      '403 for a rate',
      withBody(403, '{"error":{"code":403,"message":"Rate Limit Exceeded","errors":[{"reason":"rateLimitExceeded"}]}}'),
      false,
      true,
    ],
    ['404 on a page', withBody(404, '<html><h1>Store is temporarily unavailable</h1></html>'), false, true],
    [
      '200 with the page of a proxy',
      withBody(200, '<html>The backend is temporarily unavailable.</html>'),
      false,
      true,
    ],
    ['200 with another page', withBody(200, '<html>Sign in</html>'), false, false],
    ['200 JSON', withBody(200, '{"error":{"code":"InternalFailure"}}'), false, true],
    ['200 JSON without an error', withBody(200, '{"message":"Please try again later."}'), false, false],
    ['200 XML without an error', withBody(200, '<Queue><Message>Try again later.</Message></Queue>'), false, false],
    [
      '200 for EC2',
      withBody(200, '<Response><Errors><Error><Code>Unavailable</Code></Error></Errors></Response>'),
      false,
      true,
    ],
    [
      '307 in words',
      withBody(307, '<Error><Code>TemporaryRedirect</Code><Message>Try again there.</Message></Error>'),
      false,
      false,
    ],
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
