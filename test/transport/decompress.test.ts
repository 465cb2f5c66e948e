import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
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
  ['deflate', deflateRawSync(text)],
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

describe('gzip that no header names', () => {
  test.each(['application/xml', 'text/xml; charset=utf-8', 'application/json', 'application/problem+json', ''])(
    'is undone for the type %j',
    (type) => {
      expect(read(gzipSync(text), { 'content-type': type })).toBe(text);
    },
  );

  test.each(['application/gzip', 'application/octet-stream', 'application/x-tar'])('stays for the type %j', (type) => {
    const body = gzipSync(text);
    expect(decompress(body, { 'content-type': type }, limit)).toEqual(body);
  });
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

describe.each(['gzip', 'deflate', 'br'])('a service that says %s and does not compress', (coding) => {
  test.each(['<?xml version="1.0"?><a/>', '{"a":1}', '\n <html></html>'])('is read: %j', (plain) => {
    expect(read(Buffer.from(plain), { ...xml, 'content-encoding': coding })).toBe(plain);
  });
});

test('compressed bytes that are damaged are no answer', () => {
  expect(() => read(gzipSync(text).subarray(0, 20), { ...xml, 'content-encoding': 'gzip' })).toThrow();
});
