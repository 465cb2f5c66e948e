import { fileURLToPath } from 'node:url';
import { encode } from 'gpt-tokenizer';
import { afterEach, describe, expect, test } from 'vitest';
import { isAllowed } from '../../src/calls/policy.js';
import { listMultipartUploads } from '../../src/tools/list-multipart-uploads.js';
import { never, testCaller } from '../support/caller.js';
import { type CapturingServer, startServer } from '../support/http-server.js';
import { openPolicy } from '../support/operations.js';
import { problems } from '../support/rules.js';
import { answeredBy, scriptedClient } from '../support/scripted-client.js';

interface FakePage {
  readonly uploads?: readonly (readonly [object: string, uploadId: string])[];
  readonly truncated?: boolean;
  readonly next?: readonly [key: string, uploadId: string];
  readonly encodingType?: string;
}

const element = (name: string, value: string | undefined) => (value === undefined ? '' : `<${name}>${value}</${name}>`);
const xml = ({ uploads = [], truncated = false, next, encodingType }: FakePage) =>
  `<ListMultipartUploadsResult><Bucket>b</Bucket>${element('NextKeyMarker', next?.[0])}${element('NextUploadIdMarker', next?.[1])}` +
  `${element('EncodingType', encodingType)}<IsTruncated>${truncated}</IsTruncated>${uploads
    .map(
      ([key, id]) =>
        `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiator><ID>i</ID></Initiator><Initiated>2026-11-20T11:00:00.000Z</Initiated></Upload>`,
    )
    .join('')}</ListMultipartUploadsResult>`;

let server: CapturingServer | undefined;
afterEach(() => server?.close());

/** Serves the pages in turn, the last one for ever. */
async function list(pages: readonly FakePage[], args: Record<string, unknown> = {}) {
  server = await startServer((_request, response, count) => {
    response.setHeader('date', 'Fri, 20 Nov 2026 12:00:00 GMT');
    response.end(xml(pages[Math.min(count, pages.length) - 1] ?? {}));
  });
  const caller = testCaller(server.origin, { policy: { ...openPolicy, extensions: ['s3'] } });
  const result = await caller.call(listMultipartUploads, { bucket: 'b', ...args }, { signal: never });
  await caller.close();
  return { result, urls: server.requests.map(({ url }) => url) };
}

describe('it is offered', () => {
  test.each([
    ['not by default', openPolicy, false],
    ['where the store speaks S3', { ...openPolicy, extensions: ['s3'] }, true],
    ['by name', { ...openPolicy, tools: ['list_multipart_uploads'] }, true],
  ])('%s', (_when, policy, offered) => {
    expect(isAllowed(policy, listMultipartUploads)).toBe(offered);
  });
});

test('rules', () => {
  expect(problems(listMultipartUploads, {})).toEqual(['bucket: is required']);
  expect(problems(listMultipartUploads, { bucket: 'b', uploadIdMarker: 'u' })).toEqual([
    'uploadIdMarker: "u" has no meaning without keyMarker',
  ]);
  expect(problems(listMultipartUploads, { bucket: 'b', prefix: 'a/', keyMarker: 'a/1', uploadIdMarker: 'u' })).toEqual(
    [],
  );
});

test('what list_parts needs is in the answer, with the oldest upload and how old it is', async () => {
  const { result, urls } = await list(
    [
      {
        uploads: [
          ['a b/c', '2~x'],
          ['z', '007'],
        ],
      },
    ],
    { prefix: 'a b' },
  );
  expect(urls).toEqual(['/b?prefix=a%20b&uploads']);
  expect(result).toMatchObject({
    ok: true,
    structured: {
      answer: {
        uploadCount: 2,
        uploads: [
          { object: 'a b/c', uploadId: '2~x' },
          { object: 'z', uploadId: '007' },
        ],
      },
    },
  });
  const golden = fileURLToPath(new URL('golden/list-multipart-uploads.txt', import.meta.url));
  await expect(`${result.text}\n`).toMatchFileSnapshot(golden);
});

describe('pages', () => {
  const [a, b, c] = [
    ['a', '1'],
    ['b', '2'],
    ['c', '3'],
  ] as const;

  test.each<[string, readonly FakePage[], number, readonly string[]]>([
    [
      'are followed by both parts of their marker',
      [{ uploads: [a], truncated: true, next: ['a', '1'] }, { uploads: [b] }],
      2,
      ['/b?uploads', '/b?key-marker=a&upload-id-marker=1&uploads'],
    ],
    [
      'without a marker continue from the last upload (Swift, with a page of one)',
      [{ uploads: [a], truncated: true }, { uploads: [b] }],
      2,
      ['/b?uploads', '/b?key-marker=a&upload-id-marker=1&uploads'],
    ],
    [
      'send a raw marker as it is, beside keys that say they are encoded',
      [{ uploads: [['a%2Fb', '1']], truncated: true, next: ['a%2Fb', '1'], encodingType: 'url' }, { uploads: [c] }],
      2,
      ['/b?uploads', '/b?key-marker=a%252Fb&upload-id-marker=1&uploads'],
    ],
    [
      'that overlap count an upload once',
      [{ uploads: [a, b], truncated: true, next: ['a', '1'] }, { uploads: [b, c] }],
      3,
      ['/b?uploads', '/b?key-marker=a&upload-id-marker=1&uploads'],
    ],
    ['with a marker but without more are not followed', [{ uploads: [a], next: ['a', '1'] }], 1, ['/b?uploads']],
  ])('%s', async (_what, pages, uploadCount, expected) => {
    const { result, urls } = await list(pages);
    expect(result).toMatchObject({ ok: true, structured: { answer: { uploadCount } } });
    expect(urls).toEqual(expected);
  });

  test.each<[string, readonly FakePage[]]>([
    ['a marker that does not move', [{ uploads: [a], truncated: true, next: ['a', '1'] }]],
    [
      'markers that go round',
      [
        { uploads: [a], truncated: true, next: ['a', '1'] },
        { uploads: [b], truncated: true, next: ['b', '2'] },
        { uploads: [a], truncated: true, next: ['a', '1'] },
      ],
    ],
    ['neither marker nor upload', [{ truncated: true }]],
  ])('that would not end are an error: %s', async (_what, pages) => {
    const { result, urls } = await list(pages);
    expect(result).toMatchObject({ ok: false, failure: { code: 'InconsistentPages' } });
    expect(urls.length).toBeLessThan(5);
  });
});

test.each([
  ['a key is decoded where the service says that it encoded it', 'url', 'a/b'],
  ['a key with a percent sign stays as it is where it does not (Ceph)', undefined, 'a%2Fb'],
])('%s', async (_what, encodingType, object) => {
  const { result } = await list([{ uploads: [['a%2Fb', '1']], ...(encodingType !== undefined && { encodingType }) }]);
  expect(result).toMatchObject({ ok: true, structured: { answer: { uploads: [{ object }] } } });
});

test('10,000 uploads take less than 1,500 tokens, as text and as data', async () => {
  const pages = Array.from({ length: 10 }, (_, page): FakePage => {
    const uploads = Array.from({ length: 1000 }, (_unused, index): readonly [string, string] => [
      `backups/${page * 3 + (index % 30)}/2026/database-of-the-shop-${String(index).padStart(5, '0')}-${page}.dump`,
      `2~${Buffer.from(`${page}-${index}-upload`).toString('base64url')}`,
    ]);
    return { uploads, truncated: page < 9, next: uploads.at(-1) ?? ['', ''] };
  });
  const { result } = await list(pages);
  expect(result).toMatchObject({ ok: true, structured: { answer: { uploadCount: 10_000 } } });
  const [text, data] = [encode(result.text).length, encode(JSON.stringify(result.ok && result.structured)).length];
  process.stdout.write(`tokens of 10,000 uploads: text ${text}, data ${data}\n`);
  expect(Math.max(text, data)).toBeLessThan(1500);
});

test('by default, it is refused with what would allow it', async () => {
  const caller = testCaller('http://127.0.0.1:1');
  const { text } = await caller.call(listMultipartUploads, { bucket: 'b' }, { signal: never });
  expect(text).toContain('set CLOUDOPS_STORAGE_HEADERS=amz, or name it in CLOUDOPS_TOOLS');
  await caller.close();
});

test('a list that is longer than one call reads is told as far as it was read, with the place to go on', async () => {
  const caller = testCaller('http://127.0.0.1:1', {
    policy: { ...openPolicy, extensions: ['s3'] },
    openClient: scriptedClient(async ({ query }) => {
      const from = Number(query?.['key-marker'] ?? 0);
      const Upload = Array.from({ length: 1000 }, (_, index) => ({
        Key: String(from + index + 1),
        UploadId: 'same \u202e',
        Initiated: '2026-11-20T11:00:00.000Z',
        Initiator: { ID: 'i' },
      }));
      const value = {
        IsTruncated: 'true',
        NextKeyMarker: String(from + 1000),
        NextUploadIdMarker: 'same \u202e',
        Upload,
      };
      const body = { kind: 'xml', value: { ListMultipartUploadsResult: value } } as const;
      return answeredBy(200, body, 1, { date: 'Fri, 20 Nov 2026 12:00:00 GMT' });
    }).openClient,
  });
  const listed = async (args: object) => {
    const { text } = await caller.call(listMultipartUploads, { bucket: 'b', ...args }, { signal: never });
    return text;
  };
  const golden = fileURLToPath(new URL('golden/list-multipart-uploads-longer.txt', import.meta.url));
  await expect(`${await listed({})}\n---\n${await listed({ olderThanHours: 24 })}\n`).toMatchFileSnapshot(golden);
});
