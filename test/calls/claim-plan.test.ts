import { describe, expect, test } from 'vitest';
import { claimPlan, settlePlan } from '../../src/calls/claim-plan.js';
import type { EndedOutcome } from '../../src/calls/outcome.js';
import type { Plans } from '../../src/consent/plans.js';
import { Refusal, refusedChange } from '../../src/calls/refusal.js';
import { testCaller } from '../support/caller.js';

/** The stored plan that a call decides on: it is claimed for one decision, and gets the outcome of that call alone. */

const tool = 'restore_instance';
const nonce = 'n-1';
const record = { consent: 'page', nonce, approver: 'bob', reason: 'too large' } as const;
const outcome = refusedChange(tool, new Refusal('PlanRefused', []));

/** Decides on a plan. The end of the work is its outcome or its error. */
async function decide(claim: Plans['claim'], end: EndedOutcome | Error = outcome) {
  const settled: Parameters<Plans['settle']>[] = [];
  const logged: unknown[][] = [];
  const settle: Plans['settle'] = async (...settling) => void settled.push(settling);
  let runs = 0;
  const work = async () => {
    runs += 1;
    if (end instanceof Error) throw end;
    return end;
  };
  const dependencies = {
    plans: { ...testCaller('').plans, claim, settle },
    now: () => new Date(5),
    log: (...event: unknown[]) => void logged.push(event),
  };
  const result = await claimPlan({ kind: 'accepted', record }, tool, dependencies)
    .then((claimedNonce) => settlePlan(claimedNonce, tool, work, dependencies))
    .catch((error: unknown) => error);
  return { result, settled, logged, runs };
}

test('a claimed plan gets the decision, and then the outcome of its call', async () => {
  const claims: unknown[] = [];
  const { result, settled } = await decide(async (...claim) => {
    claims.push(claim);
    return 'claimed';
  });
  expect(claims).toEqual([[nonce, { kind: 'accepted', person: 'bob', at: 5, reason: 'too large' }]]);
  expect(result).toBe(outcome);
  expect(settled).toEqual([[nonce, outcome]]);
});

test('a plan that is not stored gets no outcome', async () => {
  const { result, settled } = await decide(async () => 'unknown');
  expect(result).toBe(outcome);
  expect(settled).toEqual([]);
});

test('a plan that another decision claimed first refuses this one, and keeps its outcome', async () => {
  const { result, settled, runs } = await decide(async () => 'taken');
  expect(result).toBeInstanceOf(Refusal);
  expect(result).toMatchObject({ code: 'AlreadyDecided', problems: [] });
  expect({ settled, runs }).toEqual({ settled: [], runs: 0 });
});

test('plans that cannot be written end the call before anything is sent', async () => {
  const claim = () => Promise.reject(Object.assign(new Error('MARKER'), { code: 'ENOSPC' }));
  const { result, settled, runs, logged } = await decide(claim);
  expect(result).toMatchObject({ code: 'StateUnavailable' });
  expect({ settled, runs }).toEqual({ settled: [], runs: 0 });
  expect(logged).toEqual([
    [expect.any(String), expect.any(String), expect.objectContaining({ tool, error: 'ENOSPC' })],
  ]);
});

describe('an error after the claim', () => {
  test('is the outcome of the plan if it is a refusal', async () => {
    const refusal = new Refusal('BudgetSpent', []);
    const failure = { code: 'BudgetSpent', mayHaveHappened: false };
    const { result, settled } = await decide(async () => 'claimed', refusal);
    expect(result).toBe(refusal);
    expect(settled).toMatchObject([[nonce, { kind: 'failed', failure }]]);
  });

  test.each([
    ['the refusal of another decision', new Refusal('AlreadyDecided', [])],
    ['an error of the program', new Error('fault')],
  ])('is not if it is %s', async (_what, error) => {
    const { result, settled } = await decide(async () => 'claimed', error);
    expect(result).toBe(error);
    expect(settled).toEqual([]);
  });
});
