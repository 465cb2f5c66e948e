import { expect, test } from 'vitest';
import { type ActionToken, createActionTokens } from '../../src/consent/action-tokens.js';
import { createSeal } from '../../src/util/seal.js';

/** A ticket holds the call that a click is for. It opens for the caller that it was sealed for, for ten minutes. */

const key = 'k'.repeat(32);
const start = Date.parse('2026-11-21T12:00:00Z');
const ticket: ActionToken = {
  tool: 'restore_instance',
  args: { instanceId: 'wiki' },
  claims: { digest: 'd'.repeat(32), nonce: 'n'.repeat(16), issuedAt: start },
};
const tickets = (caller = 'alice', afterMs = 0, keys: readonly [string, ...string[]] = [key]) =>
  createActionTokens(
    () => keys,
    caller,
    () => new Date(start + afterMs),
  );
const sealed = tickets().seal(ticket);
const tenMinutes = 10 * 60_000;

test('comes back as it was, to every server with the key', () => {
  expect(tickets().open(sealed)).toEqual({ token: ticket, isExpired: false });
  expect(tickets('alice', 0, ['n'.repeat(32), key]).open(sealed)?.token).toEqual(ticket);
});

test.each<readonly [string, ReturnType<typeof tickets>]>([
  ['another caller', tickets('bob')],
  ['a server with another key', tickets('alice', 0, ['l'.repeat(32)])],
])('is forged for %s', (_who, other) => {
  expect(other.open(sealed)).toBeUndefined();
});

test.each([
  [tenMinutes, false],
  [tenMinutes + 1, true],
  [365 * 24 * 3_600_000, true],
])('at the age of %i ms it opens, and has expired: %s', (age, isExpired) => {
  expect(tickets('alice', age).open(sealed)).toEqual({ token: ticket, isExpired });
});

test.each<readonly [string, string]>([
  ['nothing', ''],
  ['no JSON', 'ticket'],
  ['another version: no tool', JSON.stringify({ ...ticket, tool: undefined })],
  ['another version: other arguments', JSON.stringify({ ...ticket, args: 'none' })],
  ['another version: other claims', JSON.stringify({ ...ticket, claims: { ...ticket.claims, nonce: 1 } })],
])('what holds %s is none, though it was sealed here', (_what, text) => {
  const use = { purpose: 'cloudops change ticket', associatedData: 'alice', longest: 1000 };
  const odd = createSeal(() => [key], use).seal(text);
  expect(tickets().open(odd)).toBeUndefined();
});

test('of another purpose, or longer than any call that can be shown, it is none', () => {
  const other = createSeal(() => [key], { purpose: 'another', associatedData: 'alice', longest: 1000 });
  expect(tickets().open(other.seal(JSON.stringify(ticket)))).toBeUndefined();
  const withText = (length: number) => tickets().seal({ ...ticket, args: { text: 'x'.repeat(length) } });
  expect(tickets().open(withText(150_000))?.token.args).toHaveProperty('text');
  expect(tickets().open(withText(250_000))).toBeUndefined();
});
