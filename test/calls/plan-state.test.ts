import { describe, expect, test } from 'vitest';
import { awaitEnd, readClaims, stateByClaims, stateUnavailable } from '../../src/calls/plan-state.js';
import { createPlans, type FoundPlan } from '../../src/consent/plans.js';
import { Refusal, refusalFailure } from '../../src/calls/refusal.js';
import { type ConsentClaims, createConsentTokens } from '../../src/consent/tokens.js';
import type { Ending, RecordedChange } from '../../src/journal/entry.js';
import { createMemoryPlanStore } from '../../src/journal/plan-store.js';
import { say } from '../../src/util/safe-text.js';
import { createMemoryJournal, never } from '../support/caller.js';
import { endingOf, intentAt } from '../support/journal.js';
import { keptPlanAt } from '../support/kept-plan.js';
import { callOf } from '../support/planned-call.js';

/** Where a plan stands follows from what the store of plans and the journal have of it, and from the time. */

const start = Date.parse('2026-11-21T12:00:00Z');
const tenMinutes = 10 * 60_000;
const day = 24 * 60 * 60_000;
const claims = { use: 'plan', digest: 'd'.repeat(32), nonce: 'e'.repeat(16), issuedAt: start } as const;
const { time: _, consent: __, ...draft } = intentAt(start, { digest: 'this' });
const asking = {
  draft,
  call: {
    ...callOf({ backupId: 'a', instanceId: 'wiki' }),
    followTool: undefined,
    verificationHint: say`the server`,
  },
};

const failure = refusalFailure('restore_instance', new Refusal('Declined', []), { isChange: true });
const outcome = { kind: 'failed', failure } as const;
const stored: FoundPlan = {
  ...keptPlanAt(start, { nonce: claims.nonce, digest: claims.digest, requestKey: 'this' }),
  state: 'waiting',
  expiresAt: start + day,
};
const sent = intentAt(start, { digest: 'this', nonce: claims.nonce });

interface Known {
  readonly plan?: Partial<FoundPlan>;
  /** What the journal has under the nonce; `gone` if it cannot be read. */
  readonly change?: Partial<RecordedChange> | 'gone';
  /** True if the plans cannot be read. */
  readonly plansAreGone?: boolean;
  readonly afterMs?: number;
  readonly use?: ConsentClaims['use'];
}

const noPlans = createPlans({
  store: createMemoryPlanStore(),
  keys: () => ['k'.repeat(32)],
  now: () => new Date(start),
  lifetimeMs: day,
});

function sources({ plan, change, plansAreGone = false, afterMs = 0 }: Known) {
  return {
    now: () => new Date(start + afterMs),
    plans: {
      ...noPlans,
      find: async (_nonce: string) => {
        if (plansAreGone) throw new Error('gone');
        return plan && { ...stored, ...plan };
      },
    },
    journal: {
      ...createMemoryJournal(),
      findByNonce: async () => {
        if (change === 'gone') throw new Error('gone');
        return change && { ...sent, ...change };
      },
    },
  };
}
const standing = (known: Known) => stateByClaims({ ...claims, use: known.use ?? 'plan' }, asking, sources(known));

const open = (expiresAt: number, isRedeemable: boolean, isStored = false) => ({
  kind: 'waiting',
  isRedeemable,
  expiresAt,
  isStored,
});
const accepted = endingOf(start, sent.id, 'accepted');
/** A text as an assertion compares it. */
const asText = (text: string) => expect.objectContaining({ text });

test.each<readonly [string, Known, object]>([
  ['that nobody has kept', {}, open(start + tenMinutes, true)],
  ['on its last moment', { afterMs: tenMinutes }, open(start + tenMinutes, true)],
  ['that only a person can decide on', { use: 'handle' }, open(start + tenMinutes, false)],
  ['that waits', { plan: {} }, open(start + day, true, true)],
  [
    'that waits, longer than its planId carries it out',
    { plan: {}, afterMs: tenMinutes + 1 },
    open(start + day, false, true),
  ],
  ['that waits, where the journal cannot be read', { plan: {}, change: 'gone' }, open(start + day, true, true)],
  ['that was decided on', { plan: { state: 'decided' } }, { kind: 'underWay' }],
  [
    'that was accepted',
    { plan: { state: 'decided', decision: { kind: 'accepted', at: start } }, afterMs: 5 * 60_000 },
    { kind: 'underWay', hasNotBegun: false },
  ],
  [
    'that was accepted, and whose change has not begun in five minutes',
    { plan: { state: 'decided', decision: { kind: 'accepted', at: start } }, afterMs: 5 * 60_000 + 1 },
    { kind: 'underWay', hasNotBegun: true },
  ],
  [
    'that was accepted so long ago that the journal may have forgotten its change',
    { plan: { state: 'decided', decision: { kind: 'accepted', at: start } }, afterMs: day - 1 },
    { kind: 'underWay', hasNotBegun: false },
  ],
  [
    'that was declined, which the journal does not have',
    {
      plan: { state: 'decided', decision: { kind: 'declined', person: 'bob', at: start, reason: 'no' } },
      afterMs: 5000,
    },
    {
      kind: 'ended',
      person: 'bob',
      isSettling: false,
      outcome: { kind: 'failed', failure: { code: 'Declined', mayHaveHappened: false } },
    },
  ],
  [
    'that was withdrawn a moment ago, which the journal does not have yet',
    { plan: { state: 'decided', decision: { kind: 'withdrawn', at: start } }, afterMs: 4999 },
    { kind: 'ended', isSettling: true, outcome: { kind: 'failed', failure: { code: 'Withdrawn' } } },
  ],
  [
    'that was declined after its change had begun',
    { plan: { state: 'decided', decision: { kind: 'declined', at: start } }, change: {} },
    { kind: 'underWay' },
  ],
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

test.each<readonly [string, Known]>([
  ['that may have been sent, if the journal cannot be read', { change: 'gone' }],
  ['that was decided on, if the journal cannot be read', { plan: { state: 'decided' }, change: 'gone' }],
  ['whose store cannot be read', { plansAreGone: true, change: { ending: accepted } }],
])('a plan %s has no known state, and is not taken for open', async (_what, known) => {
  await expect(standing(known)).rejects.toThrow('gone');
});

test('an unknown state is logged with its error, and told without a word about whether the change was sent', () => {
  const logged: unknown[] = [];
  const log = (...line: unknown[]) => logged.push(line);
  const error = Object.assign(new Error('MARKER'), { code: 'ECONNREFUSED' });
  const refusal = stateUnavailable(error, 'restore_instance', log, 'the planId');
  const failure = refusalFailure('restore_instance', refusal, { isChange: true });
  expect(failure).toMatchObject({ code: 'StateUnavailable', planId: 'the planId', problems: ['ECONNREFUSED'] });
  expect(failure).not.toHaveProperty('mayHaveHappened');
  expect(failure.summary.text).not.toContain('not sent');
  expect(logged).toEqual([['error', 'journal', { tool: 'restore_instance', error: 'ECONNREFUSED' }]]);
  const known = new Refusal('PlanRefused', []);
  expect(stateUnavailable(known, 'restore_instance', log)).toBe(known);
  expect(logged).toHaveLength(1);
});

describe('what the journal has of an ended change is told without the answer of the cloud', () => {
  const requestIds = { 'x-request-id': 'r-1' };
  const ended = (outcome: Ending['outcome'], more: Partial<Ending> = {}, change: Partial<RecordedChange> = {}) =>
    standing({ change: { ...change, ending: { ...endingOf(start, sent.id, outcome), requestIds, ...more } } });
  const tells = (failure: object) => ({ kind: 'ended', outcome: { kind: 'failed', failure } });

  test('accepted, in whole or in part', async () => {
    const inWhole = await ended('accepted');
    expect(inWhole).toMatchObject({
      outcome: { kind: 'succeeded', success: { outcome: 'accepted', requestIds, sentAt: '2026-11-21T12:00:00.000Z' } },
    });
    expect(inWhole).not.toHaveProperty('outcome.success.failed');
    expect(JSON.stringify(inWhole)).toContain('accepted this earlier: ');
    const inPart = await ended('accepted', { failed: { count: 2, codes: ['AccessDenied'] } });
    expect(inPart).toMatchObject({
      outcome: {
        success: { outcome: 'partly', failed: { count: 2, codes: ['"AccessDenied"'].map(asText), names: [] } },
      },
    });
    expect(JSON.stringify(inPart)).toContain('but 2 of its entries failed');
  });

  test.each<[string, Ending['outcome'], Partial<Ending>, object]>([
    [
      'rejected',
      'rejected',
      { status: 409, code: 'Conflict' },
      { code: 'Http409', status: 409, mayHaveHappened: false, problems: ['its code in the journal is "Conflict"'] },
    ],
    ['rejected, without status and code', 'rejected', {}, { code: 'Http', mayHaveHappened: false, problems: [] }],
    ['unknown', 'unknown', { code: 'ProcessEnded' }, { code: 'OutcomeUnknown', mayHaveHappened: true }],
  ])('%s', async (_what, outcome, more, { problems, ...failure }: { problems?: readonly string[] }) => {
    const state = await ended(outcome, more);
    expect(state).toMatchObject(tells({ ...failure, requestIds }));
    if (problems !== undefined) expect(state).toHaveProperty('outcome.failure.problems', problems.map(asText));
  });

  test.each<[string, Partial<RecordedChange>, string, readonly string[]]>([
    ['withdrawn', { consent: 'withdrawn' }, 'Withdrawn', []],
    ['declined by a program', { consent: 'program' }, 'NobodyAsked', []],
    ['declined', { consent: 'asked' }, 'Declined', ['this plan was declined']],
    [
      'declined with a reason',
      { consent: 'asked', reason: 'too large' },
      'Declined',
      ['this plan was declined', 'the person gave this reason: "too large"'],
    ],
    ['declined by somebody else', { consent: 'page', approver: 'bob' }, 'Declined', ['this plan was declined']],
  ])('%s', async (_what, change, code, problems) => {
    const state = await ended('declined', {}, change);
    expect(state).toMatchObject(tells({ code, mayHaveHappened: false }));
    expect(state).toHaveProperty('outcome.failure.problems', problems.map(asText));
    const byAnother = JSON.stringify(state).includes('somebody other than the user');
    expect(byAnother).toBe(change.approver !== undefined);
  });

  test('an outcome may get the answer of the cloud for five seconds, if the plan is stored', async () => {
    const ending = accepted;
    const settles = async (known: Known) => Object(await standing({ change: { ending }, ...known })).isSettling;
    expect(await settles({ plan: { state: 'decided' }, afterMs: 4999 })).toBe(true);
    expect(await settles({ plan: { state: 'decided' }, afterMs: 5000 })).toBe(false);
    expect(await settles({ afterMs: 4999 })).toBe(false);
  });
});

describe('a planId', () => {
  const now = () => new Date(start);
  const tokens = createConsentTokens(() => ['k'.repeat(32)], '', now);

  test('has the claims that it was issued with', () => {
    expect(readClaims(tokens.issue(claims), tokens)).toMatchObject(claims);
  });

  test.each([
    ['of a question', tokens.issue({ ...claims, use: 'question' })],
    ['that nobody issued', 'x'.repeat(60)],
  ])('%s has no claims', (_what, planId) => {
    expect(readClaims(planId, tokens)).toBeUndefined();
  });

  test('that cannot be read for another reason is an error, not a forgery', () => {
    const read = () => {
      throw new Error('out of memory');
    };
    expect(() => readClaims('', { ...tokens, read })).toThrow('out of memory');
  });
});

describe('waiting for the end of a plan', () => {
  const waits: Known = { plan: {} };
  const ended: Known = { plan: { outcome } };
  const underWay: Known = { plan: { state: 'decided' } };
  const gone: Known = { plansAreGone: true };
  const refused: Known = { plan: { requestKey: 'other' } };
  /** Each element is what one look finds; the last is repeated. */
  async function wait(found: readonly Known[], statusWaitMs: number, signal: AbortSignal) {
    let looks = 0;
    const plans = {
      ...noPlans,
      find: (nonce: string) => {
        const known = found[Math.min(looks, found.length - 1)];
        looks += 1;
        return sources(known ?? gone).plans.find(nonce);
      },
    };
    const given = { ...sources({}), plans, statusWaitMs };
    const end = await awaitEnd(claims, asking, ['waiting'], { signal }, given).catch((error: Error) => ({
      kind: error.message,
    }));
    return [end.kind, looks];
  }

  test.each<readonly [string, readonly Known[], number, AbortSignal, readonly [string, number]]>([
    ['is over with it', [waits, ended], 5000, never, ['ended', 2]],
    ['is over when it cannot become what is waited for', [underWay], 5000, never, ['underWay', 1]],
    ['is over when the time is up', [waits], 1000, never, ['waiting', 3]],
    ['takes no time where there is none', [waits, ended], 0, never, ['waiting', 1]],
    ['is over when nobody wants to know', [waits, ended], 5000, AbortSignal.abort(), ['waiting', 1]],
    ['goes on after a look that fails', [waits, gone, gone, ended], 5000, never, ['ended', 4]],
    ['fails if the last look fails', [waits, gone], 1000, never, ['gone', 3]],
    ['is over with a refusal', [waits, refused], 5000, never, ['PlanRefused', 2]],
  ])('%s', async (_what, found, waitMs, signal, expected) => {
    expect(await wait(found, waitMs, signal)).toEqual(expected);
  });
});
