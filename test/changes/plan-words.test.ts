import { beforeEach, expect, test } from 'vitest';
import type { CallContext, CallOutcome } from '../../src/calls/context.js';
import { writeScope } from '../../src/calls/policy.js';
import type { Announcement, DecisionPage } from '../../src/changes/decision-page.js';
import { createPlans } from '../../src/consent/plans.js';
import type { ConsentMode } from '../../src/changes/required-consent.js';
import { createConsentTokens } from '../../src/consent/tokens.js';
import type { Ending } from '../../src/journal/entry.js';
import { createMemoryPlanStore, type PlanStore } from '../../src/journal/plan-store.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { createMemoryJournal, never, testCaller } from '../support/caller.js';
import { accepted } from '../support/decisions.js';
import { intentAt } from '../support/journal.js';
import { answered, scriptedClient } from '../support/scripted-client.js';

/** What an agent is told to do with a plan, and what a planId tells it later. */

const start = Date.parse('2026-11-21T12:00:00Z');
const day = 24 * 60 * 60_000;
const key = 'k'.repeat(32);
let time = start;
beforeEach(() => {
  time = start;
});
const now = () => new Date(time);

type Page = 'none' | DecisionPage['kind'];

function setUp(confirm: ConsentMode, page: Page = 'none', store: PlanStore = createMemoryPlanStore()) {
  const { openClient, requests } = scriptedClient(async () => answered(200, { instance: { instanceId: 'one' } }));
  const shown: (Announcement | 'in the browser')[] = [];
  const pages: Readonly<Record<Page, DecisionPage | undefined>> = {
    none: undefined,
    signIn: {
      kind: 'signIn',
      addressOf: (nonce) => `https://cloudops.example.com/decisions/${nonce}`,
      announce: (announcement) => shown.push({ ...announcement, decideAt: '…' }),
    },
    local: { kind: 'local', show: () => shown.push('in the browser') },
  };
  const journal = createMemoryJournal(now);
  const plans = createPlans({ store, keys: () => [key], now, lifetimeMs: day });
  const given = pages[page];
  const caller = testCaller('http://127.0.0.1:1', {
    confirm,
    openClient,
    journal,
    now,
    plans,
    ...(given !== undefined && { page: given }),
  });
  const tokens = createConsentTokens(() => [key], 'alice', now);
  const call = (args: object = {}, context: Partial<CallContext> = {}) =>
    caller.carryOut(
      restoreInstance,
      { backupId: 'a'.repeat(32), instanceId: 'one', ...args },
      { tokens, principal: { name: 'alice', scopes: [writeScope] }, client: 'test 1', signal: never, ...context },
    );
  return { call, journal, plans, shown, requests, tokens };
}

/** The facts of an answer, and its words, without what each plan has of its own. */
function told(outcome: CallOutcome): string {
  if (outcome.kind === 'inputRequired') throw new Error('a question');
  const {
    plan: _,
    show: __,
    next,
    summary,
    warnings,
    requestIds,
    ...facts
  } = outcome.kind === 'succeeded' ? { ...outcome.success } : { plan: 0, show: '', warnings: [], ...outcome.failure };
  const ids = Object.keys(requestIds).length === 0 ? {} : { requestIds };
  const line = JSON.stringify({ ...facts, ...ids })
    .replace(/"planId":"[\w-]{60}"/, '"planId":"…"')
    .replace(/decisions\/[0-9a-f]{16}"/, 'decisions/…"');
  const { who, action, text } = next ?? { who: '', action: '', text: '' };
  return [summary, ...warnings, `${who} (${action}): ${text}`, line].join('\n');
}

test('the ways to carry a plan out', async () => {
  const ways: readonly (readonly [string, ConsentMode, Page, object, object])[] = [
    ['the agent, after a yes in the chat', 'plan', 'none', {}, {}],
    ['the same, where the plan is all that was wanted', 'plan', 'none', { planOnly: true }, {}],
    ['nothing, where nobody has to decide', 'off', 'none', { planOnly: true }, {}],
    ['a click, or a yes in the chat', 'ask', 'none', {}, { hasView: true }],
    ['the page, or a yes in the chat', 'ask', 'signIn', {}, {}],
    ['a click, the page, or a yes in the chat', 'ask', 'signIn', {}, { hasView: true }],
    ['a tab of the browser, or a yes in the chat', 'ask', 'local', {}, {}],
    ['a click', 'human', 'none', {}, { hasView: true }],
    ['the page', 'human', 'signIn', {}, {}],
    ['a click or the page', 'human', 'signIn', {}, { hasView: true }],
    ['a tab of the browser', 'human', 'local', {}, {}],
    ['the page of somebody else', 'approval', 'signIn', {}, {}],
  ];
  const all: string[] = [];
  for (const [name, confirm, page, args, context] of ways) {
    const { call, shown } = setUp(confirm, page);
    const answer = told(await call(args, context));
    all.push([`## ${name}`, answer, ...shown.map((each) => `told to people: ${JSON.stringify(each)}`)].join('\n'));
  }
  await expect(`${all.join('\n\n')}\n`).toMatchFileSnapshot('golden/plan-ways.txt');
});

test('the answers to a planId', async () => {
  const all: string[] = [];
  const ask = async (name: string, outcome: Promise<CallOutcome>) => {
    all.push(`## ${name}\n${told(await outcome)}`);
  };
  const planned = async (page: Page = 'signIn') => {
    const parts = setUp(page === 'none' ? 'plan' : 'human', page);
    const outcome = await parts.call();
    if (outcome.kind !== 'succeeded') throw new Error(`the plan ended as ${outcome.kind}`);
    const { planId = '' } = outcome.success;
    time += 3000;
    return { ...parts, planId, ...parts.tokens.read(planId) };
  };
  {
    const { call, planId, requests } = await planned();
    await ask('a plan that waits on the page', call({ planId, planOnly: true }));
    await ask('the same, taken back', call({ planId, withdraw: true }));
    await ask('the same, once more', call({ planId }));
    expect(requests).toEqual([]);
  }
  await planned('local').then(({ call, planId }) =>
    ask('a plan that waits in the browser', call({ planId, planOnly: true })),
  );
  await planned('none').then(({ call, planId }) =>
    ask('a plan that the agent carries out', call({ planId, planOnly: true })),
  );
  await planned().then(async ({ call, planId, nonce, plans }) => {
    await plans.claim(nonce, accepted);
    await ask('a plan that is being carried out', call({ planId }));
  });
  await planned().then(async ({ call, planId }) => {
    time += day + 1;
    await ask('a plan that has expired', call({ planId }));
  });

  const endings: Readonly<Record<string, Partial<Ending> & Pick<Ending, 'outcome'>>> = {
    'a change that the journal has as accepted': {
      outcome: 'accepted',
      status: 202,
      requestIds: { 'x-amz-request-id': 'r-1' },
    },
    'a change that the journal has as rejected': { outcome: 'rejected', status: 403, code: 'Access"Denied' },
    'a change that the journal has as unknown': { outcome: 'unknown', code: 'ECONNRESET' },
    'a change that the journal has as declined': { outcome: 'declined' },
  };
  for (const [name, ending] of Object.entries(endings)) {
    const { call, planId, nonce, plans, journal } = await planned();
    const [plan] = await plans.list();
    await plans.claim(nonce, accepted);
    const intent = intentAt(time, { nonce, digest: plan?.requestKey ?? '', what: 'A "server" is created.' });
    await journal.begin(intent, { allowRepeat: false });
    if (ending.outcome === 'accepted') await ask('a change that is under way', call({ planId }));
    await journal.end({ id: intent.id, time: new Date(time).toISOString(), ...ending });
    await ask(name, call({ planId }));
  }
  await expect(`${all.join('\n\n')}\n`).toMatchFileSnapshot('golden/plan-answers.txt');
});

test('what waits says who asked for what, from where, and with which rights', async () => {
  const { call, plans } = setUp('approval', 'signIn');
  await call({ diskSize: 200 });
  expect(await plans.list()).toMatchObject([
    {
      tool: 'restore_instance',
      args: { backupId: 'a'.repeat(32), instanceId: 'one', diskSize: 200 },
      caller: 'alice',
      scopes: [writeScope],
      client: 'test 1',
      issuedAt: start,
      accept: 'Create server "one" (costs money)',
      requestKey: expect.stringMatching(/^[0-9a-f]{64}$/),
      plan: { method: 'POST' },
      repeats: expect.anything(),
    },
  ]);
});

test('a plan that cannot be kept waits nowhere, and nobody is told of it', async () => {
  const add = () => Promise.reject(new Error('MARKER'));
  const { call, shown } = setUp('approval', 'signIn', { ...createMemoryPlanStore(), add });
  expect(await call()).toMatchObject({
    kind: 'failed',
    failure: { code: 'JournalUnavailable', problems: ['the plans that wait beside it cannot be written'] },
  });
  expect(shown).toEqual([]);
  const { call: callWithView } = setUp('human', 'none', { ...createMemoryPlanStore(), add });
  const outcome = await callWithView({}, { hasView: true });
  expect(outcome).toMatchObject({ success: { outcome: 'planned' }, view: { claims: expect.anything() } });
  expect(outcome).not.toHaveProperty('success.planId');
});
