import { createHash } from 'node:crypto';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.js';
import { listParts } from '../../src/tools/list-parts.js';
import { never, testCaller } from '../support/caller.js';
import { addUpload } from '../support/sandbox.js';

/** What an upload of 10,000 parts costs an agent to read (o200k), however the parts lie. */

let sandbox: Sandbox;
let caller: ReturnType<typeof testCaller>;
beforeAll(async () => {
  sandbox = await startSandbox({ now: () => new Date() });
  caller = testCaller('', { cloud: sandbox.cloud });
});
afterAll(async () => {
  await caller.close();
  await sandbox.close();
});

const key = `backups/${'very/'.repeat(30)}long 日本語 key.tar.gz`;
const etag = (number: number) => createHash('md5').update(String(number)).digest('hex');
const random = (number: number) => Number.parseInt(etag(number).slice(0, 8), 16);

/** 10,000 parts with a size and a place in time each. */
const upload = (uploadId: string, numberOf: (index: number) => number, sizeOf: (index: number) => number) => {
  const parts = Array.from({ length: 10_000 }, (_, index) => ({
    partNumber: numberOf(index),
    size: sizeOf(index),
    etag: etag(index),
    lastModified: new Date(Date.now() - 1e7 + index * 997).toISOString(),
  }));
  addUpload(sandbox, { bucket: 'tokens', key, uploadId }, parts);
  return { bucket: 'tokens', object: key, uploadId, expectedBytes: 9e13, expectedParts: 12_000 };
};

test.each([
  ['all in a row', (index: number) => index + 1, () => 8_388_608],
  ['every size different', (index: number) => index + 1, (index: number) => random(index)],
  ['every second one missing', (index: number) => 2 * index + 1, () => 8_388_608],
  [
    'gaps at random, sizes at random, most too small',
    (index: number) => 10 * index + (random(index) % 9),
    (index: number) => random(index) % 5_300_000,
  ],
] as const)('%s: the summary stays under 1,500 tokens, as text and as data', async (name, numberOf, sizeOf) => {
  const result = await caller.call(listParts, upload(name, numberOf, sizeOf), { signal: never });
  const [text, data] = [encode(result.text).length, encode(JSON.stringify(result.ok && result.structured)).length];
  process.stdout.write(`tokens of 10,000 parts, ${name}: text ${text}, data ${data}\n`);
  expect(result).toMatchObject({ ok: true, structured: { answer: { partCount: 10_000 }, warnings: [] } });
  expect(Math.max(text, data)).toBeLessThan(1500);
});

test('a page of single parts fits into the budget of 16,000 characters, ends before 8,000 tokens and gives the marker to go on from', async () => {
  const {
    expectedBytes: _,
    expectedParts: __,
    ...args
  } = upload(
    'page',
    (index) => index + 1,
    (index) => random(index),
  );
  const result = await caller.call(listParts, { ...args, maxParts: 1000 }, { signal: never });
  const {
    parts = [],
    nextPartNumberMarker,
    isTruncated,
  } = (result.ok ? result.structured.answer : {}) as {
    parts?: unknown[];
    nextPartNumberMarker?: number;
    isTruncated?: boolean;
  };
  const [text, data] = [encode(result.text).length, encode(JSON.stringify(result.ok && result.structured)).length];
  process.stdout.write(`tokens of a page of ${parts.length} parts: text ${text}, data ${data}\n`);
  expect(parts.length).toBeGreaterThan(100);
  expect(result).not.toHaveProperty('structured.leftOut');
  expect([isTruncated, nextPartNumberMarker]).toEqual([true, parts.length]);
  expect(Math.max(text, data)).toBeLessThan(8000);
});
