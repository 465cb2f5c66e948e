import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createSeal, type SealUse } from '../../src/util/seal.js';

const use: SealUse = { purpose: 'test', associatedData: 'ann', longest: 1000 };
const key = 'k'.repeat(32);
const seal = createSeal(() => [key], use);

test('any text opens again with the same key, purpose and associated data', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 100 }), (text) => {
      expect(seal.open(seal.seal(text))).toBe(text);
    }),
  );
});

test('the same text never looks the same, and says nothing of itself', () => {
  expect(seal.seal('text')).not.toBe(seal.seal('text'));
  expect(Buffer.from(seal.seal('text'), 'base64url').toString('latin1')).not.toContain('text');
});

describe('nothing else opens it', () => {
  test.each([
    ['another key', createSeal(() => ['l'.repeat(32)], use)],
    ['another purpose', createSeal(() => [key], { ...use, purpose: 'other' })],
    ['other associated data', createSeal(() => [key], { ...use, associatedData: 'bob' })],
  ])('%s', (_name, other) => {
    expect(other.open(seal.seal('text'))).toBeUndefined();
  });

  test('after one byte was altered, anywhere', () => {
    const bytes = Buffer.from(seal.seal('text'), 'base64url');
    for (const at of bytes.keys()) {
      const altered = Buffer.from(bytes);
      altered.writeUInt8(altered.readUInt8(at) ^ 1, at);
      expect(seal.open(altered.toString('base64url'))).toBeUndefined();
    }
  });

  test.each(['', 'A', 'not base64 at all', 'A'.repeat(2000)])('%j was never sealed', (sealed) => {
    expect(seal.open(sealed)).toBeUndefined();
  });

  test('a text that is longer than any that is sealed', () => {
    expect(seal.open(seal.seal('t'.repeat(1000)))).toBeUndefined();
  });
});

test('of several keys the first one seals and all of them open, so that a key can be replaced', () => {
  const both = createSeal(() => ['n'.repeat(32), key], use);
  expect(both.open(seal.seal('old'))).toBe('old');
  expect(createSeal(() => ['n'.repeat(32)], use).open(both.seal('new'))).toBe('new');
  expect(seal.open(both.seal('new'))).toBeUndefined();
});
