import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { CallContext } from '../../src/calls/context.js';
import type { Elicitor, UserReply } from '../../src/changes/elicitor.js';
import { type ConsentClaims, createConsentTokens } from '../../src/consent/tokens.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { createMemoryJournal, never, testCaller } from '../support/caller.js';
import { type CapturingServer, startServer } from '../support/http-server.js';

/** What a person's "no" is worth: it is written down, spends the question, and ends the asking after a few. */

const backupId = 'a'.repeat(32);
const start = Date.parse('2026-11-21T12:00:00Z');
const minute = 60_000;

let cloud: CapturingServer;
let time: number;
let asked: number;
beforeEach(async () => {
  cloud = await startServer((_request, response) => response.end('{"instance":{}}'));
  time = start;
  asked = 0;
});
afterEach(() => cloud.close());

const noTokens = {
  issue: () => {
    throw new Error('not to be called');
  },
  verify: () => {
    throw new Error('not to be called');
  },
  read: () => {
    throw new Error('not to be called');
  },
};

/** Asks while the call runs; the person takes two seconds. */
const person = (kind: UserReply['kind'], afterMs = 2000): Elicitor => ({
  ask: async () => {
    asked += 1;
    time += afterMs;
    return { kind };
  },
});

function setUp(journal = createMemoryJournal()) {
  const caller = testCaller(cloud.origin, { journal, confirm: 'ask', now: () => new Date(time) });
  const ask = async (name: string, elicitor: Elicitor, principal?: string) => {
    const { ok, ...result } = await caller.call(
      restoreInstance,
      { backupId, instanceId: name },
      {
        signal: never,
        elicitor,
        principal: principal === undefined ? undefined : { name: principal, scopes: ['cloudops:write'] },
      },
    );
    return 'failure' in result ? result.failure.code : 'accepted';
  };
  return { ...caller, journal, ask };
}

test.each(['declined', 'cancelled', 'notChosen', 'unanswered'] as const)(
  '%s: it is in the journal, and nothing is sent',
  async (reply) => {
    const { ask, journal, close } = setUp();
    expect(await ask('one', person(reply))).toBe('Declined');
    expect(await journal.list({})).toMatchObject([
      { tool: 'restore_instance', consent: 'asked', answeredAfterMs: 2000, ending: { outcome: 'declined' } },
    ]);
    expect(cloud.requests).toEqual([]);
    await close();
  },
);

describe('after three refusals in ten minutes', () => {
  test('nobody is asked any more, whatever the change', async () => {
    const { ask, close } = setUp();
    for (const name of ['one', 'two', 'three']) expect(await ask(name, person('declined'))).toBe('Declined');
    expect(await ask('four', person('agreed'))).toBe('TooManyRefusals');
    expect(asked).toBe(3);
    expect(cloud.requests).toEqual([]);
    await close();
  });

  test('they are when the first of them is older', async () => {
    const { ask, close } = setUp();
    for (const name of ['one', 'two', 'three']) await ask(name, person('declined'));
    time = start + 10 * minute + 2000;
    expect(await ask('four', person('agreed'))).toBe('TooManyRefusals');
    time += 1;
    expect(await ask('four', person('agreed'))).toBe('accepted');
    await close();
  });

  test('of one caller, others are asked all the same', async () => {
    const { ask, close } = setUp();
    for (const name of ['one', 'two', 'three']) await ask(name, person('declined'), 'alice');
    expect(await ask('four', person('agreed'), 'alice')).toBe('TooManyRefusals');
    expect(await ask('four', person('agreed'), 'bob')).toBe('accepted');
    await close();
  });
});

describe('many calls at once', () => {
  const names = Array.from({ length: 20 }, (_, index) => `server-${index}`);

  test('are asked one by one, until the third refusal', async () => {
    const { ask, close } = setUp();
    const codes = await Promise.all(names.map((name) => ask(name, person('declined'))));
    expect(codes).toEqual(names.map((_, index) => (index < 3 ? 'Declined' : 'TooManyRefusals')));
    expect(asked).toBe(3);
    await close();
  });

  test('are all asked where the user agrees, and none while another is open', async () => {
    const { ask, close } = setUp();
    let open = 0;
    const careful: Elicitor = {
      ask: async () => {
        open += 1;
        expect(open).toBe(1);
        await new Promise(setImmediate);
        time += 2000;
        open -= 1;
        return { kind: 'agreed' };
      },
    };
    expect(await Promise.all(names.map((name) => ask(name, careful)))).toEqual(names.map(() => 'accepted'));
    await close();
  });

  test('of other callers do not wait', async () => {
    const { ask, close } = setUp();
    const client = new AbortController();
    const never = new Promise<UserReply>((resolve) =>
      client.signal.addEventListener('abort', () => resolve({ kind: 'unanswered' })),
    );
    const waiting = ask('one', { ask: () => never }, 'alice');
    expect(await ask('two', person('agreed'), 'bob')).toBe('accepted');
    client.abort();
    expect(await waiting).toBe('Declined');
    await close();
  });

  test('are not asked, and not counted, when their client has cancelled them by then', async () => {
    const { ask, journal, carryOut, close } = setUp();
    const client = new AbortController();
    const first = ask('one', {
      ask: async () => {
        client.abort();
        time += 2000;
        return { kind: 'agreed' };
      },
    });
    const second = carryOut(
      restoreInstance,
      { backupId, instanceId: 'two' },
      { tokens: noTokens, client: 'test 1', signal: client.signal, elicitor: person('agreed') },
    );
    expect(await first).toBe('accepted');
    expect(await second).toMatchObject({ kind: 'failed', failure: { code: 'Declined', mayHaveHappened: false } });
    expect(asked).toBe(0);
    expect(await journal.list({})).toHaveLength(1);
    await close();
  });
});

test('a no is in the journal before the call waits for its place among the calls again', async () => {
  const { carryOut, journal, close } = setUp();
  const outcomes: unknown[] = [];
  const wait: CallContext['wait'] = async (work) => {
    try {
      return await work();
    } finally {
      outcomes.push((await journal.list({})).map(({ ending }) => ending?.outcome));
    }
  };
  const call = { signal: never, tokens: noTokens, client: 'test 1', elicitor: person('declined'), wait };
  expect(await carryOut(restoreInstance, { backupId, instanceId: 'one' }, call)).toMatchObject({
    failure: { code: 'Declined' },
  });
  // The first wait is for the turn of the question.
  expect(outcomes).toEqual([[], ['declined']]);
  await close();
});

test('refusals that cannot be counted stop the asking', async () => {
  const listDeclined = () => Promise.reject(new Error('gone'));
  const { ask, close } = setUp({ ...createMemoryJournal(), listDeclined });
  expect(await ask('one', person('agreed'))).toBe('JournalUnavailable');
  expect(asked).toBe(0);
  await close();
});

test('a refusal that cannot be written down is one', async () => {
  const decline = () => Promise.reject(new Error('gone'));
  const { ask, close } = setUp({ ...createMemoryJournal(), decline });
  expect(await ask('one', person('declined'))).toBe('Declined');
  expect(cloud.requests).toEqual([]);
  await close();
});

describe('a client that brings the answer with another call', () => {
  /** The question of a first call, as the client sends it back. */
  const questionOf = async ({ carryOut }: ReturnType<typeof setUp>) => {
    const outcome = await carryOut(
      restoreInstance,
      { backupId, instanceId: 'one' },
      { tokens: noTokens, client: 'test 1', signal: never, elicitor: { ask: async () => 'later' } },
    );
    if (outcome.kind !== 'inputRequired') throw new Error(`the call ended as ${outcome.kind}`);
    // A token holds the first half of the digest.
    return { ...outcome.claims, digest: outcome.claims.digest.slice(0, 32), issuedAt: time };
  };
  const bringing = (claims: ConsentClaims, kind: UserReply['kind']): Elicitor => ({
    ask: async () => 'later',
    resumedReply: { claims, read: () => ({ kind }) },
  });

  test.each(['agreed', 'declined'] as const)('answers it once: after "no", %s is refused', async (second) => {
    const session = setUp();
    const claims = await questionOf(session);
    time += 5000;
    expect(await session.ask('one', bringing(claims, 'declined'))).toBe('Declined');
    expect(await session.ask('one', bringing(claims, second))).toBe('AlreadyDecided');
    expect(cloud.requests).toEqual([]);
    await session.close();
  });

  test('spends it with an agreement that came too soon', async () => {
    const session = setUp();
    const claims = await questionOf(session);
    time += 999;
    expect(await session.ask('one', bringing(claims, 'agreed'))).toBe('NobodyAsked');
    time += 5000;
    // No question to this client counts any more, and here is no other way.
    expect(await session.ask('one', bringing(claims, 'agreed'))).toBe('NeedsHuman');
    expect(cloud.requests).toEqual([]);
    await session.close();
  });

  test('cannot take the answer for another change', async () => {
    const session = setUp();
    const claims = await questionOf(session);
    expect(await session.ask('two', bringing(claims, 'agreed'))).toBe('PlanRefused');
    expect(cloud.requests).toEqual([]);
    await session.close();
  });

  test('is not counted out of a question that was asked before the third refusal', async () => {
    const session = setUp();
    const claims = await questionOf(session);
    for (const name of ['a', 'b', 'c']) await session.ask(name, person('declined'));
    expect(await session.ask('one', bringing(claims, 'agreed'))).toBe('accepted');
    await session.close();
  });
});

test.each([
  ['agreed', 999, 'NobodyAsked'],
  ['agreed', 1000, 'accepted'],
  ['declined', 999, 'NobodyAsked'],
  ['cancelled', 999, 'NobodyAsked'],
  ['declined', 1000, 'Declined'],
  ['notChosen', 999, 'NobodyAsked'],
  ['notChosen', 1000, 'Declined'],
  ['unanswered', 0, 'Declined'],
] as const)('%s after %i ms: %s', async (reply, afterMs, code) => {
  const { ask, journal, close } = setUp();
  expect(await ask('one', person(reply, afterMs))).toBe(code);
  expect(cloud.requests).toHaveLength(code === 'accepted' ? 1 : 0);
  const outcome = code === 'accepted' ? 'accepted' : 'declined';
  expect(await journal.list({})).toMatchObject([{ answeredAfterMs: afterMs, ending: { outcome } }]);
  await close();
});

test.each([
  ['declined', 'Declined'],
  ['agreed', 'accepted'],
] as const)('in a terminal nobody is too quick: %s', async (reply, code) => {
  const { ask, close } = setUp();
  expect(await ask('one', { ...person(reply, 1), isDirect: true })).toBe(code);
  await close();
});

describe('a refusal binds', () => {
  const view = { hasView: true };

  /** A server in the mode ask, for clients that show views and cannot ask. */
  function setUpViews(journal = createMemoryJournal()) {
    const now = () => new Date(time);
    const caller = testCaller(cloud.origin, { journal, confirm: 'ask', now });
    const tokens = createConsentTokens(() => ['k'.repeat(32)], '', now);
    const call = (name: string, given: object = {}, context: Partial<CallContext> = view) =>
      caller.carryOut(
        restoreInstance,
        { backupId, instanceId: name, ...given },
        { tokens, client: 'test 1', signal: never, ...context },
      );
    const plan = async (name: string, given: object = {}) => {
      const outcome = await call(name, given);
      if (outcome.kind !== 'succeeded' || outcome.view?.kind !== 'plan') throw new Error('there is no plan');
      const issuedAt = outcome.view.issuedAt;
      time += 2000;
      return {
        planId: outcome.success.planId,
        warnings: outcome.success.plan?.warnings ?? [],
        click: (decision: 'accept' | 'decline') => {
          if (outcome.view?.kind !== 'plan' || outcome.view.claims === undefined)
            throw new Error('nothing to click on');
          return call(name, given, { click: { decision, claims: { ...outcome.view.claims, issuedAt } } });
        },
      };
    };
    return { ...caller, journal, call, plan };
  }
  const refused = (code: string) => ({ kind: 'failed', failure: { code, mayHaveHappened: false } });
  const decidedBefore = { kind: 'failed', failure: { code: 'AlreadyDecided' } };

  test('a planId from before it carries out nothing, and that of the next plan only tells where it stands', async () => {
    const { call, plan, close } = setUpViews();
    const [earlier, shown] = [await plan('one'), await plan('one')];
    await shown.click('decline');
    expect(await call('one', { planId: earlier.planId })).toMatchObject(refused('Declined'));
    // A person may still change their mind.
    const again = await plan('one');
    const asked = await call('one', { planId: again.planId });
    expect(asked).toMatchObject({ kind: 'succeeded', success: { outcome: 'waiting' } });
    expect(await again.click('accept')).toMatchObject({ kind: 'succeeded', success: { outcome: 'accepted' } });
    await close();
  });

  test('other changes are not meant by it, and it holds for ten minutes', async () => {
    const { call, plan, close } = setUpViews();
    await (await plan('one')).click('decline');
    const other = await plan('two');
    expect(await call('two', { planId: other.planId })).toMatchObject({ kind: 'succeeded' });
    time += 10 * minute;
    expect((await plan('one')).planId).toBeDefined();
    await close();
  });

  test.each([{}, view])(
    'after three, planOnly gives no planId, and an earlier one does nothing: %j',
    async (client) => {
      const { call, plan, close } = setUpViews();
      const earlier = await plan('four');
      for (const name of ['one', 'two', 'three']) await (await plan(name)).click('decline');
      const outcome = await call('four', { planOnly: true }, client);
      expect(outcome).toMatchObject({ kind: 'succeeded', success: { outcome: 'planned' } });
      expect(outcome).not.toHaveProperty('success.planId');
      expect(await call('four', {}, client)).toMatchObject(refused('TooManyRefusals'));
      expect(await call('four', { planId: earlier.planId }, client)).toMatchObject(refused('TooManyRefusals'));
      expect(cloud.requests).toEqual([]);
      await close();
    },
  );

  test('one that cannot be written counts, is told of, and is written later', async () => {
    const memory = createMemoryJournal();
    let isGone = true;
    const decline: typeof memory.decline = (intent) =>
      isGone ? Promise.reject(new Error('gone')) : memory.decline(intent);
    const { call, plan, refusals, close } = setUpViews({ ...memory, decline });
    const earlier = await plan('one');
    const { planId, click } = await plan('one');
    expect(await click('decline')).toMatchObject({
      failure: { code: 'Declined', problems: [expect.any(String), expect.stringContaining('not in the journal yet')] },
    });
    expect(await click('accept')).toMatchObject(decidedBefore);
    expect(await click('decline')).toMatchObject(decidedBefore);
    for (const id of [planId, earlier.planId])
      expect(await call('one', { planId: id })).toMatchObject(refused('Declined'));
    expect(await memory.list({})).toEqual([]);
    isGone = false;
    await refusals.close();
    expect(await memory.list({})).toMatchObject([{ consent: 'clicked', ending: { outcome: 'declined' } }]);
    expect(cloud.requests).toEqual([]);
    await close();
  });
});

describe('a repetition that is meant', () => {
  // The journal in memory has the clock of this machine.
  beforeEach(() => {
    time = Date.now();
  });

  const planned = (questions: string[]): Elicitor => ({
    ask: async (message) => {
      questions.push(message.text);
      await new Promise(setImmediate);
      time += 2000;
      return { kind: 'agreed' };
    },
  });

  test('two at once: the second question says that it repeats the first', async () => {
    const { call, close } = testCaller(cloud.origin, { confirm: 'ask', now: () => new Date(time) });
    const questions: string[] = [];
    const elicitor = planned(questions);
    const args = { backupId, instanceId: 'one', allowRepeat: true };
    const outcomes = await Promise.all([1, 2].map(() => call(restoreInstance, args, { signal: never, elicitor })));
    expect(questions.map((question) => question.includes('This is a repeat'))).toEqual([false, true]);
    expect(outcomes).toMatchObject([{ ok: true }, { ok: true }]);
    await close();
  });

  test('two plans at once that do not mention each other: one is carried out', async () => {
    const { call, close } = testCaller(cloud.origin, { confirm: 'plan', now: () => new Date(time) });
    const args = { backupId, instanceId: 'one', allowRepeat: true };
    const plans = await Promise.all([1, 2].map(() => call(restoreInstance, args, { signal: never })));
    const ids = plans.map((plan) => (plan.ok ? plan.structured.planId : undefined));
    const outcomes = await Promise.all(
      ids.map((planId) => call(restoreInstance, { ...args, planId }, { signal: never })),
    );
    expect(outcomes.map((outcome) => (outcome.ok ? 'accepted' : outcome.failure.code)).sort()).toEqual([
      'Repeated',
      'accepted',
    ]);
    expect(cloud.requests).toHaveLength(1);
    await close();
  });
});
