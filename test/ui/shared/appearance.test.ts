import { expect, test } from 'vitest';
import { timeFormat } from '../../../ui/shared/appearance.js';

const inTokyo = timeFormat({ locale: 'en-GB', timeZone: 'Asia/Tokyo' });
const time = Date.parse('2026-11-20T12:00:05Z');

test('times are in the zone of the host, whose name stands with them or alone', () => {
  expect(inTokyo(time)).toBe('20 Nov 2026, 21:00:05 GMT+9');
  expect(inTokyo(time, 'minute')).toBe('21:00');
  expect(inTokyo(time, 'second')).toBe('21:00:05');
  expect(inTokyo(time, 'zone')).toBe('GMT+9');
});

test('a locale or zone that nobody knows is that of the browser', () => {
  expect(timeFormat({ locale: 'no such locale', timeZone: 'Moon/Base' })(time)).toContain('2026');
});
