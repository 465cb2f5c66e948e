import { mkdtempSync, rmSync } from 'node:fs';
import { createServer as createHttpsServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { makeCertificate } from '../support/certificates.js';
import { browserOf } from '../support/decisions.js';
import { answerOf, post, toolCall } from '../support/http-in-process.js';
import { type HttpProcess, startHttpProcess } from '../support/http-process.js';
import { createTunnelProxy, portOf } from '../support/tunnel-proxy.js';

/** A server that reaches the issuer (for metadata, keys and sign-in) and the webhook only through a proxy. */

const publicUrl = 'https://cloudops.example.com';
const audience = `${publicUrl}/mcp`;
const issuer = 'https://issuer.test.invalid';
const hooks = 'https://hooks.test.invalid';
const certificate = makeCertificate('issuer.test.invalid', 'hooks.test.invalid');
const folder = mkdtempSync(join(tmpdir(), 'cloudops-proxy-'));
const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });

const tokenOf = (name: string, scope: string) =>
  new SignJWT({ scope })
    .setProtectedHeader({ alg: 'ES256', kid: 'one', typ: 'at+jwt' })
    .setIssuer(issuer)
    .setAudience(audience)
    .setSubject(name)
    .setIssuedAt()
    .setExpirationTime('10 minutes')
    .sign(privateKey);

const documents: Readonly<Record<string, () => Promise<object> | object>> = {
  '/.well-known/openid-configuration': () => ({
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/keys`,
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
  }),
  '/keys': async () => ({ keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256' }] }),
  '/token': async () => ({
    access_token: await tokenOf('bob', 'cloudops:approve'),
    token_type: 'bearer',
    expires_in: 600,
  }),
};
const announced: string[] = [];
const others = createHttpsServer(certificate, async (request, response) => {
  let body = '';
  for await (const chunk of request) body += chunk;
  const document = documents[request.url ?? ''];
  if (request.url === '/T/1') announced.push(body);
  else if (document === undefined) response.statusCode = 404;
  response.setHeader('content-type', 'application/json').end(JSON.stringify((await document?.()) ?? {}));
});
const { proxy, tunnels } = createTunnelProxy(others);

let server: HttpProcess;
beforeAll(async () => {
  for (const each of [others, proxy]) await new Promise<void>((resolve) => each.listen(0, '127.0.0.1', resolve));
  server = await startHttpProcess([], {
    env: {
      HTTPS_PROXY: `http://127.0.0.1:${portOf(proxy)}`,
      NODE_EXTRA_CA_CERTS: certificate.authority,
      CLOUDOPS_SANDBOX: '1',
      CLOUDOPS_CONFIRM: 'approval',
      CLOUDOPS_HTTP_PERSON_CLAIM: 'sub',
      CLOUDOPS_STATE_KEY: 'k'.repeat(32),
      CLOUDOPS_JOURNAL: join(folder, 'journal.db'),
      CLOUDOPS_HTTP_PUBLIC_URL: publicUrl,
      CLOUDOPS_HTTP_ISSUER: issuer,
      CLOUDOPS_HTTP_AUDIENCE: audience,
      CLOUDOPS_HTTP_CLIENT_ID: 'cloudops',
      CLOUDOPS_DECISIONS_WEBHOOK: `${hooks}/T/1`,
    },
  });
});
afterAll(async () => {
  await server.stop();
  for (const each of [others, proxy]) {
    each.closeAllConnections();
    each.close();
  }
  certificate.remove();
  rmSync(folder, { recursive: true });
});

test('an issuer, its sign-in and a webhook are reached through the proxy', async () => {
  const call = toolCall('restore_instance', { backupId: 'a'.repeat(32), instanceId: 'wiki' });
  const asked = await post(server.url, call, {
    authorization: `Bearer ${await tokenOf('alice', 'cloudops:read cloudops:write')}`,
  });
  expect(Object((await answerOf(asked)).result?.structuredContent)).toMatchObject({ outcome: 'waiting' });
  await vi.waitFor(() => expect(announced).toEqual([expect.stringContaining('wiki')]));

  const browser = browserOf({ origin: server.origin, publicUrl });
  const location = new URL((await browser.get('/decisions/start')).headers.get('location') ?? '');
  expect(location.href).toMatch(`${issuer}/authorize`);
  const back = `/decisions/callback?code=a&state=${location.searchParams.get('state')}`;
  expect((await browser.get(back)).status).toBe(303);
  expect(await (await browser.get('/decisions')).text()).toMatch(/wiki.*Asked for by <bdi>&quot;alice&quot;/s);

  expect(new Set(tunnels)).toEqual(new Set(['issuer.test.invalid:443', 'hooks.test.invalid:443']));
});
