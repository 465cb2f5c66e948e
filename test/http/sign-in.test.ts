import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { authenticateByIssuer } from '../../src/http/issuer.js';
import { createIssuerKeys, documentBytes } from '../../src/http/issuer-keys.js';
import { signInAtIssuer } from '../../src/http/sign-in-at-issuer.js';
import { createHttpClient, defaultLimits } from '../../src/transport/http-client.js';
import { namedAccounts } from '../support/accounts.js';
import { browserOf, type Decisions, type DecisionsSetup, serveDecisions } from '../support/decisions.js';
import { startServer } from '../support/http-server.js';
import { audience, client, signInAt, startProvider } from '../support/provider.js';

/** People who sign in with a real identity provider. */

const publicUrl = 'https://cloudops.example.com';
const opened: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

async function start(granted: Record<string, string>) {
  const provider = await startProvider({ redirectUri: `${publicUrl}/decisions/callback`, granted });
  opened.push(provider.close);
  return startAt(provider.issuer);
}

async function startAt(issuer: string, setup: Omit<DecisionsSetup, 'signIn'> = {}) {
  const now = () => new Date();
  const logged: string[] = [];
  const log = (_level: string, event: string, fields?: object) => logged.push(JSON.stringify({ event, ...fields }));
  const httpClient = createHttpClient({}, { ...defaultLimits, bodyBytes: documentBytes });
  opened.push(httpClient.close);
  const keys = createIssuerKeys({ issuer, httpClient, now, log, sleep: async () => undefined });
  const authenticate = authenticateByIssuer({ issuer, audience, keys, now, log });
  const options = { issuer, audience, publicUrl, keys, httpClient, authenticate, now };
  const served = await serveDecisions({
    confirm: 'approval',
    publicUrl,
    ...setup,
    signIn: signInAtIssuer({ ...options, clientId: client.id, clientSecret: client.secret }),
  });
  opened.push(served.close);
  return { served, logged, issuer };
}

const comeBack = (location: string) => location.replace(publicUrl, '');

async function signIn(served: Decisions, name: string) {
  const browser = browserOf(served);
  const location = (await browser.get('/decisions/start')).headers.get('location') ?? '';
  const back = await signInAt(location, name);
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
    scope: 'openid cloudops:read cloudops:write cloudops:approve',
    resource: audience,
    redirect_uri: `${publicUrl}/decisions/callback`,
  });
  expect([answer.status, answer.headers.get('location')]).toEqual([303, '/decisions']);
  expect(await (await browser.get('/decisions')).text()).toContain('Signed in as <bdi>&quot;bob&quot;');
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

/** An issuer whose answers and claims are set by the test. */
async function startOddIssuer(answers: { token?: object; claims?: object; keys?: object[]; metadata?: object } = {}) {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  const keys = [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256' }];
  const server = await startServer(async ({ url = '' }, response) => {
    const issuer = server.origin;
    const exp = Math.floor(Date.now() / 1000) + 600;
    const claims = { iss: issuer, aud: audience, sub: 'bob', exp, scope: 'cloudops:approve', ...answers.claims };
    const found: Readonly<Record<string, () => object | Promise<object>>> = {
      '/.well-known/openid-configuration': () => ({
        issuer,
        jwks_uri: `${issuer}/keys`,
        token_endpoint: `${issuer}/token`,
        authorization_endpoint: `${issuer}/authorize`,
        ...answers.metadata,
      }),
      '/keys': () => ({ keys: answers.keys ?? keys }),
      '/token': async () => ({
        access_token: await new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: 'one' }).sign(privateKey),
        token_type: 'Bearer',
        ...answers.token,
      }),
    };
    const answer = await found[url]?.();
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer));
  });
  opened.push(server.close);
  return server;
}

/** Signs in at an issuer that shows no page, and returns to the server. */
async function comeBackFrom(served: Decisions) {
  const browser = browserOf(served);
  const location = (await browser.get('/decisions/start')).headers.get('location') ?? '';
  const state = new URL(location).searchParams.get('state');
  const answer = await browser.get(`/decisions/callback?code=any&state=${state}`);
  const [, seconds] = /__Host-cloudops-session=[^;]+;.*Max-Age=(\d+)/.exec(answer.headers.getSetCookie().join()) ?? [];
  return { browser, answer, seconds: seconds && Number(seconds) };
}

test.each([
  ['is not there', () => 'http://127.0.0.1:1', expect.stringContaining('the connection was refused')],
  [
    'calls itself by another name',
    async () => (await startOddIssuer({ metadata: { issuer: 'https://a' } })).origin,
    expect.stringContaining('it calls itself "https://a"'),
  ],
  [
    'has no page',
    async () => (await startOddIssuer({ metadata: { authorization_endpoint: undefined } })).origin,
    expect.stringMatching('OAUTH_'),
  ],
  [
    'has a script for a page',
    async () => (await startOddIssuer({ metadata: { authorization_endpoint: 'javascript:1' } })).origin,
    expect.stringMatching('OAUTH_'),
  ],
])('an issuer that %s is told of on the page, and the log has the reason', async (_what, issuer, reason) => {
  const { served } = await startAt(await issuer());
  const answer = await browserOf(served).get('/decisions/start');
  expect([answer.status, answer.headers.getSetCookie()]).toEqual([503, []]);
  expect(await answer.text()).toContain('<h1>The issuer does not answer now</h1>');
  const logged = served.callerLogged.filter(({ event }) => event === 'sign-in refused');
  expect(logged).toMatchObject([{ fields: { reason } }]);
});

test('tokens and the page share one discovery of the issuer', async () => {
  const issuer = await startOddIssuer();
  const { served } = await startAt(issuer.origin);
  const { answer } = await comeBackFrom(served);
  expect(answer.status).toBe(303);
  expect(issuer.requests.map(({ url }) => url)).toEqual([
    '/.well-known/oauth-authorization-server',
    '/.well-known/openid-configuration',
    '/keys',
    '/token',
  ]);
});

test('an issuer is not asked by each stranger who comes to sign in', async () => {
  const issuer = await startOddIssuer();
  const { served } = await startAt(issuer.origin);
  const visits = Array.from({ length: 20 }, () => browserOf(served).get('/decisions/start'));
  for (const { status } of await Promise.all(visits)) expect(status).toBe(303);
  expect(issuer.requests.filter(({ url }) => url === '/.well-known/openid-configuration')).toHaveLength(1);
});

test('a sign-in cookie works once, however often and fast it is sent', async () => {
  const issuer = await startOddIssuer();
  const { served } = await startAt(issuer.origin);
  const browser = browserOf(served);
  const location = (await browser.get('/decisions/start')).headers.get('location') ?? '';
  const cookie = [...browser.cookies].map((pair) => pair.join('=')).join('; ');
  const path = `/decisions/callback?code=any&state=${new URL(location).searchParams.get('state')}`;
  const send = () => fetch(`${served.origin}${path}`, { redirect: 'manual', headers: { cookie } });
  const answers = await Promise.all(Array.from({ length: 20 }, send));
  expect(answers.map(({ status }) => status).sort()).toEqual([303, ...Array(19).fill(401)]);
  expect((await send()).status).toBe(401);
  expect(issuer.requests.filter(({ url }) => url === '/token')).toHaveLength(1);
});

describe('with an issuer that hangs, 32 requests wait for it, and others are told to come again,', () => {
  /** An odd issuer that answers one path only after `resume`. */
  async function startHanging(path: string) {
    const real = await startOddIssuer();
    let resume = () => {};
    const resumed = new Promise<void>((resolve) => {
      resume = resolve;
    });
    const held: string[] = [];
    const server = await startServer(async ({ url = '', method = 'GET' }, response) => {
      if (url === path) {
        held.push(url);
        await resumed;
      }
      const answer = await fetch(`${real.origin}${url}`, { method });
      const text = (await answer.text()).replaceAll(real.origin, server.origin);
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(text);
    });
    opened.push(server.close);
    return { origin: server.origin, held, resume };
  }
  const statusesOf = (answers: readonly Response[]) => answers.map(({ status }) => status).sort();

  test('as they begin to sign in', async () => {
    const issuer = await startHanging('/.well-known/openid-configuration');
    const { served } = await startAt(issuer.origin);
    const busy: Response[] = [];
    const all = Array.from({ length: 40 }, async () => {
      const answer = await browserOf(served).get('/decisions/start');
      if (answer.status === 503) busy.push(answer);
      return answer;
    });
    await vi.waitFor(() => expect(busy).toHaveLength(8));
    expect(busy.map(({ headers }) => headers.get('retry-after'))).toEqual(Array(8).fill('5'));
    issuer.resume();
    expect(statusesOf(await Promise.all(all))).toEqual([...Array(32).fill(303), ...Array(8).fill(503)]);
  });

  test('as they come back, with cookies that stay good', async () => {
    const issuer = await startHanging('/token');
    const { served } = await startAt(issuer.origin);
    const busy: (() => Promise<Response>)[] = [];
    const all = Array.from({ length: 33 }, async () => {
      const browser = browserOf(served);
      const location = (await browser.get('/decisions/start')).headers.get('location') ?? '';
      const state = new URL(location).searchParams.get('state');
      const comeBack = () => browser.get(`/decisions/callback?code=any&state=${state}`);
      const answer = await comeBack();
      if (answer.status === 503) busy.push(comeBack);
      return answer;
    });
    await vi.waitFor(() => expect(busy).toHaveLength(1));
    await vi.waitFor(() => expect(issuer.held).toHaveLength(32));
    issuer.resume();
    await Promise.all(all);
    // Each access token of this issuer names the odd issuer behind it, so that no sign-in succeeds.
    expect((await busy[0]?.())?.status).toBe(401);
    expect(issuer.held).toHaveLength(33);
  });
});

describe('a person stays signed in for as long as their token is good, and eight hours at most', () => {
  const secondsFromNow = (seconds: number) => Math.floor(Date.now() / 1000) + seconds;
  test.each([
    ['nothing', undefined, 600, 600],
    ['0', 0, 600, 600],
    ['more than the token does', 1e6, 30, 30],
    ['1e308, as the token does', 1e308, 1e300, 8 * 3600],
    ['a day, as the token does', 86_400, 86_400, 8 * 3600],
  ])('where the issuer says %s of that', async (_what, expiresIn, tokenSeconds, expected) => {
    const claims = { exp: secondsFromNow(tokenSeconds) };
    const issuer = await startOddIssuer({ token: { expires_in: expiresIn }, claims });
    const { served } = await startAt(issuer.origin);
    const { browser, seconds = 0 } = await comeBackFrom(served);
    expect(seconds).toBeGreaterThan(expected - 10);
    expect(seconds).toBeLessThanOrEqual(expected);
    expect((await browser.get('/decisions')).status).toBe(200);
    served.pass(expected * 1000);
    expect((await browser.get('/decisions')).status).toBe(303);
  });
});

test('who signed in with a token, before the server had an issuer, has to sign in again', async () => {
  const byToken = await serveDecisions({ publicUrl });
  opened.push(byToken.close);
  const browser = browserOf(byToken);
  await browser.signIn('bob');
  const { served } = await startAt((await startOddIssuer()).origin);
  const { cookies } = browser;
  const again = browserOf(served);
  for (const [name, value] of cookies) again.cookies.set(name, value);
  expect((await browser.get('/decisions')).status).toBe(200);
  expect((await again.get('/decisions')).status).toBe(303);
});

test.each([
  ['no account', '', 200],
  ['the account', ' cloudops:account:staging', 200],
  ['another account', ' cloudops:account:prod', 404],
  ['its name in other letters', ' cloudops:account:Staging', 404],
  ['a name that begins with it', ' cloudops:account:staging2', 404],
  ['a name that is empty', ' cloudops:account:', 404],
])(
  'who approves with a scope for %s is treated as a caller is, in the default account',
  async (_what, scope, status) => {
    const named = [
      { name: 'prod', confirm: 'approval' },
      { name: 'staging', confirm: 'approval' },
    ] as const;
    const issuer = await startOddIssuer({ claims: { scope: `cloudops:approve${scope}` } });
    const accounts = namedAccounts('http://127.0.0.1:1', named, 'staging');
    const { served } = await startAt(issuer.origin, { accounts });
    const { changeId } = await served.ask();
    const id = String(changeId);
    const { browser } = await comeBackFrom(served);
    expect((await browser.get(`/decisions/${id}/`)).status).toBe(status);
  },
);
