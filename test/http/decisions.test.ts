import { createHash } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { approveScope } from '../../src/calls/policy.js';
import { signInByToken } from '../../src/http/sign-in.js';
import { createMemoryPlanStore } from '../../src/journal/plan-store.js';
import { readOutcome, readProposedChange } from '../../src/mcp/views/contract/change-data.js';
import { textInUtc } from '../../src/mcp/views/contract/read-fields.js';
import { createSeal } from '../../src/util/seal.js';
import { namedAccounts } from '../support/accounts.js';
import { browserOf, type Decisions, type DecisionsSetup, serveDecisions, stateKey } from '../support/decisions.js';
import { message, post } from '../support/http-in-process.js';
import { endingOf, intentAt } from '../support/journal.js';
import { keptPlanAt } from '../support/kept-plan.js';

/** The page for decisions, with people who may decide and people who may not. */

let served: Decisions;
const start = async (setup: DecisionsSetup = {}) => {
  served = await serveDecisions(setup);
  return served;
};
afterEach(() => served.close());

/** A plan of alice's that waits, and its nonce. */
async function waiting({ ask, pass }: Decisions, args: object = {}, token = 'alice') {
  const answer = await ask(args, token);
  expect(answer).toMatchObject({ outcome: 'waiting' });
  pass(3000);
  const nonce = /\/decisions\/([0-9a-f]{16})\/$/.exec(String(answer.decideAt))?.[1] ?? '';
  return { nonce, planId: String(answer.planId) };
}
const signedIn = async (token = 'bob') => {
  const browser = browserOf(served);
  expect((await browser.signIn(token)).status).toBe(303);
  return browser;
};
const outcomeOf = async (response: Response) => readOutcome(Object(await response.json())._meta);
const kindOf = async (response: Response) => (await outcomeOf(response))?.kind;
/** The clicks in the log. */
const clicks = () => served.callerLogged.filter(({ event }) => event === 'decision').map(({ fields }) => fields);

describe('approval', () => {
  test('somebody else signs in, sees the plan and agrees; the agent gets the answer, the journal both names', async () => {
    const { ask, requests, journal } = await start();
    const { nonce, planId } = await waiting(served);
    const browser = browserOf(served);
    const sent = await browser.get(`/decisions/${nonce}/`);
    expect([sent.status, sent.headers.get('location')]).toEqual([303, `/decisions/sign-in?plan=${nonce}`]);
    const signIn = await browser.signIn('bob', `?plan=${nonce}`);
    expect([signIn.status, signIn.headers.get('location')]).toEqual([303, `/decisions/${nonce}/`]);
    expect(await (await browser.get('/decisions')).text()).toMatch(
      /1 change waits.*wiki.*Asked for by <bdi>&quot;alice&quot;/s,
    );
    const headers = { origin: served.publicUrl, 'x-csrf-token': await browser.csrfOf(nonce) };
    const shown = Object(await (await browser.json(`/decisions/${nonce}/call`, {}, headers)).json());
    expect(readProposedChange(shown.result._meta)).toMatchObject({
      accept: 'Create server "wiki" (costs money)',
      ticket: nonce,
    });
    expect(await kindOf(await browser.decide(nonce, 'accept'))).toBe('accepted');
    expect(await served.metrics()).toContain('cloudops_calls_total{tool="restore_instance",outcome="accepted"} 1');
    expect(await ask({ planId })).toMatchObject({ outcome: 'accepted', answer: { instance: { instanceId: 'wiki' } } });
    expect(await journal.list({})).toMatchObject([{ caller: 'alice', approver: 'bob', consent: 'page' }]);
    expect(await (await browser.get('/decisions')).text()).toMatch(
      /Recently decided.*Accepted.*decided by <bdi>&quot;bob&quot;/s,
    );
    expect(requests).toHaveLength(1);
  });

  test('the second person is spoken of as one, and only an auditor learns the name', async () => {
    const { ask, setTokens } = await start();
    const asked = await ask();
    expect(JSON.stringify(asked.next)).toContain('somebody other than the user decides there');
    const { planId } = asked;
    expect((await ask({ planId })).summary).toContain('somebody other than the user');
    served.pass(3000);
    const nonce = /\/decisions\/([0-9a-f]{16})\/$/.exec(String(asked.decideAt))?.[1] ?? '';
    await (await signedIn()).decide(nonce, 'decline', {}, { reason: 'Wrong "size"\nof it' });
    const declined = await ask({ planId });
    expect(declined).toMatchObject({
      code: 'Declined',
      summary: expect.stringContaining('somebody other than the user declined it'),
      next: { text: expect.stringContaining('Only a new wish of the user justifies a new plan') },
    });
    expect(declined.problems).toContain('the person gave this reason: "Wrong \\"size\\"\\nof it"');
    expect(JSON.stringify(declined)).not.toContain('bob');
    setTokens((text) => text.replace(/^alice \w+$/m, (line) => `${line} cloudops:read cloudops:write cloudops:audit`));
    expect((await ask({ planId })).notes).toEqual(['"bob" decided on this plan.']);
  });

  test.each(['', 'x'.repeat(201)])('a reason of %j is none', async (reason) => {
    await start();
    const { nonce } = await waiting(served);
    expect((await (await signedIn()).decide(nonce, 'decline', {}, { reason })).status).toBe(400);
  });

  test('a refusal is told to the agent, and binds', async () => {
    const { ask, requests } = await start();
    const { nonce, planId } = await waiting(served);
    const browser = await signedIn();
    expect(await kindOf(await browser.decide(nonce, 'decline'))).toBe('declined');
    expect(await ask({ planId })).toMatchObject({ code: 'Declined', mayHaveHappened: false });
    expect(await kindOf(await browser.decide(nonce, 'accept'))).toBe('declined');
    expect(requests).toEqual([]);
  });

  test.each([
    ['accept', 'decline', 'accepted'],
    ['decline', 'accept', 'declined'],
  ])(
    'the first decision (%s) stands: a click on a page that is out of date (%s) changes nothing and learns whose it was',
    async (first, second, kind) => {
      const { ask, journal, plans } = await start();
      const { nonce, planId } = await waiting(served);
      const plan = { tool: 'restore_instance', plan: nonce, caller: 'alice' };
      const [bob, carol] = [await signedIn('bob'), await signedIn('carol')];
      expect(await kindOf(await bob.decide(nonce, first))).toBe(kind);
      const before = await plans.find(nonce);
      const shown = readOutcome(Object(await (await carol.decide(nonce, second)).json())._meta);
      expect(shown?.kind).toBe(kind);
      expect(textInUtc(shown?.earlier ?? '')).toMatch(/^"bob" \w+ this at .*nothing\.$/);
      expect(JSON.stringify(shown)).not.toMatch(/allowRepeat|you did not/);
      expect(await plans.find(nonce)).toEqual(before);
      expect(await (await carol.get('/decisions')).text()).toMatch(/decided by <bdi>&quot;bob&quot;/);
      expect(await (await carol.get('/decisions')).text()).not.toContain('decided by <bdi>&quot;carol&quot;');
      expect((await journal.list({})).map(({ approver }) => approver)).toEqual(['bob']);
      const { outcome, code } = await ask({ planId });
      expect(outcome ?? code).toBe(kind === 'accepted' ? 'accepted' : 'Declined');
      expect(clicks()).toEqual([
        { ...plan, decision: first, result: 'counted', person: 'bob' },
        { ...plan, decision: second, result: 'too late', person: 'carol' },
      ]);
    },
  );

  describe('a corrected plan', () => {
    const first = { diskSize: 100 };
    const second = { diskSize: 200 };
    const listOf = async (browser: Awaited<ReturnType<typeof signedIn>>) => (await browser.get('/decisions')).text();

    test('says first that another one waits, and replaces it in one step, which the journal has', async () => {
      const { ask, pass, journal, plans } = await start();
      const { nonce } = await waiting(served, first);
      pass(117_000);
      const answer = await ask(second);
      const text = 'Another plan for "wiki" waits: disk size 100 GB, asked 2 min ago.';
      expect(answer.summary).toMatch(new RegExp(`^${text}`));
      expect(answer.show).toContain(text);
      const [, replaces] = /replaces: ([\w-]{60})/.exec(String(Object(answer.next).text)) ?? [];
      const { planId } = answer;
      expect(await ask({ ...second, planId, replaces })).toMatchObject({ outcome: 'waiting', planId });
      expect(await plans.find(nonce)).toMatchObject({ state: 'decided', decision: { kind: 'withdrawn' } });
      expect(await journal.list({})).toMatchObject([{ consent: 'withdrawn', nonce, caller: 'alice' }]);
      expect((await journal.list({}))[0]?.what).toContain('100 GB');
      // Asking again changes nothing.
      expect(await ask({ ...second, planId, replaces })).toMatchObject({ outcome: 'waiting' });
    });

    test('makes the new plan and withdraws the old one in one call', async () => {
      const { ask, plans } = await start();
      const { nonce, planId } = await waiting(served, first);
      const answer = await ask({ ...second, replaces: planId });
      expect(answer).toMatchObject({ outcome: 'waiting', summary: expect.not.stringContaining('Another') });
      expect(await plans.find(nonce)).toMatchObject({ decision: { kind: 'withdrawn' } });
      expect((await plans.list()).filter(({ state }) => state === 'waiting')).toHaveLength(1);
    });

    test.each(['planOnly', 'withdraw'])('is refused together with %s, and the old one waits', async (argument) => {
      const { ask, plans } = await start();
      const { nonce, planId } = await waiting(served, first);
      const own = argument === 'withdraw' ? { planId: (await waiting(served, second)).planId } : {};
      const answer = await ask({ ...second, ...own, replaces: planId, [argument]: true });
      expect(answer).toMatchObject({
        code: 'PlanRefused',
        problems: [`replaces: does nothing together with ${argument}`],
      });
      expect(Object(answer.next).text).toMatch(/No plan was withdrawn/);
      expect(await plans.find(nonce)).toMatchObject({ state: 'waiting' });
    });

    test('is refused for a plan that waits for nobody, with what to do about it', async () => {
      const { ask } = await start({ confirm: 'plan' });
      const { planId } = await ask(first);
      const answer = await ask({ ...second, replaces: planId });
      expect(answer).toMatchObject({ code: 'PlanRefused', mayHaveHappened: false });
      expect(Object(answer.next).text).toMatch(/^Call without replaces\..* withdraw: true\.$/);
      expect(await ask({ ...first, planId, withdraw: true })).toMatchObject({ outcome: 'withdrawn' });
      expect(await ask({ ...first, planId })).toMatchObject({ code: 'Withdrawn' });
    });

    test('is refused with the planId that is at fault', async () => {
      const { ask } = await start();
      const answer = await ask({ ...second, replaces: 'x'.repeat(60) });
      expect(answer.problems).toEqual(['replaces: this server did not issue the planId, or it was altered']);
      expect(Object(answer.next).text).not.toMatch(/to get a new plan/);
    });

    test.each(['accept', 'decline'])('is not made if the old one was decided meanwhile (%s)', async (decision) => {
      const { ask, plans, requests } = await start();
      const { nonce, planId } = await waiting(served, first);
      await (await signedIn()).decide(nonce, decision);
      const answer = await ask({ ...second, replaces: planId });
      const summary = expect.stringMatching(new RegExp(`decided meanwhile: somebody ${decision}e?d this at 20`));
      expect(answer).toMatchObject({ code: 'AlreadyDecided', summary });
      expect(await plans.list()).toHaveLength(1);
      expect(requests).toHaveLength(decision === 'accept' ? 1 : 0);
    });

    test.each([
      ['of another caller', {}, 'mallory'],
      ['that was made up', { replaces: 'x'.repeat(60) }, 'alice'],
    ])('replaces no plan %s', async (_what, given, token) => {
      const { ask, plans } = await start();
      const { planId } = await waiting(served, first);
      expect(await ask({ ...second, replaces: planId, ...given }, token)).toMatchObject({ code: 'PlanRefused' });
      expect((await plans.list()).map(({ state }) => state)).toEqual(['waiting']);
    });

    test('is none of another caller, account or thing: the agent is told of no other plan', async () => {
      const { ask } = await start();
      await waiting(served, first);
      for (const answer of [await ask(second, 'mallory'), await ask({ ...second, instanceId: 'blog' })])
        expect(answer.summary).not.toContain('Another');
    });

    test('stands beside the older one in the list, and each page tells of the other, also after one was accepted', async () => {
      const { pass } = await start();
      const older = await waiting(served, first);
      await waiting(served, { instanceId: 'blog' });
      const newer = await waiting(served, second);
      pass(60_000);
      const bob = await signedIn();
      const list = await listOf(bob);
      expect(list.match(/Older: a newer plan waits/g)).toHaveLength(1);
      const orderOf = (nonce: string) => list.indexOf(nonce);
      expect(orderOf(newer.nonce)).toBeGreaterThan(orderOf(older.nonce));
      expect(list.slice(orderOf(older.nonce), orderOf(newer.nonce))).not.toContain('blog');
      const warningsOn = async (nonce: string) => {
        const proof = { origin: served.publicUrl, 'x-csrf-token': await bob.csrfOf(nonce) };
        const shown = Object(await (await bob.json(`/decisions/${nonce}/call`, {}, proof)).json());
        return textInUtc(readProposedChange(shown.result._meta)?.warnings[0] ?? '');
      };
      expect(await warningsOn(older.nonce)).toMatch(
        /^A newer plan for "wiki" waits: disk size 200 GB, asked \d+ s ago\.$/,
      );
      expect(await warningsOn(newer.nonce)).toMatch(
        /^Another plan for "wiki" waits: disk size 100 GB, asked \d+ s ago\.$/,
      );
      expect(await kindOf(await bob.decide(older.nonce, 'accept'))).toBe('accepted');
      expect(await warningsOn(newer.nonce)).toMatch(
        /^Another plan for "wiki" was accepted: disk size 100 GB\. "bob" accepted/,
      );
      expect(await listOf(bob)).toContain('Another plan was accepted');
      // The remark is no part of what a decision is bound to.
      expect(await kindOf(await bob.decide(newer.nonce, 'accept'))).toBe('accepted');
    });
  });

  test('a click that was on its way when somebody else decided stores nobody either', async () => {
    const { plans } = await start();
    const { nonce } = await waiting(served);
    const [bob, carol] = [await signedIn('bob'), await signedIn('carol')];
    // Carol's click has read the plan before it was decided.
    const plan = await plans.find(nonce);
    expect(await kindOf(await bob.decide(nonce, 'accept'))).toBe('accepted');
    vi.spyOn(plans, 'find').mockResolvedValueOnce(plan).mockResolvedValueOnce(plan);
    expect(await kindOf(await carol.decide(nonce, 'accept'))).toBe('accepted');
    expect((await plans.find(nonce))?.decision).toMatchObject({ kind: 'accepted', person: 'bob' });
    expect(clicks()).toMatchObject([
      { person: 'bob', result: 'counted' },
      { person: 'carol', result: 'too late' },
    ]);
  });

  test('an accepted plan whose server was killed is under way, and unknown once the journal says so', async () => {
    // Opening the page never waits.
    const { plans, journal, now } = await start({ statusWaitMs: 600_000 });
    const { nonce } = await waiting(served);
    const carol = await signedIn('carol');
    const { requestKey = '' } = (await plans.find(nonce)) ?? {};
    const intent = intentAt(now().getTime(), { digest: requestKey, nonce, caller: 'alice', approver: 'bob' });
    await plans.claim(nonce, { kind: 'accepted', person: 'bob', at: now().getTime() });
    await journal.begin(intent, { allowRepeat: false });

    const opened = async () => {
      const headers = { origin: served.publicUrl, 'x-csrf-token': await carol.csrfOf(nonce) };
      const { result } = Object(await (await carol.json(`/decisions/${nonce}/call`, {}, headers)).json());
      return { ...result.structuredContent, shown: readOutcome(result._meta) };
    };
    const sentence = 'The outcome of this change is not known yet.';
    const before = await opened();
    expect(before).toMatchObject({ code: 'AlreadyDecided', summary: sentence, shown: { kind: 'used', sentence } });
    expect(textInUtc(before.shown?.earlier ?? '')).toMatch(/^"bob" accepted this at/);

    await journal.tryEnd(endingOf(now().getTime(), intent.id, 'unknown'));
    served.pass(10_000);
    expect((await opened()).shown).toMatchObject({ kind: 'unknown', isOfPlan: true });
    // The list shows what the plan's server stored, which had no time to store an outcome.
    expect(await (await carol.get('/decisions')).text()).toContain('>No outcome yet<');
    expect(await kindOf(await carol.decide(nonce, 'accept'))).toBe('unknown');
  });

  test('of two people at once, one decides', async () => {
    const { requests } = await start();
    const { nonce } = await waiting(served);
    const [bob, carol] = [await signedIn('bob'), await signedIn('carol')];
    const kinds = await Promise.all([bob, carol].map(async (one) => kindOf(await one.decide(nonce, 'accept'))));
    // The second person learns the outcome, or that it is not known yet.
    expect(kinds).toContain('accepted');
    for (const kind of kinds) expect(['accepted', 'used']).toContain(kind);
    expect(requests).toHaveLength(1);
  });

  test.each(['accept', 'decline'])(
    'of a decision (%s) and its caller taking the plan back at once, one counts',
    async (decision) => {
      const { ask, requests } = await start();
      const { nonce, planId } = await waiting(served);
      const browser = await signedIn();
      await Promise.all([browser.decide(nonce, decision), ask({ planId, withdraw: true })]);
      const { outcome, code } = await ask({ planId });
      expect([['accepted'], ['Declined'], ['Withdrawn']]).toContainEqual([outcome ?? code]);
      expect(requests).toHaveLength(outcome === 'accepted' ? 1 : 0);
    },
  );

  test('a plan is taken back by its caller alone', async () => {
    const { ask } = await start();
    const { planId } = await waiting(served);
    expect(await ask({ planId, withdraw: true }, 'mallory')).toMatchObject({ code: 'PlanRefused' });
    expect(await ask({ planId, withdraw: true, instanceId: 'other' })).toMatchObject({ code: 'PlanRefused' });
    expect(await ask({ planId })).toMatchObject({ outcome: 'waiting' });
  });

  test('what the policy forbids by now is not sent, and the agent learns why', async () => {
    const { ask, requests, setTokens } = await start();
    const { nonce, planId } = await waiting(served);
    const browser = await signedIn();
    setTokens((text) => text.replace(/^alice \w+$/m, (line) => `${line} cloudops:read`));
    expect(await kindOf(await browser.decide(nonce, 'accept'))).toBe('refused');
    expect(clicks()).toMatchObject([{ decision: 'accept', result: 'refused' }]);
    // A look at the plan, and a click that comes too late, get the outcome of the plan, while the call of the plan is still forbidden.
    const ended = { kind: 'refused', code: 'NotAllowed', isOfPlan: true };
    for (const decision of ['look', 'accept'])
      expect(await outcomeOf(await browser.decide(nonce, decision))).toMatchObject(ended);
    setTokens((text) => text.replace(' cloudops:read', ''));
    expect(await ask({ planId })).toMatchObject({ code: 'NotAllowed' });
    expect(await kindOf(await browser.decide(nonce, 'accept'))).toBe('refused');
    expect(requests).toEqual([]);
  });

  test('the reason for a decline is kept, even if the policy forbids the change by now', async () => {
    const { setTokens, plans } = await start();
    const { nonce } = await waiting(served);
    const browser = await signedIn();
    setTokens((text) => text.replace(/^alice \w+$/m, (line) => `${line} cloudops:read`));
    await browser.decide(nonce, 'decline', {}, { reason: 'too large' });
    expect((await plans.find(nonce))?.decision).toMatchObject({ kind: 'declined', person: 'bob', reason: 'too large' });
  });

  test('a caller who is gone by now has nothing carried out', async () => {
    const { requests, setTokens } = await start();
    const { nonce } = await waiting(served);
    const browser = await signedIn();
    setTokens((text) => text.replace(/^alice.*$/m, '#'));
    expect(await kindOf(await browser.decide(nonce, 'accept'))).toBe('refused');
    expect(clicks()).toMatchObject([{ decision: 'accept', result: 'refused' }]);
    expect(requests).toEqual([]);
  });

  test('a caller who cannot be looked up now is not taken for gone, and the next click decides', async () => {
    const principal = { name: 'bob', scopes: [approveScope] };
    const authenticate = async () => ({ kind: 'authenticated', principal }) as const;
    const { requests, setTokensReadable, setTokens, plans } = await start({
      signIn: signInByToken(authenticate, () => new Date()),
    });
    const { nonce } = await waiting(served);
    const browser = await signedIn();
    setTokensReadable(false);
    for (const decision of ['accept', 'decline']) {
      const outcome = await outcomeOf(await browser.decide(nonce, decision));
      const sentence = 'The caller of this change cannot be verified now, so this click decided nothing.';
      expect(outcome).toMatchObject({ kind: 'refused', code: 'StateUnavailable', sentence });
      expect(outcome).not.toHaveProperty('isOfPlan');
      const click = { decision, result: 'not counted', person: 'bob', caller: 'alice', plan: nonce };
      expect(clicks().at(-1)).toMatchObject(click);
    }
    expect((await plans.find(nonce))?.state).toBe('waiting');
    setTokensReadable(true);
    expect(await kindOf(await browser.decide(nonce, 'accept'))).toBe('accepted');
    expect(requests).toHaveLength(1);
    // The plan is decided now, so a click gets its outcome, whether its caller can be looked up or is gone.
    setTokensReadable(false);
    const ended = { kind: 'accepted', isOfPlan: true, earlier: expect.anything() };
    expect(await outcomeOf(await browser.decide(nonce, 'accept'))).toMatchObject(ended);
    setTokensReadable(true);
    setTokens((text) => text.replace(/^alice.*$/m, '#'));
    expect(await outcomeOf(await browser.decide(nonce, 'accept'))).toMatchObject(ended);
    expect(requests).toHaveLength(1);
  });

  test('a click whose person cannot be verified now is told that it decided nothing, and the next click decides', async () => {
    const { requests, setTokensReadable, plans } = await start();
    const { nonce } = await waiting(served);
    const browser = await signedIn();
    const proof = { 'x-csrf-token': await browser.csrfOf(nonce) };
    setTokensReadable(false);
    const outcome = await outcomeOf(await browser.decide(nonce, 'accept', proof));
    const sentence = 'Your sign-in cannot be verified now, so this click decided nothing.';
    expect(outcome).toMatchObject({ kind: 'refused', code: 'StateUnavailable', sentence });
    expect((await plans.find(nonce))?.state).toBe('waiting');
    // The requests for the page, with its proof, and for the click.
    expect(await served.metrics()).toContain('cloudops_refused_requests_total{reason="tokens file"} 2');
    setTokensReadable(true);
    expect(await kindOf(await browser.decide(nonce, 'accept', proof))).toBe('accepted');
    expect(requests).toHaveLength(1);
  });

  test('a click while the plans cannot be read is told that it decided nothing, and the next click decides', async () => {
    const store = createMemoryPlanStore();
    let isReadable = true;
    const find: typeof store.find = async (nonce) => {
      if (!isReadable) throw new Error('ECONNREFUSED');
      return store.find(nonce);
    };
    const { requests } = await start({ planStore: { ...store, find } });
    const { nonce } = await waiting(served);
    const browser = await signedIn();
    const proof = { 'x-csrf-token': await browser.csrfOf(nonce) };
    isReadable = false;
    const outcome = await outcomeOf(await browser.decide(nonce, 'accept', proof));
    const sentence = 'The plans cannot be read now, so this click decided nothing.';
    expect(outcome).toMatchObject({ kind: 'refused', code: 'StateUnavailable', sentence });
    expect((await browser.get(`/decisions/${nonce}/`)).status).toBe(503);
    isReadable = true;
    expect(await kindOf(await browser.decide(nonce, 'accept', proof))).toBe('accepted');
    expect(requests).toHaveLength(1);
  });

  test('a plan that has expired is gone', async () => {
    const { pass, requests } = await start();
    const { nonce } = await waiting(served);
    const browser = await signedIn();
    const proof = await browser.csrfOf(nonce);
    pass(7 * 3_600_000);
    pass(17 * 3_600_000);
    await browser.signIn('bob');
    expect((await browser.decide(nonce, 'accept', { 'x-csrf-token': proof })).status).toBe(404);
    expect((await browser.get(`/decisions/${nonce}/`)).status).toBe(404);
    expect(requests).toEqual([]);
  });
});

test('the link to the next plan visits all plans of one millisecond, in whatever order the store lists them', async () => {
  const store = createMemoryPlanStore();
  let lists = 0;
  const list = async () => {
    lists += 1;
    const stored = await store.list();
    return lists % 2 === 0 ? stored : stored.toReversed();
  };
  const { plans, now } = await start({ planStore: { ...store, list } });
  const nonces = ['a', 'b', 'c'].map((digit) => digit.repeat(16));
  const issuedAt = now().getTime();
  for (const nonce of nonces) await plans.add(keptPlanAt(issuedAt, { nonce, caller: 'alice' }));
  const browser = await signedIn();
  const visited: string[] = [];
  for (let at = `/decisions/${nonces[0]}/`; visited.length < 4; ) {
    visited.push(at.replaceAll(/\/|decisions/g, ''));
    at = (await browser.get(`${at}next`)).headers.get('location') ?? '';
  }
  expect(visited).toEqual([...nonces, nonces[0]]);
});

describe('who may not decide', () => {
  let nonce: string;
  beforeEach(async () => {
    await start();
    ({ nonce } = await waiting(served));
  });
  afterEach(() => expect(served.requests).toEqual([]));

  test.each(['alice', 'mallory', '', 'x'])(
    '%j cannot sign in: its token does something else, or is none',
    async (token) => {
      const browser = browserOf(served);
      const answer = await browser.signIn(token);
      expect([answer.status, browser.cookies.size]).toEqual([401, 0]);
    },
  );

  test('a token that decides is refused at /mcp', async () => {
    for (const body of [message('tools/list'), message('ping')]) {
      const answer = await post(served.url, body, { authorization: 'Bearer bob' });
      expect(answer.status).toBe(403);
    }
  });

  test('curl with the link gets the sign-in, and its POST nothing', async () => {
    for (const path of ['', '/', `/${nonce}`, `/${nonce}/`])
      expect((await browserOf(served).get(`/decisions${path}`)).headers.get('location')).toContain(
        '/decisions/sign-in',
      );
    for (const part of ['call', 'tool'])
      expect((await browserOf(served).decide(nonce, 'accept')).status, part).toBe(401);
  });

  const headers: readonly (readonly [string, Record<string, string>, number])[] = [
    ['without an origin', { origin: '' }, 403],
    ['from another site', { origin: 'https://evil.example' }, 403],
    ['from a page without an origin', { origin: 'null' }, 403],
    ['from the same host with another scheme', { origin: 'http://cloudops.example.com' }, 403],
    ['from the same host with another port', { origin: 'https://cloudops.example.com:8443' }, 403],
    ['without the proof', { 'x-csrf-token': '' }, 403],
    ['with another proof', { 'x-csrf-token': 'A'.repeat(22) }, 403],
    ['as a form', { 'content-type': 'application/x-www-form-urlencoded' }, 415],
    ['as text', { 'content-type': 'text/plain' }, 415],
  ];
  test.each(headers)('a click %s is refused', async (_what, changed, status) => {
    const browser = await signedIn();
    expect((await browser.decide(nonce, 'accept', changed)).status).toBe(status);
  });

  test.each([
    ['of another plan', { name: 'decide_change', arguments: { ticket: '0'.repeat(16), decision: 'accept' } }],
    ['of another tool', { name: 'restore_instance', arguments: { ticket: 'NONCE', decision: 'accept' } }],
    ['without a decision', { name: 'decide_change', arguments: { ticket: 'NONCE' } }],
    ['that is none', { name: 'decide_change', arguments: { ticket: 'NONCE', decision: 'yes' } }],
    ['with more', { name: 'decide_change', arguments: { ticket: 'NONCE', decision: 'accept', planId: 'x' } }],
    ['that is a list', []],
  ])('a click %s is refused', async (_what, body) => {
    const browser = await signedIn();
    const proof = { origin: served.publicUrl, 'x-csrf-token': await browser.csrfOf(nonce) };
    const given = JSON.parse(JSON.stringify(body).replaceAll('NONCE', nonce));
    expect((await browser.json(`/decisions/${nonce}/tool`, given, proof)).status).toBe(400);
  });

  test('the proof of one session is none for another', async () => {
    const [bob, carol] = [await signedIn('bob'), await signedIn('carol')];
    const proof = await bob.csrfOf(nonce);
    expect((await carol.decide(nonce, 'accept', { 'x-csrf-token': proof })).status).toBe(403);
  });

  test('a session ends after eight hours, with the token, and with a change of its scopes', async () => {
    for (const end of [
      () => served.pass(8 * 3_600_000 + 1),
      () => served.setTokens((text) => text.replace(/cloudops:approve$/m, 'cloudops:read')),
      () => served.setTokens((text) => text.replace(/^bob.*$/m, '#')),
    ]) {
      const browser = await signedIn();
      const proof = await browser.csrfOf(nonce);
      end();
      expect((await browser.decide(nonce, 'accept', { 'x-csrf-token': proof })).status).toBe(401);
      served.setTokens((text) => text.replace('cloudops:read', 'cloudops:approve'));
    }
  });

  test('a session goes on after a moment in which the tokens file could not be read, and nobody signs in meanwhile', async () => {
    let isReadable = true;
    const principal = { name: 'bob', scopes: [approveScope] };
    const authenticate = async () =>
      isReadable
        ? ({ kind: 'authenticated', principal } as const)
        : ({ kind: 'unavailable', reason: 'tokens file' } as const);
    await served.close();
    await start({ signIn: signInByToken(authenticate, () => new Date()) });
    const browser = await signedIn();
    isReadable = false;
    const answer = await browser.get('/decisions');
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
    expect(await answer.text()).toContain('<h1>Your sign-in cannot be verified now</h1>');
    const signIn = await browserOf(served).signIn('bob');
    expect([signIn.status, signIn.headers.get('retry-after')]).toEqual([503, '5']);
    expect(await signIn.text()).toContain('Your token cannot be verified now.');
    isReadable = true;
    expect((await browser.get('/decisions')).status).toBe(200);
  });

  test('a cookie that was altered, made up, or sealed for another purpose is none', async () => {
    const browser = await signedIn();
    const name = '__Host-cloudops-session';
    const cookie = browser.cookies.get(name) ?? '';
    const session = JSON.stringify({ person: 'bob', mayApprove: true, csrf: 'c', expiresAt: 9e15 });
    const sealFor = (purpose: string, key = stateKey) =>
      createSeal(() => [key], { purpose, associatedData: '', longest: 9999 }).seal(session);
    const forged = [
      '',
      'bob',
      Buffer.from(session).toString('base64url'),
      `${cookie.slice(0, 40)}${cookie[40] === 'A' ? 'B' : 'A'}${cookie.slice(41)}`,
      sealFor('cloudops decisions session', 'o'.repeat(32)),
      sealFor('cloudops decisions signIn'),
      sealFor('cloudops waiting plan'),
      sealFor('cloudops change ticket'),
      // A correct seal around a session without a token.
      sealFor('cloudops decisions session'),
    ];
    for (const value of forged) {
      const other = browserOf(served);
      other.cookies.set(name, value);
      expect((await other.get('/decisions')).headers.get('location'), value).toBe('/decisions/sign-in');
    }
  });

  test('a second cookie of the same name, as a neighbour of the domain may set, leaves nobody signed in', async () => {
    const browser = await signedIn();
    const [[name, value] = ['', '']] = [...browser.cookies];
    const answer = await fetch(`${served.origin}/decisions`, {
      redirect: 'manual',
      headers: { cookie: `${name}=x; ${name}=${value}` },
    });
    expect(answer.headers.get('location')).toBe('/decisions/sign-in');
  });

  test('nobody is signed in or out from another site', async () => {
    const browser = browserOf(served);
    for (const origin of ['https://evil.example', 'null', ''])
      expect((await browser.form('/decisions/sign-in', { token: 'bob' }, { origin })).status).toBe(403);
    expect(browser.cookies.size).toBe(0);
    await browser.signIn('bob');
    expect((await browser.form('/decisions/sign-out', { csrf: 'x' })).status).toBe(403);
    expect((await browser.form('/decisions/sign-out', {}, { origin: 'https://evil.example' })).status).toBe(403);
    expect((await browser.get('/decisions')).status).toBe(200);
  });

  test.each(['application/json', 'application/x-www-form-urlencodedX', ''])(
    'a form of the type "%s", whose origin Hono does not check, is refused',
    async (type) => {
      const headers = { 'content-type': type, origin: 'https://cloudops.example.com:8443' };
      const answer = await browserOf(served).form('/decisions/sign-in', { token: 'bob' }, headers);
      expect([answer.status, answer.headers.getSetCookie()]).toEqual([type === '' ? 403 : 415, []]);
    },
  );

  test('signing out ends the session of the browser', async () => {
    const browser = await signedIn();
    const csrf = /name="csrf" value="([^"]+)"/.exec(await (await browser.get('/decisions')).text())?.[1] ?? '';
    expect((await browser.form('/decisions/sign-out', { csrf })).status).toBe(303);
    expect(browser.cookies.size).toBe(0);
  });
});

test('pages are kept and framed by nobody, and their cookie is for this host and its own pages', async () => {
  await start();
  const { nonce } = await waiting(served);
  const browser = browserOf(served);
  const [cookie = ''] = (await browser.signIn('bob')).headers.getSetCookie();
  expect(cookie).toMatch(/^__Host-[\w-]+=[\w-]+; Max-Age=\d+; Path=\/; HttpOnly; Secure; SameSite=Lax$/);
  for (const path of ['/decisions', '/decisions/sign-in', `/decisions/${nonce}/`]) {
    const { headers } = await browser.get(path);
    expect(headers.get('content-security-policy'), path).toContain("frame-ancestors 'none'");
    expect([headers.get('cache-control'), headers.get('x-frame-options')], path).toEqual(['no-store', 'DENY']);
    expect(headers.get('referrer-policy')).toBe('same-origin');
  }
});

test('the answer to HEAD does not say that the page is empty', async () => {
  await start();
  const answer = await fetch(`${served.origin}/decisions/sign-in`, { method: 'HEAD' });
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=UTF-8']);
  expect(answer.headers.get('content-length')).not.toBe('0');
});

test('the view is sandboxed, and framed by our own page only', async () => {
  await start();
  const { nonce } = await waiting(served);
  const { headers } = await browserOf(served).get(`/decisions/${nonce}/view`);
  expect(headers.get('content-security-policy')).toBe("sandbox allow-scripts; frame-ancestors 'self'");
  expect(headers.get('x-content-type-options')).toBe('nosniff');
});

test('the list lets in its own script, by its hash, and no other', async () => {
  await start();
  const response = await (await signedIn()).get('/decisions');
  const [, script = ''] = /<script>(.*?)<\/script>/s.exec(await response.text()) ?? [];
  const hash = createHash('sha256').update(script).digest('base64');
  expect(response.headers.get('content-security-policy')).toContain(`; script-src 'sha256-${hash}'; `);
});

test.each(['list', 'find'] as const)(
  'a store that cannot %s plans is said on a page, with when to try again and nothing of the error',
  async (name) => {
    await start();
    const browser = await signedIn();
    vi.spyOn(served.plans, name).mockRejectedValue(new Error('the path /secret is gone'));
    const answer = await browser.get(name === 'list' ? '/decisions' : `/decisions/${'0'.repeat(16)}/`);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '2']);
    const text = await answer.text();
    expect(text).toContain('<h1>The plans cannot be read</h1>');
    expect(text).not.toContain('secret');
  },
);

test('strangers whose forms never end leave room for people', async () => {
  await start();
  const { nonce } = await waiting(served);
  const browser = await signedIn();
  const head = `Host: 127.0.0.1\r\nOrigin: ${served.publicUrl}\r\nContent-Length: 8000`;
  const sockets: Socket[] = [];
  let ended = 0;
  // Large forms come first, and then smaller forms for the rest of the memory.
  for (const length of [7999, 999, 99, 9, 1]) {
    for (let count = 0; count < (length > 1000 ? 132 : 25); count += 1) {
      const socket = connect(served.port, '127.0.0.1').on('error', () => undefined);
      socket.resume().once('close', () => {
        ended += 1;
      });
      socket.write(`POST /decisions/sign-in HTTP/1.1\r\n${head}\r\n\r\n${'x'.repeat(length)}`);
      sockets.push(socket);
    }
    await delay(100);
  }
  expect((await browserOf(served).signIn('carol')).status).toBe(303);
  expect(await kindOf(await browser.decide(nonce, 'accept'))).toBe('accepted');
  // The forms must not use up the connections of one proxy either.
  await vi.waitFor(() => expect(sockets.length - ended).toBeLessThanOrEqual(64), 5000);
  for (const socket of sockets) socket.destroy();
});

test('guesses of a token are logged with their address, and do not flood the log', async () => {
  await start();
  for (let count = 0; count < 9; count += 1) await browserOf(served).signIn(`guess ${count}`);
  const logged = served.callerLogged.filter(({ event }) => event === 'sign-in refused');
  expect(logged).toHaveLength(5);
  expect(JSON.stringify(logged)).toContain('127.0.0.1');
  expect(JSON.stringify(logged)).not.toContain('guess');
});

test('text of an agent cannot become HTML', async () => {
  const { ask } = await start();
  await ask({ description: '<script>', instanceId: 'x' });
  await ask({ backupId: '"><img src=x onerror=alert(1)>', instanceId: 'one' });
  const page = await (await (await signedIn()).get('/decisions')).text();
  // The only script is the page's own.
  expect(page.match(/<(?:script|img)/g)).toEqual(['<script']);
});

describe.each(['ask', 'human'] as const)('%s', (confirm) => {
  test('a plan has the link, and somebody who approves may decide', async () => {
    const { ask, requests } = await start({ confirm });
    const answer = await ask();
    expect(answer).toMatchObject({ decideAt: expect.stringContaining('/decisions/') });
    served.pass(3000);
    const [plan] = await served.plans.list();
    const browser = await signedIn();
    expect(await kindOf(await browser.decide(plan?.nonce ?? '', 'accept'))).toBe('accepted');
    expect(await ask({ planId: answer.planId })).toMatchObject({ outcome: 'accepted' });
    expect(requests).toHaveLength(1);
  });
});

describe('with accounts that have names', () => {
  const accounts = namedAccounts(
    'http://127.0.0.1:1',
    [
      { name: 'prod', confirm: 'approval' },
      { name: 'staging', confirm: 'approval' },
    ],
    'staging',
  );
  const scopes: Readonly<Record<string, string>> = { alice: 'cloudops:read cloudops:write', carol: '' };
  const setUp = async () => {
    const decisions = await start({ accounts });
    decisions.setTokens((text) =>
      text.replace(/^(alice|carol) .*$/gm, (line, name) => `${line} ${scopes[name]} cloudops:account:prod`),
    );
    return decisions;
  };

  test('a person decides on changes of accounts that they may use, and sees no others', async () => {
    const { requests } = await setUp();
    const { nonce } = await waiting(served);
    const bob = await signedIn('bob');
    expect((await bob.get(`/decisions/${nonce}/`)).status).toBe(404);
    expect(await (await bob.get('/decisions')).text()).not.toContain('wiki');
    expect((await bob.decide(nonce, 'accept')).status).toBe(404);
    expect(requests).toEqual([]);
    const carol = await signedIn('carol');
    expect(await (await carol.get('/decisions')).text()).toMatch(
      /account <bdi>&quot;prod&quot;.*Asked for by <bdi>&quot;alice&quot;/s,
    );
    expect(await kindOf(await carol.decide(nonce, 'accept'))).toBe('accepted');
    expect(requests).toHaveLength(1);
  });
});
