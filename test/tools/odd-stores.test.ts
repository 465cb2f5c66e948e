import { afterEach, describe, expect, test } from 'vitest';
import { listMultipartUploads } from '../../src/tools/list-multipart-uploads.js';
import { listParts } from '../../src/tools/list-parts.js';
import { never, testCaller } from '../support/caller.js';
import { type CapturingServer, startServer } from '../support/http-server.js';
import { openPolicy } from '../support/operations.js';

/** Answers that S3-compatible stores really give, and that S3 would not. */

const noon = new Date('2026-11-20T12:00:00Z');
let server: CapturingServer | undefined;
afterEach(() => server?.close());

async function call(operation: typeof listParts | typeof listMultipartUploads, args: object, xml: string) {
  server = await startServer((_request, response) => {
    response.setHeader('date', noon.toUTCString());
    response.end(xml);
  });
  const caller = testCaller(server.origin, { policy: { ...openPolicy, extensions: ['s3'] }, now: () => noon });
  const result = await caller.call(operation, { bucket: 'b', ...args }, { signal: never });
  await caller.close();
  if (!('structured' in result)) throw new Error('the call did not end with an answer');
  const { structured, text } = result;
  return { structured, text, warnings: structured.warnings.map(String) };
}

const part = (number: string, size: string, minutesAgo = 600) =>
  `<Part>${number && `<PartNumber>${number}</PartNumber>`}<LastModified>${new Date(+noon - minutesAgo * 60_000).toISOString()}</LastModified><Size>${size}</Size></Part>`;
const partsOf = (...parts: readonly string[]) =>
  call(
    listParts,
    { object: 'o', uploadId: 'u' },
    `<ListPartsResult><Key>o</Key><UploadId>u</UploadId><IsTruncated>false</IsTruncated>${parts.join('')}</ListPartsResult>`,
  );

const upload = (key: string, rest: string) => `<Upload><Key>${key}</Key>${rest}</Upload>`;
const uploadsOf = (uploads: readonly string[], args = {}) =>
  call(
    listMultipartUploads,
    args,
    `<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>${uploads.join('')}</ListMultipartUploadsResult>`,
  );

describe('sizes of parts', () => {
  test.each(['8388608', ' 8388608\n', '8388608.0', '8.388608e+06'])('%j is read', async (size) => {
    const { structured } = await partsOf(part('1', size));
    expect(structured).toMatchObject({ answer: { totalBytes: 8_388_608 } });
  });

  test.each(['', '-1', 'unknown', '8 MiB'])('%j is unknown, and the upload has stopped all the same', async (size) => {
    const { structured, text } = await partsOf(part('1', '8388608'), part('2', size));
    expect(structured).toMatchObject({ answer: { partCount: 2, stopped: true } });
    expect(structured.answer).not.toHaveProperty('totalBytes');
    expect(text).toContain('2 parts, an unknown size');
    expect(text).toContain('It seems to have stopped 10 h ago.');
    expect(text).toContain('if they want the upload gone, call abort_multipart_upload.');
  });
});

test('an upload that goes on with parts of unknown size has a last activity and no rate', async () => {
  const minutesAgo = Array.from({ length: 20 }, (_, index) => 20 - index);
  const { structured, text } = await partsOf(...minutesAgo.map((at, index) => part(String(index + 1), '?', at)));
  expect(text).toContain('The last part came 60 s ago, the first one 20 min ago.');
  expect(structured.answer).not.toHaveProperty('bytesPerSecond');
});

test('a part without a readable number is not silently dropped', async () => {
  const { structured, warnings } = await partsOf(part('1', '8388608'), part('', '8388608'), part('x', '8388608'));
  expect(structured).toMatchObject({ answer: { partCount: 1 } });
  expect(warnings).toContain('Left out: 2 elements without a readable part number.');
});

test('elements with the names of this server’s own fields say nothing', async () => {
  const { structured } = await partsOf('<View>parts</View><Percent>100</Percent>', part('1', '8388608'));
  expect(structured).toMatchObject({ answer: { view: 'summary', partCount: 1 } });
  expect(structured.answer).not.toHaveProperty('percent');
});

test('an upload without an ID is not silently dropped', async () => {
  const { structured, warnings } = await uploadsOf([upload('a', '<UploadId>1</UploadId>'), upload('b', '')]);
  expect(structured).toMatchObject({ answer: { uploadCount: 1 } });
  expect(warnings).toContain('Left out: 1 element without a readable object key or upload ID.');
});

test('a key that the store cannot write exactly is said to be inexact', async () => {
  const { warnings } = await uploadsOf([upload('a\uFFFDb', '<UploadId>1</UploadId>')]);
  expect(warnings.join()).toContain('Some keys are not exact');
});

describe('the bytes of open uploads', () => {
  const sized = (key: string, size: string, at = '2026-11-20T09:00:00Z') =>
    upload(key, `<UploadId>1</UploadId><Initiated>${at}</Initiated><Size>${size}</Size>`);

  test('are given if the store gives the size of each', async () => {
    const { structured, text } = await uploadsOf([sized('a', '1048576'), sized('b', '2097152')]);
    expect(structured).toMatchObject({ answer: { totalBytes: 3_145_728, uploads: [{ size: 1_048_576 }, {}] } });
    expect(text).toContain('Together they have 3.0 MiB.');
  });

  test('are those of the uploads that are old enough', async () => {
    const young = sized('b', '2097152', '2026-11-20T11:59:00Z');
    const { structured } = await uploadsOf([sized('a', '1048576'), young], { olderThanHours: 1 });
    expect(structured).toMatchObject({ answer: { uploadCount: 1, totalBytes: 1_048_576 } });
  });

  test.each(['', '-1', 'x'])('are left out if one size is %j', async (size) => {
    const { structured } = await uploadsOf([sized('a', '1048576'), sized('b', size)]);
    expect(structured.answer).not.toHaveProperty('totalBytes');
  });
});
