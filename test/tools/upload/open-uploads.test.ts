import { expect, test } from 'vitest';
import {
  addUploads,
  noUploads,
  type OpenUpload,
  openUploadsSentences,
  summariseOpen,
  type UploadFilter,
} from '../../../src/tools/upload/open-uploads.js';
import { say } from '../../../src/util/safe-text.js';

const checkedAt = '2026-11-20T12:00:00.000Z';

/** The summary of one page. */
const summaryOf = (page: readonly OpenUpload[], wanted: UploadFilter, answeredAt: string | undefined) =>
  summariseOpen(addUploads(noUploads(), page, wanted, answeredAt), wanted);

/** An upload that was started so many hours before. */
const upload = (object: string, hours: number, initiator?: string): OpenUpload => ({
  object,
  uploadId: `${object}-${hours}`,
  initiated: new Date(Date.parse(checkedAt) - hours * 3_600_000).toISOString(),
  initiator,
});

test('each upload has its age in whole hours', () => {
  const { uploads } = summaryOf([upload('a', 70.9), upload('b', 0.2)], {}, checkedAt);
  expect(uploads.map(({ ageHours }) => ageHours)).toEqual([70, 0]);
});

test('olderThanHours leaves out the younger ones, and counts of how many', () => {
  const all = [upload('a', 23.9), upload('a', 24), upload('b', 24.1)];
  const summary = summaryOf(all, { olderThanHours: 24 }, checkedAt);
  expect(summary).toMatchObject({ uploadCount: 1, countOfAnyAge: 3, oldest: { object: 'b' } });
  expect(summary.sameObject).toBeUndefined();
  expect(openUploadsSentences(summary, say`bucket ${'x'}`).text).toMatch(
    /^1 multipart upload in bucket "x" was started more than 24 hours ago, of 3 that are open\./,
  );
});

test('an upload of unknown age is not taken for a young one', () => {
  const unknown = { object: 'a', uploadId: 'u', initiated: 'yesterday' };
  expect(summaryOf([unknown], { olderThanHours: 24 }, checkedAt).uploadCount).toBe(1);
});

test('without the time of the service, olderThanHours is not applied, and that is said', () => {
  const summary = summaryOf([upload('a', 1)], { olderThanHours: 24 }, undefined);
  expect(summary.uploadCount).toBe(1);
  expect(openUploadsSentences(summary, say`bucket ${'x'}`).text).toContain('olderThanHours was not applied');
});

test('of several uploads of one object, the newest is named', () => {
  const { sameObject } = summaryOf([upload('a', 50), upload('b', 2), upload('a', 3), upload('a', 9)], {}, checkedAt);
  expect(sameObject).toEqual([
    { object: 'a', uploads: 3, newestUploadId: 'a-3', newestAgeHours: 3, oldestAgeHours: 50 },
  ]);
});

test.each([
  ['nobody is named', [upload('a', 1)], 'The cloud does not say here who started them.', undefined],
  ['one started all', [upload('a', 1, 'i'), upload('b', 1, 'i')], 'All were started by "i".', undefined],
  ['several are named', [upload('a', 1, 'i'), upload('b', 1, 'j')], '2 multipart uploads are open', 'j'],
])('whoever started them is said: %s', (_what, uploads, sentence, last) => {
  const summary = summaryOf(uploads, {}, checkedAt);
  expect(openUploadsSentences(summary, say`bucket ${'x'}`).text).toContain(sentence);
  expect(summary.uploads.at(-1)?.initiator).toBe(last);
});

test('counts by prefix come also where there is one prefix', () => {
  const { byPrefix } = summaryOf(
    [upload('logs/a/1', 1), upload('logs/b/1', 1), upload('logs/2', 1)],
    { prefix: 'logs/' },
    checkedAt,
  );
  expect(byPrefix).toEqual([
    { prefix: 'logs/a/', uploads: 1 },
    { prefix: 'logs/b/', uploads: 1 },
    { prefix: 'logs/', uploads: 1 },
  ]);
  expect(summaryOf([upload('a', 1)], {}, checkedAt).byPrefix).toEqual([{ prefix: '', uploads: 1 }]);
});

test('of very many objects, those with several uploads that come one after the other are still found', () => {
  const name = (number: number) => `key-${String(number).padStart(6, '0')}`;
  const singles = Array.from({ length: 10_500 }, (_, number) => upload(name(number), 1));
  const pages = [singles, [upload(name(20_000), 2)], [upload(name(20_000), 1)]];
  const state = pages.reduce((reached, page) => addUploads(reached, page, {}, checkedAt), noUploads());
  expect(summariseOpen(state, {})).toMatchObject({
    uploadCount: 10_502,
    sameObject: [{ object: name(20_000), uploads: 2 }],
  });
});
