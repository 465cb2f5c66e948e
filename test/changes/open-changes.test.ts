import { describe, expect, test } from 'vitest';
import type { ConsentMode } from '../../src/calls/account.js';
import type { CallOutcome } from '../../src/calls/outcome.js';
import type { Change } from '../../src/changes/change.js';
import { planText } from '../../src/changes/plan.js';
import { otherChangeText } from '../../src/changes/plan-change.js';
import type { Operation } from '../../src/tools/define-operation.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { upgradeKubeVersion } from '../../src/tools/upgrade-kube-version.js';
import { namedAccounts } from '../support/accounts.js';
import type { TestContext } from '../support/caller.js';
import { alice, type ChangerOptions, changer, start, successOf } from '../support/changer.js';
import { newChange } from '../support/changes.js';
import { answered } from '../support/scripted-client.js';

/** A plan names the caller's other changes that are open, and may replace one that waits. */

const minute = 60_000;
const operation = restoreInstance as Operation;
const subject = { digest: 'd'.repeat(64), name: 'wiki' };

describe('the sentence about another change', () => {
  const other = { ...newChange(), subject, args: { diskSize: 100 }, state: 'waiting', madeAt: start } as const;
  const sentence = (
    more: Partial<Change>,
    plan: Parameters<typeof otherChangeText>[1] = { args: { diskSize: 200 }, subject },
  ) => otherChangeText({ ...other, ...more }, plan, operation, new Date(start + 2 * minute)).text;

  const theOther = 'Another plan for "wiki"';
  const orders = { subject: { digest: 'o', name: 'orders' } };
  test.each<readonly [string, Partial<Change>, string]>([
    ['that waits', {}, `${theOther} waits (disk size 100 GB), made 2 min ago.`],
    [
      'from a server whose clock is ahead',
      { madeAt: start + 3 * minute },
      `${theOther} waits (disk size 100 GB), made 0 s ago.`,
    ],
    [
      'that is under way',
      { state: 'begun', decidedAt: start + minute },
      `${theOther} is being sent (disk size 100 GB), approved 60 s ago.`,
    ],
    [
      'that ended unknown',
      { state: 'unknown', decidedAt: start, endedAt: start + minute },
      `${theOther} ended unknown (disk size 100 GB), 60 s ago.`,
    ],
    [
      'that was declined',
      { state: 'declined', decidedAt: start + minute },
      `${theOther} was declined (disk size 100 GB), 60 s ago.`,
    ],
    [
      'of another thing, that waits',
      orders,
      'The same operation for "orders" waits, made 2 min ago; this would be another one, "wiki".',
    ],
    [
      'of another thing, that ended unknown',
      { ...orders, state: 'unknown', endedAt: start },
      'The same operation for "orders" ended unknown 2 min ago; this would be another one, "wiki".',
    ],
    [
      'of an unknown thing',
      { subject: undefined, state: 'unknown', endedAt: start },
      'The same operation ended unknown 2 min ago; this would be another one, "wiki".',
    ],
  ])('%s', (_what, more, text) => {
    expect(sentence(more)).toBe(text);
  });

  test('of two unknown things names none', () => {
    expect(sentence({ subject: undefined }, { args: {} })).toBe(
      'The same operation waits, made 2 min ago; this would be another one.',
    );
  });

  type Fields = Readonly<Record<string, unknown>>;
  test.each<readonly [string, Fields, Fields, string]>([
    ['a number with its unit', { diskSize: 100 }, { diskSize: 200 }, 'disk size 100 GB'],
    ['a text in quotation marks', { instanceType: 'c-large' }, { instanceType: 'e-large' }, 'server type "c-large"'],
    ['an argument that only the other has', { diskSize: 100 }, {}, 'disk size 100 GB'],
    ['an argument inside another', { networkConfig: { networkId: 'n' } }, {}, 'private network\'s LAN "n"'],
    ['an argument that the schema does not have, by its path', { odd: { way: true } }, {}, 'odd.way true'],
    ['several, the first five', { a: 1, b: 2, c: 3, d: 4, e: 5, f: 6 }, {}, 'a 1, b 2, c 3, d 4, e 5'],
    ['only what differs', { a: 1, b: 2 }, { a: 1, b: 3 }, 'b 2'],
    ['that it is the same change', { a: 1 }, { a: 1 }, 'the same change'],
    ['that it has fewer arguments', { a: 1 }, { a: 1, b: 2 }, 'with fewer arguments'],
    [
      '40 characters of a long text',
      { description: 'x'.repeat(41) },
      {},
      `description "${'x'.repeat(40)}…" (cut, 41 characters)`,
    ],
  ])('says %s', (_what, args, own, text) => {
    expect(sentence({ args }, { args: own, subject })).toBe(`${theOther} waits (${text}), made 2 min ago.`);
  });

  test('names arguments by their paths if the operation is gone', () => {
    const { text } = otherChangeText(other, { args: {}, subject }, undefined, new Date(start));
    expect(text).toContain('waits (diskSize 100), made');
  });
});

const told = 'Another plan for "wiki" waits (disk size 100 GB), made 2 min ago.';

/** A server with a plan for 100 GB that waits for a click since two minutes. */
async function setUp(options: ChangerOptions = {}) {
  const session = changer({ confirm: 'human', ...options });
  const call = (args: object, context: TestContext = { client: { views: true } }) =>
    session.call({ instanceId: 'wiki', ...args }, context);
  const first = await call({ diskSize: 100 });
  session.clock.time += 2 * minute;
  const stateOfFirst = async () => (await session.changeOf(first)).state;
  return { ...session, call, first, id: successOf(first).changeId ?? '', stateOfFirst };
}
const othersOf = (outcome: CallOutcome) => successOf(outcome).plan?.others?.map(({ text }) => text) ?? [];

describe('another plan of the same thing', () => {
  test('is in the second line of a form, after the risk, and at a terminal below the headline', async () => {
    const { call, personOf, requests } = await setUp();
    const { elicitor, asked } = personOf('declined');
    const shown: string[] = [];
    await call(
      { diskSize: 200 },
      { client: { elicitor: { ...elicitor, show: (plan) => shown.push(planText(plan, undefined).text) } } },
    );
    expect(asked[0]?.split('\n')[1]).toBe(`It costs money. ${told}`);
    expect(shown[0]?.split('\n').slice(1, 3)).toEqual(['It costs money.', told]);
    expect(requests).toEqual([]);
  });

  test('is none if it was only shown', async () => {
    const { call } = changer({ confirm: 'plan' });
    const shown = successOf(await call({ planOnly: true }));
    expect(shown).not.toHaveProperty('changeId');
    expect(othersOf(await call({ diskSize: 200 }))).toEqual([]);
  });

  test.each<readonly [ConsentMode, boolean]>([
    ['off', false],
    ['ask', true],
    ['human', true],
    ['plan', true],
  ])('with %s, a plan that is only asked for names it: %s', async (confirm, isNamed) => {
    const { store, clock } = await setUp();
    const later = changer({ confirm, store, clock });
    const outcome = await later.call({ instanceId: 'wiki', diskSize: 200, planOnly: true });
    expect(othersOf(outcome)).toEqual(isNamed ? [told] : []);
  });

  test('does not stop a plan if it cannot be read', async () => {
    const { store, clock } = await setUp();
    const gone = { ...store, open: () => Promise.reject(new Error('gone')) };
    const later = changer({ store: gone, clock });
    expect(othersOf(await later.call({ instanceId: 'wiki' }, { client: { views: true } }))).toEqual([]);
  });
});

describe('a plan that replaces another', () => {
  test('withdraws it, and does not name it', async () => {
    const { call, id, stateOfFirst, journal } = await setUp();
    expect(othersOf(await call({ diskSize: 200, replaces: id }))).toEqual([]);
    expect(await stateOfFirst()).toBe('withdrawn');
    expect(await journal()).toMatchObject([{ id, decision: { kind: 'withdrawn', way: 'withdrawn' } }]);
  });

  /** The call is an error, before anything is withdrawn. */
  test.each<readonly [string, (session: Awaited<ReturnType<typeof setUp>>) => Promise<CallOutcome>]>([
    ['that does not exist', ({ call }) => call({ diskSize: 200, replaces: 'x'.repeat(22) })],
    ['with nonsense for an ID', ({ call }) => call({ diskSize: 200, replaces: 'nonsense' })],
    [
      'of somebody else',
      ({ call, id }) =>
        call({ diskSize: 200, replaces: id }, { client: { views: true }, principal: { ...alice, name: 'bob' } }),
    ],
    [
      'of another operation',
      ({ callOf: callTool, id }) =>
        callTool(upgradeKubeVersion, { ...upgradeKubeVersion.example, replaces: id }, { client: { views: true } }),
    ],
    [
      'with planOnly, which would leave its own plan to nobody',
      ({ call, id }) => call({ diskSize: 200, replaces: id, planOnly: true }),
    ],
  ])('%s is refused, and the other one stays', async (_what, attempt) => {
    const session = await setUp();
    const waiting = (await session.store.waiting({})).length;
    expect(await attempt(session)).toMatchObject({
      failure: { code: 'InvalidArguments', problems: [expect.stringContaining('replaces: ')], mayHaveHappened: false },
    });
    expect(await session.stateOfFirst()).toBe('waiting');
    expect((await session.store.waiting({})).length).toBe(waiting);
  });

  test.each<readonly [string, (session: Awaited<ReturnType<typeof setUp>>) => Promise<unknown>, string]>([
    ['was declined', ({ click, first }) => click(first, { decision: 'decline' }), 'declined'],
    ['was accepted', ({ click, first }) => click(first), 'accepted'],
    ['was withdrawn', ({ withdraw, id }) => withdraw(id), 'withdrawn'],
    [
      'has expired',
      async ({ clock }) => {
        clock.time += 10 * minute;
      },
      'waiting',
    ],
  ])('that %s is simply a new plan', async (_what, become, state) => {
    const session = await setUp();
    await become(session);
    expect(successOf(await session.call({ diskSize: 200, replaces: session.id })).outcome).toBe('planned');
    expect(await session.stateOfFirst()).toBe(state);
  });

  test('of another account is refused', async () => {
    const human = { confirm: 'human' } as const;
    const accounts = namedAccounts(
      'http://127.0.0.1:1',
      [
        { name: 'one', ...human },
        { name: 'two', ...human },
      ],
      'one',
    );
    const { call, id, stateOfFirst } = await setUp({ accounts });
    expect(await call({ diskSize: 200, account: 'two', replaces: id })).toMatchObject({
      failure: { code: 'InvalidArguments' },
    });
    expect(await stateOfFirst()).toBe('waiting');
    expect(successOf(await call({ diskSize: 200, account: 'one', replaces: id })).outcome).toBe('planned');
    expect(await stateOfFirst()).toBe('withdrawn');
  });

  test('that is refused, such as a repetition, withdraws nothing', async () => {
    const { call, id, stateOfFirst, store, clock, requests } = await setUp({ reply: async () => answered(200, {}) });
    await changer({ confirm: 'off', store, clock }).call({ instanceId: 'wiki', diskSize: 200 });
    expect(await call({ diskSize: 200, replaces: id })).toMatchObject({ failure: { code: 'Repeated' } });
    expect(await stateOfFirst()).toBe('waiting');
    expect(requests).toEqual([]);
    expect(successOf(await call({ diskSize: 200, replaces: id, allowRepeat: true })).outcome).toBe('planned');
    expect(await stateOfFirst()).toBe('withdrawn');
  });
});
