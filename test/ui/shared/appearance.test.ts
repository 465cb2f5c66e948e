import { expect, test } from 'vitest';
import { timeFormat, withLocalTimes } from '../../../ui/shared/appearance.js';

const inTokyo = timeFormat({ locale: 'en-GB', timeZone: 'Asia/Tokyo' });
const time = Date.parse('2026-11-20T12:00:05Z');

test('times have the zone of the host, and say which one it is', () => {
  expect(inTokyo(time)).toBe('20 Nov 2026, 21:00:05 GMT+9');
  expect(inTokyo(time, 'minute')).toBe('21:00 GMT+9');
  expect(inTokyo(time, 'second')).toBe('21:00:05');
});

test('a locale or zone that nobody knows is that of the browser', () => {
  expect(timeFormat({ locale: 'no such locale', timeZone: 'Moon/Base' })(time)).toContain('2026');
});

test.each([
  ['Sent at 2026-11-20T12:00:05.000Z.', 'Sent at 20 Nov 2026, 21:00:05 GMT+9.'],
  [
    'From 2026-11-20T12:00:05Z to 2026-11-20T12:00:05Z',
    'From 20 Nov 2026, 21:00:05 GMT+9 to 20 Nov 2026, 21:00:05 GMT+9',
  ],
  ['The name "2026-11-20T12:00:05Z" stays.', 'The name "2026-11-20T12:00:05Z" stays.'],
  ['2026-99-20T12:00:05Z is no time, nor is 2026-11-20.', '2026-99-20T12:00:05Z is no time, nor is 2026-11-20.'],
])('%s', (sentence, local) => expect(withLocalTimes(sentence, inTokyo)).toBe(local));
