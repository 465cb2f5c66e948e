import { expect, test } from 'vitest';
import type { Journal } from '../../src/journal/journal.js';
import { intentAt } from '../support/journal.js';

/** When the changes of the fixture were made. */
const time = Date.parse('2026-11-22T12:00:00Z');
const outcomes = ['accepted', 'rejected', 'unknown', 'not sent', undefined];

/** What a build has to find in a journal of the first release, a minute later. */
export function testFirstRelease(open: (now: () => Date) => Journal): void {
  test('is read, stands in the way of the same changes, and is written on', async () => {
    const later = time + 60_000;
    const journal = open(() => new Date(later));
    const listed = await journal.list({});
    expect(listed.slice(0, outcomes.length).map(({ ending }) => ending?.outcome)).toEqual(outcomes);
    const kinds: string[] = [];
    for (const number of [1, 2, 3, 4, 5]) {
      const intent = intentAt(later, { digest: `${number}`.repeat(64), nonce: `other-${number}` });
      kinds.push((await journal.begin(intent, { allowRepeat: false })).kind);
    }
    expect(kinds).toEqual(['duplicate', 'begun', 'duplicate', 'begun', 'duplicate']);
    const again = await journal.begin(intentAt(later, { digest: 'new', nonce: 'nonce-1' }), { allowRepeat: true });
    expect(again.kind).toBe('consentUsed');
    expect(await journal.listUnfinished()).toHaveLength(3);
    const budget = { mostChanges: 4, windowMs: 3_600_000 };
    expect(await journal.budgetState('b'.repeat(64), budget)).toEqual({ left: 1 });
    await journal.close();
  }, 240_000);
}
