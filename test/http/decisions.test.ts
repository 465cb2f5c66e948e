import { createHash } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { approveScope } from '../../src/calls/policy.js';
import type { Changes } from '../../src/changes/store.js';
import { signInByToken } from '../../src/http/sign-in.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { createSeal } from '../../src/util/seal.js';
import { readOutcome, readProposedChange } from '../../ui/change/read-change.js';
import { namedAccounts } from '../support/accounts.js';
import {
  browserOf,
  type Decisions,
  type DecisionsSetup,
  restore,
  serveDecisions,
  stateKey,
} from '../support/decisions.js';
import { message, post } from '../support/http-in-process.js';

/** The page for decisions, with people who may decide and people who may not. */

let served: Decisions;
const start = async (setup: DecisionsSetup = {}) => {
  served = await serveDecisions(setup);
  return served;
};
afterEach(() => served.close());

/** A plan of alice's that waits, as its ID. */
async function waiting({ ask, pass }: Decisions, args: object = {}, token = 'alice'): Promise<string> {
  const { outcome, changeId, decideAt } = await ask(args, token);
  expect([outcome, decideAt]).toEqual(['waiting', `${served.publicUrl}/decisions/${changeId}/`]);
  pass(3000);
  return String(changeId);
}
/** All changes, newest first. */
const changes = () => served.store.newest({ limit: 50 });
const signedIn = async (token = 'bob') => {
  const browser = browserOf(served);
  expect((await browser.signIn(token)).status).toBe(303);
  return browser;
};
const outcomeOf = async (response: Response) => readOutcome(Object(await response.json())._meta);
const kindOf = async (response: Response) => (await outcomeOf(response))?.kind;
/** The clicks in the log. */
const clicks = () => served.callerLogged.filter(({ event }) => event === 'decision').map(({ fields }) => fields);

describe('below a path of a proxy', () => {
  test.each([
    ['passes its path on', '/ops'],
    ['takes its path off', ''],
  ])('that %s, somebody signs in, agrees and signs out, and no link leaves the path', async (_what, above) => {
    const publicUrl = 'https://tools.example.com/ops';
    await start({ publicUrl });
    const id = await waiting(served);
    const browser = browserOf({ publicUrl, origin: served.origin + above });
    expect((await browser.get(`/decisions/${id}/`)).headers.get('location')).toBe(
      `/ops/decisions/sign-in?change=${id}`,
    );
    const signIn = await (await browser.get('/decisions/sign-in')).text();
    const entered = await browser.signIn('bob', `?change=${id}`);
    expect([entered.status, entered.headers.get('location')]).toEqual([303, `/ops/decisions/${id}/`]);
    const pages = [
      signIn,
      await (await browser.get('/decisions')).text(),
      await (await browser.get(`/decisions/${id}/`)).text(),
    ];
    const links = pages.flatMap((page) => [...page.matchAll(/ (?:href|action)="(\/[^"]*)"/g)].map(([, link]) => link));
    expect(links.length).toBeGreaterThan(4);
    for (const link of links) expect(link).toMatch(/^\/ops\/decisions/);
    expect(await kindOf(await browser.decide(id, 'accept'))).toBe('accepted');
  });
});

describe('approval', () => {
  test('somebody else signs in, sees the plan and agrees; the agent gets the answer, the journal both names', async () => {
    const { get, requests } = await start();
    const id = await waiting(served);
    const browser = browserOf(served);
    const sent = await browser.get(`/decisions/${id}/`);
    expect([sent.status, sent.headers.get('location')]).toEqual([303, `/decisions/sign-in?change=${id}`]);
    const signIn = await browser.signIn('bob', `?change=${id}`);
    expect([signIn.status, signIn.headers.get('location')]).toEqual([303, `/decisions/${id}/`]);
    expect(await (await browser.get('/decisions')).text()).toMatch(
      /1 change waits.*wiki.*Asked for by <bdi>&quot;alice&quot;/s,
    );
    expect(readProposedChange((await browser.shown(id)).result._meta)).toMatchObject({
      accept: 'Create server "wiki" (costs money)',
      ticket: id,
    });
    expect(await kindOf(await browser.decide(id, 'accept'))).toBe('accepted');
    expect(await served.metrics()).toContain('cloudops_calls_total{tool="restore_instance",outcome="accepted"} 1');
    expect(await get(id)).toMatchObject({ outcome: 'accepted', answer: { instance: { instanceId: 'wiki' } } });
    expect(await changes()).toMatchObject([
      { caller: 'alice', state: 'accepted', decision: { person: 'bob', way: 'page' } },
    ]);
    expect(await (await browser.get('/decisions')).text()).toMatch(
      /Recently decided.*Accepted.*decided by <bdi>&quot;bob&quot;/s,
    );
    expect(requests).toHaveLength(1);
  });

  test('the second person is spoken of as one, and only an auditor learns the name', async () => {
    const { ask, get, setTokens } = await start();
    const asked = await ask();
    expect(JSON.stringify(asked.next)).toContain('somebody other than the user decides there');
    const id = String(asked.changeId);
    expect((await get(id)).summary).toContain('somebody other than the user');
    served.pass(3000);
    await (await signedIn()).decide(id, 'decline', {}, { reason: 'Wrong "size"\nof it' });
    const declined = await get(id);
    expect(declined).toMatchObject({
      code: 'Declined',
      summary: expect.stringContaining('somebody other than the user declined it'),
      next: { text: expect.stringContaining('Only a new wish of the user justifies a new plan') },
    });
    expect(declined.problems).toContain('the person gave this reason: "Wrong \\"size\\"\\nof it"');
    expect(JSON.stringify(declined)).not.toContain('bob');
    setTokens((text) => text.replace(/^alice \w+$/m, (line) => `${line} cloudops:read cloudops:write cloudops:audit`));
    expect((await get(id)).notes).toEqual(['bob declined.']);
  });

  test('a click that came too soon keeps the plan, and says to read it first', async () => {
    const { ask, pass, requests } = await start();
    const id = String((await ask()).changeId);
    const browser = await signedIn();
    for (const decision of ['accept', 'decline'])
      expect(await outcomeOf(await browser.decide(id, decision))).toMatchObject({
        kind: 'uncounted',
        sentence: 'Please read the plan first.',
      });
    pass(3000);
    expect(await kindOf(await browser.decide(id, 'accept'))).toBe('accepted');
    expect(requests).toHaveLength(1);
  });

  test('a plan that its caller takes back while it is open says so, to a look and to a click', async () => {
    const { withdraw, requests } = await start();
    const id = await waiting(served);
    const browser = await signedIn();
    await withdraw(id);
    const seen = await outcomeOf(await browser.decide(id, 'look'));
    expect(seen).toMatchObject({ kind: 'withdrawn', sentence: 'Its caller withdrew the plan.', isOfPlan: true });
    expect(seen?.earlier ?? '').toMatch(/^Its caller withdrew the plan at /);
    const clicked = await outcomeOf(await browser.decide(id, 'decline', {}, { reason: 'too large' }));
    expect(clicked?.sentence).toMatch(/^Too late: its caller withdrew the plan \d+ s before you\./);
    expect(requests).toEqual([]);
  });

  test.each(['', 'x'.repeat(201)])('a reason of %j is none', async (reason) => {
    await start();
    const id = await waiting(served);
    expect((await (await signedIn()).decide(id, 'decline', {}, { reason })).status).toBe(400);
  });

  test.each([
    ['accept', 'decline', 'accepted'],
    ['decline', 'accept', 'declined'],
  ])(
    'the first decision (%s) stands: a click on a page that is out of date (%s) changes nothing and learns whose it was',
    async (first, second, kind) => {
      const { get, store } = await start();
      const id = await waiting(served);
      const change = { tool: 'restore_instance', id, caller: 'alice' };
      const [bob, carol] = [await signedIn('bob'), await signedIn('carol')];
      expect(await kindOf(await bob.decide(id, first))).toBe(kind);
      const { decision, decidedAt } = (await store.find(id)) ?? {};
      const shown = readOutcome(Object(await (await carol.decide(id, second)).json())._meta);
      expect(shown).toMatchObject({ kind: 'late', isOfPlan: true });
      expect(shown?.sentence).toMatch(
        /^Too late: bob (agreed|declined) \d+ s before you\. Your click changed nothing\.$/,
      );
      expect(JSON.stringify(shown)).not.toMatch(/allowRepeat|you did not/);
      expect(await store.find(id)).toMatchObject({ decision, decidedAt });
      expect(await (await carol.get('/decisions')).text()).toMatch(/decided by <bdi>&quot;bob&quot;/);
      expect(await (await carol.get('/decisions')).text()).not.toContain('decided by <bdi>&quot;carol&quot;');
      expect((await changes()).map((each) => each.decision?.person)).toEqual(['bob']);
      expect((await get(id)).outcome).toBe(kind);
      expect(clicks()).toEqual([
        { ...change, decision: first, result: 'counted', person: 'bob' },
        { ...change, decision: second, result: 'too late', person: 'carol' },
      ]);
    },
  );

  describe('a corrected plan', () => {
    const first = { diskSize: 100 };
    const second = { diskSize: 200 };

    test('is the successor of the old one, to which an open page of the old one leads', async () => {
      const { ask } = await start();
      const id = await waiting(served, first);
      const bob = await signedIn();
      expect(await (await bob.decide(id, 'look')).json()).not.toHaveProperty('successor');
      const { changeId } = await ask({ ...second, replaces: id });
      for (const response of [await bob.decide(id, 'look'), await bob.decide(id, 'accept')])
        expect(await response.json()).toMatchObject({ successor: changeId });
      expect((await bob.shown(id)).result).toMatchObject({ successor: changeId });
      expect(await outcomeOf(await bob.decide(id, 'look'))).toMatchObject({
        kind: 'withdrawn',
        sentence: 'Its caller replaced the plan with a newer one.',
      });
    });

    test('and the older one tell of each other, also after one was accepted', async () => {
      const { pass } = await start();
      const older = await waiting(served, first);
      const newer = await waiting(served, second);
      pass(60_000);
      const bob = await signedIn();
      const warningsOn = async (id: string) =>
        readProposedChange((await bob.shown(id)).result._meta)?.warnings[0] ?? '';
      expect(await warningsOn(older)).toMatch(/^Another plan for "wiki" waits \(disk size 200 GB\), made \d+ s ago\.$/);
      expect(await warningsOn(newer)).toMatch(/^Another plan for "wiki" waits \(disk size 100 GB\), made \d+ s ago\.$/);
      expect(await kindOf(await bob.decide(older, 'accept'))).toBe('accepted');
      expect(await warningsOn(newer)).toMatch(
        /^Another plan for "wiki" was accepted \(disk size 100 GB\), \d+ s ago\.$/,
      );
      // The remark is no part of what a decision is bound to.
      expect(await kindOf(await bob.decide(newer, 'accept'))).toBe('accepted');
    });
  });

  test('a change whose server was killed is under way, and unknown once its end was found', async () => {
    // Opening the page never waits.
    const { store } = await start({ statusWaitMs: 600_000 });
    const id = await waiting(served);
    const carol = await signedIn('carol');
    await store.decide(id, { kind: 'approved', way: 'page', person: 'bob' });
    await store.begin(id, { ifUnknown: {} });

    const opened = async () => readOutcome((await carol.shown(id)).result._meta);
    const before = await opened();
    expect(before).toMatchObject({ kind: 'used', sentence: 'The outcome of this change is not known yet.' });
    expect(before?.earlier ?? '').toMatch(/^bob agreed at/);
    expect(await (await carol.get('/decisions')).text()).toContain('>No outcome yet<');
    const late = await outcomeOf(await carol.decide(id, 'accept'));
    expect(late).toMatchObject({ kind: 'late', details: ['The outcome of this change is not known yet.'] });

    await store.end(id, 'unknown', {});
    expect(await opened()).toMatchObject({ kind: 'unknown', isOfPlan: true });
    expect(await (await carol.get('/decisions')).text()).toContain('>Outcome unknown<');
    expect(await kindOf(await carol.decide(id, 'accept'))).toBe('late');
  });

  test('what the policy forbids by now is not sent, and the agent learns why', async () => {
    const { get, requests, setTokens } = await start();
    const id = await waiting(served);
    const browser = await signedIn();
    setTokens((text) => text.replace(/^alice \w+$/m, (line) => `${line} cloudops:read`));
    expect(await kindOf(await browser.decide(id, 'accept'))).toBe('refused');
    expect(clicks()).toMatchObject([{ decision: 'accept', result: 'counted' }]);
    // A look at the change, and a click that comes too late, get its outcome.
    const ended = { kind: 'refused', isOfPlan: true };
    for (const decision of ['look', 'accept'])
      expect(await outcomeOf(await browser.decide(id, decision))).toMatchObject(ended);
    setTokens((text) => text.replace(' cloudops:read', ''));
    expect(await get(id)).toMatchObject({ code: 'NotAllowed' });
    expect(await kindOf(await browser.decide(id, 'accept'))).toBe('refused');
    expect(requests).toEqual([]);
  });

  test('the reason for a decline is kept, even if the policy forbids the change by now', async () => {
    const { setTokens, store } = await start();
    const id = await waiting(served);
    const browser = await signedIn();
    setTokens((text) => text.replace(/^alice \w+$/m, (line) => `${line} cloudops:read`));
    await browser.decide(id, 'decline', {}, { reason: 'too large' });
    expect((await store.find(id))?.decision).toMatchObject({ kind: 'declined', person: 'bob', reason: 'too large' });
  });

  test('a caller who is gone by now has nothing carried out', async () => {
    const { requests, setTokens } = await start();
    const id = await waiting(served);
    const browser = await signedIn();
    setTokens((text) => text.replace(/^alice.*$/m, '#'));
    expect(await outcomeOf(await browser.decide(id, 'accept'))).toMatchObject({ kind: 'refused' });
    expect((await changes()).map(({ state }) => state)).toEqual(['not sent']);
    expect(requests).toEqual([]);
  });

  test('a caller who cannot be looked up now is not taken for gone, and the next click decides', async () => {
    const principal = { name: 'bob', personId: 'bob', scopes: [approveScope] };
    const authenticate = async () => ({ kind: 'authenticated', principal }) as const;
    const { requests, setTokensReadable, setTokens, store } = await start({
      signIn: signInByToken(authenticate, () => new Date()),
    });
    const id = await waiting(served);
    const browser = await signedIn();
    setTokensReadable(false);
    for (const decision of ['accept', 'decline']) {
      const outcome = await outcomeOf(await browser.decide(id, decision));
      const sentence = 'The caller of this change cannot be verified now, so this click decided nothing.';
      expect(outcome).toMatchObject({ kind: 'uncounted', sentence });
      expect(outcome?.isOfPlan).toBe(false);
      const click = { decision, result: 'not counted', person: 'bob', caller: 'alice', id };
      expect(clicks().at(-1)).toMatchObject(click);
    }
    expect((await store.find(id))?.state).toBe('waiting');
    setTokensReadable(true);
    expect(await kindOf(await browser.decide(id, 'accept'))).toBe('accepted');
    expect(requests).toHaveLength(1);
    // The plan is decided now, so a click gets its outcome, whether its caller can be looked up or is gone.
    setTokensReadable(false);
    const ended = { kind: 'accepted', isOfPlan: true, earlier: expect.anything() };
    expect(await outcomeOf(await browser.decide(id, 'accept'))).toMatchObject(ended);
    setTokensReadable(true);
    setTokens((text) => text.replace(/^alice.*$/m, '#'));
    expect(await outcomeOf(await browser.decide(id, 'accept'))).toMatchObject(ended);
    expect(requests).toHaveLength(1);
  });

  test('a click whose person cannot be verified now is told that it decided nothing, and the next click decides', async () => {
    const { requests, setTokensReadable, store } = await start();
    const id = await waiting(served);
    const browser = await signedIn();
    const proof = { 'x-csrf-token': await browser.csrfOf(id) };
    setTokensReadable(false);
    const outcome = await outcomeOf(await browser.decide(id, 'accept', proof));
    const sentence = 'Your sign-in cannot be verified now, so this click decided nothing.';
    expect(outcome).toMatchObject({ kind: 'uncounted', sentence });
    expect((await store.find(id))?.state).toBe('waiting');
    // The requests for the page, with its proof, and for the click.
    expect(await served.metrics()).toContain('cloudops_refused_requests_total{reason="tokens file"} 2');
    setTokensReadable(true);
    expect(await kindOf(await browser.decide(id, 'accept', proof))).toBe('accepted');
    expect(requests).toHaveLength(1);
  });

  test('a click while the plans cannot be read is told that it decided nothing, and the next click decides', async () => {
    let isReadable = true;
    const wrapStore = (store: Changes): Changes => ({
      ...store,
      find: async (id) => {
        if (!isReadable) throw new Error('ECONNREFUSED');
        return store.find(id);
      },
    });
    const { requests } = await start({ wrapStore });
    const id = await waiting(served);
    const browser = await signedIn();
    const proof = { 'x-csrf-token': await browser.csrfOf(id) };
    isReadable = false;
    const outcome = await outcomeOf(await browser.decide(id, 'accept', proof));
    const sentence = 'The plans cannot be read now, so this click decided nothing.';
    expect(outcome).toMatchObject({ kind: 'uncounted', sentence });
    expect((await browser.get(`/decisions/${id}/`)).status).toBe(503);
    isReadable = true;
    expect(await kindOf(await browser.decide(id, 'accept', proof))).toBe('accepted');
    expect(requests).toHaveLength(1);
  });

  test('a plan that has expired is gone', async () => {
    const { pass, requests } = await start();
    const id = await waiting(served);
    const browser = await signedIn();
    const proof = await browser.csrfOf(id);
    pass(7 * 3_600_000);
    pass(17 * 3_600_000);
    await browser.signIn('bob');
    expect((await browser.decide(id, 'accept', { 'x-csrf-token': proof })).status).toBe(404);
    expect((await browser.get(`/decisions/${id}/`)).status).toBe(404);
    expect(requests).toEqual([]);
  });
});

describe('the second person is another person', () => {
  test.each([
    ['whose name differs in this client, but who is the caller', 'pairwise-7', 'alice', 403],
    ['whose token lacks the claim', 'bob', undefined, 403],
    ['who is somebody else, although an issuer names both alike', 'alice', 'bob', 200],
  ])('a person %s', async (_who, name, personId, status) => {
    const principal = { name, personId, scopes: [approveScope] };
    const authenticate = async () => ({ kind: 'authenticated', principal }) as const;
    const { store, requests } = await start({ signIn: signInByToken(authenticate, () => new Date()) });
    const id = await waiting(served);
    const browser = await signedIn();
    expect((await browser.get(`/decisions/${id}/`)).status).toBe(status);
    const csrf = /name="csrf" value="([^"]+)"/.exec(await (await browser.get('/decisions')).text())?.[1] ?? '';
    await browser.decide(id, 'accept', { 'x-csrf-token': csrf });
    expect((await store.find(id))?.state).toBe(status === 200 ? 'accepted' : 'waiting');
    expect(requests).toHaveLength(status === 200 ? 1 : 0);
  });

  test('a caller whose token lacks the claim is told so at once', async () => {
    await start();
    const principal = { name: 'alice', scopes: ['cloudops:read', 'cloudops:write'] };
    const refused = await served.caller.call(restoreInstance, restore, { principal });
    expect(refused).toMatchObject({ ok: false, failure: { code: 'NeedsHuman' } });
    expect(refused.text).toContain('CLOUDOPS_HTTP_PERSON_CLAIM');
  });
});

describe('who may not decide', () => {
  let id: string;
  beforeEach(async () => {
    await start();
    id = await waiting(served);
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
    for (const path of ['', '/', `/${id}`, `/${id}/`])
      expect((await browserOf(served).get(`/decisions${path}`)).headers.get('location')).toContain(
        '/decisions/sign-in',
      );
    for (const part of ['call', 'tool']) expect((await browserOf(served).decide(id, 'accept')).status, part).toBe(401);
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
    expect((await browser.decide(id, 'accept', changed)).status).toBe(status);
  });

  test.each([
    ['of another plan', { name: 'decide_change', arguments: { ticket: '0'.repeat(22), decision: 'accept' } }],
    ['of another tool', { name: 'restore_instance', arguments: { ticket: 'ID', decision: 'accept' } }],
    ['without a decision', { name: 'decide_change', arguments: { ticket: 'ID' } }],
    ['that is none', { name: 'decide_change', arguments: { ticket: 'ID', decision: 'yes' } }],
    ['with more', { name: 'decide_change', arguments: { ticket: 'ID', decision: 'accept', changeId: 'x' } }],
    ['that is a list', []],
  ])('a click %s is refused', async (_what, body) => {
    const browser = await signedIn();
    const proof = { origin: served.publicUrl, 'x-csrf-token': await browser.csrfOf(id) };
    const given = JSON.parse(JSON.stringify(body).replaceAll('ID', id));
    expect((await browser.json(`/decisions/${id}/tool`, given, proof)).status).toBe(400);
  });

  test('the proof of one session is none for another', async () => {
    const [bob, carol] = [await signedIn('bob'), await signedIn('carol')];
    const proof = await bob.csrfOf(id);
    expect((await carol.decide(id, 'accept', { 'x-csrf-token': proof })).status).toBe(403);
  });

  test('a session ends after eight hours, with the token, and with a change of its scopes', async () => {
    for (const end of [
      () => served.pass(8 * 3_600_000 + 1),
      () => served.setTokens((text) => text.replace(/cloudops:approve$/m, 'cloudops:read')),
      () => served.setTokens((text) => text.replace(/^bob.*$/m, '#')),
    ]) {
      const browser = await signedIn();
      const proof = await browser.csrfOf(id);
      end();
      expect((await browser.decide(id, 'accept', { 'x-csrf-token': proof })).status).toBe(401);
      served.setTokens((text) => text.replace('cloudops:read', 'cloudops:approve'));
    }
  });

  test('a session goes on after a moment in which the tokens file could not be read, and nobody signs in meanwhile', async () => {
    let isReadable = true;
    const principal = { name: 'bob', personId: 'bob', scopes: [approveScope] };
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
    expect(await signIn.text()).toContain('<h1>Your sign-in cannot be verified now</h1>');
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

  test.each(['application/json', 'text/plain', ''])(
    'a form of the type "%s" from another port of this host is refused',
    async (type) => {
      const headers = { 'content-type': type, origin: 'https://cloudops.example.com:8443' };
      const answer = await browserOf(served).form('/decisions/sign-in', { token: 'bob' }, headers);
      expect([answer.status, answer.headers.getSetCookie()]).toEqual([403, []]);
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
  const id = await waiting(served);
  const browser = browserOf(served);
  const [cookie = ''] = (await browser.signIn('bob')).headers.getSetCookie();
  expect(cookie).toMatch(/^__Host-[\w-]+=[\w-]+; Max-Age=\d+; Path=\/; HttpOnly; Secure; SameSite=Lax$/);
  for (const path of ['/decisions', '/decisions/sign-in', `/decisions/${id}/`]) {
    const { headers } = await browser.get(path);
    expect(headers.get('content-security-policy'), path).toContain("frame-ancestors 'none'");
    expect([headers.get('cache-control'), headers.get('x-frame-options')], path).toEqual(['no-store', 'DENY']);
    expect(headers.get('referrer-policy')).toBe('same-origin');
  }
});

test('the view is sandboxed, and framed by our own page only', async () => {
  await start();
  const id = await waiting(served);
  const { headers } = await browserOf(served).get(`/decisions/${id}/view`);
  expect(headers.get('content-security-policy')).toBe("sandbox allow-scripts; frame-ancestors 'self'");
  expect(headers.get('x-content-type-options')).toBe('nosniff');
});

test('the list lets in its own script, by its hash, and no other', async () => {
  await start();
  const text = await (await (await signedIn()).get('/decisions')).text();
  const [, script = ''] = /<script type="module">(.*?)<\/script>/s.exec(text) ?? [];
  const hash = createHash('sha256').update(script).digest('base64');
  const [, policy] = /<meta http-equiv="Content-Security-Policy" content="([^"]*)">/.exec(text) ?? [];
  expect(policy).toMatch(/^default-src 'none'; /);
  expect(policy).toContain(`; script-src 'sha256-${hash}'; `);
});

test.each(['waiting', 'find'] as const)(
  'a store that cannot %s plans is said on a page, with when to try again and nothing of the error',
  async (name) => {
    await start();
    const browser = await signedIn();
    vi.spyOn(served.store, name).mockRejectedValue(new Error('the path /secret is gone'));
    const answer = await browser.get(name === 'waiting' ? '/decisions' : `/decisions/${'0'.repeat(22)}/`);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '2']);
    const text = await answer.text();
    expect(text).toContain('<h1>The plans cannot be read now</h1>');
    expect(text).not.toContain('secret');
  },
);

test('strangers whose forms never end leave room for people', async () => {
  await start();
  const id = await waiting(served);
  const browser = await signedIn();
  const type = 'application/x-www-form-urlencoded';
  const head = `Host: 127.0.0.1\r\nOrigin: ${served.publicUrl}\r\nContent-Type: ${type}\r\nContent-Length: 8000`;
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
  expect(await kindOf(await browser.decide(id, 'accept'))).toBe('accepted');
  // The forms must not use up the connections of one proxy either.
  await expect.poll(() => sockets.length - ended).toBeLessThanOrEqual(64);
  for (const socket of sockets) socket.destroy();
});

test('guesses of a token are logged with their address, and do not flood the log', async () => {
  await start();
  for (let count = 0; count < 40; count += 1) await browserOf(served).signIn(`guess ${count}`);
  const logged = served.callerLogged.filter(({ event }) => event === 'sign-in refused');
  expect(logged.length).toBeGreaterThanOrEqual(10);
  expect(logged.length).toBeLessThan(30);
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
    const { ask, get, requests } = await start({ confirm });
    const answer = await ask();
    expect(answer).toMatchObject({ decideAt: expect.stringContaining('/decisions/') });
    served.pass(3000);
    const browser = await signedIn();
    expect(await kindOf(await browser.decide(String(answer.changeId), 'accept'))).toBe('accepted');
    expect(await get(answer.changeId)).toMatchObject({ outcome: 'accepted' });
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
    const id = await waiting(served);
    const bob = await signedIn('bob');
    expect((await bob.get(`/decisions/${id}/`)).status).toBe(404);
    expect(await (await bob.get('/decisions')).text()).not.toContain('wiki');
    expect((await bob.decide(id, 'accept')).status).toBe(404);
    expect(requests).toEqual([]);
    const carol = await signedIn('carol');
    expect(await (await carol.get('/decisions')).text()).toMatch(/account prod.*Asked for by <bdi>&quot;alice&quot;/s);
    expect(await kindOf(await carol.decide(id, 'accept'))).toBe('accepted');
    expect(requests).toHaveLength(1);
  });
});
