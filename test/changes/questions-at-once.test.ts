import { describe, expect, test } from 'vitest';
import type { Elicitor, FormResponse } from '../../src/calls/context.js';
import type { CallOutcome } from '../../src/calls/outcome.js';
import type { TestContext } from '../support/caller.js';
import { accepted, alice, changer } from '../support/changer.js';

/** Many questions to one person: one at a time, and what was answered is known to the next. */

const names = Array.from({ length: 20 }, (_, index) => `server-${index}`);
const bob = { principal: { ...alice, name: 'bob' } };
const codeOf = (outcome: CallOutcome) => (outcome.kind === 'failed' ? outcome.failure.code : outcome.kind);

const setUp = (confirm: 'ask' | 'human' | 'plan' = 'ask') => changer({ confirm });

describe('many calls at once', () => {
  test('are asked one by one, until the third refusal', async () => {
    const { call, personOf, requests } = setUp();
    const { elicitor, asked } = personOf('declined');
    const outcomes = await Promise.all(names.map((instanceId) => call({ instanceId }, { client: { elicitor } })));
    expect(outcomes.map(codeOf)).toEqual(names.map((_, index) => (index < 3 ? 'Declined' : 'TooManyRefusals')));
    expect(asked).toHaveLength(3);
    expect(requests).toEqual([]);
  });

  test('are all asked where the user agrees, and none while another is open', async () => {
    const { call, clock } = setUp();
    let open = 0;
    const careful: Elicitor = {
      ask: async () => {
        open += 1;
        expect(open).toBe(1);
        await new Promise(setImmediate);
        clock.time += 2000;
        open -= 1;
        return { kind: 'agreed' };
      },
    };
    const outcomes = await Promise.all(
      names.map((instanceId) => call({ instanceId }, { client: { elicitor: careful } })),
    );
    expect(outcomes).toMatchObject(names.map(() => accepted));
  });

  test('of other callers do not wait', async () => {
    const { call, personOf } = setUp();
    let close = (_response: FormResponse) => {};
    const open = new Promise<FormResponse>((resolve) => {
      close = resolve;
    });
    const waiting = call({}, { client: { elicitor: { ask: () => open } } });
    expect(await call({ instanceId: 'two' }, { client: personOf('agreed'), ...bob })).toMatchObject(accepted);
    close({ kind: 'unanswered' });
    expect(codeOf(await waiting)).toBe('Declined');
  });

  test('are not asked, and not counted, when their client has cancelled them by then', async () => {
    const { call, clock, personOf, journal } = setUp();
    const client = new AbortController();
    const first = call(
      {},
      {
        client: {
          elicitor: {
            ask: async () => {
              client.abort();
              clock.time += 2000;
              return { kind: 'agreed' };
            },
          },
        },
      },
    );
    const { elicitor, asked } = personOf('agreed');
    const second = call({ instanceId: 'two' }, { signal: client.signal, client: { elicitor } });
    expect(await first).toMatchObject(accepted);
    expect(await second).toMatchObject({ kind: 'failed', failure: { code: 'NobodyAsked', mayHaveHappened: false } });
    expect(asked).toEqual([]);
    expect(await journal()).toHaveLength(1);
  });
});

test.each([
  ['declined', 'declined'],
  ['agreed', 'approved'],
] as const)('%s is stored before the call waits for its place among the calls again', async (kind, state) => {
  const { call, personOf, store } = setUp();
  const states: unknown[] = [];
  const wait: TestContext['wait'] = async (work) => {
    try {
      return await work();
    } finally {
      states.push((await store.newest({ limit: 9 })).map((row) => row.state));
    }
  };
  await call({}, { client: personOf(kind), wait });
  // The first wait is for the turn of the question.
  expect(states).toEqual([[], [state]]);
});

describe('a repetition that is meant', () => {
  const given = { allowRepeat: true };

  test('two at once: the second question says that it repeats the first', async () => {
    const { call, personOf } = setUp();
    const { elicitor, asked } = personOf('agreed');
    const outcomes = await Promise.all([1, 2].map(() => call(given, { client: { elicitor } })));
    expect(asked.map((question) => question.includes('This is a repeat'))).toEqual([false, true]);
    expect(outcomes).toMatchObject([accepted, accepted]);
  });

  test('two plans at once that do not mention each other: one is carried out', async () => {
    const { call, confirm, requests } = setUp('plan');
    const plans = await Promise.all([1, 2].map(() => call(given)));
    const ids = plans.map((plan) => (plan.kind === 'succeeded' ? `${plan.success.changeId}` : ''));
    const outcomes = await Promise.all(ids.map((id) => confirm(id)));
    expect(outcomes.map(codeOf).sort()).toEqual(['Repeated', 'succeeded']);
    expect(requests).toHaveLength(1);
  });
});
