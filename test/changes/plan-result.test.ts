import { describe, expect, test } from 'vitest';
import type { ConsentMode } from '../../src/calls/account.js';
import type { CallOutcome } from '../../src/calls/outcome.js';
import { provisionKubeResourceGroup } from '../../src/tools/provision-kube-resource-group.js';
import { words } from '../../src/util/safe-text.js';
import { memoryStore, type TestContext } from '../support/caller.js';
import { changer, failed, start, successOf } from '../support/changer.js';
import { type Page, pageOf, told } from '../support/told.js';

/** The answer with a plan: what the agent is told to do with it, what the view gets, and what is stored. */

const setUp = (confirm: ConsentMode, page: Page = 'none', options: Parameters<typeof changer>[0] = {}) => {
  const { shown, given } = pageOf(page);
  return { ...changer({ confirm, planLifetimeMs: 24 * 3_600_000, ...(given && { page: given }), ...options }), shown };
};

test('the ways to carry a plan out', async () => {
  const ways: readonly (readonly [string, ConsentMode, Page, object, TestContext])[] = [
    ['the agent, after a yes in the chat', 'plan', 'none', {}, {}],
    ['the same, where the plan is all that was wanted', 'plan', 'none', { planOnly: true }, {}],
    ['nothing, where nobody has to decide', 'off', 'none', { planOnly: true }, {}],
    ['the agent, where nothing reaches a person', 'ask', 'none', {}, {}],
    ['a click', 'ask', 'none', {}, { client: { views: true } }],
    ['a click, where the plan is all that was wanted', 'ask', 'none', { planOnly: true }, { client: { views: true } }],
    ['the page', 'ask', 'signIn', {}, {}],
    ['a click or the page', 'ask', 'signIn', {}, { client: { views: true } }],
    ['a tab of the browser', 'human', 'local', {}, {}],
    ['the page of somebody else', 'approval', 'signIn', {}, {}],
    ['nobody, where the plan is all that was wanted', 'human', 'none', { planOnly: true }, {}],
  ];
  const all: string[] = [];
  for (const [name, confirm, page, args, context] of ways) {
    const { call, shown } = setUp(confirm, page);
    const answer = told(await call(args, context));
    all.push([`## ${name}`, answer, ...shown.map((each) => `told to people: ${JSON.stringify(each)}`)].join('\n'));
  }
  await expect(`${all.join('\n\n')}\n`).toMatchFileSnapshot('golden/plan-ways.txt');
});

/** What the view gets of a plan. */
const viewOf = (outcome: CallOutcome) => (outcome.kind === 'succeeded' ? outcome.view : undefined);

describe('a plan in place of an answer', () => {
  const ticket = { ticket: expect.stringMatching(/^[\w-]{22}\.[\w-]{22}$/) };

  test.each<readonly [ConsentMode, { planOnly?: true }, TestContext, 'stored' | 'not stored', object]>([
    ['plan', {}, {}, 'stored', { inChat: true }],
    ['plan', { planOnly: true }, {}, 'not stored', {}],
    ['ask', {}, {}, 'stored', { inChat: true }],
    ['ask', {}, { client: { views: true } }, 'stored', ticket],
    ['human', {}, { client: { views: true } }, 'stored', ticket],
    ['human', { planOnly: true }, { client: { views: true } }, 'stored', ticket],
    ['human', { planOnly: true }, {}, 'not stored', {}],
    ['off', { planOnly: true }, {}, 'not stored', {}],
  ])('%s, %j, %j: is %s', async (confirm, args, context, isStored, view) => {
    const { call, requests, journal, store } = setUp(confirm);
    const outcome = await call(args, context);
    const { next, changeId, planExpires, ...success } = successOf(outcome);
    expect(success).toEqual({
      summary: expect.stringContaining('restore_instance'),
      outcome: 'planned',
      show: expect.stringContaining(
        isStored === 'stored' ? 'This plan holds until 2026-11-21 12:10 UTC.' : 'Not checked:',
      ),
      plan: expect.objectContaining({ method: 'POST' }),
      warnings: [],
      requestIds: {},
    });
    expect(next).toMatchObject({ who: 'user', action: 'decide' });
    expect(planExpires).toBe(isStored === 'stored' ? '2026-11-21T12:10:00.000Z' : undefined);
    expect(viewOf(outcome)).toEqual({
      kind: 'plan',
      accept: 'Create server "one" (costs money)',
      issuedAt: start,
      expiresAt: start + 600_000,
      ...view,
    });
    const waiting = await store.waiting({});
    expect(waiting.map(({ id }) => id)).toEqual(isStored === 'stored' ? [changeId] : []);
    expect([requests, await journal()]).toEqual([[], []]);
  });

  test('is refused if nobody can agree to it', async () => {
    const { call, requests, store } = setUp('human');
    const outcome = await call();
    expect(outcome).toMatchObject(failed('NeedsHuman', 'CLOUDOPS_CONFIRM'));
    expect(JSON.stringify(outcome)).not.toContain('reconnect');
    expect([requests, await store.waiting({})]).toEqual([[], []]);
  });

  /** A restart weakens nothing: nobody knows what this client can do. */
  test.each<readonly [ConsentMode, 'reconnect' | 'planned' | 'accepted']>([
    ['ask', 'reconnect'],
    ['human', 'reconnect'],
    ['approval', 'reconnect'],
    ['plan', 'planned'],
    ['off', 'accepted'],
  ])('%s: a client that nobody knows gets: %s', async (confirm, what) => {
    const outcome = await setUp(confirm).call({}, { client: { isUnknown: true } });
    if (what !== 'reconnect') expect(successOf(outcome).outcome).toBe(what);
    else
      expect(outcome).toMatchObject({
        failure: {
          code: 'NeedsHuman',
          next: { who: 'user', action: 'configure', text: expect.stringContaining('reconnect') },
        },
      });
  });

  test('that cannot be stored waits nowhere, and nobody is told of it', async () => {
    const add = async () => ({ kind: 'unwritable', reason: words('the disk is full') }) as const;
    const { call, shown } = setUp('approval', 'signIn', { store: { ...memoryStore(() => new Date(start)), add } });
    expect(await call()).toMatchObject(failed('JournalUnavailable', 'the disk is full'));
    expect(shown).toEqual([]);
  });

  test('that is too long to be stored is refused as too long', async () => {
    const add = async () => ({ kind: 'tooLong' }) as const;
    const { call } = setUp('approval', 'signIn', { store: { ...memoryStore(() => new Date(start)), add } });
    expect(await call()).toMatchObject({
      failure: {
        code: 'TooLargeToShow',
        summary: expect.stringContaining('its plan is too long to wait for a decision'),
      },
    });
  });

  test('is in the log', async () => {
    const { call, logged } = setUp('plan');
    await call();
    const fields = { tool: 'restore_instance', decision: 'plan', caller: 'alice' };
    expect(logged).toContainEqual({ level: 'info', event: 'consent', fields });
  });
});

test('a yes that was given beforehand is in the journal as that', async () => {
  const { call, journal } = setUp('ask');
  expect(await call({}, { brought: { kind: 'consent' } })).toMatchObject({ success: { outcome: 'accepted' } });
  expect(await journal()).toMatchObject([{ decision: { kind: 'approved', way: 'option' } }]);
});

describe('a secret by value', () => {
  const operation = provisionKubeResourceGroup;
  const secret = { private_key: 'MARKER-of-the-key' };
  const args = { resourceGroupName: 'group', externalCloudConfig: { serviceAccountKey: JSON.stringify(secret) } };

  test('waits on no page, which another process may serve', async () => {
    const { call, store } = setUp('approval', 'signIn', { operation });
    expect(await call(args)).toMatchObject(failed('SecretByValue'));
    expect((await store.waiting({})).length).toBe(0);
  });

  test('waits for a click in memory alone, and is sent after it', async () => {
    const { call, click, changeOf, requests } = setUp('human', 'none', { operation });
    const outcome = await call(args, { client: { views: true } });
    expect(JSON.stringify(await changeOf(outcome))).not.toContain('MARKER');
    await click(outcome);
    expect(requests.map(({ body }) => body)).toEqual([expect.stringContaining('MARKER')]);
  });

  test('is gone with its process, which says so', async () => {
    const { call, store, clock } = setUp('human', 'none', { operation });
    const outcome = await call(args, { client: { views: true } });
    const restarted = setUp('human', 'none', { operation, store, clock });
    const { outcome: clicked } = Object(await restarted.click(outcome));
    expect(clicked).toMatchObject({ kind: 'failed', failure: { mayHaveHappened: false, outcome: 'not sent' } });
    expect(restarted.requests).toEqual([]);
  });
});
