import { afterEach, describe, expect, test } from 'vitest';
import { authenticateByIssuer } from '../../src/http/issuer.js';
import { createIssuerKeys, documentBytes } from '../../src/http/issuer-keys.js';
import { signInAtIssuer } from '../../src/http/sign-in.js';
import { createHttpClient, defaultLimits } from '../../src/transport/http-client.js';
import { browserOf, type Decisions, serveDecisions } from '../support/decisions.js';
import { audience, client, startProvider } from '../support/provider.js';

/** People who sign in with a real identity provider. */

const publicUrl = 'https://cloudops.example.com';
const opened: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

async function start(granted: Record<string, string>) {
  const provider = await startProvider(`${publicUrl}/decisions/callback`, granted);
  opened.push(provider.close);
  const { issuer } = provider;
  const now = () => new Date();
  const logged: string[] = [];
  const log = (_level: string, event: string, fields?: object) => logged.push(JSON.stringify({ event, ...fields }));
  const httpClient = createHttpClient({}, { ...defaultLimits, bodyBytes: documentBytes });
  opened.push(httpClient.close);
  const keys = createIssuerKeys({ issuer, httpClient, now, log, sleep: async () => undefined });
  const authenticate = authenticateByIssuer({ issuer, audience, keys, now, log });
  const options = { issuer, audience, publicUrl, httpClient, authenticate, now, log };
  const served = await serveDecisions({
    confirm: 'approval',
    publicUrl,
    signIn: signInAtIssuer({ ...options, clientId: client.id, clientSecret: client.secret }),
  });
  opened.push(served.close);
  return { served, logged, issuer };
}

/** Goes to the provider as a browser would, types a name, and gives the address that it comes back to. */
async function atProvider(location: string, name: string): Promise<string> {
  const cookies = new Map<string, string>();
  const go = async (url: string, init: RequestInit = {}) => {
    const cookie = [...cookies].map((pair) => pair.join('=')).join('; ');
    const response = await fetch(url, { redirect: 'manual', ...init, headers: { cookie, ...init.headers } });
    for (const set of response.headers.getSetCookie()) {
      const [, key = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      cookies.set(key, value);
    }
    return new URL(response.headers.get('location') ?? '', url).href;
  };
  const form = await go(location);
  const resumed = await go(form, { method: 'POST', body: new URLSearchParams({ name }) });
  return go(resumed);
}

const comeBack = (location: string) => location.replace(publicUrl, '');

async function signIn(served: Decisions, name: string) {
  const browser = browserOf(served);
  const location = (await browser.get('/decisions/start')).headers.get('location') ?? '';
  const back = await atProvider(location, name);
  return { browser, location, back, answer: await browser.get(comeBack(back)) };
}

test('somebody with the scope signs in with PKCE, for a token of our own audience', async () => {
  const { served, issuer } = await start({ bob: 'cloudops:approve' });
  const { browser, location, answer } = await signIn(served, 'bob');
  const { origin, searchParams } = new URL(location);
  expect(origin).toBe(issuer);
  expect(Object.fromEntries(searchParams)).toMatchObject({
    response_type: 'code',
    code_challenge_method: 'S256',
    resource: audience,
    redirect_uri: `${publicUrl}/decisions/callback`,
  });
  expect([answer.status, answer.headers.get('location')]).toEqual([303, '/decisions']);
  expect(await (await browser.get('/decisions')).text()).toContain('Signed in as bob');
});

test('approves the change of another, and not their own', async () => {
  const { served } = await start({ alice: 'cloudops:read cloudops:approve', bob: 'cloudops:approve' });
  const { decideAt } = await served.ask();
  served.pass(3000);
  const nonce = /([0-9a-f]{16})\/$/.exec(String(decideAt))?.[1] ?? '';
  const alice = (await signIn(served, 'alice')).browser;
  expect((await alice.get(`/decisions/${nonce}/`)).status).toBe(403);
  const bob = (await signIn(served, 'bob')).browser;
  expect((await bob.decide(nonce, 'accept')).status).toBe(200);
  expect(served.requests).toHaveLength(1);
  expect(await served.journal.list({})).toMatchObject([{ caller: 'alice', approver: 'bob' }]);
});

describe('nobody is signed in', () => {
  test('without a scope of this server', async () => {
    const { served } = await start({});
    const { browser, answer } = await signIn(served, 'eve');
    expect([answer.status, browser.cookies.size]).toEqual([401, 0]);
  });

  test('by the answer to the sign-in of another browser, or by one that was altered or came twice', async () => {
    const { served } = await start({ bob: 'cloudops:approve' });
    const { back } = await signIn(served, 'bob');
    const other = browserOf(served);
    expect((await other.get(comeBack(back))).status).toBe(404);
    await other.get('/decisions/start');
    expect((await other.get(comeBack(back))).status).toBe(401);
    await other.get('/decisions/start');
    expect((await other.get(comeBack(back.replace(/code=\w/, 'code=_')))).status).toBe(401);
    await other.get('/decisions/start');
    expect((await other.get('/decisions/callback?error=access_denied')).status).toBe(401);
    expect(other.cookies.size).toBe(0);
  });
});
