import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { CallOutcome } from '../../src/calls/outcome.js';
import type { Changes } from '../../src/changes/change.js';
import type { ChangeContext } from '../../src/changes/context.js';
import type { Brought, Elicitor, FormResponse } from '../../src/changes/elicitor.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { memoryStore, never, testCaller } from '../support/caller.js';
import { type CapturingServer, startServer } from '../support/http-server.js';

/** What a person's "no" is worth: it is stored, spends the question, binds the agent, and ends the asking after a few. */

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

/** Asks while the call runs; the person takes two seconds. */
const person = (kind: FormResponse['kind'], afterMs = 2000): Elicitor => ({
  ask: async () => {
    asked += 1;
    time += afterMs;
    return { kind };
  },
});

function setUp(wrap: (store: Changes) => Partial<Changes> = () => ({})) {
  const memory = memoryStore(() => new Date(time));
  const store = { ...memory, ...wrap(memory) };
  const caller = testCaller(cloud.origin, { store, confirm: 'ask', now: () => new Date(time) });
  const run = (name: string, context: Partial<ChangeContext> = {}, given: object = {}) =>
    caller.carryOut(
      restoreInstance,
      { backupId, instanceId: name, ...given },
      { client: 'test 1', signal: never, ...context },
    );
  const ask = async (name: string, elicitor: Elicitor, principal?: string) =>
    codeOf(
      await run(name, {
        elicitor,
        ...(principal !== undefined && { principal: { name: principal, scopes: ['cloudops:write'] } }),
      }),
    );
  /** The plan for a client that reaches nobody, whose agent confirms. */
  const plan = async (name: string) => {
    const outcome = await run(name);
    if (outcome.kind !== 'succeeded' || outcome.success.changeId === undefined) throw new Error(codeOf(outcome));
    const { changeId } = outcome.success;
    return {
      confirm: async () => {
        const ended = await caller.confirm(changeId, name);
        return ended.ok ? ended.structured.outcome : ended.failure.code;
      },
    };
  };
  return { ...caller, store, run, ask, plan, rows: () => store.newest({ limit: 99 }) };
}

function codeOf(outcome: CallOutcome): string {
  if (outcome.kind === 'inputRequired') return outcome.kind;
  return outcome.kind === 'failed' ? outcome.failure.code : `${outcome.success.outcome}`;
}

test.each([
  ['declined', undefined],
  ['cancelled', true],
  ['unanswered', true],
] as const)('%s: it is in the journal, and nothing is sent', async (reply, isDismissed) => {
  const { ask, rows, close } = setUp();
  expect(await ask('one', person(reply))).toBe('Declined');
  const decision = { kind: 'declined', way: 'asked', answeredAfterMs: 2000 };
  expect(await rows()).toMatchObject([{ tool: 'restore_instance', state: 'declined', decision }]);
  expect((await rows())[0]?.decision?.isDismissed).toBe(isDismissed);
  expect(cloud.requests).toEqual([]);
  await close();
});

test('a client that cannot ask after all is no refusal: the plan waits for the next way to consent', async () => {
  const { ask, rows, store, close } = setUp();
  for (const _ of [1, 2, 3, 4]) expect(await ask('one', person('notAsked'))).toBe('planned');
  expect((await rows()).map(({ state }) => state).filter((state) => state === 'declined')).toEqual([]);
  expect(await store.declined({})).toEqual([]);
  expect(await ask('one', person('agreed'))).toBe('accepted');
  await close();
});

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
    time = start + 10 * minute + 1999;
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
    const unanswered = new Promise<FormResponse>((resolve) =>
      client.signal.addEventListener('abort', () => resolve({ kind: 'unanswered' })),
    );
    const waiting = ask('one', { ask: () => unanswered }, 'alice');
    expect(await ask('two', person('agreed'), 'bob')).toBe('accepted');
    client.abort();
    expect(await waiting).toBe('Declined');
    await close();
  });

  test('are not asked, and not counted, when their client has cancelled them by then', async () => {
    const { ask, run, rows, close } = setUp();
    const client = new AbortController();
    const first = ask('one', {
      ask: async () => {
        client.abort();
        time += 2000;
        return { kind: 'agreed' };
      },
    });
    const second = run('two', { signal: client.signal, elicitor: person('agreed') });
    expect(await first).toBe('accepted');
    expect(await second).toMatchObject({ kind: 'failed', failure: { code: 'NobodyAsked', mayHaveHappened: false } });
    expect(asked).toBe(0);
    expect(await rows()).toHaveLength(1);
    await close();
  });
});

test.each([
  ['declined', 'declined'],
  ['agreed', 'approved'],
] as const)('%s is stored before the call waits for its place among the calls again', async (reply, state) => {
  const { run, rows, close } = setUp();
  const states: unknown[] = [];
  const wait: ChangeContext['wait'] = async (work) => {
    try {
      return await work();
    } finally {
      states.push((await rows()).map((row) => row.state));
    }
  };
  await run('one', { elicitor: person(reply), wait });
  // The first wait is for the turn of the question.
  expect(states).toEqual([[], [state]]);
  await close();
});

test('refusals that cannot be counted stop the asking', async () => {
  const { ask, close } = setUp(() => ({ declined: () => Promise.reject(new Error('gone')) }));
  expect(await ask('one', person('agreed'))).toBe('JournalUnavailable');
  expect(asked).toBe(0);
  await close();
});

test('a refusal that the journal does not have yet is one, and is told of', async () => {
  const { run, close } = setUp(({ decide }) => ({
    decide: async (...given) => {
      const decided = await decide(...given);
      return decided.kind === 'decided' ? { ...decided, isUnwritten: true } : decided;
    },
  }));
  const outcome = await run('one', { elicitor: person('declined') });
  expect(outcome).toMatchObject({ failure: { code: 'Declined', outcome: 'declined' } });
  expect(JSON.stringify(outcome)).toContain('not in the journal yet');
  expect(cloud.requests).toEqual([]);
  await close();
});

describe('a client that brings the answer with another call', () => {
  const elicitor: Elicitor = { ask: async () => 'later' };
  /** A first call that ends as a question, and a call that brings the answer. */
  async function setUpQuestion() {
    const session = setUp();
    const outcome = await session.run('one', { elicitor });
    if (outcome.kind !== 'inputRequired') throw new Error(`the call ended as ${outcome.kind}`);
    const bring = (kind: FormResponse['kind'], name = 'one') => {
      const brought: Brought = {
        kind: 'answer',
        proof: outcome.state,
        responseTo: () => ({ kind }),
        visit: 'cancelled',
      };
      return session.run(name, { elicitor, brought });
    };
    return { ...session, bring };
  }

  test.each(['agreed', 'declined'] as const)('answers it once: after "no", %s changes nothing', async (second) => {
    const { bring, close } = await setUpQuestion();
    time += 5000;
    expect(codeOf(await bring('declined'))).toBe('Declined');
    const late = await bring(second);
    expect(codeOf(late)).toBe('Declined');
    expect(JSON.stringify(late)).toContain('An earlier decision stands');
    expect(cloud.requests).toEqual([]);
    await close();
  });

  test('spends it with an agreement that came too soon', async () => {
    const { bring, ask, close } = await setUpQuestion();
    time += 999;
    expect(codeOf(await bring('agreed'))).toBe('NobodyAsked');
    time += 5000;
    expect(codeOf(await bring('agreed'))).toBe('NobodyAsked');
    // No question to this client counts any more, and here is no other way.
    expect(await ask('one', person('agreed'))).toBe('NeedsHuman');
    expect(cloud.requests).toEqual([]);
    await close();
  });

  test('carries out the change that was shown, whatever arguments come with the answer', async () => {
    const { bring, rows, close } = await setUpQuestion();
    time += 5000;
    expect(codeOf(await bring('agreed', 'two'))).toBe('accepted');
    expect(cloud.requests.map(({ body }) => JSON.parse(body).instanceId)).toEqual(['one']);
    expect(await rows()).toHaveLength(1);
    await close();
  });

  test('asks a second time after an answer that the client could not get, in the next way', async () => {
    const { bring, rows, close } = await setUpQuestion();
    time += 5000;
    expect(codeOf(await bring('notAsked'))).toBe('planned');
    expect((await rows()).map(({ state }) => state).sort()).toEqual(['waiting', 'withdrawn']);
    await close();
  });

  test('is not counted out of a question that was asked before the third refusal', async () => {
    const { bring, ask, close } = await setUpQuestion();
    for (const name of ['a', 'b', 'c']) await ask(name, person('declined'));
    expect(codeOf(await bring('agreed'))).toBe('accepted');
    await close();
  });
});

test.each([
  ['agreed', 999, 'NobodyAsked', 'withdrawn'],
  ['agreed', 1000, 'accepted', 'accepted'],
  ['declined', 999, 'NobodyAsked', 'withdrawn'],
  ['cancelled', 999, 'NobodyAsked', 'withdrawn'],
  ['declined', 1000, 'Declined', 'declined'],
  ['unanswered', 0, 'Declined', 'declined'],
] as const)('%s after %i ms: %s', async (reply, afterMs, code, state) => {
  const { ask, rows, close } = setUp();
  expect(await ask('one', person(reply, afterMs))).toBe(code);
  expect(cloud.requests).toHaveLength(code === 'accepted' ? 1 : 0);
  const way = code === 'NobodyAsked' ? 'program' : 'asked';
  expect(await rows()).toMatchObject([{ state, decision: { way, answeredAfterMs: afterMs } }]);
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
  test.each([
    ['declined', 'Declined', 'Declined'],
    // Nobody said no.
    ['cancelled', 'accepted', 'planned'],
    ['unanswered', 'accepted', 'planned'],
  ] as const)(
    'confirm_change, on earlier plans and new ones, unless the question was only closed: %s',
    async (reply, onEarlier, onNew) => {
      const { ask, run, plan, close } = setUp();
      const earlier = await plan('one');
      expect(await ask('one', person(reply))).toBe('Declined');
      expect(codeOf(await run('one'))).toBe(onNew);
      expect(await earlier.confirm()).toBe(onEarlier);
      await close();
    },
  );

  test('no person, who may be asked again and change their mind', async () => {
    const { ask, close } = setUp();
    expect(await ask('one', person('declined'))).toBe('Declined');
    expect(await ask('one', person('agreed'))).toBe('accepted');
    await close();
  });

  test('this change alone, and for ten minutes', async () => {
    const { ask, plan, close } = setUp();
    await ask('one', person('declined'));
    expect(await (await plan('two')).confirm()).toBe('accepted');
    time += 10 * minute + 1;
    expect(await (await plan('one')).confirm()).toBe('accepted');
    await close();
  });

  test.each([{}, { hasView: true }])(
    'every change after three: planOnly gives no changeId, and an earlier plan cannot be confirmed: %j',
    async (client) => {
      const { ask, run, plan, close } = setUp();
      const earlier = await plan('four');
      for (const name of ['one', 'two', 'three']) await ask(name, person('declined'));
      const outcome = await run('four', client, { planOnly: true });
      expect(outcome).toMatchObject({ kind: 'succeeded', success: { outcome: 'planned' } });
      expect(outcome).not.toHaveProperty('success.changeId');
      expect(codeOf(await run('four', client))).toBe('TooManyRefusals');
      expect(await earlier.confirm()).toBe('TooManyRefusals');
      expect(cloud.requests).toEqual([]);
      await close();
    },
  );
});

describe('a repetition that is meant', () => {
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
    const { call, confirm, close } = testCaller(cloud.origin, { confirm: 'plan', now: () => new Date(time) });
    const args = { backupId, instanceId: 'one', allowRepeat: true };
    const plans = await Promise.all([1, 2].map(() => call(restoreInstance, args, { signal: never })));
    const ids = plans.map((plan) => (plan.ok ? `${plan.structured.changeId}` : ''));
    const outcomes = await Promise.all(ids.map((changeId) => confirm(changeId, 'one')));
    expect(outcomes.map((outcome) => (outcome.ok ? 'accepted' : outcome.failure.code)).sort()).toEqual([
      'Repeated',
      'accepted',
    ]);
    expect(cloud.requests).toHaveLength(1);
    await close();
  });
});
