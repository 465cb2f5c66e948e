import { beforeEach, describe, expect, test } from 'vitest';
import type { CallContext, CallOutcome } from '../../src/calls/context.js';
import { writeScope } from '../../src/calls/policy.js';
import { createPlans } from '../../src/consent/plans.js';
import type { ConsentMode } from '../../src/changes/required-consent.js';
import { createConsentTokens } from '../../src/consent/tokens.js';
import { createMemoryPlanStore } from '../../src/journal/plan-store.js';
import { provisionKubeResourceGroup } from '../../src/tools/provision-kube-resource-group.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { createMemoryJournal, never, testCaller } from '../support/caller.js';
import { accepted } from '../support/decisions.js';
import { answered, scriptedClient } from '../support/scripted-client.js';

/** What a caller learns who comes back with a planId. */

const args = { backupId: 'a'.repeat(32), instanceId: 'one' };
const hour = 60 * 60_000;
const key = 'k'.repeat(32);
let time = Date.now();
beforeEach(() => {
  time = Date.now();
});
const now = () => new Date(time);

function setUp(
  confirm: ConsentMode,
  { journal = createMemoryJournal(), statusWaitMs = 0, beforeSettling = Promise.resolve() } = {},
) {
  const { openClient, requests } = scriptedClient(async () =>
    answered(200, { instance: { instanceId: 'one', publicIpAddress: '192.0.2.7' } }),
  );
  const stored = createPlans({ store: createMemoryPlanStore(), keys: () => [key], now, lifetimeMs: 24 * hour });
  const settle: typeof stored.settle = (...end) => beforeSettling.then(() => stored.settle(...end));
  const plans = { ...stored, settle };
  const addressOf = (nonce: string) => `https://cloudops.example.com/decisions/${nonce}`;
  const page = { kind: 'signIn', addressOf, announce: () => undefined } as const;
  const caller = testCaller('http://127.0.0.1:1', { confirm, openClient, journal, now, plans, page, statusWaitMs });
  const call = (given: object = {}, context: Partial<CallContext> = {}, name = 'alice') =>
    caller.carryOut(
      restoreInstance,
      { ...args, ...given },
      {
        tokens: createConsentTokens(() => [key], name, now),
        principal: { name, scopes: [writeScope] },
        client: 'test 1',
        signal: never,
        ...context,
      },
    );
  /** A plan, and what its planId says later. */
  const planned = async (context: Partial<CallContext> = {}) => {
    const { planId = '' } = successOf(await call({}, context));
    time += 3000;
    const [plan] = await plans.list();
    if (plan === undefined) throw new Error('no plan waits');
    const { digest, nonce, issuedAt, repeats } = plan;
    const onClaim = () => undefined;
    const decide = (decision: 'accept' | 'decline') =>
      call({}, { click: { decision, claims: { digest, nonce, issuedAt }, page: { person: 'bob', repeats, onClaim } } });
    return { planId, plan, decide, ask: (given: object = {}) => call({ planId, ...given }) };
  };
  return { call, plans, planned, journal, requests, carryOut: caller.carryOut };
}

const successOf = (outcome: CallOutcome) => {
  if (outcome.kind !== 'succeeded') throw new Error(`the call ended as ${JSON.stringify(outcome)}`);
  return outcome.success;
};
const refused = (code: string) => ({ kind: 'failed', failure: { code, mayHaveHappened: false } });
const decidedBefore = { kind: 'failed', failure: { code: 'AlreadyDecided' } };

describe.each(['human', 'approval'] as const)('%s: a plan that waits on the page', (mode) => {
  test('has a link, and a planId that tells where it stands and carries nothing out', async () => {
    const { call, planned, requests } = setUp(mode);
    const first = successOf(await call());
    expect(first).toMatchObject({
      outcome: 'waiting',
      planId: expect.stringMatching(/^[\w-]{60}$/),
      decideAt: expect.stringMatching(/^https:\/\/cloudops\.example\.com\/decisions\/[0-9a-f]{16}$/),
      planExpires: new Date(time + 24 * hour).toISOString(),
    });
    const { ask } = await planned();
    const whom = mode === 'approval' ? 'somebody other than the user' : 'a person who signs in';
    expect(successOf(await ask())).toMatchObject({
      summary: expect.stringContaining(`waits for ${whom}`),
      outcome: 'waiting',
      decideAt: expect.any(String),
    });
    time += 23 * hour;
    expect(successOf(await ask({ planOnly: true }))).toMatchObject({ outcome: 'waiting' });
    expect(requests).toEqual([]);
  });

  test('tells the whole answer after it was agreed to, until it expires', async () => {
    const { planned, requests, journal } = setUp(mode);
    const { ask, decide } = await planned();
    expect(await decide('accept')).toMatchObject({ kind: 'succeeded', success: { outcome: 'accepted' } });
    expect(successOf(await ask())).toMatchObject({
      outcome: 'accepted',
      consent: expect.stringContaining('page'),
      answer: { instance: { publicIpAddress: '192.0.2.7' } },
    });
    expect(await journal.list({})).toMatchObject([{ caller: 'alice', approver: 'bob', consent: 'page' }]);
    expect(requests).toHaveLength(1);
    time += 24 * hour;
    const later = successOf(await ask());
    expect(later).toMatchObject({ outcome: 'accepted' });
    expect(later).not.toHaveProperty('answer');
  });

  test('is told with the answer of the cloud, or without it once nobody can be about to keep that', async () => {
    let settle: () => void = () => undefined;
    const beforeSettling = new Promise<void>((resolve) => {
      settle = resolve;
    });
    const { planned, journal } = setUp(mode, { beforeSettling, statusWaitMs: 20_000 });
    const { ask, decide } = await planned();
    const decided = decide('accept');
    await expect.poll(async () => (await journal.list({}))[0]?.ending?.outcome).toBe('accepted');
    time += 5000;
    expect(successOf(await ask())).not.toHaveProperty('answer');
    time -= 5000;
    const told = ask();
    settle();
    await decided;
    expect(successOf(await told)).toHaveProperty('answer');
  });

  test('tells that it was declined, and is not decided again', async () => {
    const { planned, requests } = setUp(mode);
    const { ask, decide } = await planned();
    expect(await decide('decline')).toMatchObject(refused('Declined'));
    expect(await ask()).toMatchObject(refused('Declined'));
    expect(await decide('accept')).toMatchObject(decidedBefore);
    expect(requests).toEqual([]);
  });

  test('is decided by one of two people', async () => {
    const { planned, requests } = setUp(mode);
    const { decide } = await planned();
    const outcomes = await Promise.all([decide('accept'), decide('accept')]);
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(['failed', 'succeeded']);
    expect(requests).toHaveLength(1);
  });

  test('is taken back by its caller, which is no refusal of a person', async () => {
    const { call, planned, plans, requests } = setUp(mode);
    for (const _ of [1, 2, 3, 4]) {
      const { ask, decide } = await planned();
      expect(successOf(await ask({ withdraw: true })).outcome).toBe('withdrawn');
      expect(await ask({ withdraw: true })).toMatchObject({ kind: 'failed' });
      expect(await decide('accept')).toMatchObject(decidedBefore);
      for (const { nonce } of await plans.list()) expect(await plans.claim(nonce, accepted)).toBe('taken');
      time += 25 * hour;
    }
    expect(successOf(await call()).outcome).toBe('waiting');
    expect(requests).toEqual([]);
  });

  test('is nothing to another caller, and for no other change', async () => {
    const { call, planned, requests } = setUp(mode);
    const { planId } = await planned();
    for (const given of [{}, { withdraw: true }])
      expect(await call({ planId, ...given }, {}, 'mallory')).toMatchObject(refused('PlanRefused'));
    expect(await call({ planId, instanceId: 'two' })).toMatchObject(refused('PlanRefused'));
    expect(requests).toEqual([]);
  });
});

test('a caller has twenty plans that wait at most', async () => {
  const { call, plans } = setUp('approval');
  for (let index = 0; index < 20; index += 1) successOf(await call({ instanceId: `server-${index}` }));
  expect(await call({ instanceId: 'one-more' })).toMatchObject(refused('TooManyWaiting'));
  expect(successOf(await call({ instanceId: 'one-more' }, {}, 'carol')).outcome).toBe('waiting');
  expect(await plans.list()).toHaveLength(21);
});

test('a plan that is too long to be stored is refused as too long', async () => {
  const { call, plans } = setUp('approval');
  plans.add = async () => 'tooLong';
  expect(await call()).toMatchObject({
    failure: {
      code: 'TooLargeToShow',
      summary: expect.objectContaining({
        text: expect.stringContaining('its plan is too long to wait for a decision'),
      }),
    },
  });
});

test('a plan with a secret by value waits nowhere', async () => {
  const { carryOut, plans } = setUp('approval');
  const outcome = await carryOut(provisionKubeResourceGroup, provisionKubeResourceGroup.example, {
    tokens: createConsentTokens(() => [key], '', now),
    client: 'test 1',
    signal: never,
  });
  expect(outcome).toMatchObject(refused('SecretByValue'));
  expect(await plans.list()).toEqual([]);
});

test('a question about a plan waits for the decision', async () => {
  const { planned } = setUp('approval', { statusWaitMs: 20_000 });
  const { ask, decide } = await planned();
  const asked = ask();
  await decide('decline');
  expect(await asked).toMatchObject(refused('Declined'));
});

test('a click in a chat is no approval', async () => {
  const { call, planned, requests } = setUp('approval');
  const { plan } = await planned();
  const { digest, nonce, issuedAt } = plan;
  const click = { decision: 'accept', claims: { digest, nonce, issuedAt } } as const;
  expect(await call({}, { click })).toMatchObject(refused('PlanRefused'));
  expect(requests).toEqual([]);
});

test('what the journal alone knows is told without the answer', async () => {
  const { call, requests } = setUp('plan');
  const { planId } = successOf(await call());
  expect(successOf(await call({ planId }))).toMatchObject({ outcome: 'accepted', answer: expect.any(Object) });
  const told = successOf(await call({ planId }));
  expect(told).toMatchObject({ outcome: 'accepted', warnings: ['The answer of the cloud was not kept.'] });
  expect(told).not.toHaveProperty('answer');
  expect(requests).toHaveLength(1);
});
