import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  type ConsentTokens,
  createConsentTokens,
  InvalidToken,
  newNonce,
  tokenLifetimeMs,
} from '../../src/consent/tokens.js';
import { runs } from '../support/runs.js';

const key = 'k'.repeat(32);
const issuedAt = Date.parse('2026-11-21T12:00:00Z');
const at = (milliseconds: number) => () => new Date(issuedAt + milliseconds);
const digest = 'd1'.repeat(16);
const nonce = '0123456789abcdef';
const { issue, verify }: Omit<ConsentTokens, 'read'> = {
  issue: (claims) => createConsentTokens(() => [key], 'alice', at(0)).issue(claims),
  verify: (token) => createConsentTokens(() => [key], 'alice', at(0)).verify(token),
};
let token = '';
beforeEach(() => {
  token = issue({ use: 'plan', digest, nonce });
});

const reason = (attempt: () => unknown): string => {
  try {
    attempt();
    return 'accepted';
  } catch (error) {
    return error instanceof InvalidToken ? error.message : 'another error';
  }
};

test.each(['plan', 'question', 'handle'] as const)(
  'a %s comes back as it was issued, in 60 characters for URLs',
  (use) => {
    const issued = issue({ use, digest, nonce });
    expect(issued).toMatch(/^[\w-]{60}$/);
    expect(verify(issued)).toEqual({ use, digest, nonce, issuedAt });
  },
);

test('whatever was signed comes back', () => {
  const hex = (length: number) =>
    fc.uint8Array({ minLength: length, maxLength: length }).map((bytes) => Buffer.from(bytes).toString('hex'));
  fc.assert(
    fc.property(fc.constantFrom('plan', 'question', 'handle'), hex(16), hex(8), (use, bound, once) => {
      const claims = verify(issue({ use, digest: bound, nonce: once }));
      expect(claims).toEqual({ use, digest: bound, nonce: once, issuedAt });
    }),
    { numRuns: runs(1000) },
  );
});

test('its time is rounded down, by less than 16 ms', () => {
  const time = fc.date({ min: new Date('2020-01-01'), max: new Date('2109-01-01'), noInvalidDate: true });
  fc.assert(
    fc.property(fc.constantFrom('plan', 'question', 'handle'), time, (use, date) => {
      const tokens = createConsentTokens(
        () => [key],
        '',
        () => date,
      );
      const claims = tokens.verify(tokens.issue({ use, digest, nonce }));
      expect(claims.use).toBe(use);
      const rounding = date.getTime() - claims.issuedAt;
      expect(rounding >= 0 && rounding < 16).toBe(true);
    }),
    { numRuns: runs(1000) },
  );
});

test('a token with any bit altered is refused', () => {
  for (const use of ['plan', 'question', 'handle'] as const) {
    const bytes = Buffer.from(issue({ use, digest, nonce }), 'base64url');
    expect(bytes).toHaveLength(45);
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const altered = Buffer.from(bytes);
      altered[bit >> 3] = (altered[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(
        reason(() => verify(altered.toString('base64url'))),
        `bit ${bit} of a ${use}`,
      ).toBe('forged');
    }
  }
});

test('a token that is cut, longer, empty or none at all is refused', () => {
  for (let length = 0; length < token.length; length += 1)
    expect(reason(() => verify(token.slice(0, length)))).toBe('forged');
  for (const other of [`${token}AAAA`, `AAAA${token}`, token + token, 'token', '!'.repeat(60), 'A'.repeat(60)])
    expect(reason(() => verify(other))).toBe('forged');
});

test('a token that was copied with the space around it is accepted', () => {
  expect(verify(`\n ${token} \t`)).toMatchObject({ nonce });
});

describe('a token holds for ten minutes', () => {
  test.each([
    [0, 'accepted'],
    [tokenLifetimeMs, 'accepted'],
    [tokenLifetimeMs + 1, 'expired'],
    [24 * 60 * 60 * 1000, 'expired'],
  ])('after %i ms: %s', (later, expected) => {
    expect(reason(() => createConsentTokens(() => [key], 'alice', at(later)).verify(token))).toBe(expected);
  });

  test('ten minutes are 600,000 ms', () => expect(tokenLifetimeMs).toBe(600_000));

  test('one that was altered is forged even when it has expired', () => {
    const later = createConsentTokens(() => [key], 'alice', at(tokenLifetimeMs + 1));
    expect(reason(() => later.verify(`A${token.slice(1, -1)}${token.endsWith('A') ? 'B' : 'A'}`))).toBe('forged');
  });
});

test.each([
  ['another key', 'K'.repeat(32), 'alice'],
  ['another caller', key, 'bob'],
  ['no caller', key, ''],
  ['a caller whose name begins the same', key, 'alice2'],
])('a token is refused with %s', (_what, otherKey, caller) => {
  expect(reason(() => createConsentTokens(() => [otherKey], caller, at(0)).verify(token))).toBe('forged');
});

test('of several keys the first one signs and all of them verify, so that a key can be replaced', () => {
  const next = 'n'.repeat(32);
  const rolled = createConsentTokens(() => [next, key], 'alice', at(0));
  expect(rolled.verify(token).digest).toBe(createConsentTokens(() => [key], 'alice', at(0)).verify(token).digest);
  const made = rolled.issue({ use: 'plan', digest: '0'.repeat(32), nonce: newNonce() });
  expect(createConsentTokens(() => [next], 'alice', at(0)).verify(made).use).toBe('plan');
  expect(reason(() => createConsentTokens(() => [key], 'alice', at(0)).verify(made))).toBe('forged');
});

test('planIds may have keys of their own, which are no keys of what proves consent', () => {
  const own = 'p'.repeat(32);
  const both = createConsentTokens(
    () => [key],
    'alice',
    at(0),
    () => [own],
  );
  const [onlyKey, onlyOwn] = [key, own].map((one) => createConsentTokens(() => [one], 'alice', at(0)));
  for (const use of ['plan', 'question', 'handle'] as const) {
    const issued = both.issue({ use, digest, nonce });
    const [byKey, byOwn] = [onlyKey, onlyOwn].map((tokens) => reason(() => tokens?.verify(issued)));
    expect([byKey, byOwn], use).toEqual(use === 'plan' ? ['forged', 'accepted'] : ['accepted', 'forged']);
    expect(both.verify(issued).use).toBe(use);
  }
});

test('no two nonces are the same', () => {
  const nonces = Array.from({ length: 1000 }, newNonce);
  expect(new Set(nonces).size).toBe(1000);
  for (const one of nonces) expect(one).toMatch(/^[0-9a-f]{16}$/);
});
