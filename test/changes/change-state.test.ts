import { describe, expect, test } from 'vitest';
import type { ConsentMode } from '../../src/calls/account.js';
import { auditScope } from '../../src/calls/policy.js';
import type { Change, Decision, EndState } from '../../src/changes/change.js';
import { lateDecision, lateOutcome, stateOf } from '../../src/changes/change-state.js';
import { memoryStore } from '../support/caller.js';
import { accepted, alice, changeIdOf, changer, failed, start, successOf } from '../support/changer.js';
import { newChange } from '../support/changes.js';
import { type Page, pageOf, told } from '../support/told.js';

/** What a caller learns of its changes, and who else learns it. */

const hour = 60 * 60_000;

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
  const asked = await closed.call({}, { elicitor: closed.personOf('declined').elicitor });
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

describe.each(['human', 'approval'] as const)('%s: a plan on the page', (mode) => {
  test('has a link, and a changeId that tells its state and carries nothing out', async () => {
    const { outcome, get, id, clock, requests } = await planned(mode);
    expect(successOf(outcome)).toMatchObject({
      outcome: 'waiting',
      changeId: expect.stringMatching(/^[\w-]{22}$/),
      decideAt: `https://cloudops.example.com/decisions/${id}/`,
      planExpires: new Date(start + 24 * hour).toISOString(),
    });
    clock.time += 23 * hour;
    const whom = mode === 'approval' ? 'somebody other than the user' : 'a person who signs in';
    expect(successOf(await get(id))).toMatchObject({
      summary: expect.stringContaining(`waits for ${whom}`),
      outcome: 'waiting',
      decideAt: expect.any(String),
    });
    expect(requests).toEqual([]);
  });

  test('tells the whole answer and who decided after it was agreed to, however late', async () => {
    const { get, id, decide, clock, requests } = await planned(mode);
    await decide('accept');
    clock.time += 48 * hour;
    expect(successOf(await get(id))).toMatchObject({
      outcome: 'accepted',
      consent: expect.stringContaining('page'),
      answer: { instance: { instanceId: 'one' } },
      notes: ['A person on the page agreed.'],
    });
    expect(requests).toHaveLength(1);
  });

  test('tells that it was declined, and the reason, and is not decided again', async () => {
    const { get, id, decide, requests } = await planned(mode);
    await decide('decline', { reason: 'too large' });
    const told = { code: 'Declined', outcome: 'declined', changeId: id, mayHaveHappened: false };
    expect(await get(id)).toMatchObject({
      failure: { ...told, problems: [expect.stringContaining('clicked'), 'the person gave this reason: "too large"'] },
    });
    expect(await decide('accept')).toMatchObject({ kind: 'late', change: { state: 'declined' } });
    expect(requests).toEqual([]);
  });

  test('is decided by one of two people', async () => {
    const { decide, requests } = await planned(mode);
    const decided = await Promise.all([decide('accept'), decide('accept', { person: 'carol' })]);
    expect(decided.map(({ kind }) => kind).sort()).toEqual(['decided', 'late']);
    expect(requests).toHaveLength(1);
  });

  test('is taken back by its caller, which is no refusal of a person', async () => {
    const { call, click, withdraw, get, requests } = await planned(mode);
    for (const _ of [1, 2, 3, 4]) {
      const outcome = await call();
      const { changeId = '' } = successOf(outcome);
      expect(successOf(await withdraw(changeId)).outcome).toBe('withdrawn');
      expect(await get(changeId)).toMatchObject({ failure: { code: 'Withdrawn', outcome: 'withdrawn' } });
      expect(await click(outcome, { where: 'page' })).toMatchObject({ kind: 'late', change: { state: 'withdrawn' } });
    }
    expect(successOf(await call()).outcome).toBe('waiting');
    expect(requests).toEqual([]);
  });

  test('is nothing to another caller', async () => {
    const { get, withdraw, id, store } = await planned(mode);
    const principal = { ...alice, name: 'mallory' };
    for (const verb of [get, withdraw])
      expect(await verb(id, { principal })).toMatchObject({ failure: { code: 'UnknownChange' } });
    expect((await store.find(id))?.state).toBe('waiting');
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
    expect(successOf(await session.get(changeId, { ...unnamed, client: 'other' })).outcome).toBe('waiting');
    expect(await session.get(changeId)).toMatchObject({ failure: { code: 'UnknownChange' } });
  });

  test('tells a change that was carried out, with the answer of the cloud', async () => {
    const { get, confirm, id, requests } = await planned('plan', 'none');
    expect(await confirm(id)).toMatchObject(accepted);
    expect(successOf(await get(id))).toMatchObject({ outcome: 'accepted', changeId: id, answer: expect.any(Object) });
    expect(requests).toHaveLength(1);
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
