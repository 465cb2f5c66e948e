import { beforeEach, describe, expect, test } from 'vitest';
import type { CallContext, CallOutcome, Click } from '../../src/calls/context.js';
import { writeScope } from '../../src/calls/policy.js';
import type { Elicitor, UserReply } from '../../src/changes/elicitor.js';
import type { ConsentMode } from '../../src/changes/required-consent.js';
import { createConsentTokens } from '../../src/consent/tokens.js';
import type { Journal } from '../../src/journal/journal.js';
import type { Operation } from '../../src/tools/define-operation.js';
import { provisionKubeResourceGroup } from '../../src/tools/provision-kube-resource-group.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { upgradeKubeVersion } from '../../src/tools/upgrade-kube-version.js';
import { defined } from '../../src/util/safe-text.js';
import { createMemoryJournal, never, testCaller, testKeys } from '../support/caller.js';
import { answered, scriptedClient } from '../support/scripted-client.js';

/** What stands between a change and its sending: a plan, a planId, a click or a question. */

const args = { backupId: 'a'.repeat(32), instanceId: 'one' };
const start = Date.parse('2026-11-21T12:00:00Z');
let time = start;
beforeEach(() => {
  time = start;
});
const now = () => new Date(time);
const tokens = createConsentTokens(() => ['k'.repeat(32)], '', now);

function setUp(confirm: ConsentMode, operation: Operation = restoreInstance, journal = createMemoryJournal()) {
  const { openClient, requests } = scriptedClient(async () => answered(200, { instance: { instanceId: 'one' } }));
  const { carryOut, logged, plans } = testCaller('http://127.0.0.1:1', { confirm, openClient, journal, now });
  const principal = { name: 'alice', scopes: [writeScope] };
  const callOf = (tool: Operation, given: object, context: Partial<CallContext> = {}) =>
    carryOut(tool, given, { tokens, client: 'test 1', signal: never, principal, ...context });
  const call = (given: object = {}, context?: Partial<CallContext>) =>
    callOf(operation, { ...args, ...given }, context);
  return { call, callOf, journal, requests, logged, plans };
}

const successOf = (outcome: CallOutcome) => {
  if (outcome.kind !== 'succeeded') throw new Error(`the call ended as ${outcome.kind}`);
  return outcome.success;
};
const failed = (code: string, ...problems: readonly string[]) => ({
  kind: 'failed',
  failure: { code, problems: problems.map((problem) => expect.stringContaining(problem)), mayHaveHappened: false },
});
/** Does not say what became of the change. */
const decidedBefore = { kind: 'failed', failure: { code: 'AlreadyDecided' } };
/** After a plan that was shown, what it warned of is not told again. */
const ofTheAnswer = [expect.stringMatching(/^The answer does not say /)];
const accepted = { kind: 'succeeded', success: { outcome: 'accepted' } };

describe('a plan in place of an answer', () => {
  const claims = { digest: expect.any(String), nonce: expect.any(String) };

  test.each<readonly [ConsentMode, object, boolean, object | undefined, readonly string[], readonly string[]]>([
    ['plan', {}, true, undefined, ['If they say yes', 'and this planId'], ['without planOnly', 'button']],
    ['plan', { planOnly: true }, true, undefined, ['Stop there', 'and this planId', 'without planOnly'], ['button']],
    ['ask', { hasView: true }, true, claims, ['button', 'Leave the decision', 'and this planId'], ['without planOnly']],
    ['ask', { hasView: true }, true, claims, ['If they see no button', 'answer in the chat'], ['cloudops-mcp call']],
    ['human', { hasView: true }, true, claims, ['button', 'only a click', 'what became of it'], ['planOnly']],
    ['human', { hasView: true }, true, claims, ['If they see no button', 'cloudops-mcp call'], ['in the chat']],
    [
      'human',
      { planOnly: true },
      false,
      undefined,
      ['Nobody can agree to it here', 'cloudops-mcp call'],
      ['planId', 'Stop there', 'call restore_instance'],
    ],
    ['off', { planOnly: true }, false, undefined, ['Stop there', 'without planOnly'], ['planId']],
  ])('%s, %j', async (confirm, { planOnly, ...context }: { planOnly?: boolean }, hasPlanId, ticket, says, saysNot) => {
    const { call, requests, journal } = setUp(confirm);
    const outcome = await call({ planOnly }, context);
    const { next, planId, planExpires, ...success } = successOf(outcome);
    const summary = expect.stringContaining('restore_instance');
    const plan = expect.objectContaining({ method: 'POST' });
    const holds = hasPlanId || ticket !== undefined ? 'This plan holds until 2026-11-21 12:10 UTC.' : 'Not checked:';
    const show = expect.stringContaining(holds);
    expect(next).toMatchObject({ who: 'user', action: 'decide' });
    expect(success).toEqual({ summary, outcome: 'planned', show, plan, warnings: [], requestIds: {} });
    expect([planId !== undefined, planExpires]).toEqual([
      hasPlanId,
      hasPlanId ? '2026-11-21T12:10:00.000Z' : undefined,
    ]);
    expect(outcome).toHaveProperty('view', {
      kind: 'plan',
      accept: 'Create server "one" (costs money)',
      issuedAt: start,
      ...(hasPlanId && confirm !== 'human' && { inChat: true }),
      ...(ticket && { claims: ticket }),
    });
    for (const words of says) expect(next?.text?.text).toContain(words);
    for (const words of saysNot) expect(next?.text?.text).not.toContain(words);
    expect([requests, await journal.list({})]).toEqual([[], []]);
  });

  test('is spent by its click and its planId together', async () => {
    const outcome = await setUp('ask').call({}, { hasView: true });
    const { planId = '' } = successOf(outcome);
    const claimsOfView =
      outcome.kind === 'succeeded' && outcome.view?.kind === 'plan' ? outcome.view.claims : undefined;
    expect(tokens.verify(planId)).toMatchObject({ use: 'plan', nonce: claimsOfView?.nonce });
  });

  test('cannot be had from a client that only a person may use, and has none', async () => {
    const { call, requests } = setUp('human');
    const outcome = await call();
    expect(outcome).toMatchObject(failed('NeedsHuman', 'CLOUDOPS_CONFIRM'));
    expect(JSON.stringify(outcome)).not.toContain('reconnect');
    expect(requests).toEqual([]);
  });

  test('cannot be had from a client that nobody knows, whose user is to connect it anew', async () => {
    expect(await setUp('human').call({}, { isUnknownClient: true })).toMatchObject({
      failure: {
        code: 'NeedsHuman',
        next: { who: 'user', action: 'configure', text: expect.stringContaining('reconnect') },
      },
    });
  });
});

test('what was decided is in the log', async () => {
  const { call, logged } = setUp('plan');
  await call();
  const fields = { tool: 'restore_instance', decision: 'plan', caller: 'alice' };
  expect(logged).toContainEqual({ level: 'info', event: 'consent', fields });
});

test('consent that was given beforehand is in the journal as that, and the warnings of the plan are told', async () => {
  const { call, journal } = setUp('ask');
  expect(await call({}, { agreed: true })).toMatchObject(accepted);
  expect(await journal.list({})).toMatchObject([{ consent: 'option' }]);
});

describe('a planId', () => {
  const planIdOf = async ({ call }: ReturnType<typeof setUp>) => successOf(await call()).planId ?? '';

  test('carries its plan out', async () => {
    const session = setUp('plan');
    const planId = await planIdOf(session);
    const outcome = await session.call({ planId });
    expect(outcome).toMatchObject(accepted);
    expect(successOf(outcome).warnings).toEqual(ofTheAnswer);
    expect(await session.journal.list({})).toMatchObject([{ consent: 'planId', nonce: tokens.verify(planId).nonce }]);
  });

  test.each<readonly [string, (planId: string) => object, string]>([
    ['of another plan', (planId) => ({ planId, instanceId: 'two' }), 'another tool'],
    ['that was altered', (planId) => ({ planId: `B${planId.slice(1)}` }), 'was altered'],
    [
      'that is the token of a question',
      (planId) => ({ planId: tokens.issue({ ...tokens.verify(planId), use: 'question' }) }),
      'did not issue',
    ],
  ])('%s carries nothing out', async (_what, given, problem) => {
    const session = setUp('plan');
    expect(await session.call(given(await planIdOf(session)))).toMatchObject(failed('PlanRefused', problem));
    expect(session.requests).toEqual([]);
  });

  describe.each<readonly [ConsentMode, Partial<CallContext>]>([
    ['plan', {}],
    ['ask', { hasView: true }],
  ])('of restore_instance (%s)', (confirm, context) => {
    test.each<readonly [string, object]>([
      ['is not asked about', { planOnly: true }],
      ['is not withdrawn', { withdraw: true }],
    ])('%s with another call, of its tool or another, and the journal stays empty', async (_what, control) => {
      const session = setUp(confirm);
      const { planId } = successOf(await session.call({}, context));
      const others: readonly (readonly [Operation, object])[] = [
        [restoreInstance, { ...args, instanceId: 'two' }],
        [upgradeKubeVersion, upgradeKubeVersion.example],
      ];
      for (const [operation, given] of others)
        expect(await session.callOf(operation, { ...given, ...control, planId }, context)).toMatchObject(
          failed('PlanRefused', 'belongs to another'),
        );
      expect(await session.journal.list({})).toEqual([]);
      const own = await session.call({ ...control, planId }, context);
      expect(successOf(own).outcome).toBe('withdraw' in control ? 'withdrawn' : 'waiting');
    });
  });

  test('of a plan that a person can decide on too takes it away from them', async () => {
    const session = setUp('ask');
    const { planId = '' } = successOf(await session.call({}, { hasView: true }));
    const { nonce } = tokens.verify(planId);
    expect(await session.plans.find(nonce)).toMatchObject({ state: 'waiting' });
    expect(await session.call({ planId })).toMatchObject(accepted);
    expect(await session.plans.find(nonce)).toMatchObject({ state: 'decided' });
  });

  test('resumedReply to a question makes both one: an answer spends the planId', async () => {
    const session = setUp('ask');
    const { planId = '' } = successOf(await session.call());
    const elicitor: Elicitor = {
      ask: async () => {
        time += 5000;
        return { kind: 'declined' };
      },
    };
    expect(await session.call({ planId }, { elicitor })).toMatchObject(failed('Declined', '', ''));
    expect(await session.journal.list({})).toMatchObject([{ consent: 'asked', nonce: tokens.verify(planId).nonce }]);
  });

  test('carries nothing out after a question about its plan was declined, though that cannot be written', async () => {
    const journal = { ...createMemoryJournal(), decline: () => Promise.reject(new Error('gone')) };
    const { call, requests } = setUp('ask', restoreInstance, journal);
    const { planId } = successOf(await call());
    const ask = async (): Promise<UserReply> => {
      time += 5000;
      return { kind: 'declined' };
    };
    await call({ planId }, { elicitor: { ask } });
    expect(await call({ planId })).toMatchObject(failed('Declined', 'the user declined this plan'));
    expect(requests).toEqual([]);
  });

  test('carries nothing out after ten minutes', async () => {
    const session = setUp('plan');
    const planId = await planIdOf(session);
    time += 10 * 60_000 + 1000;
    expect(await session.call({ planId })).toMatchObject(failed('PlanRefused', 'expired'));
  });
});

describe('a click', () => {
  async function planned(journal = createMemoryJournal()) {
    const session = setUp('human', restoreInstance, journal);
    const outcome = await session.call({}, { hasView: true });
    if (outcome.kind !== 'succeeded' || outcome.view?.kind !== 'plan' || outcome.view.claims === undefined)
      throw new Error('there is no plan to click on');
    const claims = { ...outcome.view.claims, issuedAt: start };
    time += 3000;
    const click = (decision: 'accept' | 'decline', given: object = {}, page?: Click['page']) =>
      session.call(given, { click: { decision, claims, ...(page && { page }) } });
    return { ...session, click, claims, nonce: claims.nonce };
  }
  const bob = { person: 'bob', repeats: false, onClaim: () => undefined };

  test('on the page is that of the person who is signed in to it', async () => {
    const { click, journal } = await planned();
    expect(await click('accept', {}, bob)).toMatchObject(accepted);
    expect(await journal.list({})).toMatchObject([{ consent: 'page', approver: 'bob', answeredAfterMs: 3000 }]);
    const { click: decline } = await planned();
    expect(await decline('decline', {}, bob)).toMatchObject(failed('Declined', 'a person on the page clicked'));
  });

  test('on a plan that another server has just carried out is told as that', async () => {
    const { click } = await planned({ ...createMemoryJournal(), begin: async () => ({ kind: 'consentUsed' }) });
    expect(await click('accept')).toMatchObject(decidedBefore);
  });

  test.each<readonly [ConsentMode, 'in the chat' | 'on the page', boolean]>([
    ['ask', 'in the chat', true],
    ['approval', 'in the chat', false],
    ['approval', 'on the page', true],
    ['plan', 'on the page', false],
    ['off', 'on the page', false],
  ])('where the server asks for "%s" by now, one %s counts: %s', async (confirm, where, counts) => {
    const { claims } = await planned();
    const { call } = setUp(confirm);
    const page = where === 'on the page' ? { page: bob } : {};
    const outcome = await call({}, { click: { decision: 'accept', claims, ...page } });
    expect(outcome).toMatchObject(counts ? accepted : failed('PlanRefused', `"${confirm}" by now`));
  });

  test('on the page on a plan that repeats a change counts also when that was long ago', async () => {
    const journal = createMemoryJournal(now);
    const { call } = setUp('off', restoreInstance, journal);
    await call();
    const [earlier] = await journal.list({});
    const session = setUp('human', restoreInstance, journal);
    const outcome = await session.call({ allowRepeat: true }, { hasView: true });
    const claims = outcome.kind === 'succeeded' && outcome.view?.kind === 'plan' ? outcome.view.claims : undefined;
    if (claims === undefined || earlier === undefined) throw new Error('there is no plan to click on');
    time += 20 * 60_000;
    const click = (page?: Click['page']) =>
      session.call(
        { allowRepeat: true },
        { click: { decision: 'accept', claims: { ...claims, issuedAt: start }, ...(page && { page }) } },
      );
    for (const page of [undefined, bob]) expect(await click(page)).toMatchObject(failed('PlanRefused', 'sent since'));
    expect(await click({ ...bob, repeats: earlier.id })).toMatchObject(accepted);
    // What was repeated is another change now.
    expect(await click({ ...bob, repeats: earlier.id })).toMatchObject(failed('PlanRefused', 'sent since'));
  });

  test('on the button that agrees is consent', async () => {
    const { click, journal, nonce } = await planned();
    const outcome = await click('accept');
    expect(outcome).toMatchObject(accepted);
    expect(successOf(outcome).warnings).toEqual(ofTheAnswer);
    expect(await journal.list({})).toMatchObject([{ consent: 'clicked', nonce, answeredAfterMs: 3000 }]);
  });

  test.each([
    ['accept', 1000, undefined],
    ['decline', 1000, 'Declined'],
  ] as const)('to %s after %i ms: %s', async (decision, afterMs, code) => {
    const { click, journal, requests } = await planned();
    time = start + afterMs;
    expect(await click(decision)).toMatchObject(code === undefined ? accepted : failed(code, 'clicked'));
    expect(await journal.list({})).toMatchObject([{ ending: { outcome: code ? 'declined' : 'accepted' } }]);
    time += 5000;
    expect(await click('accept')).toMatchObject({ kind: 'failed' });
    expect(requests).toHaveLength(code === undefined ? 1 : 0);
  });

  test.each(['accept', 'decline'] as const)(
    'to %s after 999 ms is a program: a person can still decide',
    async (decision) => {
      const { click, journal } = await planned();
      time = start + 999;
      expect(await click(decision)).toMatchObject(failed('NobodyAsked', 'after 999 ms'));
      expect(await journal.list({})).toEqual([]);
      time += 5000;
      expect(await click('accept')).toMatchObject(accepted);
    },
  );

  test('on the other one is a refusal, once', async () => {
    const { click, journal, requests } = await planned();
    expect(await click('decline')).toMatchObject(failed('Declined', 'the user clicked'));
    expect(await journal.list({})).toMatchObject([{ consent: 'clicked', ending: { outcome: 'declined' } }]);
    expect(await click('decline')).toMatchObject(decidedBefore);
    expect(await click('accept')).toMatchObject(decidedBefore);
    expect(requests).toEqual([]);
  });

  test('that cannot be written down is a refusal too', async () => {
    const { click } = await planned({ ...createMemoryJournal(), decline: () => Promise.reject(new Error('gone')) });
    expect(await click('decline')).toMatchObject(failed('Declined', 'the user clicked', 'not in the journal yet'));
  });

  test('on the plan of another call is none', async () => {
    const { click, requests } = await planned();
    expect(await click('accept', { instanceId: 'two' })).toMatchObject(failed('PlanRefused', 'other arguments'));
    expect(requests).toEqual([]);
  });
});

/** Refusals of other changes. */
const two = async () => ['a', 'b'];
const three = async () => ['a', 'b', 'c'];

describe('where refusals were too many, or cannot be counted', () => {
  const gone = () => Promise.reject(new Error('gone'));
  const counting = (listDeclined: Journal['listDeclined'], confirm: ConsentMode = 'ask') =>
    setUp(confirm, restoreInstance, { ...createMemoryJournal(), listDeclined });

  test.each(['ask', 'human'] as const)('%s: there is no plan with buttons', async (confirm) => {
    const view = { hasView: true };
    expect(await counting(three, confirm).call({}, view)).toMatchObject(failed('TooManyRefusals'));
    expect(await counting(gone, confirm).call({}, view)).toMatchObject(failed('JournalUnavailable', 'counted'));
    expect(await counting(two, confirm).call({}, view)).toHaveProperty('view.claims');
  });

  test('a plan alone is shown without buttons', async () => {
    for (const count of [three, gone]) {
      const outcome = await counting(count, 'human').call({ planOnly: true }, { hasView: true });
      expect(successOf(outcome)).toMatchObject({
        outcome: 'planned',
        next: { text: expect.not.stringContaining('button') },
      });
      expect(outcome).not.toHaveProperty('view.claims');
    }
  });

  test('there is no planId either', async () => {
    for (const [count, code] of [
      [three, 'TooManyRefusals'],
      [gone, 'JournalUnavailable'],
    ] as const) {
      expect(await counting(count).call()).toMatchObject(failed(code, ...(code === 'JournalUnavailable' ? [''] : [])));
      const shown = successOf(await counting(count).call({ planOnly: true }));
      expect(shown).toMatchObject({ outcome: 'planned' });
      expect(shown).not.toHaveProperty('planId');
    }
  });
});

describe('a question', () => {
  const asked: unknown[] = [];
  beforeEach(() => {
    asked.length = 0;
  });
  /** A person who takes five seconds. */
  const person = (reply: UserReply['kind'] | 'later', afterMs = 5000): Elicitor => ({
    ask: async (...given) => {
      asked.push(given.slice(0, 2));
      time += afterMs;
      return reply === 'later' ? reply : { kind: reply };
    },
  });
  const headline = 'Create DevOps server "one"';
  const removed = '[removed: it held a secret]';

  test('has the words of the button that agrees, and a yes is consent', async () => {
    const { call, journal } = setUp('ask');
    expect(await call({}, { elicitor: person('agreed') })).toMatchObject(accepted);
    expect(asked).toEqual([[expect.stringContaining(headline), 'Create server "one" (costs money)']]);
    expect(await journal.list({})).toMatchObject([
      { consent: 'asked', answeredAfterMs: 5000, nonce: expect.any(String) },
    ]);
  });

  test.each<readonly [UserReply['kind'], string]>([
    ['declined', 'declined'],
    ['notChosen', 'without choosing'],
    ['cancelled', 'closed the question'],
    ['unanswered', 'no answer came'],
  ])('that is %s is quoted by its first line', async (reply, problem) => {
    const { call } = setUp('ask');
    const outcome = await call({}, { elicitor: person(reply) });
    expect(outcome).toMatchObject(failed('Declined', problem, `the question was: ${headline}`));
    expect(JSON.stringify(outcome)).not.toContain('Where:');
  });

  test.each<readonly [string, string, string | undefined, string]>([
    ['a reason', 'too "large"', 'too "large"', 'the person gave this reason: "too \\"large\\""'],
    ['spaces', '  ', undefined, `the question was: ${headline}`],
    ['a long reason', 'x'.repeat(300), 'x'.repeat(200), `the person gave this reason: "${'x'.repeat(200)}"`],
    ['the secret key', `see ${testKeys.secretAccessKey}`, removed, `the person gave this reason: "${removed}"`],
  ])('that declines with %s: agents read it quoted, and the journal keeps it', async (_what, reason, kept, told) => {
    const { call, journal } = setUp('ask');
    const ask = async (): Promise<UserReply> => {
      time += 5000;
      return { kind: 'declined', reason };
    };
    const outcome = await call({}, { elicitor: { ask } });
    const problems = outcome.kind === 'failed' ? outcome.failure.problems.map(({ text }) => text) : [];
    expect(problems.at(-1)).toContain(told);
    expect((await journal.list({})).map((change) => change.reason)).toEqual([kept]);
  });

  test('that declines with a secret of the call: nobody reads the secret', async () => {
    const { callOf, journal } = setUp('ask');
    const serviceAccountKey = JSON.stringify({ private_key: 'MARKER-of-the-key' });
    const given = { resourceGroupName: 'group', externalCloudConfig: { serviceAccountKey } };
    const ask = async (): Promise<UserReply> => {
      time += 5000;
      return { kind: 'declined', reason: 'not with MARKER-of-the-key' };
    };
    const outcome = await callOf(provisionKubeResourceGroup, given, { elicitor: { ask } });
    expect(outcome).toMatchObject({ kind: 'failed', failure: { code: 'Declined' } });
    expect(JSON.stringify([outcome, await journal.list({})])).not.toContain('MARKER');
    expect((await journal.list({})).map((change) => change.reason)).toEqual([removed]);
  });

  test.each<readonly [UserReply['kind'], string]>([
    ['agreed', 'agreed to'],
    ['declined', 'declined'],
    ['notChosen', 'answered'],
    ['cancelled', 'cancelled'],
  ])('that nobody can have read is told with its time: %s', async (reply, verb) => {
    const outcome = await setUp('ask').call({}, { elicitor: person(reply, 999) });
    expect(outcome).toMatchObject(failed('NobodyAsked', `the client ${verb} it after 999 ms`, 'the question was: '));
  });

  test('that is answered within a second at a terminal was read there', async () => {
    const { call } = setUp('ask');
    expect(await call({}, { elicitor: { ...person('agreed', 20), isDirect: true } })).toMatchObject(accepted);
  });

  test('follows the plan, where there is room to show it', async () => {
    const shown: string[] = [];
    const { call } = setUp('ask');
    await call({}, { elicitor: { ...person('declined'), show: (plan) => shown.push(plan.summary.text) } });
    expect(shown).toEqual([expect.stringContaining(headline)]);
  });

  test('is not asked for a call that was cancelled', async () => {
    const { call } = setUp('ask');
    const outcome = await call({}, { elicitor: person('agreed'), signal: AbortSignal.abort() });
    expect(outcome).toMatchObject(failed('Declined', 'cancelled the call before anybody was asked'));
    expect(asked).toEqual([]);
  });

  test('that was declined is not answered again while that cannot be written', async () => {
    const { call } = setUp('ask', restoreInstance, {
      ...createMemoryJournal(),
      decline: () => Promise.reject(new Error('gone')),
    });
    const outcome = await call({}, { elicitor: person('later', 0) });
    if (outcome.kind !== 'inputRequired') throw new Error(`the call ended as ${outcome.kind}`);
    time += 7000;
    const answer = (kind: UserReply['kind']) => {
      const claims = { ...outcome.claims, issuedAt: start };
      return call({}, { elicitor: { ...person('later'), resumedReply: { claims, read: () => ({ kind }) } } });
    };
    expect(await answer('declined')).toMatchObject(
      failed('Declined', 'the user declined', '', 'not in the journal yet'),
    );
    expect(await answer('agreed')).toMatchObject(decidedBefore);
  });

  test('may be answered with another call, which says how long that took', async () => {
    const { call, journal } = setUp('ask');
    const outcome = await call({}, { elicitor: person('later', 0) });
    if (outcome.kind !== 'inputRequired') throw new Error(`the call ended as ${outcome.kind}`);
    expect(outcome).toMatchObject({
      message: expect.stringContaining(headline),
      answer: { accept: 'Create server "one" (costs money)' },
    });
    const { claims } = outcome;
    expect(claims).toEqual({ use: 'question', digest: expect.any(String), nonce: expect.any(String) });
    time += 7000;
    const seen: unknown[] = [];
    const read = (accept: unknown): UserReply => {
      seen.push(accept);
      return { kind: 'agreed' };
    };
    const resumedReply = { claims: { ...claims, digest: claims.digest.slice(0, 32), issuedAt: start }, read };
    expect(await call({ instanceId: 'two' }, { elicitor: { ...person('later'), resumedReply } })).toMatchObject(
      failed('PlanRefused', 'other arguments'),
    );
    expect(await call({}, { elicitor: { ...person('later'), resumedReply } })).toMatchObject(accepted);
    expect(seen).toEqual(['Create server "one" (costs money)']);
    expect(await journal.list({})).toMatchObject([{ nonce: claims.nonce, answeredAfterMs: 7000 }]);
  });

  test('that was answered before is not answered again', async () => {
    const { call } = setUp('ask', restoreInstance, { ...createMemoryJournal(), decline: async () => false });
    expect(await call({}, { elicitor: person('declined') })).toMatchObject(decidedBefore);
  });

  describe.each(['ask', 'human'] as const)('that is unfit (%s)', (confirm) => {
    const { change } = restoreInstance;
    const withLongWarning = () => {
      if (change === undefined) throw new Error('restore_instance is a change');
      return { ...restoreInstance, change: { ...change, warnings: () => [defined('x'.repeat(2000))] } };
    };
    const program: Elicitor = { ask: async () => ({ kind: 'declined' }) };

    test('because it would be too long gives way to the view, never to a planId that carries the plan out', async () => {
      const { call } = setUp(confirm, withLongWarning());
      const outcome = await call({}, { elicitor: person('agreed'), hasView: true });
      expect(outcome).toMatchObject({ success: { outcome: 'planned' }, view: { claims: expect.anything() } });
      expect(tokens.verify(successOf(outcome).planId ?? '')).toMatchObject({ use: 'handle' });
      const refused = await call({}, { elicitor: person('agreed') });
      expect(refused).toMatchObject(failed('NeedsHuman', 'too long'));
      expect(refused).toHaveProperty('failure.next.text.text', expect.stringContaining('cloudops-mcp call'));
      expect(asked).toEqual([]);
    });

    test('because it would be too long is asked at a terminal, which shows the whole plan', async () => {
      const { call } = setUp(confirm, withLongWarning());
      expect(await call({}, { elicitor: { ...person('agreed'), isDirect: true } })).toMatchObject(accepted);
    });

    test('because a program answers is asked once: then this client of this caller gets the view', async () => {
      const { call, journal } = setUp(confirm);
      expect(await call({}, { elicitor: program })).toMatchObject(failed('NobodyAsked', 'after 0 ms', ''));
      expect(await journal.list({})).toMatchObject([{ consent: 'program', ending: { outcome: 'declined' } }]);
      expect(await call({}, { elicitor: program, hasView: true })).toMatchObject({ success: { outcome: 'planned' } });
      expect(await call({}, { elicitor: program })).toMatchObject(failed('NeedsHuman', 'a program answered'));
      const others = { two: { client: 'test 2' }, three: { principal: { name: 'bob', scopes: [writeScope] } } };
      for (const [instanceId, other] of Object.entries(others))
        expect(await call({ instanceId }, { elicitor: person('agreed'), ...other })).toMatchObject(accepted);
    });

    test('because programs answer is nobody refusing: any number of them closes no other way', async () => {
      const { call } = setUp(confirm);
      for (const client of ['a', 'b', 'c', 'd'])
        expect(await call({}, { elicitor: program, client })).toMatchObject({ failure: { code: 'NobodyAsked' } });
      expect(await call({}, { elicitor: person('agreed'), client: 'e' })).toMatchObject(accepted);
    });
  });

  test('is not asked where refusals cannot be counted, or were too many', async () => {
    const counting = (listDeclined: Journal['listDeclined']) =>
      setUp('ask', restoreInstance, { ...createMemoryJournal(), listDeclined }).call(
        {},
        { elicitor: person('agreed') },
      );
    const gone = () => Promise.reject(new Error('gone'));
    expect(await counting(gone)).toMatchObject(failed('JournalUnavailable', 'cannot be counted'));
    expect(await counting(three)).toMatchObject(failed('TooManyRefusals'));
    expect(asked).toEqual([]);
    expect(await counting(two)).toMatchObject(accepted);
  });

  test('that was only closed leaves the change its planId; one that was declined does not', async () => {
    const { call } = setUp('ask');
    expect(await call({}, { elicitor: person('cancelled') })).toMatchObject(failed('Declined', 'closed', ''));
    expect(successOf(await call())).toHaveProperty('planId');
    expect(await call({}, { elicitor: person('declined') })).toMatchObject(failed('Declined', 'declined', ''));
    expect(await call()).toMatchObject(failed('Declined', 'ten minutes'));
  });

  test('is asked at a terminal all the same: whoever sits there called', async () => {
    const { call } = setUp('ask', restoreInstance, { ...createMemoryJournal(), listDeclined: three });
    expect(await call({}, { elicitor: { ...person('agreed'), isDirect: true } })).toMatchObject(accepted);
  });
});
