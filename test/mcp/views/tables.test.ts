import { expect, test } from 'vitest';
import { planTable, viewMeta } from '../../../src/mcp/views/results.js';
import { defined, shownValue, words } from '../../../src/util/safe-text.js';
import { readOutcome } from '../../../ui/change/read-change.js';

const initiated = '2026-11-01T10:00:00.000Z';

test('the sizes and times in the table of a plan can be read', () => {
  const table = planTable(
    {
      title: words('Uploads'),
      columns: [words('Object'), words('Initiated'), words('Size')],
      rows: [[shownValue('2026-dump', 100), shownValue(initiated, 100), defined('1572864')]],
      more: 2,
    },
    String,
  );
  expect(table.rows).toEqual([['"2026-dump"', initiated, '1.5 MiB']]);
  expect(table.more).toBe(2);
});

/** The outcome that a view shows after a change with this answer. */
const outcomeOf = (answer: object) =>
  readOutcome(
    viewMeta({
      kind: 'succeeded',
      success: {
        ...{ summary: words('2 uploads were aborted.'), outcome: 'accepted', warnings: [], requestIds: {} },
        answer: { ...answer },
      },
    }),
  );

test('after a cleanup, each upload is shown with its size, its start and how it ended', () => {
  const upload = { bucket: 'archive', object: 'a "b"', uploadId: 'u' };
  const uploads = [
    { ...upload, ending: 'failed', code: 'AccessDenied' },
    { ...upload, ending: 'unverified', size: 2048 },
    { ...upload, ending: 'gone', initiated },
    { ...upload, ending: 'done', size: 0, initiated },
  ];
  expect(outcomeOf({ done: 1, uploads, notListed: 5 })?.things).toEqual({
    title: 'Uploads',
    columns: ['Ending', 'Object', 'Bucket', 'Size', 'Started'],
    rows: [
      ['Failed ("AccessDenied")', '"a \\"b\\""', '"archive"', '', ''],
      ['Aborted, but not seen to be gone', '"a \\"b\\""', '"archive"', '2.0 KiB', ''],
      ['Gone already', '"a \\"b\\""', '"archive"', '', initiated],
      ['Aborted', '"a \\"b\\""', '"archive"', '0 bytes', initiated],
    ],
    more: 5,
  });
});

test.each([{ instance: {} }, { uploads: [] }, { uploads: [{ bucket: 'b', object: 'o' }] }])(
  'another answer has no such table: %j',
  (answer) => {
    expect(outcomeOf(answer)?.things).toBeUndefined();
  },
);
