import { describe, expect, test } from 'vitest';
import { readBoolean, readTime, readWholeNumber } from '../../src/util/read-values.js';

test.each([
  ['true', true],
  ['TRUE', true],
  ['\n True ', true],
  ['1', true],
  ['false', false],
  [' fAlSe', false],
  ['0', false],
  ['', undefined],
  ['yes', undefined],
  ['truely', undefined],
])('the boolean %j is read as %s', (text, value) => {
  expect(readBoolean(text)).toBe(value);
});

test.each([
  ['12', 12],
  [' 12\n', 12],
  ['-1', -1],
  ['+7', 7],
  ['999999999999999', 999_999_999_999_999],
  ['9007199254740993', undefined],
  ['8388608.0', 8_388_608],
  ['8.388608e+06', 8_388_608],
  ['8.3886085e+06', undefined],
  ['8,388,608', undefined],
  ['0.99999999999999999999', undefined],
  ['1.5', undefined],
  ['0x10', undefined],
  ['', undefined],
])('the number %j is read as %s', (text, value) => {
  expect(readWholeNumber(text)).toBe(value);
});

describe('a time', () => {
  const noon = Date.UTC(2027, 2, 5, 12, 30, 0);
  test.each([
    ['2027-03-05T12:30:00Z'],
    ['2027-03-05T12:30:00.000z'],
    ['2027-03-05T14:30:00+02:00'],
    ['2027-03-05T04:30:00-0800'],
    ['Fri, 05 Mar 2027 12:30:00 GMT'],
    ['Friday, 05-Mar-27 12:30:00 GMT'],
    ['20270305T123000Z'],
    ['20270305T1230Z'],
    ['2027-03-05T12:30:00,000Z'],
    ['2027-03-05T12:30:00 Z'],
    ['2027-03-05T12:30:00 GMT'],
    ['2027-03-05T12:30:00.000UTC'],
    ['2027-03-05T14:30:00+02'],
    ['2027-03-05 12:30:00 +0000 UTC'],
    ['2027-03-05 21:30:00 +0900 JST m=+0.012'],
    ['Fri Mar  5 12:30:00 UTC 2027'],
    ['Fri Mar 05 13:30:00 +0100 2027'],
    ['1804249800'],
    ['1804249800.0'],
    ['1804249800000'],
  ])('with a zone: %s', (text) => {
    expect(readTime(text)).toBe(noon);
  });

  test.each([
    ['2027-03-05T12:30:00'],
    ['2027-03-05T12:30:00.0004'],
    [' 2027-03-05 12:30:00 '],
    ['Fri, 05 Mar 2027 12:30:00'],
    ['Fri Mar  5 12:30:00 2027'],
    ['20270305T123000'],
    ['2027/03/05 12:30:00'],
  ])('without a zone is in UTC, wherever this machine is: %s', (text) => {
    expect(readTime(text)).toBe(noon);
  });

  test.each(['', 'soon', '12', 'part 7', '2027', '99:99', '0001-01-01T00:00:00Z', '0001-01-01 00:00:00'])(
    'is not read from %j',
    (text) => {
      expect(readTime(text)).toBeUndefined();
    },
  );

  test.each(['2027-03-05T12:30:00', '2027-03-05', '1804249800'])('can be required to have a zone: %s', (text) => {
    expect(readTime(text, { needsZone: true })).toBeUndefined();
    expect(readTime(text)).toBeDefined();
  });

  test('may be a date alone, which begins at midnight in UTC', () => {
    expect(readTime('2027-03-05')).toBe(Date.UTC(2027, 2, 5));
  });
});
