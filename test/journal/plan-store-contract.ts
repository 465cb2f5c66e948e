import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { PlanStore } from '../../src/journal/plan-store.js';

/** The promises of every store of plans that wait. */
export function describePlanStore(name: string, setUp: () => () => PlanStore): void {
  const expiresAt = Date.parse('2026-11-21T12:00:00Z');
  const plan = (changes: object = {}) => ({
    ...{ nonce: randomBytes(8).toString('hex'), owner: randomBytes(8).toString('hex'), expiresAt, sealed: 'sealed' },
    ...changes,
  });

  describe(`plans ${name}`, () => {
    test('come back as they were added, to every process', async () => {
      const open = setUp();
      const [one, other] = [plan(), plan()];
      for (const each of [one, other]) expect(await open().add(each, 20)).toBe(true);
      expect(await open().find(one.nonce)).toMatchObject({ ...one, state: 'waiting' });
      expect((await open().list()).map(({ nonce }) => nonce)).toEqual(expect.arrayContaining([one.nonce, other.nonce]));
      expect(await open().find('0'.repeat(16))).toBeUndefined();
    });

    test('are listed for one owner, waiting and decided', async () => {
      const open = setUp();
      const owner = 'b'.repeat(16);
      const [waiting, decided] = [plan({ owner }), plan({ owner })];
      for (const each of [plan(), waiting, decided]) await open().add(each, 20);
      await open().claim(decided.nonce, 'claimed');
      const listed = (await open().list(owner)).map(({ nonce }) => nonce);
      expect(listed.sort()).toEqual([waiting.nonce, decided.nonce].sort());
    });

    test('are bounded for each owner, without those that were decided', async () => {
      const open = setUp();
      const plans = [1, 2, 3].map(() => plan({ owner: 'a'.repeat(16) }));
      const added = [];
      for (const each of plans) added.push(await open().add(each, 2));
      expect(added).toEqual([true, true, false]);
      expect(await open().add(plan(), 2)).toBe(true);
      expect(await open().claim(plans[0]?.nonce ?? '', 'claimed')).toBe(true);
      expect(await open().add(plan({ owner: 'a'.repeat(16) }), 2)).toBe(true);
    });

    test('are bounded for each owner, however many come at once', async () => {
      const store = setUp()();
      const plans = Array.from({ length: 12 }, () => plan({ owner: 'a'.repeat(16) }));
      const added = await Promise.all(plans.map((each) => store.add(each, 5)));
      expect(added.filter(Boolean)).toHaveLength(5);
    });

    test('that were decided are bounded for each owner: the last to expire are kept, and all that wait', async () => {
      const store = setUp()();
      const owner = 'a'.repeat(16);
      const [waiting, another] = [plan({ owner }), plan()];
      for (const each of [waiting, another]) await store.add(each, 20);
      await store.claim(another.nonce, 'claimed');
      const plans = Array.from({ length: 105 }, (_, index) => plan({ owner, expiresAt: expiresAt + index }));
      for (const each of plans) {
        await store.add(each, 20);
        await store.claim(each.nonce, 'claimed');
      }
      const kept = (await store.list()).map(({ nonce }) => nonce);
      expect(kept).toEqual(expect.arrayContaining([waiting.nonce, another.nonce, plans.at(-1)?.nonce]));
      expect(kept).not.toContain(plans[0]?.nonce);
      // What is added last is decided after the others were counted.
      expect(kept.length).toBeLessThanOrEqual(103);
    });

    test('are counted while they wait, and have not expired', async () => {
      const open = setUp();
      const [decided, expired] = [plan(), plan({ expiresAt: expiresAt - 1 })];
      for (const each of [plan(), plan(), decided, expired]) await open().add(each, 20);
      await open().claim(decided.nonce, 'claimed');
      expect(await open().countWaiting(expiresAt)).toBe(2);
    });

    test('are claimed by one of many', async () => {
      const open = setUp();
      const one = plan();
      await open().add(one, 20);
      const claims = await Promise.all(Array.from({ length: 10 }, () => open().claim(one.nonce, 'claimed')));
      expect(claims.filter(Boolean)).toHaveLength(1);
      expect(await open().claim('0'.repeat(16), 'claimed')).toBe(false);
      expect(await open().find(one.nonce)).toMatchObject({ state: 'decided', sealed: 'claimed' });
    });

    test('keep what became of them once they are decided, not before', async () => {
      const open = setUp();
      const one = plan();
      await open().add(one, 20);
      await open().update('0'.repeat(16), 'of no plan');
      await open().update(one.nonce, 'too early');
      expect(await open().find(one.nonce)).toMatchObject({ sealed: 'sealed' });
      await open().claim(one.nonce, 'claimed');
      await open().update(one.nonce, 'the end');
      expect(await open().find(one.nonce)).toMatchObject({ sealed: 'the end', state: 'decided' });
    });

    test('are erased at their end, decided or not', async () => {
      const open = setUp();
      const [waiting, decided, later] = [plan(), plan(), plan({ expiresAt: expiresAt + 1000 })];
      for (const each of [waiting, decided, later]) await open().add(each, 20);
      await open().claim(decided.nonce, 'claimed');
      await open().eraseBefore(expiresAt);
      expect(await open().list()).toHaveLength(3);
      await open().eraseBefore(expiresAt + 1);
      expect((await open().list()).map(({ nonce }) => nonce)).toEqual([later.nonce]);
    });
  });
}
