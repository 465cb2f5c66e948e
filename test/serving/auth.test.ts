import { createHash } from 'node:crypto';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { authenticateByIssuer, authenticateByToken, parseTokens } from '../../src/serving/auth.js';
import { createMemoryJournal } from '../support/caller.js';
import { answerOf, message, post, serveInProcess, toolCall } from '../support/http-in-process.js';
import { type CapturingServer, startServer } from '../support/http-server.js';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const audience = 'https://cloudops.example.com/mcp';
const restore = { backupId: 'a'.repeat(32), instanceId: 'restored' };
const now = () => new Date();
const log = () => undefined;

const toolNames = async (response: Response) =>
  ((await answerOf(response)).result?.tools as { name: string }[] | undefined)?.map(({ name }) => name);

describe('a file of tokens', () => {
  test('has a name, a digest and perhaps scopes in a line', () => {
    const text = `# team\n\nalice ${sha256('a')}\r\n  bob ${sha256('b').toUpperCase()} cloudops:read\n`;
    const { tokens, problems } = parseTokens(text);
    expect(problems).toEqual([]);
    expect(tokens).toMatchObject([
      { name: 'alice', scopes: ['cloudops:read', 'cloudops:write'] },
      { name: 'bob', scopes: ['cloudops:read'] },
    ]);
  });

  test.each([
    [
      'a token in place of its digest',
      'alice s3cret',
      'Line 1 of the tokens file has no SHA-256 in hex after the name.',
    ],
    ['a scope that does not exist', `bob ${sha256('b')} cloudops:all`, 'names a scope that is neither'],
    ['a name twice', `bob ${sha256('b')}\nbob ${sha256('c')}`, 'Line 2 of the tokens file has the name of an earlier'],
    ['nothing', '# nobody\n', 'holds no token'],
  ])('with %s is refused, and what it holds is not shown', (_what, text, problem) => {
    const { problems } = parseTokens(text);
    expect(problems.join()).toContain(problem);
    expect(problems.join()).not.toContain('s3cret');
  });
});

describe('static tokens', () => {
  const text = `alice ${sha256('token-of-alice')}\nreader ${sha256('token-of-reader')} cloudops:read\n`;
  const authenticate = authenticateByToken(parseTokens(text).tokens);

  test.each([
    ['no token', {}, 'Bearer'],
    ['another scheme', { authorization: 'Basic YWxpY2U6eA==' }, 'Bearer'],
    [
      'a wrong token',
      bearer('wrong'),
      'Bearer error="invalid_token", error_description="The token is not valid here."',
    ],
    ['the digest itself', bearer(sha256('token-of-alice')), 'Bearer error="invalid_token"'],
    ['a token in the query alone', {}, 'Bearer'],
  ])('%s is refused with a challenge', async (what, headers, expected) => {
    const server = await serveInProcess({ authenticate });
    const url = new URL(what.includes('query') ? '?access_token=token-of-alice' : '', server.url);
    const response = await post(url, message('tools/list'), headers);
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toContain(expected);
    await server.close();
  });

  test('the name of a token is in the journal and the log, the token itself nowhere', async () => {
    const cloud = await startServer((_request, response) => response.end('{"instance":{}}'));
    const journal = createMemoryJournal();
    const server = await serveInProcess({ authenticate, cloud: cloud.origin, caller: { journal } });
    await answerOf(await post(server.url, toolCall('restore_instance', restore), bearer('token-of-alice')));
    expect(await journal.list({})).toMatchObject([{ caller: 'alice', ending: { outcome: 'accepted' } }]);
    expect(server.callerLogged).toContainEqual({ event: 'call', fields: expect.objectContaining({ caller: 'alice' }) });
    expect(JSON.stringify([server.logged, server.callerLogged, await journal.list({})])).not.toContain(
      'token-of-alice',
    );
    await server.close();
    await cloud.close();
  });

  test('a plan is for the caller that asked for it', async () => {
    const server = await serveInProcess({
      authenticate: authenticateByToken(parseTokens(`a ${sha256('a')}\nb ${sha256('b')}`).tokens),
      caller: { confirm: 'plan' },
    });
    const plan = await answerOf(await post(server.url, toolCall('restore_instance', restore), bearer('a')));
    const { planId } = (plan.result?.structuredContent ?? {}) as { planId?: string };
    expect(planId).toBeDefined();
    const act = toolCall('restore_instance', { ...restore, planId });
    expect(JSON.stringify(await answerOf(await post(server.url, act, bearer('b'))))).toContain('PlanRefused');
    expect(JSON.stringify(await answerOf(await post(server.url, act, bearer('a'))))).not.toContain('PlanRefused');
    await server.close();
  });

  test('a caller that may only read sees and calls nothing else', async () => {
    const server = await serveInProcess({ authenticate });
    const headers = bearer('token-of-reader');
    expect(await toolNames(await post(server.url, message('tools/list'), headers))).toEqual(['list_parts']);
    const refused = await post(server.url, toolCall('restore_instance', restore), headers);
    expect(refused.status).toBe(403);
    expect(refused.headers.get('www-authenticate')).toContain('error="insufficient_scope", scope="cloudops:write"');
    await server.close();
  });
});

describe('tokens of an OAuth issuer', () => {
  let issuer: CapturingServer;
  let stranger: CapturingServer;
  let keys: Awaited<ReturnType<typeof generateKeyPair>>;
  let others: Awaited<ReturnType<typeof generateKeyPair>>;
  let server: Awaited<ReturnType<typeof serveInProcess>>;
  let metadata: Record<string, string>;

  beforeAll(async () => {
    keys = await generateKeyPair('ES256');
    others = await generateKeyPair('ES256');
    const jwks = { keys: [{ ...(await exportJWK(keys.publicKey)), kid: 'one', alg: 'ES256', use: 'sig' }] };
    issuer = await startServer(({ url }, response) => {
      if (url === '/.well-known/openid-configuration') response.end(JSON.stringify(metadata));
      else if (url === '/keys') response.setHeader('content-type', 'application/json').end(JSON.stringify(jwks));
      else response.writeHead(404).end();
    });
    stranger = await startServer((_request, response) => response.end(JSON.stringify(jwks)));
    metadata = { issuer: issuer.origin, jwks_uri: `${issuer.origin}/keys` };
    server = await serveInProcess({
      resource: { url: audience, issuer: issuer.origin },
      authenticate: authenticateByIssuer({ issuer: issuer.origin, audience, now, log }),
    });
  });
  afterAll(async () => {
    expect(stranger.requests).toEqual([]);
    await server.close();
    await issuer.close();
    await stranger.close();
  });

  const claims = (): JWTPayload => ({
    iss: issuer.origin,
    aud: audience,
    sub: 'carol',
    exp: Math.floor(Date.now() / 1000) + 300,
    scope: 'openid cloudops:read cloudops:write',
  });
  const sign = (changes: Record<string, unknown> = {}, key = keys.privateKey) =>
    new SignJWT({ ...claims(), ...changes }).setProtectedHeader({ alg: 'ES256', kid: 'one' }).sign(key);
  const hmac = async () =>
    new SignJWT(claims())
      .setProtectedHeader({ alg: 'HS256', kid: 'one' })
      .sign(new TextEncoder().encode(JSON.stringify(await exportJWK(keys.publicKey))));

  test('a good one lets its bearer in, with all tools and under the name it says', async () => {
    const response = await post(server.url, message('tools/list'), bearer(await sign()));
    expect(await toolNames(response)).toHaveLength(4);
  });

  test('the keys are fetched once', async () => {
    for (let count = 0; count < 3; count += 1) await post(server.url, message('tools/list'), bearer(await sign()));
    expect(issuer.requests.filter(({ url }) => url === '/keys')).toHaveLength(1);
  });

  const seconds = (offset: number) => Math.floor(Date.now() / 1000) + offset;
  const bad: readonly [string, () => Promise<string> | string][] = [
    ['of another audience', () => sign({ aud: 'https://other.example.com/mcp' })],
    ['of another issuer', () => sign({ iss: 'https://issuer.example.com' })],
    ['that has expired', () => sign({ exp: seconds(-60) })],
    ['that is not valid yet', () => sign({ nbf: seconds(60) })],
    ['that never expires', () => sign({ exp: undefined })],
    ['of nobody', () => sign({ sub: undefined })],
    ['of an empty name', () => sign({ sub: '' })],
    ['signed with another key', () => sign({}, others.privateKey)],
    ['with alg none', () => new UnsecuredJWT(claims()).encode()],
    ['with HS256 and the public key as the secret', hmac],
    [
      'altered after signing',
      async () => (await sign()).replace(/\.(.)/, (_dot, first) => `.${first === 'a' ? 'b' : 'a'}`),
    ],
    ['that is no JWT', () => 'nonsense'],
    ['with three empty parts', () => '..'],
  ];
  test.each(bad)('one %s is refused', async (_what, token) => {
    const response = await post(server.url, message('tools/list'), bearer(await token()));
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe(
      'Bearer error="invalid_token", error_description="The token is not valid here.", resource_metadata="https://cloudops.example.com/.well-known/oauth-protected-resource/mcp"',
    );
  });

  test.each([
    ['cloudops:read', ['list_parts'], 'restore_instance', 'cloudops:write'],
    [
      'cloudops:write',
      ['provision_kube_resource_group', 'upgrade_kube_version', 'restore_instance'],
      'list_parts',
      'cloudops:read',
    ],
  ])(
    'with the scope %s, only its tools are listed, and others cannot be called',
    async (scope, tools, other, missing) => {
      for (const token of [await sign({ scope }), await sign({ scope: undefined, scp: ['x', scope] })]) {
        expect(await toolNames(await post(server.url, message('tools/list'), bearer(token)))).toEqual(tools);
        const refused = await post(server.url, toolCall(other, restore), bearer(token));
        expect(refused.status).toBe(403);
        expect(refused.headers.get('www-authenticate')).toMatch(
          new RegExp(`^Bearer error="insufficient_scope", scope="${missing}", .*resource_metadata="https://cloudops`),
        );
      }
    },
  );

  test('without a scope of this server, nothing is served', async () => {
    for (const token of [await sign({ scope: 'openid' }), await sign({ scope: undefined })]) {
      const response = await post(server.url, message('resources/list'), bearer(token));
      expect(response.status).toBe(403);
      expect(response.headers.get('www-authenticate')).toContain('insufficient_scope');
    }
  });

  test.each(['/.well-known/oauth-protected-resource', '/.well-known/oauth-protected-resource/mcp'])(
    '%s tells clients where to get one',
    async (path) => {
      const response = await fetch(new URL(path, server.origin));
      expect(await response.json()).toMatchObject({
        resource: audience,
        authorization_servers: [issuer.origin],
        scopes_supported: ['cloudops:read', 'cloudops:write'],
      });
    },
  );

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
    const authenticate = authenticateByIssuer({
      issuer: origin(),
      audience,
      now,
      log: (_level, event) => logged.push(event),
    });
    const own = await serveInProcess({ authenticate });
    const response = await post(own.url, message('tools/list'), bearer(await sign()));
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5']);
    expect(logged).toEqual(['issuer']);
    metadata = good;
    await own.close();
  });

  test('an issuer that comes back is asked again, but not at every request', async () => {
    const good = metadata;
    metadata = { issuer: 'https://other.example.com', jwks_uri: good.jwks_uri ?? '' };
    let time = Date.now();
    const authenticate = authenticateByIssuer({ issuer: issuer.origin, audience, now: () => new Date(time), log });
    const token = await sign();
    expect(await authenticate(token)).toBe('unavailable');
    metadata = good;
    expect(await authenticate(token)).toBe('unavailable');
    time += 5001;
    expect(await authenticate(token)).toMatchObject({ name: 'carol' });
  });
});
