import { expect, test } from 'vitest';
import { abandonedMs } from '../../src/journal/conflict.js';
import type { Journal } from '../../src/journal/journal.js';
import { intentAt } from '../support/journal.js';

/** When the changes of the fixture were made. */
const time = Date.parse('2026-11-22T12:00:00Z');
const outcomes = ['accepted', 'rejected', 'unknown', 'not sent', undefined];

/** What a build has to find in a journal of the first release, whose entries do not name the format of their keys. */
export function testFirstRelease(open: (now: () => Date) => Journal): void {
  test('is read, refuses every change while its entries are recent and says until when, and is written on', async () => {
    let present = time + 60_000;
    const journal = open(() => new Date(present));
    const begin = (changes: object, allowRepeat = false) => journal.begin(intentAt(present, changes), { allowRepeat });
    const listed = await journal.list({});
    expect(listed.slice(-outcomes.length).map(({ ending }) => ending?.outcome)).toEqual(outcomes);
    // One of them has no ending, so that it may still be under way.
    const refused = { kind: 'unwritable', reason: expect.stringContaining('refused until 2026-11-22T14:00:00.000Z') };
    expect(await begin({ digest: 'other' }, true)).toEqual(refused);
    await expect(journal.healthCheck()).rejects.toThrow('refused until 2026-11-22T14:00:00.000Z');
    present = time + abandonedMs + 1;
    const kinds: string[] = [];
    for (const number of [1, 2, 3, 4, 5])
      kinds.push((await begin({ digest: `${number}`.repeat(64), nonce: `later-${number}` })).kind);
    expect(kinds).toEqual(['begun', 'begun', 'begun', 'begun', 'duplicate']);
    expect((await begin({ digest: 'new', nonce: 'nonce-1' }, true)).kind).toBe('consentUsed');
    expect(await journal.listUnfinished()).toHaveLength(5);
    const budget = { mostChanges: 4, windowMs: 3 * abandonedMs };
    expect(await journal.budgetState('b'.repeat(64), budget)).toEqual({ left: 1 });
    await journal.close();
  }, 240_000);
}
