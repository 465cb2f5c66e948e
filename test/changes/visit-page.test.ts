import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { CallContext, CallOutcome } from '../../src/calls/context.js';
import { Refusal } from '../../src/calls/refusal.js';
import type { DecisionPage } from '../../src/changes/decision-page.js';
import type { Guide, Visit, Wait } from '../../src/changes/elicitor.js';
import type { ConsentMode } from '../../src/changes/required-consent.js';
import { createPlans } from '../../src/consent/plans.js';
import { createConsentTokens } from '../../src/consent/tokens.js';
import { createMemoryPlanStore } from '../../src/journal/plan-store.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { createMemoryJournal, never, testCaller } from '../support/caller.js';
import { accepted, restore } from '../support/decisions.js';
import { answered, scriptedClient } from '../support/scripted-client.js';

/** The answer to a call that sends its user to the page of a plan, or that asks for the state of a plan. */

/** The pauses between two polls of a plan take no time, but are counted. `during` runs in the next pause. */
const pauses = vi.hoisted(() => ({ count: 0, during: async (): Promise<unknown> => undefined }));
vi.mock('node:timers/promises', async (importOriginal) => ({
  ...(await importOriginal<typeof import('node:timers/promises')>()),
  setTimeout: async () => {
    pauses.count += 1;
    const { during } = pauses;
    pauses.during = async () => undefined;
    await during();
  },
}));

const start = Date.parse('2026-11-20T12:00:00Z');
const hour = 60 * 60_000;
const key = 'k'.repeat(32);
const tool = 'restore_instance';
let time = start;
const now = () => new Date(time);
beforeEach(() => {
  time = start;
  pauses.count = 0;
  pauses.during = async () => undefined;
});

const addressOf = (nonce: string) => `https://cloudops.example.com/decisions/${nonce}/`;
const pages = {
  signIn: { kind: 'signIn', addressOf, announce: () => undefined },
  local: { kind: 'local', show: () => undefined },
} satisfies Record<string, DecisionPage>;

interface Setup {
  readonly confirm?: ConsentMode;
  /** The kind of page; `none` if there is none. */
  readonly page?: keyof typeof pages | 'none';
  readonly statusWaitMs?: number;
}

/** Servers with one journal and one store of plans. Each server has its own settings. */
function setUp(setup: Setup = {}) {
  const journal = createMemoryJournal(now);
  const stored = createPlans({ store: createMemoryPlanStore(), keys: () => [key], now, lifetimeMs: 24 * hour });
  /** A test can replace a function by one that fails. */
  const plans = { ...stored };
  const tokens = createConsentTokens(() => [key], '', now);
  const { openClient, requests } = scriptedClient(async () => answered(200, { instance: { instanceId: 'wiki' } }));

  const serve = ({ confirm = 'human', page = 'signIn', statusWaitMs = 2000 }: Setup) => {
    const caller = testCaller('http://127.0.0.1:1', {
      ...{ confirm, journal, plans, statusWaitMs, now, openClient },
      ...(page !== 'none' && { page: pages[page] }),
    });
    const call = (given: object = {}, context: Partial<CallContext> = {}) =>
      caller.carryOut(
        restoreInstance,
        { ...restore, ...given },
        { tokens, client: 'test 1', signal: never, ...context },
      );
    return { call, logged: () => caller.logged.filter(({ level }) => level === 'error') };
  };
  const server = serve(setup);

  /** The plan that waits. */
  const plan = async () => {
    const [found] = await stored.list();
    if (found === undefined) throw new Error('no plan waits');
    return found;
  };
  /** A person decides on the page. */
  const decide = async (decision: 'accept' | 'decline') => {
    const { digest, nonce, issuedAt, repeats } = await plan();
    time += 3000;
    const page = { person: 'bob', repeats, onClaim: () => undefined };
    return server.call({}, { click: { decision, claims: { digest, nonce, issuedAt }, page } });
  };
  return { ...server, serve, journal, stored, plans, tokens, requests, plan, decide };
}

const successOf = (outcome: CallOutcome) => {
  if (outcome.kind !== 'succeeded') throw new Error(`the call ended as ${JSON.stringify(outcome)}`);
  return outcome.success;
};
const failed = (code: string) => ({ kind: 'failed', failure: { code } });
const waits = { kind: 'succeeded', success: { outcome: 'waiting' } };
const tooMany: Wait = () => Promise.reject(new Refusal('TooManyQuestions', []));

/** A client whose user replies after `afterMs`, and the addresses to which the user was sent. An `Error` is thrown by the client. */
function userWho(visit: Visit | 'later' | Error, afterMs = 3000) {
  const sent: { message: string; address: string }[] = [];
  const guide: Guide = {
    send: async ({ text }, address) => {
      sent.push({ message: text, address });
      time += afterMs;
      if (visit instanceof Error) throw visit;
      return visit;
    },
  };
  return { guide, sent };
}

describe('a user who is sent to the page', () => {
  test('reads the change, and that opening the page decides nothing', async () => {
    const { call, plan } = setUp();
    const { guide, sent } = userWho('cancelled');
    await call({}, { guide });
    const [{ message = '', address = '' } = {}] = sent;
    expect(address).toBe(addressOf((await plan()).nonce));
    const lines = message.split('\n');
    expect(lines[0]).toContain('"wiki"');
    expect(lines.at(-1)).toBe('You decide on a page, where you sign in. Opening it decides nothing.');
  });

  test.each<readonly [string, Visit | Error, number, object, object[]]>([
    ['opens it and decides nothing', 'opened', 3000, waits, []],
    ['closes the question', 'cancelled', 3000, waits, []],
    ['declines after a second', 'declined', 1000, failed('Declined'), [{ consent: 'asked' }]],
    ['declines faster than a person reads', 'declined', 999, waits, []],
    ['is not reached, because the client fails', new TypeError('no window'), 3000, waits, []],
  ])('and %s', async (_what, visit, afterMs, told, recorded) => {
    const { call, journal, requests } = setUp();
    expect(await call({}, { guide: userWho(visit, afterMs).guide })).toMatchObject(told);
    expect(await journal.list({})).toMatchObject(recorded);
    expect(await journal.list({})).toHaveLength(recorded.length);
    expect(requests).toEqual([]);
  });

  test.each<readonly [Visit, number]>([
    ['opened', 4],
    ['cancelled', 0],
  ])('has %s the page, after which the call pauses %i times', async (visit, pauseCount) => {
    const { call } = setUp({ statusWaitMs: 2000 });
    await call({}, { guide: userWho(visit).guide });
    expect(pauses.count).toBe(pauseCount);
  });

  test('accepts there during the call, which gets the outcome of the change', async () => {
    const { call, decide } = setUp();
    pauses.during = () => decide('accept');
    const success = successOf(await call({}, { guide: userWho('opened').guide }));
    expect(success).toMatchObject({ outcome: 'accepted', answer: { instance: { instanceId: 'wiki' } } });
    expect(success.notes?.map(({ text }) => text)).toEqual(['"bob" decided on this plan.']);
  });

  test('declines there during the call', async () => {
    const { call, decide } = setUp();
    pauses.during = () => decide('decline');
    const failure = { code: 'Declined', notes: ['"bob" decided on this plan.'] };
    expect(await call({}, { guide: userWho('opened').guide })).toMatchObject({ kind: 'failed', failure });
  });

  test('cannot decline after another decision', async () => {
    const { call, stored, plan } = setUp();
    const { guide } = userWho('declined');
    const send: Guide['send'] = async (...given) => {
      await stored.claim((await plan()).nonce, accepted);
      return guide.send(...given);
    };
    expect(await call({}, { guide: { send } })).toMatchObject(failed('AlreadyDecided'));
  });
});

describe('the answer with the plan stays', () => {
  const opened = () => ({ guide: userWho('opened').guide });

  test('if the state of the plan cannot be read', async () => {
    const { call, plans, logged } = setUp();
    plans.find = () => Promise.reject(new Error('the disk is gone'));
    const success = successOf(await call({}, opened()));
    expect(success).toMatchObject({ outcome: 'waiting', planId: expect.any(String), plan: expect.any(Object) });
    expect(logged()).toMatchObject([{ event: 'journal', fields: { tool } }]);
  });

  test('if the plan is not stored any more', async () => {
    const { call, plans } = setUp();
    plans.find = async () => undefined;
    expect(await call({}, opened())).toMatchObject({ ...waits, success: { plan: expect.any(Object) } });
  });

  test('but not if the plan has expired during the visit', async () => {
    const { call } = setUp();
    const { guide } = userWho('opened', 25 * hour);
    expect(await call({}, { guide })).toMatchObject(failed('PlanRefused'));
  });

  test('if the client fails, which is logged', async () => {
    const { call, logged } = setUp();
    await call({}, { guide: userWho(new TypeError('no window')).guide });
    expect(logged()).toEqual([{ level: 'error', event: 'unexpected', fields: { tool, error: 'TypeError' } }]);
  });

  test.each<readonly [string, Partial<CallContext>]>([
    ['if this server shuts down', { stop: AbortSignal.abort() }],
    ['if too many calls wait for people', { wait: tooMany }],
  ])('%s, which is no error', async (_what, context) => {
    const { call, logged } = setUp();
    const { guide, sent } = userWho('opened');
    expect(await call({}, { guide, ...context })).toMatchObject(waits);
    expect(sent).toEqual([]);
    expect(logged()).toEqual([]);
  });
});

test.each<readonly [string, Setup]>([
  ['somebody else decides', { confirm: 'approval' }],
  ['the address of the page is secret', { page: 'local' }],
])('nobody is sent to the page if %s', async (_what, setup) => {
  const { call } = setUp(setup);
  const { guide, sent } = userWho('opened');
  expect(await call({}, { guide })).toMatchObject(waits);
  expect(sent).toEqual([]);
});

test('a client that cannot send its user to an address gets the plan', async () => {
  const { call, logged } = setUp();
  expect(await call()).toMatchObject(waits);
  expect(logged()).toEqual([]);
});

describe('a second call with the reply of the user', () => {
  /** The first call, and the second with the reply. */
  async function asked(setup: Setup = {}) {
    const all = setUp(setup);
    const first = await all.call({}, { guide: userWho('later', 0).guide });
    if (first.kind !== 'inputRequired') throw new Error('the user is not sent to the page');
    const claims = { ...first.claims, issuedAt: time };
    const { send } = userWho('later').guide;
    const reply = (visit: Visit, context: Partial<CallContext> = {}, call = all.call, given = {}) =>
      call(given, { guide: { send, resumedReply: { claims, visit } }, ...context });
    return { ...all, first, reply };
  }

  test('follows a first call that got the address of the plan, and claims that only name the plan', async () => {
    const { first, plan } = await asked();
    const { nonce, digest } = await plan();
    expect(first).toMatchObject({ answer: { address: addressOf(nonce) }, claims: { use: 'handle', nonce, digest } });
  });

  test.each<readonly [string, Visit, number, object, number]>([
    ['has opened the page', 'opened', 3000, waits, 4],
    ['has closed the question', 'cancelled', 3000, waits, 0],
    ['declines after a second', 'declined', 1000, failed('Declined'), 0],
    ['declines faster than a person reads', 'declined', 999, waits, 0],
  ])('of a user who %s', async (_what, visit, afterMs, told, pauseCount) => {
    const { reply, stored } = await asked({ statusWaitMs: 2000 });
    time += afterMs;
    expect(await reply(visit)).toMatchObject(told);
    expect(pauses.count).toBe(pauseCount);
    expect(await stored.list()).toHaveLength(1);
  });

  test('waits for the decision', async () => {
    const { reply, decide, requests } = await asked();
    pauses.during = () => decide('accept');
    const notes = ['"bob" decided on this plan.'];
    expect(successOf(await reply('opened'))).toMatchObject({ outcome: 'accepted', notes });
    expect(requests).toHaveLength(1);
  });

  test('is refused for another change, and makes no plan', async () => {
    const { reply, call, stored } = await asked();
    expect(await reply('opened', {}, call, { instanceId: 'two' })).toMatchObject(failed('PlanRefused'));
    expect(await stored.list()).toHaveLength(1);
  });

  test('leaves the decision to the page, even if this server has no page any more and could ask', async () => {
    const { serve, reply, requests } = await asked();
    const { call } = serve({ page: 'none' });
    const ask = async () => ({ kind: 'agreed' }) as const;
    time += 3000;
    expect(await reply('cancelled', { elicitor: { ask } }, call)).toMatchObject(waits);
    expect(requests).toEqual([]);
  });
});

describe('a server that is suspended after it has claimed a plan', () => {
  const minute = 60_000;
  test.each([
    ['while the journal refuses it as a repetition', 10 * minute, 'Repeated'],
    ['when the journal takes it for another change', 10 * minute + 1, 'TicketExpired'],
  ])('does not send a change that another server has sent on a new plan: %s', async (_what, passedMs, code) => {
    const { call, serve, plans, stored, decide, plan, requests, journal } = setUp();
    await call();
    plans.claim = async (...given) => {
      plans.claim = stored.claim;
      const claimed = await stored.claim(...given);
      time += minute;
      expect(await serve({ confirm: 'off' }).call()).toMatchObject({ success: { outcome: 'accepted' } });
      time += passedMs;
      return claimed;
    };
    expect(await decide('accept')).toMatchObject({ failure: { code, mayHaveHappened: false } });
    expect(requests).toHaveLength(1);
    expect((await journal.list({})).map(({ ending }) => ending?.outcome)).toEqual(['accepted', 'not sent']);
    expect(await plan()).toMatchObject({ outcome: { failure: { code } } });
  });

  test('sends the change up to ten minutes later', async () => {
    const { call, plans, stored, decide, requests } = setUp();
    await call();
    plans.claim = async (...given) => {
      const claimed = await stored.claim(...given);
      time += 10 * minute;
      return claimed;
    };
    expect(await decide('accept')).toMatchObject({ success: { outcome: 'accepted' } });
    expect(requests).toHaveLength(1);
  });
});

describe('a call with the planId', () => {
  const notIssued = 'this server did not issue the planId, or it was altered';
  const withoutPlanId =
    'Without planId, a call with planOnly: true shows a plan. Without both, the same call sends the change at once.';
  const forged = { kind: 'failed', failure: { code: 'PlanRefused', problems: [notIssued] } };
  /** A plan that waits on the page, and calls about it. */
  async function waiting(setup: Setup = {}) {
    const all = setUp(setup);
    const { planId = '' } = successOf(await all.call());
    const ask = (given: object = {}, context: Partial<CallContext> = {}) => all.call({ planId, ...given }, context);
    return { ...all, planId, ask };
  }
  /** A plan that was only shown, so it is not stored. Its planId counts as consent. */
  async function shown(setup: Setup = { confirm: 'ask' }) {
    const all = setUp(setup);
    const { planId } = successOf(await all.call({ planOnly: true }));
    time += 3000;
    return { ...all, planId };
  }
  const elicitor = { ask: async () => ({ kind: 'agreed' }) as const };
  const agreedAfter = (ms: number) => ({
    ask: async () => {
      time += ms;
      return { kind: 'agreed' } as const;
    },
  });

  test.each<readonly [string, object, Partial<CallContext>, string, number]>([
    ['that asks for its state', {}, {}, 'waiting', 4],
    ['that has planOnly', { planOnly: true }, {}, 'waiting', 0],
    ['of a client that could ask its user', {}, { elicitor }, 'waiting', 4],
    ['that withdraws the plan', { withdraw: true }, {}, 'withdrawn', 0],
    ['whose client has gone', {}, { signal: AbortSignal.abort() }, 'waiting', 0],
    ['while this server shuts down', {}, { stop: AbortSignal.abort() }, 'waiting', 0],
    ['while too many calls wait for people', {}, { wait: tooMany }, 'waiting', 0],
  ])('%s waits for the decision, or gets the present state', async (_what, given, context, outcome, pauseCount) => {
    const { ask, requests } = await waiting({ statusWaitMs: 2000 });
    expect(await ask(given, context)).toMatchObject({ kind: 'succeeded', success: { outcome } });
    expect(pauses.count).toBe(pauseCount);
    expect(requests).toEqual([]);
  });

  test.each(['signal', 'stop'] as const)('stops waiting when its %s aborts', async (which) => {
    const { ask } = await waiting();
    const controller = new AbortController();
    pauses.during = async () => controller.abort();
    expect(await ask({}, { [which]: controller.signal })).toMatchObject(waits);
    expect(pauses.count).toBe(1);
  });

  test('waits outside the limit of calls, but only before the plan has ended', async () => {
    const { ask, decide } = await waiting();
    const waited: string[] = [];
    const wait: Wait = (work) => {
      waited.push('waited');
      return work();
    };
    await ask({}, { wait });
    expect(waited).toHaveLength(1);
    await decide('decline');
    time += hour;
    await ask({}, { wait });
    expect(waited).toHaveLength(1);
  });

  test('does not wait if `statusWaitMs` is 0', async () => {
    const { ask } = await waiting({ statusWaitMs: 0 });
    const wait: Wait = () => Promise.reject(new Error('the call waits'));
    expect(await ask({}, { wait })).toMatchObject(waits);
    expect(pauses.count).toBe(0);
  });

  test.each<readonly [string, Error, string]>([
    ['another refusal of the wait', new Refusal('Stopping', []), 'Stopping'],
    ['an error of the wait', new Error('gone'), 'StateUnavailable'],
  ])('ends with %s', async (_what, error, code) => {
    const { ask } = await waiting();
    expect(await ask({}, { wait: () => Promise.reject(error) })).toMatchObject(failed(code));
  });

  test('is refused with the planId if the state cannot be read', async () => {
    const { ask, plans, planId } = await waiting();
    plans.find = () => Promise.reject(new Error('the disk is gone'));
    const told = { kind: 'failed', failure: { code: 'StateUnavailable', planId } };
    expect(await ask()).toMatchObject(told);
    expect(await ask({}, { elicitor })).toMatchObject(told);
  });

  test('polls again after a poll that failed', async () => {
    const { ask, plans, stored, decide } = await waiting();
    pauses.during = async () => {
      plans.find = () => Promise.reject(new Error('the disk is busy'));
      pauses.during = async () => {
        plans.find = stored.find;
        await decide('decline');
      };
    };
    expect(await ask()).toMatchObject(failed('Declined'));
  });

  test('gets the name of the person who decided', async () => {
    const { ask, decide } = await waiting();
    await decide('decline');
    expect(JSON.stringify(await ask())).toContain('bob');
  });

  test('waits for the answer of the cloud, which is stored a moment after the change is in the journal', async () => {
    const { ask, plans, stored, decide } = await waiting();
    let store = async () => {};
    plans.settle = async (...given) => {
      store = () => stored.settle(...given);
    };
    await decide('accept');
    pauses.during = () => store();
    expect(successOf(await ask())).toMatchObject({ outcome: 'accepted', answer: { instance: { instanceId: 'wiki' } } });
    expect(pauses.count).toBe(1);
  });

  test('learns that somebody has decided before the outcome is known', async () => {
    const { ask, stored, plan } = await waiting();
    await stored.claim((await plan()).nonce, accepted);
    const success = successOf(await ask());
    expect(success).toMatchObject({ outcome: 'waiting', next: { who: 'agent', action: 'wait' } });
    expect(success).not.toHaveProperty('planExpires');
    expect(pauses.count).toBe(4);
  });

  test.each<readonly [ConsentMode, Partial<Setup>, string]>([
    ['ask', { page: 'none' }, 'the user'],
    ['human', { page: 'none' }, 'the user'],
    ['human', { page: 'local' }, 'the person at this machine, in the browser'],
    ['human', { page: 'signIn' }, 'a person who signs in to the page'],
    ['approval', { page: 'signIn' }, 'somebody other than the user, who signs in to the page'],
    ['off', { page: 'signIn' }, 'a decision, which nobody makes here, because CLOUDOPS_CONFIRM is "off"'],
  ])('learns for whom the plan waits: %s %o', async (confirm, setup, whom) => {
    const { planId, serve } = await waiting();
    const success = successOf(await serve({ confirm, ...setup }).call({ planId, planOnly: true }));
    expect(success.summary.text).toBe(`This plan of ${tool} still waits for ${whom}.`);
    expect(pauses.count).toBe(0);
  });

  test.each<readonly [string, ConsentMode]>([
    ['no consent is needed any more', 'off'],
    ['a planId would be enough by now', 'plan'],
  ])('sends nothing if %s', async (_what, confirm) => {
    const { planId, serve, requests } = await waiting();
    expect(await serve({ confirm }).call({ planId })).toMatchObject(waits);
    expect(requests).toEqual([]);
  });

  test('sends nothing if nobody decides any more, and says how to send the change', async () => {
    const stored = await waiting();
    const onlyShown = await shown({ confirm: 'plan' });
    for (const { planId, serve, requests } of [stored, onlyShown]) {
      const { call } = serve({ confirm: 'off' });
      const success = successOf(await call({ planId }));
      expect(success.summary.text).toBe(
        `This plan of ${tool} still waits for a decision, which nobody makes here, because CLOUDOPS_CONFIRM is "off".`,
      );
      expect(success.next?.text.text).toBe(`${withoutPlanId} To take the plan back, add withdraw: true.`);
      expect(successOf(await call({ planId, planOnly: true })).next?.text).toEqual(success.next?.text);
      expect(success).not.toHaveProperty('decideAt');
      expect(requests).toEqual([]);
      expect(successOf(await call())).toMatchObject({ outcome: 'accepted' });
    }
  });

  test.each(['none', 'local'] as const)(
    'asks the user about a plan if people cannot sign in to a page: %s',
    async (page) => {
      const { planId, serve, requests } = await waiting();
      time += 3000;
      const outcome = await serve({ page }).call({ planId }, { elicitor: agreedAfter(3000) });
      expect(outcome).toMatchObject({ success: { outcome: 'accepted' } });
      expect(pauses.count).toBe(0);
      expect(requests).toHaveLength(1);
    },
  );

  test('keeps no refusal by a person with the plan if a program answers, even before the journal has the answer', async () => {
    const { planId, serve, plan, journal } = await waiting();
    time += 3000;
    const atDecline = vi.fn();
    const { decline } = journal;
    journal.decline = async (intent) => {
      atDecline(intent.consent, await plan());
      return decline(intent);
    };
    const outcome = await serve({ page: 'local' }).call({ planId }, { elicitor: agreedAfter(999) });
    expect(outcome).toMatchObject(failed('NobodyAsked'));
    expect(atDecline).toHaveBeenCalledExactlyOnceWith(
      'program',
      expect.objectContaining({ state: 'decided', decision: { kind: 'withdrawn', at: time } }),
    );
    expect(await plan()).toMatchObject({ outcome: failed('NobodyAsked') });
  });

  test('asks the user about a plan that is not stored, although there is a page', async () => {
    const { call, planId, requests } = await shown();
    expect(await call({ planId }, { elicitor: agreedAfter(3000) })).toMatchObject({ success: { outcome: 'accepted' } });
    expect(pauses.count).toBe(0);
    expect(requests).toHaveLength(1);
  });

  test('carries the plan out if the planId is the consent, without waiting', async () => {
    const { call, planId, requests } = await shown({ confirm: 'plan' });
    expect(await call({ planId })).toMatchObject({ success: { outcome: 'accepted' } });
    expect(pauses.count).toBe(0);
    expect(requests).toHaveLength(1);
  });

  test('is for another call if its plan is recorded nowhere and the arguments are others', async () => {
    const { call, planId } = await shown({ confirm: 'plan' });
    expect(await call({ planId, planOnly: true })).toMatchObject(waits);
    expect(await call({ planId, planOnly: true, instanceId: 'other' })).toMatchObject(failed('PlanRefused'));
  });

  test.each(['ask', 'plan'] as const)(
    'carries the plan out for a person who has agreed with --yes: %s',
    async (confirm) => {
      const { planId, serve, requests, plan, journal } = await waiting();
      const { call } = serve({ confirm, page: 'none' });
      expect(await call({ planId }, { agreed: true })).toMatchObject({ success: { outcome: 'accepted' } });
      expect(await plan()).toMatchObject({ decision: { kind: 'accepted' }, outcome: { kind: 'succeeded' } });
      expect(await journal.findByNonce((await plan()).nonce)).toMatchObject({ consent: 'option' });
      expect(await call({ planId }, { agreed: true })).toMatchObject({ success: { outcome: 'accepted' } });
      expect(requests).toHaveLength(1);
    },
  );

  test.each<readonly [ConsentMode, Partial<CallContext>]>([
    ['ask', { agreed: true }],
    ['plan', { agreed: true }],
    ['human', { agreed: true }],
    ['approval', { agreed: true }],
    ['off', { agreed: true }],
    ['off', {}],
  ])('of another change sends nothing, even if nobody would be asked: %s, %j', async (confirm, context) => {
    const stored = await waiting();
    const onlyShown = await shown({ confirm: 'plan' });
    for (const { planId, serve, requests, journal } of [stored, onlyShown]) {
      const { call } = serve({ confirm, page: 'none' });
      const needsHuman = ['human', 'approval'].includes(confirm);
      const refused = needsHuman ? { code: 'NeedsHuman' } : { code: 'PlanRefused', next: { text: withoutPlanId } };
      expect(await call({ planId, instanceId: 'other' }, context)).toMatchObject({ kind: 'failed', failure: refused });
      expect(requests).toEqual([]);
      expect(await journal.list({})).toEqual([]);
    }
  });

  test('that this server did not issue sends nothing for a person who has agreed with --yes', async () => {
    const { call, requests } = setUp({ confirm: 'ask', page: 'none' });
    const refused = await call({ planId: 'x'.repeat(60) }, { agreed: true });
    expect(refused).toMatchObject(forged);
    expect(refused).toMatchObject({ failure: { next: { text: withoutPlanId } } });
    expect(requests).toEqual([]);
  });

  test.each(['human', 'approval'] as const)(
    'is not decided by --yes if another answer is wanted: %s',
    async (confirm) => {
      const { planId, serve, requests } = await waiting();
      expect(await serve({ confirm, page: 'none' }).call({ planId }, { agreed: true })).toMatchObject(waits);
      expect(requests).toEqual([]);
    },
  );

  test('is needed to withdraw a plan', async () => {
    const { call } = setUp();
    const problems = ['withdraw needs the planId of the plan'];
    expect(await call({ withdraw: true })).toMatchObject({ failure: { code: 'PlanRefused', problems } });
  });

  test.each<readonly [string, ConsentMode, object, Partial<CallContext>, object]>([
    ['the planId would be the consent', 'plan', {}, {}, forged],
    ['the call asks for a state', 'human', {}, {}, forged],
    ['the call withdraws a plan', 'off', { withdraw: true }, {}, forged],
    ['no consent is needed', 'off', {}, {}, { success: { outcome: 'accepted' } }],
    ['the user is asked', 'human', {}, { elicitor: agreedAfter(3000) }, { success: { outcome: 'accepted' } }],
  ])(
    'with a planId that this server did not issue is refused only if the planId is needed: %s',
    async (_when, confirm, given, context, told) => {
      const { call } = setUp({ confirm });
      expect(await call({ planId: 'x'.repeat(60), ...given }, context)).toMatchObject(told);
    },
  );
});

describe('a view that shows a plan', () => {
  async function looking() {
    const all = setUp();
    await all.call();
    const { digest, nonce, issuedAt } = await all.plan();
    const look = (context: Partial<CallContext> = {}) =>
      all.call({}, { lookAt: { digest, nonce, issuedAt }, ...context });
    return { ...all, nonce, look };
  }

  test('learns at once that the plan waits', async () => {
    const { look } = await looking();
    const success = successOf(await look());
    expect(success).toMatchObject({ outcome: 'waiting', planExpires: expect.any(String), next: { who: 'user' } });
    expect(success).not.toHaveProperty('planId');
    expect(pauses.count).toBe(0);
  });

  test('learns the outcome', async () => {
    const { look, decide } = await looking();
    await decide('decline');
    expect(await look()).toMatchObject(failed('Declined'));
  });

  test('waits for the outcome after somebody has decided', async () => {
    const { look, stored, nonce } = await looking();
    await stored.claim(nonce, accepted);
    expect(successOf(await look())).toMatchObject({ outcome: 'waiting', next: { who: 'agent' } });
    expect(pauses.count).toBe(4);
  });

  test.each(['signal', 'stop'] as const)('stops waiting when its %s aborts', async (which) => {
    const { look, stored, nonce } = await looking();
    await stored.claim(nonce, accepted);
    const controller = new AbortController();
    pauses.during = async () => controller.abort();
    expect(await look({ [which]: controller.signal })).toMatchObject(waits);
    expect(pauses.count).toBe(1);
  });

  test('is refused if the state cannot be read', async () => {
    const { look, plans, logged } = await looking();
    plans.find = () => Promise.reject(new Error('the disk is gone'));
    expect(await look()).toMatchObject(failed('StateUnavailable'));
    expect(logged()).toMatchObject([{ event: 'journal', fields: { tool } }]);
  });
});
