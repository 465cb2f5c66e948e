import { beforeEach, describe, expect, test } from 'vitest';
import { recordDeclinedVisit, unendedAnswer, withdrawPlan } from '../../src/calls/plan-status.js';
import { createPlans, type Plans } from '../../src/consent/plans.js';
import { createRefusals } from '../../src/consent/refusals.js';
import { createMemoryPlanStore } from '../../src/journal/plan-store.js';
import { say } from '../../src/util/safe-text.js';
import { createMemoryJournal } from '../support/caller.js';
import { accepted } from '../support/decisions.js';
import { intentAt } from '../support/journal.js';
import { keptPlanAt } from '../support/kept-plan.js';

/** What a call is told of a plan that waits, and what ends one without anything sent: that is recorded, and happens once. */

const tool = 'restore_instance';
const nonce = '0123456789abcdef';
const start = Date.parse('2026-11-21T12:00:00Z');
const now = () => new Date(start);
const log = () => undefined;
const waiting = keptPlanAt(start, { nonce, digest: 'd', caller: 'alice', client: 'c' });

let journal: ReturnType<typeof createMemoryJournal>;
let plans: Plans;
beforeEach(() => {
  journal = createMemoryJournal(now);
  plans = createPlans({ store: createMemoryPlanStore(), keys: () => ['k'.repeat(32)], now, lifetimeMs: 60_000 });
});

/** Ends the plan. The journal's entry of it has another ID at each attempt. */
const ends = {
  withdrawn: (id: string, with_ = plans) =>
    withdrawPlan(nonce, draft(id), { plans: with_, refusals: refusals(), now, log }),
  declined: (id: string, with_ = plans) =>
    recordDeclinedVisit(nonce, draft(id), { plans: with_, refusals: refusals(), now, log }).catch(
      (error: unknown) => error,
    ),
};
const draft = (id: string) => intentAt(start, { id, tool, digest: 'd', caller: 'alice', client: 'c' });
const refusals = () =>
  createRefusals(
    journal,
    plans,
    now,
    () => 'again',
    () => undefined,
  );

describe('a plan that nobody has decided on', () => {
  const open = { kind: 'waiting', isRedeemable: true, expiresAt: start + 60_000, isStored: false } as const;
  const waitsFor = { whom: say`a person`, decideAt: 'https://cloudops.example.com/decisions/1/' };

  test('waits until it expires, with where to decide if it is kept there', () => {
    expect(unendedAnswer(tool, 'p', { ...open, isStored: true }, waitsFor)).toMatchObject({
      kind: 'succeeded',
      success: {
        outcome: 'waiting',
        planId: 'p',
        planExpires: '2026-11-21T12:01:00.000Z',
        decideAt: waitsFor.decideAt,
        next: { who: 'user', action: 'decide' },
      },
    });
  });

  test('waits for a decision, if it is not said whose', () => {
    const summary = expect.objectContaining({ text: `This plan of ${tool} still waits for a decision.` });
    expect(unendedAnswer(tool, undefined, open)).toMatchObject({ success: { outcome: 'waiting', summary } });
  });

  test.each([
    ['that is kept nowhere', { ...open }, waitsFor],
    ['where there is no page', { ...open, isStored: true }, { whom: say`a person` }],
    ['that is under way', { kind: 'underWay' }, waitsFor],
  ] as const)('has no address %s', (_what, standing, given) => {
    expect(unendedAnswer(tool, 'p', standing, given)).not.toHaveProperty('success.decideAt');
  });

  test.each([
    ['waits', { ...open }],
    ['is under way', { kind: 'underWay' }],
  ] as const)('has no planId in the answer to a call without one: it %s', (_what, state) => {
    const { success } = Object(unendedAnswer(tool, undefined, state, waitsFor));
    expect(Object.keys(success)).not.toContain('planId');
  });

  test('has no time and no decision left while it is carried out', () => {
    const { success } = Object(unendedAnswer(tool, undefined, { kind: 'underWay' }));
    expect(success).toMatchObject({ outcome: 'waiting', next: { who: 'agent', action: 'wait' } });
    expect(Object.keys(success)).not.toEqual(expect.arrayContaining([expect.stringMatching(/^plan/)]));
  });
});

describe.each([
  [
    'withdrawn',
    { kind: 'succeeded', success: { outcome: 'withdrawn', next: { who: 'nobody' } } },
    'withdrawn',
    'Withdrawn',
  ],
  ['declined', { code: 'Declined', problems: ['the user declined to open the page'] }, 'asked', 'Declined'],
] as const)('a plan that is %s', (how, told, consent, code) => {
  const end = ends[how];

  test('is told, is in the journal as declined, and tells whoever asks about it', async () => {
    await plans.add(waiting);
    expect(await end('c-1')).toMatchObject(told);
    expect(await journal.findByNonce(nonce)).toMatchObject({ id: 'c-1', consent, ending: { outcome: 'declined' } });
    expect(await plans.find(nonce)).toMatchObject({
      state: 'decided',
      outcome: { kind: 'failed', failure: { code } },
    });
  });

  test('is ended as well if it is kept nowhere', async () => {
    expect(await end('c-1')).toMatchObject(told);
    expect(await journal.findByNonce(nonce)).toMatchObject({ consent });
  });

  test('and cannot tell what became of it, is ended all the same', async () => {
    const full = { ...createMemoryPlanStore(), update: () => Promise.reject(new Error('the disk is full')) };
    const mute = createPlans({ store: full, keys: () => ['k'.repeat(32)], now, lifetimeMs: 60_000 });
    await mute.add(waiting);
    expect(await end('c-1', mute)).toMatchObject(told);
    await mute.close();
  });

  test('was not, if the plans cannot be written, and the journal gets nothing', async () => {
    await plans.add(waiting);
    const failing = { ...plans, claim: () => Promise.reject(new Error('the disk is full')) };
    const ended = Promise.resolve(end('c-1', failing)).catch((error: unknown) => error);
    expect(await ended).toMatchObject({ code: 'StateUnavailable' });
    expect(await journal.findByNonce(nonce)).toBeUndefined();
    expect(await plans.find(nonce)).toMatchObject({ state: 'waiting' });
  });

  test('was not, if somebody has decided on it', async () => {
    await plans.add(waiting);
    await plans.claim(nonce, accepted);
    const again = Promise.resolve(end('c-1')).catch((error: unknown) => error);
    expect(await again).toMatchObject({ code: 'AlreadyDecided', problems: [] });
    expect(await journal.findByNonce(nonce)).toBeUndefined();
  });

  test('was not, if the journal knows of a decision', async () => {
    await end('c-1');
    const again = Promise.resolve(end('c-2')).catch((error: unknown) => error);
    expect(await again).toMatchObject({ code: 'AlreadyDecided', problems: [] });
    expect(await journal.findByNonce(nonce)).toMatchObject({ id: 'c-1' });
  });
});
