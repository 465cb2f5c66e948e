import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { decompress } from '../../src/transport/http-client.js';

const text = '<ListPartsResult><IsTruncated>false</IsTruncated></ListPartsResult>';
const limit = 10_000;
const read = (body: Buffer, headers: Record<string, string>) => decompress(body, headers, limit).toString();
const xml = { 'content-type': 'text/xml; charset=utf-8' };

test.each([
  ['gzip', gzipSync(text)],
  ['Gzip', gzipSync(text)],
  ['X-GZIP', gzipSync(text)],
  ['deflate', deflateSync(text)],
  ['BR', brotliCompressSync(text)],
  ['br, gzip', gzipSync(brotliCompressSync(text))],
  ['aws-chunked,gzip', gzipSync(text)],
  ['identity', Buffer.from(text)],
])('content-encoding %s is undone', (coding, body) => {
  expect(read(body, { 'content-encoding': coding })).toBe(text);
});

test('a proxy may have undone gzip and left the header', () => {
  expect(read(Buffer.from(text), { 'content-encoding': 'gzip' })).toBe(text);
});

test.each([
  ['gzip', gzipSync(Buffer.alloc(limit + 1))],
  ['deflate', deflateSync(Buffer.alloc(limit + 1))],
  ['br', brotliCompressSync(Buffer.alloc(limit + 1))],
])('%s beyond the limit is refused', (coding, body) => {
  expect(() => read(body, { ...xml, 'content-encoding': coding })).toThrow(
    expect.objectContaining({ code: 'ERR_BUFFER_TOO_LARGE' }),
  );
});

test('an empty body stays empty', () => {
  expect(read(Buffer.alloc(0), { 'content-encoding': 'gzip' })).toBe('');
});

test('compressed bytes that are damaged are no answer', () => {
  expect(() => read(gzipSync(text).subarray(0, 20), { ...xml, 'content-encoding': 'gzip' })).toThrow();
});
