import { describe, expect, test } from 'vitest';
import { PlanClaim } from '../../src/calls/approve-change.js';
import type { Plans } from '../../src/consent/plans.js';
import { Refusal, refusalFailure } from '../../src/consent/refusal.js';
import { testCaller } from '../support/caller.js';

/** The stored plan that a call decides on: it is claimed for one decision, and gets the outcome of that call alone. */

const tool = 'restore_instance';
const decision = { kind: 'accepted', person: 'bob', at: 0 } as const;
const outcome = { kind: 'failed', failure: refusalFailure(tool, new Refusal('PlanRefused', []), false) } as const;

function setUp(claim: Plans['claim']) {
  const settled: Parameters<Plans['settle']>[] = [];
  const logged: unknown[][] = [];
  const settle: Plans['settle'] = async (...settling) => void settled.push(settling);
  const plans = { ...testCaller('').plans, claim, settle };
  return { plan: new PlanClaim({ plans, log: (...event) => logged.push(event) }, tool), settled, logged };
}

test('a claimed plan gets the outcome of its call', async () => {
  const { plan, settled } = setUp(async () => 'claimed');
  await plan.claim('n-1', decision);
  await plan.settle(outcome);
  expect(settled).toEqual([['n-1', outcome]]);
});

test('a plan that was not claimed, or is not stored, gets no outcome', async () => {
  const { plan, settled } = setUp(async () => 'unknown');
  await plan.settle(outcome);
  await plan.claim('n-1', decision);
  await plan.settle(outcome);
  expect(settled).toEqual([]);
});

test('a plan that another decision claimed first refuses this one, and keeps its outcome', async () => {
  const { plan, settled } = setUp(async () => 'taken');
  const error = await plan.claim('n-1', decision).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(Refusal);
  expect(error).toMatchObject({ code: 'AlreadyDecided', problems: [] });
  await plan.settleError(error);
  expect(settled).toEqual([]);
});

test('plans that cannot be written end the call before anything is sent', async () => {
  const { plan, settled, logged } = setUp(() => Promise.reject(Object.assign(new Error('MARKER'), { code: 'ENOSPC' })));
  await expect(plan.claim('n-1', decision)).rejects.toMatchObject({ code: 'StateUnavailable' });
  await plan.settle(outcome);
  expect(settled).toEqual([]);
  expect(logged).toEqual([
    [expect.any(String), expect.any(String), expect.objectContaining({ tool, error: 'ENOSPC' })],
  ]);
});

describe('an error after the claim', () => {
  const settledAfter = async (error: unknown) => {
    const { plan, settled } = setUp(async () => 'claimed');
    await plan.claim('n-1', decision);
    await plan.settleError(error);
    return settled;
  };

  test('is the outcome of the plan if it is a refusal', async () => {
    const failure = { code: 'BudgetSpent', mayHaveHappened: false };
    expect(await settledAfter(new Refusal('BudgetSpent', []))).toMatchObject([['n-1', { kind: 'failed', failure }]]);
  });

  test.each([
    ['the refusal of another decision', new Refusal('AlreadyDecided', [])],
    ['an error of the program', new Error('fault')],
  ])('is not if it is %s', async (_what, error) => {
    expect(await settledAfter(error)).toEqual([]);
  });
});
