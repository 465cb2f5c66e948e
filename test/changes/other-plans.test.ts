import { beforeEach, expect, test } from 'vitest';
import type { CallContext } from '../../src/calls/context.js';
import { writeScope } from '../../src/calls/policy.js';
import type { Elicitor } from '../../src/changes/elicitor.js';
import { planText } from '../../src/changes/plan.js';
import { createPlans } from '../../src/consent/plans.js';
import { createConsentTokens } from '../../src/consent/tokens.js';
import { createMemoryPlanStore } from '../../src/journal/plan-store.js';
import type { Operation } from '../../src/tools/define-operation.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { defined } from '../../src/util/safe-text.js';
import { createMemoryJournal, never, type TestCallerOptions, testCaller } from '../support/caller.js';
import { answered, scriptedClient } from '../support/scripted-client.js';

/** While a plan waits, a person who is asked about the same thing in a form or at a terminal is told of it. */

const operation = restoreInstance as unknown as Operation;
const restore = { backupId: 'a'.repeat(32), instanceId: 'wiki' };
const told = 'Another plan for "wiki" waits: disk size 100 GB, asked 2 min ago.';

let time = 0;
beforeEach(() => {
  time = Date.parse('2026-11-21T12:00:00Z');
});
const now = () => new Date(time);
const tokens = createConsentTokens(() => ['k'.repeat(32)], '', now);

/** A server with a plan for 100 GB that waits for a click since two minutes, and a person who declines in a form. */
async function setUp() {
  const { openClient, requests } = scriptedClient(async () => answered(200, {}));
  const journal = createMemoryJournal(now);
  const plans = createPlans({
    store: createMemoryPlanStore(),
    keys: () => ['k'.repeat(32)],
    now,
    lifetimeMs: 86_400_000,
  });
  const serverWith = (options: TestCallerOptions) => {
    const { carryOut } = testCaller('http://127.0.0.1:1', {
      confirm: 'human',
      openClient,
      journal,
      plans,
      now,
      ...options,
    });
    return (args: object, context: Partial<CallContext>, tool = operation) =>
      carryOut(tool, { ...restore, ...args }, { tokens, client: 'test 1', signal: never, ...context });
  };
  const call = serverWith({});
  const first = await call({ diskSize: 100 }, { hasView: true });
  if (first.kind !== 'succeeded') throw new Error('there is no plan');
  time += 118_000;
  const asked: string[][] = [];
  const shown: string[] = [];
  const elicitor: Elicitor = {
    show: (plan) => shown.push(planText(plan, undefined).text),
    ask: async (message) => {
      asked.push(message.text.split('\n'));
      time += 3000;
      return { kind: 'declined' };
    },
  };
  return { call, serverWith, requests, planId: first.success.planId, plans, asked, shown, elicitor };
}

test('a form names it in the second line, after the risk, and a terminal below the headline', async () => {
  const { call, asked, shown, elicitor, requests } = await setUp();
  await call({ diskSize: 200 }, { elicitor });
  expect(asked[0]?.[1]).toBe(`It costs money. ${told}`);
  expect(shown[0]?.split('\n').slice(1, 3)).toEqual([told, 'Risk: costs money.']);
  expect(requests).toEqual([]);
});

test('it is named to nobody who is asked about another thing, about itself, or about what replaces it', async () => {
  const { call, asked, elicitor, planId, plans } = await setUp();
  await call({ instanceId: 'blog' }, { elicitor });
  await call({ diskSize: 100, planId }, { elicitor });
  expect((await plans.list()).map(({ state }) => state)).toEqual(['decided']);
  expect(asked).toHaveLength(2);
  expect(asked.flat().join('\n')).not.toContain('Another plan');
});

test('a plan that replaces it does not name it', async () => {
  const { call, asked, elicitor, planId, plans } = await setUp();
  await call({ diskSize: 200, replaces: planId }, { elicitor });
  expect(asked).toHaveLength(1);
  expect(asked.flat().join('\n')).not.toContain('Another plan');
  expect((await plans.list()).map(({ decision }) => decision?.kind)).toEqual(['withdrawn']);
});

test.each([
  ['does not exist', 'nonsense', {}],
  ['is of another change', undefined, { instanceId: 'blog' }],
])('it stays if the plan that should replace it %s', async (_what, unknownId, changes) => {
  const { call, planId, plans } = await setUp();
  const args = { diskSize: 200, ...changes, planId: unknownId ?? planId, replaces: planId };
  await expect(call(args, {})).resolves.toMatchObject({ failure: { code: 'PlanRefused' } });
  expect((await plans.list()).map(({ state }) => state)).toEqual(['waiting']);
});

test('it stays if the planId of a repeated call is not that of its plan', async () => {
  const { serverWith, planId, plans, requests } = await setUp();
  const call = serverWith({ confirm: 'ask' });
  const second = Object(await call({ diskSize: 200 }, { hasView: true }));
  const args = { diskSize: 200, planId: second.success.planId, replaces: planId };
  // The plan was shown without `allowRepeat`.
  expect(await call({ ...args, allowRepeat: true }, {})).toMatchObject({ failure: { code: 'PlanRefused' } });
  expect((await plans.list()).map(({ state }) => state)).toEqual(['waiting', 'waiting']);
  expect(requests).toEqual([]);
  await call(args, {});
  expect((await plans.list()).map(({ decision }) => decision?.kind)).toEqual(['withdrawn', 'accepted']);
});

test('it stays if the plan that should replace it is a repetition, and the call does not say so', async () => {
  const { serverWith, planId, plans, requests } = await setUp();
  const call = serverWith({ confirm: 'ask' });
  const { success: sent } = Object(await serverWith({ confirm: 'off' })({ diskSize: 200 }, {}));
  const second = Object(await call({ diskSize: 200, allowRepeat: true }, { hasView: true }));
  const args = { diskSize: 200, planId: second.success.planId, replaces: planId };
  const refused = { code: 'Repeated', earlier: { outcome: 'accepted', sentAt: sent.sentAt } };
  expect(await call(args, {})).toMatchObject({ failure: refused });
  expect((await plans.list()).map(({ state }) => state)).toEqual(['waiting', 'waiting']);
  expect(requests).toHaveLength(1);
  expect(await call({ ...args, allowRepeat: true }, {})).toMatchObject({ success: { outcome: 'accepted' } });
  expect((await plans.list()).map(({ decision }) => decision?.kind)).toEqual(['withdrawn', 'accepted']);
});

test('it stays if the planId is unknown, and a third plan makes the question too long', async () => {
  const { call, planId, plans } = await setUp();
  await call({ diskSize: 300 }, { hasView: true });
  const { change } = operation;
  if (change === undefined) throw new Error('restore_instance is a change');
  const withWarning = (length: number): Operation => ({
    ...operation,
    change: { ...change, warnings: () => [defined('x'.repeat(length))] },
  });
  const elicitor: Elicitor = { ask: async () => 'later' };
  const isAsked = async (length: number) =>
    (await call({ instanceId: 'blog', diskSize: 200 }, { elicitor }, withWarning(length))).kind === 'inputRequired';
  let length = 0;
  while (await isAsked(length + 20)) length += 20;

  const args = { diskSize: 200, planId: 'x'.repeat(60), replaces: planId };
  expect(await call(args, { elicitor }, withWarning(length))).toMatchObject({ failure: { code: 'PlanRefused' } });
  expect((await plans.list()).map(({ state }) => state)).toEqual(['waiting', 'waiting']);
});

test('it stays if the plan that should replace it was withdrawn', async () => {
  const { call, planId, plans } = await setUp();
  const second = Object(await call({ diskSize: 200, planOnly: true }, { hasView: true }));
  const other = { diskSize: 200, planId: second.success.planId };
  await call({ ...other, withdraw: true }, {});
  await call({ ...other, replaces: planId }, {});
  expect((await plans.list()).map(({ state }) => state)).toEqual(['waiting', 'decided']);
});

test('it is named only to its own caller', async () => {
  const { call, asked, elicitor } = await setUp();
  await call({ diskSize: 200 }, { elicitor, principal: { name: 'bob', scopes: [writeScope] } });
  expect(asked).toHaveLength(1);
  expect(asked.flat().join('\n')).not.toContain('Another plan');
});

test('it is no longer named after it was withdrawn', async () => {
  const { call, asked, elicitor, planId } = await setUp();
  await call({ diskSize: 100, planId, withdraw: true }, {});
  await call({ diskSize: 200 }, { elicitor });
  expect(asked).toHaveLength(1);
  expect(asked.flat().join('\n')).not.toContain('Another plan');
});

test('plans that cannot be read do not stop a question', async () => {
  const { serverWith, asked, elicitor, plans } = await setUp();
  const unreadable = serverWith({ plans: { ...plans, list: () => Promise.reject(new Error('gone')) } });
  await unreadable({ diskSize: 200 }, { elicitor });
  expect(asked).toHaveLength(1);
  expect(asked.flat().join('\n')).not.toContain('Another plan');
});

test.each([
  ['off', false],
  ['human', true],
] as const)('with %s, a plan that is only asked for names it: %s', async (confirm, isNamed) => {
  const { serverWith } = await setUp();
  const outcome = await serverWith({ confirm })({ diskSize: 200, planOnly: true }, { hasView: true });
  const { success } = Object(outcome);
  expect(JSON.stringify(success).includes('Another plan')).toBe(isNamed);
});
