import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import * as z from 'zod';
import type { Journal } from '../../src/journal/journal.js';
import { keptCaller, keptCalls, keptTime } from '../support/kept-version.js';

/** The planIds that the first server of this format of keys issued for the calls of the fixture. */
const readPlanIds = () =>
  z
    .object({ carriedOut: z.string(), waiting: z.string() })
    .parse(JSON.parse(readFileSync('test/fixtures/journal/format-1.plan-ids.json', 'utf8')));

/**
 * What every later version has to find in the journal of this version, a minute later. If this fails because the idempotency key changed,
 * raise `keyFormat`, and keep this journal as one of an older version. If planIds changed, people lose the plans that they look at.
 */
export function testKeptVersion(open: (now: () => Date) => Journal): void {
  test('recognises its changes, and carries out its plans once', async () => {
    const planIds = readPlanIds();
    const now = () => new Date(keptTime + 60_000);
    const journal = open(now);
    await journal.healthCheck();
    expect((await journal.list({})).map(({ ending }) => ending?.outcome)).toEqual(['accepted']);
    const withoutConsent = keptCaller(journal, now, 'off');
    const repeated = await withoutConsent.restore(keptCalls.carriedOut);
    expect(repeated).toMatchObject({ ok: false, failure: { code: 'Repeated', mayHaveHappened: false } });
    const { restore, requests } = keptCaller(journal, now, 'plan');
    const accepted = { ok: true, structured: { outcome: 'accepted' } };
    expect(await restore({ ...keptCalls.carriedOut, planId: planIds.carriedOut })).toMatchObject(accepted);
    expect(requests).toEqual([]);
    const waiting = { ...keptCalls.waiting, planId: planIds.waiting };
    for (const _ of ['sent', 'told']) expect(await restore(waiting)).toMatchObject(accepted);
    expect([withoutConsent.requests.length, requests.length]).toEqual([0, 1]);
    await journal.close();
  }, 60_000);
}
