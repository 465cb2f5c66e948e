import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { listParts } from '../../src/tools/list-parts.js';
import { never, testCaller } from '../support/caller.js';
import { type CapturingServer, startServer } from '../support/http-server.js';

/** The summary reads all pages. No read is thrown away because pages repeat, contradict each other, or do not end. */

interface FakePage {
  readonly parts?: readonly number[];
  readonly truncated?: boolean | string;
  readonly next?: number | string;
}

const xml = ({ parts = [], truncated = false, next }: FakePage) =>
  `<ListPartsResult><Bucket>b</Bucket><Key>o</Key><UploadId>u</UploadId><IsTruncated>${truncated}</IsTruncated>${
    next === undefined ? '' : `<NextPartNumberMarker>${next}</NextPartNumberMarker>`
  }${parts.map((number) => `<Part><PartNumber>${number}</PartNumber><LastModified>2026-11-20T12:00:00.000Z</LastModified><ETag>"e"</ETag><Size>10</Size></Part>`).join('')}</ListPartsResult>`;

let server: CapturingServer | undefined;
afterEach(() => server?.close());

/** Serves the pages in turn, the last one for ever. */
async function read(
  pages: readonly FakePage[],
  signal: AbortSignal = never,
  onPage?: (pages: number) => void,
  more: object = {},
) {
  server = await startServer((_request, response, count) =>
    response.end(xml(pages[Math.min(count, pages.length) - 1] ?? {})),
  );
  const caller = testCaller(server.origin);
  const options = onPage === undefined ? { signal } : { signal, watch: { onPage } };
  const result = await caller.call(listParts, { bucket: 'b', object: 'o', uploadId: 'u', ...more }, options);
  await caller.close();
  const lists = server.requests.filter(({ url }) => url?.includes('uploadId='));
  const markers = lists.map(({ url }) => /part-number-marker=(\d+)/.exec(url)?.[1] ?? '-');
  return { result, markers };
}

const counted = (partCount: number) => ({ ok: true, structured: { answer: { partCount } } });

describe('a call that picks fields', () => {
  const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

  test.each([500, 3000])('gets %i parts, or the marker of the last part that fits', async (count) => {
    const { result } = await read([{ parts: upTo(count) }], never, undefined, {
      view: 'parts',
      fields: ['parts', 'nextPartNumberMarker'],
    });
    if (!result.ok) throw new Error(result.text);
    expect(result.structured).not.toHaveProperty('leftOut');
    const { parts, nextPartNumberMarker } = z
      .object({ parts: z.array(z.object({ partNumber: z.number() })), nextPartNumberMarker: z.number().optional() })
      .parse(result.structured.answer);
    expect(nextPartNumberMarker).toBe(count === 500 ? undefined : parts.at(-1)?.partNumber);
    expect(parts.length).toBeGreaterThan(count === 500 ? 499 : 50);
  });

  test('is told if this answer has none of them', async () => {
    const { result } = await read([{ parts: [1] }], never, undefined, { fields: ['parts[].size'] });
    expect(result).toMatchObject({ structured: { answer: {} } });
    expect(result.text).toMatch(/This answer has none .* It has "view", "bucket"/);
  });
});

describe('pages are followed, and entries that were read already are dropped', () => {
  const rows: readonly [string, readonly FakePage[], number, readonly string[]][] = [
    [
      'a marker that is ignored, so that the list begins again',
      [{ parts: [1, 2], truncated: true, next: 2 }, { parts: [1, 2, 3] }],
      3,
      ['-', '2'],
    ],
    [
      'pages that overlap',
      [{ parts: [4, 5], truncated: true, next: 5 }, { parts: [5, 6], truncated: true, next: 6 }, { parts: [6, 7] }],
      4,
      ['-', '5', '6'],
    ],
    ['a part that is listed twice on a page', [{ parts: [1, 2, 2] }], 2, ['-']],
    ['a marker of the last page', [{ parts: [1, 2], next: 2 }], 2, ['-']],
    ['no marker, so that the last part leads on', [{ parts: [1, 5], truncated: true }, { parts: [6] }], 3, ['-', '5']],
    ['a page without parts whose marker moves on', [{ truncated: true, next: 5 }, { parts: [6] }], 1, ['-', '5']],
    [
      'a marker of 0, which leads on from the last part',
      [
        { parts: [1, 2], truncated: true, next: 0 },
        { parts: [3], next: 0 },
      ],
      3,
      ['-', '2'],
    ],
    [
      'a flag in capitals',
      [
        { parts: [1], truncated: 'TRUE', next: 1 },
        { parts: [2], truncated: ' False ' },
      ],
      2,
      ['-', '1'],
    ],
    [
      'no readable flag: the marker leads on until a page is empty',
      [{ parts: [1], truncated: 'perhaps', next: 1 }, { parts: [2], truncated: '', next: 2 }, { truncated: '' }],
      2,
      ['-', '1', '2'],
    ],
  ];
  test.each(rows)('%s', async (_what, pages, partCount, expected) => {
    const { result, markers } = await read(pages);
    expect(result).toMatchObject(counted(partCount));
    expect(result.text).not.toContain('may be incomplete');
    expect(markers).toEqual(expected);
  });
});

describe('a list that may be incomplete is given as far as it was read, and says so in its first sentence', () => {
  const rows: readonly [string, readonly FakePage[], number, number][] = [
    [
      'a page that only repeats what was read',
      [
        { parts: [1, 2], truncated: true, next: 2 },
        { parts: [1, 2], truncated: true, next: 2 },
      ],
      2,
      2,
    ],
    [
      'a page that repeats what was read, and ends',
      [{ parts: [1, 2], truncated: true, next: 2 }, { parts: [1, 2] }],
      2,
      2,
    ],
    ['more that does not come', [{ parts: [1, 2], truncated: true, next: 2 }, {}], 2, 2],
    ['neither marker nor parts', [{ truncated: true }], 0, 1],
    ['marker 0 and no parts (max-parts=0)', [{ truncated: true, next: 0 }], 0, 1],
    ['a marker that is no number', [{ truncated: true, next: '99999999999999999999' }], 0, 1],
    ['an unreadable flag without a marker', [{ parts: [1], truncated: 'maybe' }], 1, 1],
  ];
  test.each(rows)('%s', async (_what, pages, partCount, requests) => {
    const { result, markers } = await read(pages, never, undefined, { expectedParts: 9 });
    expect(result).toMatchObject({ ok: true, structured: { answer: { partCount, mayHaveMore: true } } });
    expect(result.text).toMatch(/^The upload of "o" may have more parts than were read: /);
    expect(result.text).toContain('warning: The list may be incomplete, because ');
    expect(result.text).not.toMatch(/%|to come|No gaps/);
    expect(markers).toHaveLength(requests);
  });
});

test.each([
  ['the marker that was given is ignored', { parts: [2, 3, 4], truncated: false }, [4], 'No more follow.'],
  ['more follow', { parts: [4], truncated: true, next: 3 }, [4], 'More follow.'],
  ['nothing is said', { parts: [4], truncated: 'who knows' }, [4], 'More may follow.'],
] as const)('a single page has only parts after its marker: %s', async (_what, page, numbers, more) => {
  server = await startServer((_request, response) => response.end(xml(page)));
  const caller = testCaller(server.origin);
  const args = { bucket: 'b', object: 'o', uploadId: 'u', partNumberMarker: 3 };
  const { text, ...result } = await caller.call(listParts, args, { signal: never });
  await caller.close();
  const parts = numbers.map((partNumber) => expect.objectContaining({ partNumber }));
  expect(result).toMatchObject({ ok: true, structured: { answer: { parts } } });
  expect(text).toContain(more);
});

const part = '<Part><PartNumber>1</PartNumber></Part>';

test.each([
  ['too large', `<ListPartsResult>${part.repeat(60_000)}</ListPartsResult>`, 'ResponseTooLarge', 'too many elements'],
  ['cut', `<ListPartsResult>${part}<Part><PartNum`, 'UnreadableAnswer', 'to act: agent (call)'],
])('a list that is %s says so, and does not speak of a sign-in page', async (_what, body, code, says) => {
  server = await startServer((_request, response) => response.end(body));
  const caller = testCaller(server.origin);
  const { text } = await caller.call(listParts, { bucket: 'b', object: 'o', uploadId: 'u' }, { signal: never });
  await caller.close();
  expect(text).toContain(`code: ${code}`);
  expect(text).toContain(says);
  expect(text).not.toContain('sign-in');
});

test('numbers outside what a whole number holds are reported, not wrapped', async () => {
  const { result } = await read([{ parts: [1], next: '9007199254740993' }]);
  expect(result).toMatchObject({ ok: true, structured: { answer: { partCount: 1 } } });
  expect(result.text).toContain(
    'warning: nextPartNumberMarker in the answer is "9007199254740993", not a number; it was left out.',
  );
});

test.each([
  ['big', 'parts[0].size in the answer is "big", not a number; it was left out.'],
  ['', 'parts[0].size in the answer is "", not a number; it was left out.'],
])('a size that cannot be read (%j) does not count as 0', async (size, warning) => {
  const body = xml({ parts: [1, 2] }).replace('<Size>10', `<Size>${size}`);
  server = await startServer((_request, response) => response.end(body));
  const caller = testCaller(server.origin);
  const { call } = caller;
  const args = { bucket: 'b', object: 'o', uploadId: 'u' };
  const summary = await call(listParts, args, { signal: never });
  const page = await call(listParts, { ...args, view: 'parts' }, { signal: never });
  await caller.close();
  for (const { text } of [summary, page]) {
    expect(text).toContain(`warning: ${warning}`);
    expect(text).not.toMatch(/\b0 bytes|NaN|too small|totalBytes/);
  }
  expect(summary.text).toMatch(/^The upload of "o" has 2 parts, an unknown size\./);
  expect(page.text).toMatch(/^2 parts of "o" on this page, an unknown size\./);
});

test('a failure in the middle is the failure of the call', async () => {
  server = await startServer((_request, response, count) => {
    if (count === 1) response.end(xml({ parts: [1], truncated: true, next: 1 }));
    else response.writeHead(404).end('<Error><Code>NoSuchUpload</Code></Error>');
  });
  const caller = testCaller(server.origin);
  const { ok, text } = await caller.call(listParts, { bucket: 'b', object: 'o', uploadId: 'u' }, { signal: never });
  expect(ok).toBe(false);
  expect(text).toContain('code: NoSuchUpload');
  await caller.close();
});

test('cancelling ends the reading', async () => {
  const controller = new AbortController();
  const endless = Array.from({ length: 1000 }, (_, index) => ({
    parts: [index + 1],
    truncated: true,
    next: index + 1,
  }));
  const { result, markers } = await read(endless, controller.signal, (pages) => {
    if (pages === 3) controller.abort();
  });
  expect(result.text).toContain('code: Cancelled');
  expect(markers.length).toBeLessThanOrEqual(4);
});

test('what does not fit into the bytes of one call is left out: the answer is of the pages before, and says how to go on', async () => {
  const filler = 'x'.repeat(3 * 1024 * 1024);
  server = await startServer((_request, response, count) =>
    response.end(
      xml({ parts: [count], truncated: true, next: count }).replace('</Bucket>', `</Bucket><A>${filler}</A>`),
    ),
  );
  const caller = testCaller(server.origin);
  const args = { bucket: 'b', object: 'o', uploadId: 'u', expectedParts: 100 };
  const result = await caller.call(listParts, args, { signal: never });
  await caller.close();
  expect(result).toMatchObject({
    ok: true,
    structured: { answer: { view: 'summary', partCount: 5, isTruncated: true, nextPartNumberMarker: 5 } },
  });
  expect(server.requests).toHaveLength(6);
  expect(result.text).toContain(
    'The upload of "o" has more parts than were read: the first 5, up to part 5, have 50 bytes.',
  );
  expect(result.text).toContain('call again with view "parts" and partNumberMarker 5.');
  expect(result.text).toContain('warning: Only the first 5 pages with 5 entries were read, as much as one call reads.');
  expect(result.text).not.toContain('percent');
});
