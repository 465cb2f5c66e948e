import { describe, expect, test } from 'vitest';
import { awaitEnd, findPlanState, findStateOfPlan, type PlanState } from '../../src/calls/plan-state.js';
import { createPlans, type FoundPlan } from '../../src/consent/plans.js';
import { Refusal, refusalFailure } from '../../src/consent/refusal.js';
import { type ConsentClaims, createConsentTokens } from '../../src/consent/tokens.js';
import type { RecordedChange } from '../../src/journal/entry.js';
import { createMemoryPlanStore } from '../../src/journal/plan-store.js';
import { say } from '../../src/util/safe-text.js';
import { createMemoryJournal } from '../support/caller.js';
import { endingOf, intentAt } from '../support/journal.js';

/** Where a plan stands follows from what the store of plans and the journal have of it, and from the time. */

const start = Date.parse('2026-11-21T12:00:00Z');
const tenMinutes = 10 * 60_000;
const day = 24 * 60 * 60_000;
const claims = { use: 'plan', digest: 'd'.repeat(32), nonce: 'e'.repeat(16), issuedAt: start } as const;
const { time: _, consent: __, ...entry } = intentAt(start, { digest: 'this' });

const failure = refusalFailure('restore_instance', new Refusal('Declined', []), true);
const outcome = { kind: 'failed', failure } as const;
const stored: FoundPlan = {
  nonce: claims.nonce,
  digest: claims.digest,
  requestKey: 'this',
  repeats: false,
  issuedAt: start,
  tool: 'restore_instance',
  args: {},
  client: 'test 1',
  accept: say`Yes`,
  state: 'waiting',
  expiresAt: start + day,
  plan: {
    summary: say``,
    method: 'POST',
    url: '',
    headers: {},
    where: [],
    consequences: [],
    defaults: [],
    warnings: [],
    notChecked: [],
    risks: [],
  },
};
const sent = intentAt(start, { digest: 'this', nonce: claims.nonce });

interface Known {
  readonly plan?: Partial<FoundPlan>;
  /** What the journal has under the nonce; `gone` if it cannot be read. */
  readonly change?: Partial<RecordedChange> | 'gone';
  readonly afterMs?: number;
  readonly use?: ConsentClaims['use'];
}

const noPlans = createPlans({
  store: createMemoryPlanStore(),
  keys: () => ['k'.repeat(32)],
  now: () => new Date(start),
  lifetimeMs: day,
});

function sources({ plan, change, afterMs = 0 }: Known) {
  return {
    now: () => new Date(start + afterMs),
    plans: { ...noPlans, find: async () => plan && { ...stored, ...plan } },
    journal: {
      ...createMemoryJournal(),
      findByNonce: async () => {
        if (change === 'gone') throw new Error('gone');
        return change && { ...sent, ...change };
      },
    },
  };
}
const standing = (known: Known) => findStateOfPlan({ ...claims, use: known.use ?? 'plan' }, entry, sources(known));

const open = (expiresAt: number, isRedeemable: boolean) => ({
  kind: 'open',
  nonce: claims.nonce,
  isRedeemable,
  expiresAt,
});
const accepted = endingOf(start, sent.id, 'accepted');

test.each<readonly [string, Known, object]>([
  ['that nobody has kept', {}, open(start + tenMinutes, true)],
  ['on its last moment', { afterMs: tenMinutes }, open(start + tenMinutes, true)],
  ['that only a person can decide on', { use: 'handle' }, open(start + tenMinutes, false)],
  ['that waits', { plan: {} }, { ...open(start + day, true), plan: stored }],
  [
    'that waits, longer than its planId carries it out',
    { plan: {}, afterMs: tenMinutes + 1 },
    open(start + day, false),
  ],
  ['that waits, where the journal cannot be read', { plan: {}, change: 'gone' }, open(start + day, true)],
  ['that was decided on', { plan: { state: 'decided' } }, { kind: 'underWay' }],
  ['whose change has no outcome yet', { change: {} }, { kind: 'underWay' }],
  ['whose change has one', { change: { ending: accepted } }, { kind: 'ended', outcome: { kind: 'succeeded' } }],
  ['whose end is kept', { plan: { outcome }, change: { ending: accepted } }, { kind: 'ended', outcome }],
])('a plan %s', async (_what, known, expected) => {
  expect(await standing(known)).toMatchObject(expected);
});

test.each<readonly [string, Known, string]>([
  ['of another change', { plan: { requestKey: 'other', outcome } }, 'another change'],
  ['that carried out another change', { change: { digest: 'other', ending: accepted } }, 'another change'],
  ['that has expired', { afterMs: tenMinutes + 1 }, 'expired'],
  ['that waited until it expired', { plan: {}, afterMs: day + 1 }, 'expired'],
])('a plan %s is refused', async (_what, known, problem) => {
  const problems = [expect.stringContaining(problem)];
  await expect(standing(known)).rejects.toMatchObject({ code: 'PlanRefused', problems });
});

describe('a change that ended without being sent', () => {
  test.each([
    ['withdrawn', 'Withdrawn'],
    ['asked', 'Declined'],
  ] as const)('after it was %s, is told as %s', async (consent, code) => {
    const change = { consent, ending: endingOf(start, sent.id, 'declined') };
    expect(await standing({ change })).toMatchObject({ outcome: { failure: { code, mayHaveHappened: false } } });
  });
});

describe('a planId', () => {
  const now = () => new Date(start);
  const tokens = createConsentTokens(() => ['k'.repeat(32)], '', now);

  test('stands for the plan that it was issued for', async () => {
    expect(await findPlanState(tokens.issue(claims), entry, { ...sources({}), tokens })).toMatchObject({
      kind: 'open',
    });
  });

  test.each([
    ['of a question', tokens.issue({ ...claims, use: 'question' })],
    ['that nobody issued', 'x'.repeat(60)],
  ])('%s is refused', async (_what, planId) => {
    const problems = ['this server did not issue the planId, or it was altered'];
    const refused = findPlanState(planId, entry, { ...sources({}), tokens });
    await expect(refused).rejects.toMatchObject({ code: 'PlanRefused', problems });
  });

  test('that cannot be read for another reason is an error, not a forgery', async () => {
    const read = () => {
      throw new Error('out of memory');
    };
    await expect(findPlanState('', entry, { ...sources({}), tokens: { ...tokens, read } })).rejects.toThrow(
      'out of memory',
    );
  });
});

describe('waiting for the end of a plan', () => {
  const waits: PlanState = { kind: 'open', nonce: claims.nonce, isRedeemable: false, expiresAt: start };
  const ended: PlanState = { kind: 'ended', outcome };
  const underWay: PlanState = { kind: 'underWay' };
  /** Each standing is what one look finds; the last is repeated. */
  async function wait(standings: readonly PlanState[], waitMs: number, isOver: () => boolean) {
    let looks = 0;
    const find = async () => {
      const standing = standings[Math.min(looks, standings.length - 1)];
      looks += 1;
      if (standing === undefined) throw new Error('no standing');
      return standing;
    };
    const { kind } = await awaitEnd(find, ['open'], waitMs, isOver);
    return [kind, looks];
  }

  test.each<readonly [string, readonly PlanState[], number, () => boolean, readonly [string, number]]>([
    ['is over with it', [waits, ended], 5000, () => false, ['ended', 2]],
    ['is over when it cannot become what is waited for', [underWay], 5000, () => false, ['underWay', 1]],
    ['is over when the time is up', [waits], 1000, () => false, ['open', 3]],
    ['takes no time where there is none', [waits, ended], 0, () => false, ['open', 1]],
    ['is over when nobody wants to know', [waits, ended], 5000, () => true, ['open', 1]],
  ])('%s', async (_what, standings, waitMs, isOver, expected) => {
    expect(await wait(standings, waitMs, isOver)).toEqual(expected);
  });
});
