import { describe, expect, test } from 'vitest';
import type { ConsentMode } from '../../src/calls/account.js';
import type { Visit } from '../../src/calls/context.js';
import { auditScope } from '../../src/calls/policy.js';
import type { Change, Decision, EndState } from '../../src/changes/change.js';
import { lateDecision, lateOutcome, stateOf } from '../../src/changes/change-state.js';
import { memoryStore } from '../support/caller.js';
import { alice, changeIdOf, changer, failed, start, successOf } from '../support/changer.js';
import { newChange } from '../support/changes.js';
import { type Page, pageOf, told } from '../support/told.js';

/** What a caller learns of its changes, and who else learns it. */

const hour = 60 * 60_000;
const waits = { kind: 'succeeded', success: { outcome: 'waiting' } };

/** A plan that waits, on a page or for a confirmation. */
async function planned(
  confirm: ConsentMode = 'human',
  page: Page = 'signIn',
  options: Parameters<typeof changer>[0] = {},
) {
  const { given } = pageOf(page);
  const session = changer({ confirm, planLifetimeMs: 24 * hour, ...(given && { page: given }), ...options });
  const outcome = await session.call();
  const id = successOf(outcome).changeId ?? '';
  const decide = (decision: 'accept' | 'decline', more: object = {}) =>
    session.click(outcome, { decision, where: 'page', person: 'bob', ...more });
  return { ...session, outcome, id, decide };
}

const row: Change = {
  ...newChange({ id: 'c'.repeat(22), what: 'A "server" is created.' }),
  state: 'unknown',
  madeAt: start,
  expiresAt: start + hour,
  begunAt: start + 1000,
  isExpired: false,
  ageMs: 0,
};

test('the answers of get_change', async () => {
  const all: string[] = [];
  const add = (name: string, outcome: Parameters<typeof told>[0]) => all.push(`## ${name}\n${told(outcome)}`);

  const onPage = await planned();
  add('a plan that waits on the page', await onPage.get(onPage.id));
  add('the same, taken back', await onPage.withdraw(onPage.id));
  add('the same, once more', await onPage.get(onPage.id));
  const inBrowser = await planned('human', 'local');
  add('a plan that waits in the browser', await inBrowser.get(inBrowser.id));
  const byAgent = await planned('plan', 'none');
  add('a plan that the agent confirms', await byAgent.get(byAgent.id));
  const ofOther = await planned('approval');
  add('a plan that waits for somebody else', await ofOther.get(ofOther.id));
  const expired = await planned();
  expired.clock.time += 24 * hour;
  add('a plan that has expired', await expired.get(expired.id));
  const declined = await planned('approval');
  await declined.decide('decline', { reason: 'Too "large".' });
  add('a plan that somebody else declined', await declined.get(declined.id));
  const closed = changer({ confirm: 'ask' });
  const asked = await closed.call({}, { client: { elicitor: closed.personOf('declined').elicitor } });
  add('a question that the user declined', await closed.get(Object(asked).failure.changeId));

  const get = (change: Partial<Change>) => stateOf({ ...row, ...change }, {});
  add('a change that is approved', get({ state: 'approved' }));
  add('a change that is under way', get({ state: 'begun' }));
  const endings: Readonly<Record<EndState, Change['ending']>> = {
    accepted: { status: 200, requestIds: { 'x-amz-request-id': 'r-1' } },
    partly: { status: 200, requestIds: { 'x-amz-request-id': 'r-1' }, failed: { count: 2, codes: ['Access"Denied'] } },
    rejected: { status: 403, code: 'Access"Denied', requestIds: { 'x-amz-request-id': 'r-1' } },
    'not sent': { code: 'duplicate' },
    unknown: { code: 'ECONNRESET' },
  };
  for (const state of ['accepted', 'partly', 'rejected', 'not sent', 'unknown'] as const)
    add(`a change without its answer: ${state}`, get({ state, ending: endings[state] }));
  await expect(`${all.join('\n\n')}\n`).toMatchFileSnapshot('golden/plan-answers.txt');
});

describe('who decides too late is told of the decision that stands', () => {
  const agreed = { kind: 'approved', way: 'page', person: 'bob' } as const;
  const standing: readonly (readonly [Decision, string])[] = [
    [agreed, 'bob agreed'],
    [{ ...agreed, kind: 'declined' }, 'bob declined'],
    [{ ...agreed, person: 'Bob Smith' }, '"Bob Smith" agreed'],
    [{ kind: 'approved', way: 'page' }, 'a person on the page agreed'],
    [{ kind: 'approved', way: 'clicked' }, 'the user agreed'],
    [{ kind: 'declined', way: 'asked' }, 'the user declined'],
    [{ kind: 'approved', way: 'confirmed' }, 'the agent agreed'],
    // Only the caller can withdraw a plan, whoever it is.
    [{ kind: 'withdrawn', way: 'withdrawn', person: 'bob' }, 'its caller withdrew the plan'],
    [{ kind: 'withdrawn', way: 'withdrawn', replacedBy: 'x' }, 'its caller replaced the plan with a newer one'],
    [{ kind: 'withdrawn', way: 'program' }, 'a program answered in place of the user'],
  ];
  const ages = [
    [undefined, 'before you'],
    [0, '0 s before you'],
    [12_400, '12 s before you'],
    [hour, '60 min before you'],
  ] as const;
  const late: readonly Decision[] = [
    { kind: 'approved', way: 'page', person: 'carol' },
    { kind: 'declined', way: 'clicked', person: 'carol' },
  ];
  const cases = standing.flatMap(([decision, who]) =>
    ages.flatMap(([decidedAgoMs, when]) => late.map((click) => ({ decision, decidedAgoMs, click, who, when }))),
  );

  test.each(cases)(
    '$who, $when, and then $click.kind by $click.way',
    ({ decision, decidedAgoMs, click, who, when }) => {
      const { earlierDecision, isLate } = lateDecision({ ...row, decision, decidedAgoMs }, click);
      expect([earlierDecision?.text, isLate]).toEqual([`Too late: ${who} ${when}. Your click changed nothing.`, true]);
    },
  );

  test.each(['asked', 'confirmed', 'withdrawn'] as const)(
    'a call that brings one in the way "%s" is told in a note',
    (way) => {
      const outcome = lateOutcome(
        { ...row, state: 'accepted', decision: agreed, decidedAgoMs: 12_000 },
        { kind: 'declined', way },
        undefined,
      );
      const act = way === 'asked' ? 'answer' : 'call';
      expect(successOf(outcome).notes?.at(-1)?.text).toBe(
        `Too late: bob agreed 12 s before you. Your ${act} changed nothing.`,
      );
    },
  );

  test('a caller who may not know the name learns that it was a person on the page', () => {
    const outcome = lateOutcome(
      { ...row, state: 'accepted', decision: agreed },
      { kind: 'approved', way: 'asked' },
      alice,
    );
    expect(successOf(outcome).notes?.at(-1)?.text).toMatch(/^Too late: a person on the page agreed /);
  });

  test.each<readonly [string, Decision, boolean]>([
    ['the same click again is not too late, because its answer may have been lost', agreed, false],
    ['the other button in another tab is too late', { ...agreed, kind: 'declined' }, true],
    ['the same button by another person is too late', { ...agreed, person: 'carol' }, true],
    ['the same button in a view is too late', { ...agreed, way: 'clicked' }, true],
  ])('%s', (_what, click, isLate) => {
    const decidedAt = Date.parse('2026-11-20T10:04:00Z');
    const result = lateDecision({ ...row, decision: agreed, decidedAt }, click);
    expect(result.isLate).toBe(isLate);
    if (!isLate)
      expect(result.earlierDecision?.text).toBe('bob agreed at 2026-11-20T10:04:00.000Z. This click changed nothing.');
  });

  test('a name of more than 100 characters is cut', () => {
    const decision = { ...agreed, person: 'n'.repeat(101) };
    expect(lateDecision({ ...row, decision }, { kind: 'declined', way: 'page' }).earlierDecision?.text).toMatch(
      /^Too late: "n{99,100}…" \(cut, 101 characters\) agreed /,
    );
  });

  test('an expired plan has no decision that stands', () => {
    const expired = { ...row, state: 'waiting', isExpired: true } as const;
    const outcome = lateOutcome(expired, { kind: 'approved', way: 'asked' }, undefined);
    expect(outcome).toMatchObject({ failure: { code: 'PlanExpired' } });
    expect(outcome).not.toHaveProperty('failure.notes');
  });
});

describe('get_change', () => {
  const auditor = { principal: { name: 'eve', scopes: [auditScope] } };

  test('waits for the decision', async () => {
    const { get, id, decide } = await planned('approval', 'signIn', { statusWaitMs: 20_000 });
    const asked = get(id);
    await decide('decline');
    expect(await asked).toMatchObject(failed('Declined', 'a person on the page clicked'));
  });

  test('does not wait for a plan that only its caller can confirm', async () => {
    const { call, get } = changer({ confirm: 'plan', statusWaitMs: 3_600_000 });
    expect(successOf(await get(changeIdOf(await call()))).outcome).toBe('waiting');
  });

  test('gives up the wait when its call is cancelled', async () => {
    const { get, id } = await planned('approval', 'signIn', { statusWaitMs: 3_600_000 });
    expect(successOf(await get(id, { signal: AbortSignal.abort() })).outcome).toBe('waiting');
  });

  test('tells an auditor of the changes of everybody, and who decided; it withdraws none of them', async () => {
    const { get, withdraw, id, decide } = await planned('approval');
    expect(successOf(await get(id, auditor)).outcome).toBe('waiting');
    expect(await withdraw(id, auditor)).toMatchObject({ failure: { code: 'UnknownChange' } });
    await decide('accept');
    expect(successOf(await get(id, auditor)).notes).toEqual(['bob agreed.']);
  });

  test('of a caller without a name is not that of another client only if callers have names', async () => {
    const unnamed = { principal: undefined };
    const session = changer({ confirm: 'plan' });
    const { changeId = '' } = successOf(await session.call({}, unnamed));
    expect(successOf(await session.get(changeId, { ...unnamed, client: { name: 'other' } })).outcome).toBe('waiting');
    expect(await session.get(changeId)).toMatchObject({ failure: { code: 'UnknownChange' } });
  });

  test('says that the state cannot be read, and what to do', async () => {
    const find = () => Promise.reject(new Error('gone'));
    const { get, logged } = changer({ store: { ...memoryStore(), find } });
    const outcome = await get('c'.repeat(22));
    expect(outcome).toMatchObject({ failure: { code: 'StateUnavailable', next: { who: 'agent', action: 'wait' } } });
    expect(outcome).not.toHaveProperty('failure.mayHaveHappened');
    expect(logged).toContainEqual(expect.objectContaining({ level: 'error', event: 'journal' }));
  });

  test.each(['', 'x', 'c'.repeat(22), '\u0000'])('of %j is unknown', async (id) => {
    const { get } = await planned();
    const outcome = await get(id);
    expect(outcome).toMatchObject({ failure: { code: 'UnknownChange' } });
    expect(outcome).not.toHaveProperty('failure.mayHaveHappened');
  });
});

/** A user who is sent to the page may decline there and then. */
test.each<readonly [Visit, number, object]>([
  ['opened', 3000, waits],
  ['cancelled', 3000, waits],
  ['declined', 999, waits],
  ['declined', 1000, failed('Declined', 'the user declined to open the page')],
])('a user who has %s the page after %i ms', async (visit, afterMs, told) => {
  const { given } = pageOf('signIn');
  const { call, clock, journal, requests } = changer({ ...(given && { page: given }) });
  const addresses: string[] = [];
  const send = async (_message: unknown, address: string) => {
    addresses.push(address);
    clock.time += afterMs;
    return visit;
  };
  expect(await call({}, { client: { guide: send } })).toMatchObject(told);
  expect(addresses).toEqual([expect.stringMatching(/^https:.*\/decisions\/[\w-]{22}\/$/)]);
  expect(await journal()).toHaveLength(told === waits ? 0 : 1);
  expect(requests).toEqual([]);
});
