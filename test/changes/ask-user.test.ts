import { describe, expect, test } from 'vitest';
import type { Brought, Elicitor, FormResponse } from '../../src/calls/context.js';
import type { CallOutcome } from '../../src/calls/outcome.js';
import { writeScope } from '../../src/calls/policy.js';
import { provisionKubeResourceGroup } from '../../src/tools/provision-kube-resource-group.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { defined } from '../../src/util/safe-text.js';
import { testKeys } from '../support/caller.js';
import { accepted, alice, changer, failed, successOf } from '../support/changer.js';

/** A question to the user: who is asked, what counts as an answer, and what follows from it. */

const headline = 'Create DevOps server "one"';
const minute = 60_000;

/** A second call, with the response to the question of the first. */
const bringing = (outcome: CallOutcome, kind: FormResponse['kind'], more: Partial<FormResponse> = {}): Brought => {
  if (outcome.kind !== 'inputRequired') throw new Error(`the call ended as ${outcome.kind}`);
  return { kind: 'answer', proof: outcome.state, responseTo: () => ({ kind, ...more }), visit: 'cancelled' };
};

describe('a question', () => {
  const removed = '[removed: it held a secret]';
  test.each<readonly [string, string, string | undefined, string]>([
    ['a reason', 'too "large"', 'too "large"', 'the person gave this reason: "too \\"large\\""'],
    ['spaces', '  ', undefined, `the question was: ${headline}`],
    ['a long reason', 'x'.repeat(300), 'x'.repeat(200), `the person gave this reason: "${'x'.repeat(200)}"`],
    ['the secret key', `see ${testKeys.secretAccessKey}`, removed, `the person gave this reason: "${removed}"`],
  ])('that declines with %s: agents read it quoted, and the journal keeps it', async (_what, reason, kept, told) => {
    const { call, personOf, journal } = changer({ confirm: 'ask' });
    const outcome = await call({}, { client: { elicitor: personOf('declined', { reason }).elicitor } });
    const problems = outcome.kind === 'failed' ? outcome.failure.problems.map(({ text }) => text) : [];
    expect(problems.at(-1)).toContain(told);
    expect((await journal()).map(({ decision }) => decision?.reason)).toEqual([kept]);
  });

  test('that declines with a secret of the call: nobody reads the secret', async () => {
    const { callOf, personOf, journal } = changer({ confirm: 'ask' });
    const serviceAccountKey = JSON.stringify({ private_key: 'MARKER-of-the-key' });
    const given = { resourceGroupName: 'group', externalCloudConfig: { serviceAccountKey } };
    const { elicitor } = personOf('declined', { reason: 'not with MARKER-of-the-key' });
    const outcome = await callOf(provisionKubeResourceGroup, given, { client: { elicitor } });
    expect(outcome).toMatchObject({ kind: 'failed', failure: { code: 'Declined' } });
    expect(JSON.stringify([outcome, await journal()])).not.toContain('MARKER');
    expect((await journal()).map(({ decision }) => decision?.reason)).toEqual([removed]);
  });

  test.each<FormResponse['kind']>(['agreed', 'declined', 'cancelled'])(
    'that nobody can have read is told with its time: %s',
    async (kind) => {
      const { call, personOf, requests } = changer({ confirm: 'ask' });
      const outcome = await call({}, { client: { elicitor: personOf(kind, { afterMs: 999 }).elicitor } });
      expect(outcome).toMatchObject(failed('NobodyAsked', 'the client answered it after 999 ms', 'the question was: '));
      expect(requests).toEqual([]);
    },
  );

  test('that is answered within a second at a terminal was read there', async () => {
    const { call, personOf } = changer({ confirm: 'ask' });
    const { elicitor } = personOf('agreed', { afterMs: 20 });
    expect(await call({}, { client: { elicitor: { ...elicitor, isDirect: true } } })).toMatchObject(accepted);
  });

  test('follows the plan, where there is room to show it', async () => {
    const shown: string[] = [];
    const { call, personOf } = changer({ confirm: 'ask' });
    const { elicitor } = personOf('declined');
    await call({}, { client: { elicitor: { ...elicitor, show: (plan) => shown.push(plan.summary.text) } } });
    expect(shown).toEqual([expect.stringContaining(headline)]);
  });

  test('is not asked for a call that was cancelled', async () => {
    const { call, personOf } = changer({ confirm: 'ask' });
    const { elicitor, asked } = personOf('agreed');
    const outcome = await call({}, { client: { elicitor }, signal: AbortSignal.abort() });
    expect(outcome).toMatchObject(failed('NobodyAsked', 'cancelled the call before anybody was asked'));
    expect(asked).toEqual([]);
  });

  test('that is open while the server stops is withdrawn, and nobody has refused', async () => {
    const { call, journal, requests } = changer({ confirm: 'ask' });
    const stop = new AbortController();
    const ask = async () => {
      stop.abort();
      return new Promise<never>(() => undefined);
    };
    expect(await call({}, { client: { elicitor: { ask } }, stop: stop.signal })).toMatchObject(failed('Stopping'));
    expect((await journal()).map(({ state }) => state)).toEqual(['withdrawn']);
    expect(requests).toEqual([]);
  });
});

describe('a question that a second call answers', () => {
  const later = async () => {
    const session = changer({ confirm: 'ask' });
    const outcome = await session.call(
      {},
      { client: { elicitor: session.personOf('later', { afterMs: 0 }).elicitor } },
    );
    session.clock.time += 7000;
    /** The same call, with a response. */
    const answer = (kind: FormResponse['kind'], given: object = {}) =>
      session.call(given, {
        client: { elicitor: session.personOf('later').elicitor },
        brought: bringing(outcome, kind),
      });
    return { ...session, outcome, answer };
  };

  test('has the label, and its second call says how long the answer took', async () => {
    const { outcome, answer, journal, requests } = await later();
    expect(outcome).toMatchObject({
      kind: 'inputRequired',
      message: expect.stringContaining(headline),
      answer: { accept: 'Create server "one" (costs money)' },
      state: expect.stringMatching(/^[\w-]{22}\.[\w-]{22}$/),
    });
    expect(await answer('agreed')).toMatchObject(accepted);
    expect(await journal()).toMatchObject([{ decision: { way: 'asked', answeredAfterMs: 7000 } }]);
    expect(requests).toHaveLength(1);
  });

  test('is about the change that was shown, whatever arguments the second call has', async () => {
    const { answer, requests } = await later();
    expect(await answer('agreed', { instanceId: 'two' })).toMatchObject(accepted);
    expect(requests.map(({ body }) => body)).toEqual([expect.stringContaining('"instanceId":"one"')]);
  });

  test.each<readonly [FormResponse['kind'], FormResponse['kind'], string]>([
    ['agreed', 'agreed', 'accepted'],
    ['agreed', 'declined', 'accepted'],
    ['declined', 'agreed', 'declined'],
  ])('is answered once: %s, then %s', async (first, second, state) => {
    const { answer, journal, requests } = await later();
    await answer(first);
    const outcome = await answer(second);
    const told = outcome.kind === 'succeeded' ? outcome.success : Object(outcome).failure;
    expect(told.outcome).toBe(state);
    expect(told.notes).toEqual([
      expect.stringMatching(/^The user (agreed|declined) at .*\. This answer changed nothing\.$/),
    ]);
    expect((await journal()).map((entry) => entry.state)).toEqual([state]);
    expect(requests).toHaveLength(state === 'accepted' ? 1 : 0);
  });

  test('counts for ten minutes', async () => {
    const { answer, clock, requests } = await later();
    clock.time += 10 * minute;
    expect(await answer('agreed')).toMatchObject(failed('PlanExpired'));
    expect(requests).toEqual([]);
  });

  test.each<readonly [string, (proof: string) => string]>([
    ['of another secret', (proof) => `${proof.slice(0, -2)}${proof.endsWith('AA') ? 'BB' : 'AA'}`],
    ['of a changeId alone', (proof) => proof.split('.')[0] ?? ''],
    ['of nothing', () => ''],
  ])('is nobody with the proof %s', async (_what, change) => {
    const { call, outcome, requests } = await later();
    const brought = bringing(outcome, 'agreed');
    if (brought.kind !== 'answer') throw new Error('there is an answer');
    const refused = await call({}, { brought: { ...brought, proof: change(brought.proof) } });
    expect(refused).toMatchObject({ failure: { code: 'UnknownChange' } });
    expect(requests).toEqual([]);
  });

  test('is nothing to another caller', async () => {
    const { call, outcome, requests } = await later();
    const context = { brought: bringing(outcome, 'agreed'), principal: { ...alice, name: 'bob' } };
    expect(await call({}, context)).toMatchObject({ failure: { code: 'UnknownChange' } });
    expect(requests).toEqual([]);
  });
});

describe('a client that fails to ask', () => {
  test.each<readonly [string, { views?: boolean; page?: boolean }, string]>([
    ['a click', { views: true }, 'button'],
    ['the page', { page: true }, 'decideAt'],
    ['a confirmation', {}, 'confirm_change'],
  ])('is no refusal of its user: the next way is offered, %s', async (_what, { views = false, page = false }, says) => {
    const signIn = { kind: 'signIn', addressOf: (id: string) => id, announce: () => undefined } as const;
    const session = changer({ confirm: 'ask', ...(page && { page: signIn }) });
    const { elicitor, asked } = session.personOf('notAsked');
    const outcome = await session.call({}, { client: { elicitor, views } });
    expect(successOf(outcome).next?.text.text).toContain(says);
    expect(asked).toHaveLength(1);
    expect((await session.journal()).map(({ state }) => state)).toEqual(['withdrawn']);
    expect((await session.changeOf(outcome)).state).toBe('waiting');
  });

  test('in a second call gets the next way too, in place of its question', async () => {
    const { call, personOf, store, journal } = changer({ confirm: 'ask' });
    const elicitor = personOf('later').elicitor;
    const first = await call({}, { client: { elicitor } });
    const outcome = await call({}, { client: { elicitor }, brought: bringing(first, 'notAsked') });
    expect(successOf(outcome).next?.text.text).toContain('confirm_change');
    expect(await store.waiting({})).toHaveLength(1);
    expect((await journal()).map(({ state }) => state)).toEqual(['withdrawn']);
  });

  test('closes no way, however often it fails', async () => {
    const { call, personOf } = changer({ confirm: 'ask' });
    for (const _ of [1, 2, 3, 4]) await call({}, { client: { elicitor: personOf('notAsked').elicitor } });
    expect(await call({}, { client: { elicitor: personOf('agreed').elicitor } })).toMatchObject(accepted);
  });
});

describe.each(['ask', 'human'] as const)('a question that is unfit (%s)', (confirm) => {
  const withLongWarning = () => {
    const { change } = restoreInstance;
    if (change === undefined) throw new Error('restore_instance is a change');
    const operation = { ...restoreInstance, change: { ...change, warnings: () => [defined('x'.repeat(2000))] } };
    return { operation, operations: [operation] };
  };
  const args = { backupId: 'a'.repeat(32), instanceId: 'one' };
  const program: Elicitor = { ask: async () => ({ kind: 'declined' }) };

  test('because it would be too long gives way to the view, never to a confirmation', async () => {
    const { call, changeOf, personOf } = changer({ confirm, ...withLongWarning() });
    const { elicitor, asked } = personOf('agreed');
    const outcome = await call(args, { client: { elicitor, views: true } });
    expect(outcome).toMatchObject({ success: { outcome: 'planned' }, view: { ticket: expect.anything() } });
    expect((await changeOf(outcome)).options).toMatchObject({ byClick: true, byConfirmation: false });
    const refused = await call(args, { client: { elicitor } });
    expect(refused).toMatchObject(failed('NeedsHuman', 'too long'));
    expect(refused).toHaveProperty('failure.next.text.text', expect.stringContaining('cloudops-mcp call'));
    expect(asked).toEqual([]);
  });

  test('because it would be too long is asked at a terminal, which shows the whole plan', async () => {
    const { call, personOf } = changer({ confirm, ...withLongWarning() });
    const { elicitor } = personOf('agreed');
    expect(await call(args, { client: { elicitor: { ...elicitor, isDirect: true } } })).toMatchObject(accepted);
  });

  test('because a program answers is asked once: then this client of this caller gets the view', async () => {
    const { call, personOf, journal } = changer({ confirm });
    expect(await call({}, { client: { elicitor: program } })).toMatchObject(failed('NobodyAsked', 'after 0 ms', ''));
    expect(await journal()).toMatchObject([{ state: 'withdrawn', decision: { way: 'program' } }]);
    expect(await call({}, { client: { elicitor: program, views: true } })).toMatchObject({
      success: { outcome: 'planned' },
    });
    expect(await call({}, { client: { elicitor: program } })).toMatchObject(failed('NeedsHuman', 'a program answered'));
    const bob = { name: 'bob', scopes: [writeScope] };
    const { elicitor } = personOf('agreed');
    const others = { two: { client: { elicitor, name: 'test 2' } }, three: { client: { elicitor }, principal: bob } };
    for (const [instanceId, other] of Object.entries(others))
      expect(await call({ instanceId }, other)).toMatchObject(accepted);
  });

  test('because programs answer is nobody refusing: any number of them closes no other way', async () => {
    const { call, personOf } = changer({ confirm });
    for (const client of ['a', 'b', 'c', 'd'])
      expect(await call({}, { client: { elicitor: program, name: client } })).toMatchObject({
        failure: { code: 'NobodyAsked' },
      });
    expect(await call({}, { client: { elicitor: personOf('agreed').elicitor, name: 'e' } })).toMatchObject(accepted);
  });
});
