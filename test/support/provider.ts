import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair } from 'jose';
import Provider from 'oidc-provider';

export const audience = 'https://cloudops.example.com/mcp';
const scopes = ['cloudops:read', 'cloudops:write', 'cloudops:approve'];
export const client = { id: 'cloudops', secret: 'client-secret-of-the-tests' };

/**
 * A real identity provider on loopback, with a page on which people type their name. `granted` has the scopes of each person; whoever is
 * not in it gets none.
 */
export async function startProvider(redirectUri: string, granted: Readonly<Record<string, string>>) {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  const provider = new Provider(issuer, {
    clients: [{ client_id: client.id, client_secret: client.secret, redirect_uris: [redirectUri] }],
    jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: 'one', alg: 'ES256', use: 'sig' }] },
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    cookies: { keys: ['cookies of the tests'] },
    ttl: { AccessToken: 600, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
    features: {
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({
          scope: scopes.join(' '),
          audience,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        }),
        useGrantedResource: () => true,
      },
    },
    interactions: { url: (_context, { uid }) => `/people/${uid}` },
    findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
    loadExistingGrant: async ({ oidc }) => {
      const { accountId } = oidc.session ?? {};
      const grant = new provider.Grant({ clientId: client.id, ...(accountId !== undefined && { accountId }) });
      grant.addOIDCScope('openid');
      const own = (granted[accountId ?? ''] ?? '').split(' ');
      grant.addResourceScope(audience, own.join(' '));
      // Declines the other scopes without asking the user.
      grant.rejectResourceScope(audience, scopes.filter((scope) => !own.includes(scope)).join(' '));
      await grant.save();
      return grant;
    },
  });
  const served = provider.callback();
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    if (request.url?.startsWith('/people/') !== true) return served(request, response);
    if (request.method !== 'POST')
      return response
        .setHeader('content-type', 'text/html')
        .end('<form method="post"><label>Name <input name="name"></label><button>Continue</button></form>');
    let body = '';
    for await (const chunk of request) body += chunk;
    const accountId = new URLSearchParams(body).get('name') ?? '';
    return provider.interactionFinished(request, response, { login: { accountId } });
  };
  server.on('request', (request, response) => void serve(request, response));
  return {
    issuer,
    close: () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  };
}
