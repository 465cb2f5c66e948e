import { describe, expect, test } from 'vitest';
import type { ConsentMode } from '../../src/calls/account.js';
import type { RefusalCode } from '../../src/calls/refusal.js';
import type { Change, Decision } from '../../src/changes/change.js';
import { refusalOf } from '../../src/changes/change-state.js';
import { type Click, decisionOfClick, refusalOfClick, refusalOfConfirmation } from '../../src/changes/decide.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { accepted, alice, changer, failed, start, successOf } from '../support/changer.js';
import { newChange } from '../support/changes.js';

/** Which clicks and confirmations count, as tables over all that they depend on, and through the calls that bring them. */

const minute = 60_000;
const closed = { byForm: false, byClick: false, onPage: false, byConfirmation: false };
const waiting: Change = {
  ...newChange({ options: closed, subject: { digest: 's', name: 'wiki' } }),
  state: 'waiting',
  madeAt: start,
  expiresAt: start + 10 * minute,
  isExpired: false,
  ageMs: 0,
};

/** All combinations of one entry of each list. */
const combined = <const Lists extends readonly (readonly string[])[]>(lists: Lists): string[] =>
  lists.reduce<string[]>(
    (all, entries) => all.flatMap((one) => entries.map((entry) => `${one} ${entry}`.trim())),
    [''],
  );

type Row = readonly [inputs: string, code: RefusalCode | 'counts'];
const rowsFor = (rows: readonly Row[], input: string) =>
  rows.filter(([inputs]) => new RegExp(`^${inputs}$`).test(input));

describe('a click', () => {
  const ages = { soon: 999, read: 1000, last: 10 * minute, late: 10 * minute + 1 };
  const names = { free: undefined, right: ' wiki ', wrong: 'wiki2', none: undefined };
  /** `where` it was, whether its way is open, the age of the plan, the button, and the name that was typed, if one is wanted. */
  const inputs = combined([
    ['view', 'page'],
    ['open', 'shut'],
    Object.keys(ages),
    ['accept', 'decline'],
    Object.keys(names),
  ]);
  const rows: readonly Row[] = [
    ['.* shut .*', 'ClickRefused'],
    ['view open late .*', 'PlanExpired'],
    ['.* open soon .*', 'TooSoon'],
    ['view open (read|last) accept (wrong|none)', 'WrongName'],
    ['page open (read|last|late) accept (wrong|none)', 'WrongName'],
    ['view open (read|last) (accept (free|right)|decline .*)', 'counts'],
    ['page open (read|last|late) (accept (free|right)|decline .*)', 'counts'],
  ];

  test.each(inputs)('%s', (input) => {
    const matching = rowsFor(rows, input);
    expect(matching).toHaveLength(1);
    const [where = '', way, age = '', decision, name = ''] = input.split(' ');
    const change = {
      ...waiting,
      options: {
        ...closed,
        byClick: (where === 'view') === (way === 'open'),
        onPage: (where === 'page') === (way === 'open'),
      },
      ageMs: ages[age as keyof typeof ages],
      ...(name !== 'free' && { typedName: 'wiki' }),
    };
    const click = { where, decision, typedName: names[name as keyof typeof names] } as Click;
    expect(refusalOfClick(change, click)?.code ?? 'counts').toBe(matching[0]?.[1]);
  });

  test.each<readonly [Click, Decision]>([
    [
      { where: 'view', decision: 'accept' },
      { kind: 'approved', way: 'clicked', answeredAfterMs: 3000 },
    ],
    [
      { where: 'view', decision: 'decline', reason: 'no' },
      { kind: 'declined', way: 'clicked', answeredAfterMs: 3000, reason: 'no' },
    ],
    [
      { where: 'page', decision: 'accept', person: 'bob', reason: 'no' },
      { kind: 'approved', way: 'page', answeredAfterMs: 3000, person: 'bob' },
    ],
    [
      { where: 'page', decision: 'decline', person: 'bob', reason: 'no' },
      { kind: 'declined', way: 'page', answeredAfterMs: 3000, person: 'bob', reason: 'no' },
    ],
  ])('that counts is a decision: %j', (click, decision) => {
    expect(decisionOfClick({ ...waiting, ageMs: 3000 }, click)).toEqual(decision);
  });
});

describe('a confirmation', () => {
  const ages = { made: 0, last: 10 * minute, late: 10 * minute + 1 };
  const things = { shown: 'wiki', spaced: ' wiki\n', other: 'wiki2', empty: '', tool: 'restore_instance' };
  /** Whether `confirm_change` is open, the age of the plan, the client, the name that is given, and whether the change has a name. */
  const inputs = combined([
    ['open', 'shut'],
    Object.keys(ages),
    ['same', 'other'],
    Object.keys(things),
    ['named', 'nameless'],
  ]);
  const rows: readonly Row[] = [
    ['shut .*', 'NotConfirmable'],
    ['open late .*', 'PlanExpired'],
    ['open (made|last) other .*', 'NotConfirmable'],
    ['open (made|last) same (other|empty) .*', 'WrongName'],
    ['open (made|last) same (shown|spaced) named', 'counts'],
    ['open (made|last) same tool named', 'WrongName'],
    ['open (made|last) same (shown|spaced) nameless', 'WrongName'],
    ['open (made|last) same tool nameless', 'counts'],
  ];

  test.each(inputs)('%s', (input) => {
    const matching = rowsFor(rows, input);
    expect(matching).toHaveLength(1);
    const [way, age = '', client, thing = '', name] = input.split(' ');
    const change = {
      ...waiting,
      options: { ...closed, byConfirmation: way === 'open' },
      ageMs: ages[age as keyof typeof ages],
      ...(name === 'nameless' && { subject: undefined }),
    };
    const refusal = refusalOfConfirmation(
      change,
      things[thing as keyof typeof things],
      client === 'same' ? 'test 1' : 'test 2',
    );
    expect(refusal?.code ?? 'counts').toBe(matching[0]?.[1]);
  });
});

test.each<readonly [ConsentMode, Decision, RefusalCode, string | undefined]>([
  ['ask', { kind: 'declined', way: 'asked' }, 'Declined', 'the user declined to open the page'],
  [
    'ask',
    { kind: 'declined', way: 'asked', isDismissed: true },
    'Declined',
    'the user closed the question, or did not answer',
  ],
  ['ask', { kind: 'withdrawn', way: 'asked' }, 'WrongName', undefined],
  ['ask', { kind: 'declined', way: 'clicked' }, 'Declined', 'the user clicked "Do nothing"'],
  ['human', { kind: 'declined', way: 'page' }, 'Declined', 'a person on the page clicked "Do nothing"'],
  ['approval', { kind: 'declined', way: 'page' }, 'Declined', 'a person on the page clicked "Do nothing"'],
  ['plan', { kind: 'declined', way: 'confirmed' }, 'Declined', 'this plan was declined'],
  ['ask', { kind: 'withdrawn', way: 'withdrawn' }, 'Withdrawn', undefined],
  ['ask', { kind: 'withdrawn', way: 'withdrawn', replacedBy: 'x' }, 'Withdrawn', undefined],
  [
    'ask',
    { kind: 'withdrawn', way: 'program', answeredAfterMs: 7 },
    'NobodyAsked',
    'the client answered it after 7 ms',
  ],
])('%s: the decision %j is told as %s', (mode, decision, code, problem) => {
  const refusal = refusalOf({ ...waiting, mode }, decision);
  expect([refusal.code, refusal.problems[0]?.text]).toEqual([code, problem]);
  // In `approval`, nobody may take the decline for the user's.
  const declinedByOther = mode === 'approval' ? 'somebody other than the user declined it' : undefined;
  const replaced = decision.replacedBy && 'its caller replaced the plan with a newer one';
  expect(refusal.more.reason?.text).toBe(replaced ?? declinedByOther);
});

test('a question whose call ended is not told as withdrawn by its caller', () => {
  const asked = { ...waiting, options: { ...waiting.options, byForm: true } };
  const refusal = refusalOf(asked, { kind: 'withdrawn', way: 'withdrawn' });
  expect(refusal.more.reason?.text).toBe('its call was cancelled or ended before anybody answered the question');
});

describe('confirm_change', () => {
  const planned = async (confirm: ConsentMode = 'plan') => {
    const session = changer({ confirm });
    const outcome = await session.call();
    return { ...session, outcome, id: successOf(outcome).changeId ?? '' };
  };

  test.each(['plan', 'ask'] as const)('%s: carries its plan out, once', async (mode) => {
    const { confirm, id, journal, requests } = await planned(mode);
    const outcome = await confirm(id);
    expect(outcome).toMatchObject({ ...accepted, success: { outcome: 'accepted', changeId: id } });
    // After a plan that was shown, its warnings are not told again.
    expect(successOf(outcome).warnings).toEqual([]);
    expect(await journal()).toMatchObject([
      { id, state: 'accepted', decision: { kind: 'approved', way: 'confirmed' } },
    ]);
    const again = await confirm(id);
    expect(again).toMatchObject({
      success: {
        outcome: 'accepted',
        notes: [expect.stringMatching(/^The agent agreed at .*Z\. This call changed nothing\.$/)],
      },
    });
    expect(requests).toHaveLength(1);
  });

  test.each(['human', 'approval'] as const)('%s: is no decision', async (mode) => {
    const page = { kind: 'signIn', addressOf: (id: string) => id, announce: () => undefined } as const;
    const { call, confirm, requests } = changer({ confirm: mode, page });
    const { changeId = '' } = successOf(await call());
    expect(await confirm(changeId)).toMatchObject(failed('NotConfirmable'));
    expect(requests).toEqual([]);
  });

  test('counts no more after the setting became stricter: nothing is sent, and the plan still waits', async () => {
    const { store, clock, id, requests } = await planned();
    const later = changer({ confirm: 'human', store, clock });
    expect(await later.confirm(id)).toMatchObject(failed('PlanRefused', 'human by now'));
    expect([requests, later.requests]).toEqual([[], []]);
    expect((await store.find(id))?.state).toBe('waiting');
  });

  test('of a plan that is forbidden by now is refused, and the plan still waits', async () => {
    const { store, clock, id } = await planned();
    const policy = { readOnly: true, tools: undefined, extensions: [] };
    const readOnly = changer({ confirm: 'plan', policy, store, clock });
    expect(await readOnly.confirm(id)).toMatchObject(failed('NotAllowed', 'CLOUDOPS_READ_ONLY'));
    expect((await store.find(id))?.state).toBe('waiting');
    expect(await changer({ confirm: 'plan', store, clock }).confirm(id)).toMatchObject(accepted);
  });
});

describe('a click in a view or on the page', () => {
  const page = {
    kind: 'signIn',
    addressOf: (id: string) => `https://example.com/${id}`,
    announce: () => undefined,
  } as const;
  const planned = async (options: Parameters<typeof changer>[0] = {}, args: object = {}) => {
    const session = changer(options);
    const outcome = await session.call(args, { client: { views: true } });
    return { ...session, outcome };
  };

  test.each<readonly [ConsentMode, 'view' | 'page', boolean]>([
    ['ask', 'view', true],
    ['approval', 'view', false],
    ['approval', 'page', true],
    ['plan', 'page', false],
    ['off', 'page', false],
  ])('where the server asks for "%s" by now, one in the %s counts: %s', async (confirm, where, counts) => {
    const { outcome, store, clock } = await planned({ page });
    const later = changer({ confirm, store, clock, page });
    const decided = await later.click(outcome, { where });
    if (counts) expect(decided).toMatchObject({ outcome: accepted });
    else expect(decided).toMatchObject({ outcome: failed('PlanRefused', `${confirm} by now`) });
    expect(later.requests).toHaveLength(counts ? 1 : 0);
  });

  test.each(['accept', 'decline'] as const)(
    'to %s after 999 ms is a program: a person can still decide',
    async (decision) => {
      const { click, outcome, journal } = await planned();
      expect(await click(outcome, { decision }, { afterMs: 999 })).toMatchObject({
        code: 'TooSoon',
        problems: ['the click came after 999 ms'],
      });
      expect(await journal()).toEqual([]);
      expect(await click(outcome)).toMatchObject({ outcome: accepted });
    },
  );

  test('that declines and cannot be written down binds all the same, and says so', async () => {
    const { click, outcome, store, requests } = await planned();
    store.decide = async (id, decision) => {
      const change = await store.find(id);
      if (change === undefined) return { kind: 'gone' };
      return { kind: 'decided', change: { ...change, state: decision.kind, decision }, isUnwritten: true };
    };
    expect(await click(outcome, { decision: 'decline' })).toMatchObject({
      outcome: failed('Declined', 'the user clicked', 'not in the journal yet'),
    });
    expect(requests).toEqual([]);
  });

  test('on a plan that repeats a change sends it again, and a click on the same plan of a later repetition does not', async () => {
    const { clock, call, click, journal, requests } = changer();
    const first = await call({}, { client: { views: true } });
    await click(first);
    const [one, two] = [
      await call({ allowRepeat: true }, { client: { views: true } }),
      await call({ allowRepeat: true }, { client: { views: true } }),
    ];
    expect(await click(one)).toMatchObject({ outcome: accepted });
    // Its plan named the first change as the one that is repeated.
    expect(await click(two)).toMatchObject({ outcome: { failure: { code: 'Repeated', outcome: 'not sent' } } });
    expect((await journal()).map(({ state }) => state)).toEqual(['accepted', 'accepted', 'not sent']);
    clock.time += 20 * minute;
    expect(requests).toHaveLength(2);
  });
});

describe('the proof of a click', () => {
  const planned = async () => {
    const session = changer();
    const outcome = await session.call({}, { client: { views: true } });
    const ticket = outcome.kind === 'succeeded' && outcome.view?.kind === 'plan' ? (outcome.view.ticket ?? '') : '';
    const find = (proof: string, name = 'alice') =>
      session.changes.findByProof(proof, {
        client: { name: 'any' },
        signal: AbortSignal.any([]),
        principal: { ...alice, name },
      });
    return { ...session, ticket, find, id: successOf(outcome).changeId ?? '' };
  };

  test('goes only to the view, and no plan, state or row has it', async () => {
    const { call, ticket, id, get, changeOf } = await planned();
    const secret = ticket.split('.')[1] ?? '';
    expect(secret).toMatch(/^[\w-]{22}$/);
    const seen = [await get(id), await changeOf(await get(id)), (await call({}, { client: { views: true } })).kind];
    expect(JSON.stringify(seen)).not.toContain(secret);
  });

  test('of a change that is not there says that the plan has expired', async () => {
    const { find } = await planned();
    expect(await find(`${'a'.repeat(22)}.${'b'.repeat(22)}`)).toMatchObject({ code: 'PlanExpired' });
  });
});

test('a changeId alone is never consent: a tool takes none', async () => {
  const { call, requests } = changer({ confirm: 'plan' });
  const { changeId } = successOf(await call());
  for (const name of ['planId', 'changeId', 'withdraw'])
    expect(await call({ [name]: changeId })).toMatchObject(failed('InvalidArguments', name));
  expect(requests).toEqual([]);
  expect(restoreInstance.input().shape).not.toHaveProperty('planId');
});

describe('a server that is suspended after it has stored a decision', () => {
  test.each([
    ['while the journal finds the repetition', 10 * minute - 1, 'Repeated'],
    ['when the journal takes it for another change', 10 * minute, 'PlanExpired'],
  ])('does not send a change that another server has sent on a new plan: %s', async (_what, passedMs, code) => {
    const { call, click, store, clock, requests, get } = changer();
    const other = changer({ confirm: 'off', store, clock });
    const outcome = await call({}, { client: { views: true } });
    const { decide } = store;
    store.decide = async (...given) => {
      const decided = await decide(...given);
      clock.time += minute;
      expect(await other.call()).toMatchObject(accepted);
      clock.time += passedMs;
      return decided;
    };
    const told = { failure: { code, outcome: 'not sent', mayHaveHappened: false } };
    expect(await click(outcome)).toMatchObject({ outcome: told });
    expect([requests.length, other.requests.length]).toEqual([0, 1]);
    const { changeId = '' } = successOf(outcome);
    expect((await store.find(changeId))?.state).toBe('not sent');
    expect(await get(changeId)).toMatchObject({ failure: { outcome: 'not sent', mayHaveHappened: false } });
  });

  test('sends the change up to ten minutes later', async () => {
    const { call, click, store, clock, requests } = changer();
    const { decide } = store;
    const outcome = await call({}, { client: { views: true } });
    store.decide = async (...given) => {
      const decided = await decide(...given);
      clock.time += 10 * minute;
      return decided;
    };
    expect(await click(outcome)).toMatchObject({ outcome: accepted });
    expect(requests).toHaveLength(1);
  });
});
