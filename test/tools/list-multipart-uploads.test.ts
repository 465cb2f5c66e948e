import { fileURLToPath } from 'node:url';
import { encode } from 'gpt-tokenizer';
import { afterEach, describe, expect, test } from 'vitest';
import { listMultipartUploads } from '../../src/tools/list-multipart-uploads.js';
import { isObject } from '../../src/util/objects.js';
import { never, testCaller } from '../support/caller.js';
import { type CapturingServer, startServer } from '../support/http-server.js';
import { openPolicy } from '../support/operations.js';
import { problems } from '../support/rules.js';
import { answeredBy, scriptedClient } from '../support/scripted-client.js';

interface FakePage {
  readonly uploads?: readonly (readonly [object: string, uploadId: string])[];
  readonly truncated?: boolean | string;
  readonly next?: readonly [key: string, uploadId: string];
  readonly encodingType?: string;
}

const noon = new Date('2026-11-20T12:00:00Z');
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
  const caller = testCaller(server.origin, {
    policy: { ...openPolicy, extensions: ['s3'] },
    now: () => noon,
  });
  const result = await caller.call(listMultipartUploads, { bucket: 'b', ...args }, { signal: never });
  await caller.close();
  return { result, urls: server.requests.map(({ url }) => url) };
}

test('rules', () => {
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
          ['a b/z', '007'],
        ],
      },
    ],
    { prefix: 'a b' },
  );
  expect(urls).toEqual(['/b?max-uploads=1000&prefix=a%20b&uploads']);
  expect(result).toMatchObject({
    ok: true,
    structured: {
      answer: {
        uploadCount: 2,
        uploads: [
          { object: 'a b/c', uploadId: '2~x' },
          { object: 'a b/z', uploadId: '007' },
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

  const first = '/b?max-uploads=1000&uploads';
  const afterA = '/b?key-marker=a&max-uploads=1000&upload-id-marker=1&uploads';

  test.each<[string, readonly FakePage[], number, readonly string[]]>([
    [
      'with flags in capitals are followed',
      [
        { uploads: [a], truncated: ' TRUE', next: ['a', '1'] },
        { uploads: [b], truncated: 'False' },
      ],
      2,
      [first, afterA],
    ],
    [
      'without a readable flag are followed by their marker, until one is empty',
      [{ uploads: [a], truncated: '-', next: ['a', '1'] }, { truncated: '-' }],
      1,
      [first, afterA],
    ],
    [
      'that are empty are followed while their marker moves',
      [{ truncated: true, next: ['a', '1'] }, { uploads: [b] }],
      1,
      [first, afterA],
    ],
    [
      'are followed by both parts of their marker',
      [{ uploads: [a], truncated: true, next: ['a', '1'] }, { uploads: [b] }],
      2,
      [first, afterA],
    ],
    [
      'without a marker continue from the last upload (Swift, with a page of one)',
      [{ uploads: [a], truncated: true }, { uploads: [b] }],
      2,
      [first, afterA],
    ],
    [
      'send a decoded marker',
      [{ uploads: [['a%2Bb', '1']], truncated: true, next: ['a%2Bb', '1'], encodingType: 'url' }, { uploads: [c] }],
      2,
      [first, '/b?key-marker=a%2Bb&max-uploads=1000&upload-id-marker=1&uploads'],
    ],
    [
      'send a raw marker as it is, if only keys are encoded',
      [{ uploads: [['a%2Bb', '1']], truncated: true, next: ['a+b', '1'], encodingType: 'url' }, { uploads: [c] }],
      2,
      [first, '/b?key-marker=a%2Bb&max-uploads=1000&upload-id-marker=1&uploads'],
    ],
    ['that list an upload twice count it once', [{ uploads: [a, a, b] }], 2, [first]],
    [
      'that overlap count an upload once',
      [{ uploads: [a, b], truncated: true, next: ['a', '1'] }, { uploads: [b, c] }],
      3,
      [first, afterA],
    ],
    ['with a marker but without more are not followed', [{ uploads: [a], next: ['a', '1'] }], 1, [first]],
  ])('%s', async (_what, pages, uploadCount, expected) => {
    const { result, urls } = await list(pages);
    expect(result).toMatchObject({ ok: true, structured: { answer: { uploadCount } } });
    expect(urls).toEqual(expected);
  });

  test.each<[string, readonly FakePage[], number]>([
    ['a marker that does not move', [{ uploads: [a], truncated: true, next: ['a', '1'] }], 1],
    [
      'markers that go round',
      [
        { uploads: [a], truncated: true, next: ['a', '1'] },
        { uploads: [b], truncated: true, next: ['b', '2'] },
        { uploads: [a], truncated: true, next: ['a', '1'] },
      ],
      2,
    ],
    ['neither marker nor upload', [{ truncated: true }], 0],
    ['more that does not come', [{ uploads: [a], truncated: true, next: ['a', '1'] }, {}], 1],
    ['no readable flag and no marker', [{ uploads: [a], truncated: 'perhaps' }], 1],
  ])('that may not be all are given, with a warning: %s', async (_what, pages, uploadCount) => {
    const { result, urls } = await list(pages);
    expect(result).toMatchObject({ ok: true, structured: { answer: { uploadCount, mayHaveMore: true } } });
    expect(result.text).toMatch(/^At least .*: more may follow\./);
    expect(result.text).toContain('warning: The list may be incomplete, because ');
    expect(urls.length).toBeLessThan(5);
  });
});

describe('filters are applied again', () => {
  const all: FakePage = {
    uploads: [
      ['a/1', 'u1'],
      ['m', 'u2'],
      ['m', 'u3'],
      ['z', 'u4'],
    ],
  };
  const idsIn = (answer: unknown) => (isObject(answer) && Array.isArray(answer.uploads) ? answer.uploads : []);
  test.each([
    ['prefix', { prefix: 'm' }, ['u2', 'u3']],
    ['keyMarker', { keyMarker: 'm' }, ['u4']],
    ['keyMarker', { keyMarker: 'm', uploadIdMarker: 'u2' }, ['u3', 'u4']],
    ['prefix and keyMarker', { prefix: 'm', keyMarker: 'm', uploadIdMarker: 'u2' }, ['u3']],
  ])('if the store ignores %s', async (_names, args, ids) => {
    const { result } = await list([all], args);
    if (!result.ok) throw new Error(result.text);
    expect(idsIn(result.structured.answer)).toEqual(ids.map((uploadId) => expect.objectContaining({ uploadId })));
    expect(result).toMatchObject({ structured: { answer: { uploadCount: ids.length }, warnings: [] } });
  });

  test('an upload is found by its ID among others', async () => {
    const { result } = await list([all], { prefix: 'm', uploadId: 'u3' });
    expect(result).toMatchObject({ structured: { answer: { uploadCount: 1, uploads: [{ uploadId: 'u3' }] } } });
  });

  test('a prefix that matches nothing is looked for in the list without a prefix, because some stores match whole keys only', async () => {
    const { result, urls } = await list([{}, all], { prefix: 'a/' });
    expect(urls).toEqual(['/b?max-uploads=1000&prefix=a%2F&uploads', '/b?max-uploads=1000&prefix=&uploads']);
    expect(result).toMatchObject({ structured: { answer: { uploadCount: 1, uploads: [{ object: 'a/1' }] } } });
  });

  test('a prefix that nothing has matches nothing', async () => {
    const { result, urls } = await list([{}, all], { prefix: 'q' });
    expect(urls).toHaveLength(2);
    expect(result).toMatchObject({ structured: { answer: { uploadCount: 0 }, warnings: [] } });
  });
});

describe('keys that XML cannot hold', () => {
  const plain: FakePage = { uploads: [['x\uFFFDy', '1']] };
  test('are asked for encoded, from the same place, and decoded', async () => {
    const { result, urls } = await list([plain, { uploads: [['x%07y+z', '1']], encodingType: 'url' }]);
    expect(urls).toEqual(['/b?max-uploads=1000&uploads', '/b?encoding-type=url&max-uploads=1000&uploads']);
    expect(result).toMatchObject({ structured: { answer: { uploadCount: 1, uploads: [{ object: 'x\u0007y z' }] } } });
  });

  test('stay as they are, and are found, if the store encodes nothing', async () => {
    const { result, urls } = await list([plain, plain], { prefix: 'x\u0007' });
    expect(urls).toHaveLength(2);
    expect(result).toMatchObject({ structured: { answer: { uploadCount: 1 } } });
  });
});

describe('ages', () => {
  const started = (time: string | undefined) =>
    `<ListMultipartUploadsResult><IsTruncated>false</IsTruncated><Upload><Key>k</Key><UploadId>u</UploadId>${element('Initiated', time)}</Upload></ListMultipartUploadsResult>`;
  async function listStarted(time: string | undefined, date = noon.toUTCString(), now = noon) {
    server = await startServer((_request, response) => {
      response.setHeader('date', date);
      response.end(started(time));
    });
    const caller = testCaller(server.origin, { policy: { ...openPolicy, extensions: ['s3'] }, now: () => now });
    const result = await caller.call(listMultipartUploads, { bucket: 'b', olderThanHours: 24 }, { signal: never });
    await caller.close();
    return result;
  }
  const old = { structured: { answer: { uploadCount: 1, countOfAnyAge: 1 } } };
  const unknown = {
    structured: { answer: { uploadCount: 0, countOfAnyAge: 1, unknownAgeCount: 1, unknownAge: [{ uploadId: 'u' }] } },
  };

  test.each(['2026-11-18T12:00:00Z', '2026-11-18T12:00:00', '2026-11-18 12:00:00', 'Wed, 18 Nov 2026 12:00:00 GMT'])(
    'are counted from %s',
    async (time) => {
      expect(await listStarted(time)).toMatchObject(old);
    },
  );

  test.each([undefined, '', '1970-01-01T00:00:00.000Z', '0001-01-01T00:00:00Z', 'long ago'])(
    'are unknown with the start %j, and the upload is shown apart',
    async (time) => {
      const result = await listStarted(time);
      expect(result).toMatchObject(unknown);
      expect(result.text).toMatch(/^No multipart upload .*Age unknown: 1 upload, and not among the old ones\./);
    },
  );

  test.each([
    ['the answer is from 1970', '2026-11-18T12:00:00Z', 'Thu, 01 Jan 1970 00:00:00 GMT', noon],
    ['this machine has another time', '2026-11-18T12:00:00Z', noon.toUTCString(), new Date('2026-11-20T13:00:00Z')],
    ['the upload is from the future', '2026-11-20T21:00:00Z', noon.toUTCString(), noon],
  ])('are unknown if %s', async (_what, time, date, now) => {
    const result = await listStarted(time, date, now);
    expect(result).toMatchObject(unknown);
    expect(result.text).toContain('differ by more than 15 minutes, so no age is given.');
    expect(result.text).not.toContain('ageHours');
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

test('a list that is longer than one call reads is told as far as it was read, with the place to go on', async () => {
  const caller = testCaller('http://127.0.0.1:1', {
    now: () => noon,
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
