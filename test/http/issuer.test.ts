import type { ServerResponse } from 'node:http';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Authenticate } from '../../src/http/auth.js';
import { authenticateByIssuer, type IssuerOptions } from '../../src/http/issuer.js';
import { createIssuerKeys, documentBytes, type IssuerKeysOptions } from '../../src/http/issuer-keys.js';
import { createHttpClient, defaultLimits } from '../../src/transport/http-client.js';
import { answerOf, message, post, serveInProcess, toolCall } from '../support/http-in-process.js';
import { type CapturingServer, startServer } from '../support/http-server.js';
import { offeredBy, openPolicy } from '../support/operations.js';

/** The names of the tools that only read, or of the other tools. */
const namesOf = (reads: boolean) =>
  offeredBy(openPolicy)
    .filter(({ effect }) => (effect === 'read') === reads)
    .map(({ name }) => name);

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const audience = 'https://cloudops.example.com/mcp';
const restore = { backupId: 'a'.repeat(32), instanceId: 'restored' };
const now = () => new Date();
const httpClient = createHttpClient({}, { ...defaultLimits, bodyBytes: documentBytes });
afterAll(() => httpClient.close());
const log = () => undefined;

/** Authenticates with keys that are fetched on demand. Pauses take no time. */
function authenticateBy(
  issuer: string,
  changes: Partial<
    Pick<IssuerOptions & IssuerKeysOptions, 'now' | 'log' | 'sleep' | 'scopeClaim' | 'scopePrefix' | 'personClaim'>
  > = {},
) {
  const options = { issuer, audience, now, log, httpClient, sleep: async () => undefined, ...changes };
  return authenticateByIssuer({ ...options, keys: createIssuerKeys(options) });
}

/** The tools of changes, of which `confirm_change` is not listed in this mode. */
const ofChanges = ['get_change', 'withdraw_change'];
const toolNames = async (response: Response) =>
  ((await answerOf(response)).result?.tools as { name: string }[] | undefined)?.map(({ name }) => name);

describe('tokens of an OAuth issuer', () => {
  let issuer: CapturingServer;
  let stranger: CapturingServer;
  let keys: Awaited<ReturnType<typeof generateKeyPair>>;
  let others: Awaited<ReturnType<typeof generateKeyPair>>;
  let authenticate: Authenticate;
  let server: Awaited<ReturnType<typeof serveInProcess>>;
  let metadata: Record<string, string>;
  let jwks: object;

  beforeAll(async () => {
    keys = await generateKeyPair('ES256');
    others = await generateKeyPair('ES256');
    jwks = { keys: [{ ...(await exportJWK(keys.publicKey)), kid: 'one', alg: 'ES256', use: 'sig' }] };
    issuer = await startServer(({ url }, response) => {
      if (url === '/.well-known/openid-configuration') response.end(JSON.stringify(metadata));
      else if (url === '/keys') response.setHeader('content-type', 'application/json').end(JSON.stringify(jwks));
      else response.writeHead(404).end();
    });
    stranger = await startServer((_request, response) => response.end(JSON.stringify(jwks)));
    metadata = { issuer: issuer.origin, jwks_uri: `${issuer.origin}/keys` };
    authenticate = authenticateBy(issuer.origin);
    server = await serveInProcess({
      resource: { url: audience, issuer: issuer.origin, scopePrefix: '' },
      authenticate,
    });
  });
  afterAll(async () => {
    expect(stranger.requests).toEqual([]);
    await server.close();
    await issuer.close();
    await stranger.close();
  });

  const seconds = (offset: number) => Math.floor(Date.now() / 1000) + offset;
  const claims = (): JWTPayload => ({
    iss: issuer.origin,
    aud: audience,
    sub: 'carol',
    exp: Math.floor(Date.now() / 1000) + 300,
    scope: 'openid cloudops:read cloudops:write',
  });
  const sign = (changes: Record<string, unknown> = {}, key = keys.privateKey, header: object = {}) =>
    new SignJWT({ ...claims(), ...changes }).setProtectedHeader({ alg: 'ES256', kid: 'one', ...header }).sign(key);
  const hmac = async () =>
    new SignJWT(claims())
      .setProtectedHeader({ alg: 'HS256', kid: 'one' })
      .sign(new TextEncoder().encode(JSON.stringify(await exportJWK(keys.publicKey))));

  test('a good one lets its bearer in, with all tools and under the name it says', async () => {
    const response = await post(server.url, message('tools/list'), bearer(await sign()));
    expect(await toolNames(response)).toEqual([...offeredBy(openPolicy).map(({ name }) => name), ...ofChanges]);
  });

  test.each(['at+jwt', 'AT+JWT', 'application/at+jwt', 'JWT'])('one of the type %s lets its bearer in', async (typ) => {
    const response = await post(server.url, message('ping'), bearer(await sign({}, keys.privateKey, { typ })));
    expect(response.status).toBe(200);
  });

  test.each([
    ['realm_access.roles', { realm_access: { roles: ['offline', 'cloudops:read'] } }],
    ['roles', { roles: ['cloudops:read'] }],
    ['https://example.com/scopes', { 'https://example.com/scopes': 'cloudops:read openid' }],
  ])('the scopes are those of the claim %s, if that is configured, and of no other', async (scopeClaim, claims) => {
    const authenticate = authenticateBy(issuer.origin, { scopeClaim });
    const [named, usual] = await Promise.all([authenticate(await sign(claims)), authenticate(await sign())]);
    expect(named).toMatchObject({ principal: { scopes: expect.arrayContaining(['cloudops:read']) } });
    expect(named).not.toMatchObject({ principal: { scopes: expect.arrayContaining(['cloudops:write']) } });
    expect(usual).toMatchObject({ principal: { scopes: [] } });
  });

  test.each([
    { scope: '', scp: ['cloudops:read'] },
    { scope: ['openid'], scp: 'cloudops:read' },
    { scope: ['cloudops:read', 5, null] },
    { scope: 'openid\tcloudops:read\n' },
    { scope: 'cloudops:read,openid' },
  ])('the scopes of %j are found', async (claims) => {
    const found = await authenticate(await sign(claims));
    expect(found).toMatchObject({ principal: { scopes: expect.arrayContaining(['cloudops:read']) } });
  });

  test.each([
    [undefined, {}, 'carol'],
    ['oid', { oid: '0f-7' }, '0f-7'],
    ['user.id', { user: { id: '0f-7' } }, '0f-7'],
    ['oid', {}, undefined],
    ['oid', { oid: 7 }, undefined],
    ['oid', { oid: '' }, undefined],
  ])(
    'the person is known by the claim %s, if that is configured, and by no other: %j',
    async (personClaim, claims, personId) => {
      const authenticate = authenticateBy(issuer.origin, personClaim === undefined ? {} : { personClaim });
      const found = await authenticate(await sign(claims));
      expect(found).toMatchObject({ principal: { name: 'carol', personId } });
    },
  );

  const deep = (depth: number): object => ({ sub: `a${depth}`, ...(depth > 1 && { act: deep(depth - 1) }) });
  test.each([
    ['the client', { client_id: 'code-helper' }, { clientId: 'code-helper', actors: [] }],
    ['an actor', { act: { sub: 'agent' } }, { actors: ['agent'] }],
    [
      'the client and a chain of actors',
      { client_id: 'c', act: { sub: 'now', act: { sub: 'before' } } },
      { clientId: 'c', actors: ['now', 'before'] },
    ],
    ['a chain that is too long', { act: deep(9) }, { actors: ['a9', 'a8', 'a7', 'a6', 'a5'] }],
    ['nobody', {}, undefined],
    ['what is no name', { client_id: 7, act: { sub: ['x'] } }, undefined],
  ])('it names the program that acts for the caller: %s', async (_what, claims, agent) => {
    const found = await authenticateBy(issuer.origin)(await sign(claims));
    expect(found).toMatchObject({ kind: 'authenticated', principal: { name: 'carol', agent } });
  });

  test('clocks that differ by less than a minute are no matter', async () => {
    const time = { exp: seconds(-30), nbf: seconds(30), iat: seconds(30) };
    expect(await authenticate(await sign({ exp: time.exp }))).toMatchObject({ kind: 'authenticated' });
    expect(await authenticate(await sign({ nbf: time.nbf, iat: time.iat }))).toMatchObject({ kind: 'authenticated' });
  });

  test('a request without one is told what to ask for', async () => {
    const response = await post(server.url, message('tools/list'));
    expect(response.headers.get('www-authenticate')).toBe(
      'Bearer scope="cloudops:read cloudops:write", resource_metadata="https://cloudops.example.com/.well-known/oauth-protected-resource/mcp"',
    );
  });

  test.each([
    ['a page', (response: ServerResponse) => response.setHeader('content-type', 'text/html').end('<html>')],
    ['JSON that is no metadata', (response: ServerResponse) => response.end('{"ok":true}')],
    ['a redirect', (response: ServerResponse) => response.writeHead(302, { location: '/login' }).end()],
    ['an error', (response: ServerResponse) => response.writeHead(500).end('{}')],
    ['no answer', (response: ServerResponse) => response.destroy()],
    [
      'metadata of another issuer',
      (response: ServerResponse) =>
        response.end(JSON.stringify({ issuer: 'https://root.example.com', jwks_uri: 'https://root.example.com/keys' })),
    ],
  ])('where the first place for metadata has %s, the next one is tried', async (_what, answer) => {
    const own = await startServer(({ url }, response) => {
      if (url === '/.well-known/oauth-authorization-server') answer(response);
      else response.end(JSON.stringify({ issuer: own.origin, jwks_uri: `${issuer.origin}/keys` }));
    });
    const authenticate = authenticateBy(own.origin);
    // The keys are at a plain http address of another origin, so that `unavailable` proves that the second document was read.
    expect(await authenticate(await sign({ iss: own.origin }))).toMatchObject({ kind: 'unavailable' });
    expect(own.requests.map(({ url }) => url)).toEqual([
      '/.well-known/oauth-authorization-server',
      '/.well-known/openid-configuration',
    ]);
    await own.close();
  });

  test('a token that does not say by which of several keys it is signed is tried with each', async () => {
    const third = await generateKeyPair('ES256');
    const published = await Promise.all(
      [others, keys].map(async ({ publicKey }) => ({ ...(await exportJWK(publicKey)), kid: 'same' })),
    );
    const own = await startServer(({ url }, response) => {
      if (url === '/keys') response.end(JSON.stringify({ keys: published }));
      else response.end(JSON.stringify({ issuer: own.origin, jwks_uri: `${own.origin}/keys` }));
    });
    const authenticate = authenticateBy(own.origin);
    for (const kid of ['same', undefined]) {
      const signed = (by: typeof keys.privateKey, changes = {}) => sign({ iss: own.origin, ...changes }, by, { kid });
      expect(await authenticate(await signed(others.privateKey))).toMatchObject({ kind: 'authenticated' });
      expect(await authenticate(await signed(keys.privateKey))).toMatchObject({ kind: 'authenticated' });
      expect(await authenticate(await signed(keys.privateKey, { aud: 'https://other.example.com/mcp' }))).toEqual({
        kind: 'invalid',
        reason: `ERR_JWT_CLAIM_VALIDATION_FAILED aud: the token has "https://other.example.com/mcp", and this server expects "${audience}"`,
      });
      expect(await authenticate(await signed(third.privateKey))).toEqual({
        kind: 'invalid',
        reason: 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED',
      });
    }
    await own.close();
  });

  test('strangers whose tokens name unknown keys do not lock out a caller with the same address', async () => {
    let wake = () => {};
    const woken = new Promise<void>((resolve) => {
      wake = resolve;
    });
    const authenticate = authenticateBy(issuer.origin, { sleep: () => woken });
    const own = await serveInProcess({
      resource: { url: audience, issuer: issuer.origin, scopePrefix: '' },
      authenticate,
    });
    const good = await sign();
    const first = await post(own.url, message('ping'), bearer(good));
    expect([first.status, first.headers.get('connection')]).toEqual([200, 'keep-alive']);
    expect((await post(own.url, message('ping'))).headers.get('connection')).toBe('close');
    const statuses: number[] = [];
    const strangers = Array.from({ length: 64 }, async (_, index) => {
      const token = await sign({}, others.privateKey, { kid: `unknown ${index}` });
      const response = await post(own.url, message('ping'), bearer(token));
      if (response.status === 503) expect(response.headers.get('retry-after')).toBe('5');
      expect(response.headers.get('connection')).toBe('close');
      statuses.push(response.status);
    });
    // All but the 32 that wait for the keys have their answers.
    await vi.waitFor(() => expect(statuses).toEqual(Array(32).fill(503)));
    expect((await post(own.url, message('ping'), bearer(good))).status).toBe(200);
    wake();
    await Promise.all(strangers);
    expect(statuses.slice(32)).toEqual(Array(32).fill(401));
    await own.close();
  });

  const bad: readonly (readonly [string, () => Promise<string> | string, RegExp?])[] = [
    [
      'of another audience',
      () => sign({ aud: 'https://other.example.com/mcp' }),
      /aud: the token has "https:\/\/other.example.com\/mcp", and this server expects/,
    ],
    ['of another issuer', () => sign({ iss: 'https://issuer.example.com' })],
    [
      'that has expired',
      () => sign({ exp: seconds(-90) }),
      /^ERR_JWT_EXPIRED exp: the token has "1\d+", and .* "a time after 1/,
    ],
    ['that is not valid yet', () => sign({ nbf: seconds(90) }), /nbf: the token has "\d+", and .* "a time before 1/],
    ['that never expires', () => sign({ exp: undefined })],
    ['of nobody', () => sign({ sub: undefined })],
    ['of an empty name', () => sign({ sub: '' })],
    ['of a name that is too long', () => sign({ sub: 'n'.repeat(256) })],
    ['of a number', () => sign({ sub: 7 })],
    ['of a name with half a character', () => sign({ sub: 'carol\ud800' })],
    ['of a list of names', () => sign({ sub: ['carol'] })],
    ['that is bound to a key', () => sign({ cnf: { jkt: 'x' } })],
    [
      'that is an ID token by its type',
      () => sign({}, keys.privateKey, { typ: 'ID' }),
      /^typ: the token has "ID", and .* "at\+jwt or /,
    ],
    ['of a type that is no text', () => sign({}, keys.privateKey, { typ: 7 })],
    ['signed with another key', () => sign({}, others.privateKey)],
    ['with alg none', () => new UnsecuredJWT(claims()).encode()],
    [
      'with HS256 and the public key as the secret',
      hmac,
      /^ERR_JOSE_ALG_NOT_ALLOWED: this server accepts the algorithms RS256, /,
    ],
    [
      'that names an unknown key',
      () => sign({}, keys.privateKey, { kid: 'two' }),
      /^ERR_JWKS_NO_MATCHING_KEY: the issuer has no key /,
    ],
    [
      'altered after signing',
      async () => (await sign()).replace(/\.(.)/, (_dot, first) => `.${first === 'a' ? 'b' : 'a'}`),
    ],
    ['that is no JWT', () => 'ya29.opaque', /^ERR_JWS_INVALID: it is no signed JWT/],
    ['with three empty parts', () => '..'],
  ];
  test.each(bad.map(([what, make, reason = /./]) => [what, make, reason] as const))(
    'one %s is refused',
    async (_what, makeToken, reason) => {
      const token = await makeToken();
      expect(await authenticate(token)).toEqual({ kind: 'invalid', reason: expect.stringMatching(reason) });
      const response = await post(server.url, message('tools/list'), bearer(token));
      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toBe(
        'Bearer error="invalid_token", scope="cloudops:read cloudops:write", error_description="The token is not valid here.", resource_metadata="https://cloudops.example.com/.well-known/oauth-protected-resource/mcp"',
      );
    },
  );

  test.each([
    // Clients ask for exactly the scopes of the challenge, so it names those that the caller has, too.
    ['cloudops:read', namesOf(true), 'restore_instance', 'cloudops:read cloudops:write'],
    ['cloudops:write', [...namesOf(false), ...ofChanges], 'list_parts', 'cloudops:write cloudops:read'],
  ])(
    'with the scope %s, only its tools are listed, and others cannot be called',
    async (scope, tools, other, needed) => {
      for (const token of [await sign({ scope }), await sign({ scope: undefined, scp: ['x', scope] })]) {
        expect(await toolNames(await post(server.url, message('tools/list'), bearer(token)))).toEqual(tools);
        const refused = await post(server.url, toolCall(other, restore), bearer(token));
        expect(refused.status).toBe(403);
        expect(refused.headers.get('www-authenticate')).toMatch(
          new RegExp(`^Bearer error="insufficient_scope", scope="${needed}", .*resource_metadata="https://cloudops`),
        );
      }
    },
  );

  test('an issuer with qualified scopes is asked for them, and may write them with the prefix or without', async () => {
    const scopePrefix = 'api://cloudops/';
    const qualified = await serveInProcess({
      resource: { url: audience, issuer: issuer.origin, scopePrefix },
      authenticate: authenticateBy(issuer.origin, { scopePrefix }),
    });
    const metadata = await fetch(new URL('/.well-known/oauth-protected-resource/mcp', qualified.origin));
    expect(await metadata.json()).toMatchObject({
      scopes_supported: ['api://cloudops/cloudops:read', 'api://cloudops/cloudops:write'],
    });
    for (const scope of ['api://cloudops/cloudops:read', 'cloudops:read']) {
      const token = bearer(await sign({ scope }));
      expect(await toolNames(await post(qualified.url, message('tools/list'), token))).toEqual(namesOf(true));
      const refused = await post(qualified.url, toolCall('restore_instance', restore), token);
      expect(refused.headers.get('www-authenticate')).toContain(
        'scope="api://cloudops/cloudops:read api://cloudops/cloudops:write"',
      );
    }
    await qualified.close();
  });

  test('cloudops:approve among other scopes is ignored, and allows nothing by itself', async () => {
    const both = await post(
      server.url,
      message('tools/list'),
      bearer(await sign({ scope: 'cloudops:approve cloudops:read' })),
    );
    expect(await toolNames(both)).toEqual(namesOf(true));
    const alone = await post(server.url, message('tools/list'), bearer(await sign({ scope: 'cloudops:approve' })));
    expect(alone.status).toBe(403);
  });

  test('a token without a scope of this server is logged with the scopes that it has', async () => {
    const own = await serveInProcess({ authenticate });
    expect((await post(own.url, message('ping'), bearer(await sign({ scope: 'openid' })))).status).toBe(403);
    expect(own.logged.map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({
        event: 'login failed',
        reason: 'scope: the token has "openid", and this server expects "cloudops:read"',
      }),
    );
    await own.close();
  });

  test.each([
    ['cannot be reached', () => 'http://127.0.0.1:1', () => metadata],
    [
      'has metadata of another issuer',
      () => issuer.origin,
      () => ({ ...metadata, issuer: 'https://other.example.com' }),
    ],
    [
      'keeps its keys at a plain address of somebody else',
      () => issuer.origin,
      () => ({ ...metadata, jwks_uri: `${stranger.origin}/keys` }),
    ],
  ])('when the issuer %s, nobody enters, and it is not the token that is blamed', async (_what, origin, changed) => {
    const good = metadata;
    metadata = changed();
    const logged: unknown[] = [];
    const authenticate = authenticateBy(origin(), { now, log: (_level, event) => logged.push(event) });
    const own = await serveInProcess({ authenticate });
    const response = await post(own.url, message('tools/list'), bearer(await sign()));
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5']);
    expect(logged).toEqual(['issuer']);
    metadata = good;
    await own.close();
  });

  test.each(['metadata', 'keys'])('%s without end are not read to their end', async (what) => {
    const chunk = ' '.repeat(1024 * 1024);
    let sent = 0;
    const own = await startServer(({ url }, response) => {
      if (what === 'keys' && url !== '/keys') {
        response.end(JSON.stringify({ issuer: own.origin, jwks_uri: `${own.origin}/keys` }));
        return;
      }
      const send = () => {
        sent += 1;
        if (sent > 200) response.end();
        else response.write(chunk, () => setImmediate(send));
      };
      send();
    });
    const authenticate = authenticateBy(own.origin);
    expect(await authenticate(await sign({ iss: own.origin }))).toMatchObject({ kind: 'unavailable' });
    expect(sent).toBeLessThan(50);
    await own.close();
  });
});
