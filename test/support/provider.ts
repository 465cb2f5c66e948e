import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair } from 'jose';
import Provider from 'oidc-provider';

const scopes = ['cloudops:read', 'cloudops:write', 'cloudops:approve', 'cloudops:audit'];
export const audience = 'https://cloudops.example.com/mcp';
export const client = { id: 'cloudops', secret: 'client-secret-of-the-tests' };

interface ProviderOptions {
  /** Where people come back to with our own client. Other clients register themselves. */
  readonly redirectUri: string;
  /** Audience of its tokens. */
  readonly resource?: string;
  /** The scopes of each person. A person who is not in it has none. Without it, a person has all scopes that a client asks for. */
  readonly granted?: Readonly<Record<string, string>>;
}

/** A certified identity provider on loopback, with a page on which people type their name. */
export async function startProvider({ redirectUri, resource = audience, granted }: ProviderOptions) {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  const provider = new Provider(issuer, {
    scopes: ['openid', 'offline_access', ...scopes],
    clients: [{ client_id: client.id, client_secret: client.secret, redirect_uris: [redirectUri] }],
    jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: 'one', alg: 'ES256', use: 'sig' }] },
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    cookies: { keys: ['cookies of the tests'] },
    ttl: { AccessToken: 600, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({
          scope: scopes.join(' '),
          audience: resource,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        }),
        useGrantedResource: () => true,
      },
    },
    pkce: { required: () => true },
    interactions: { url: (_context, { uid }) => `/people/${uid}` },
    findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
    loadExistingGrant: async ({ oidc }) => {
      const { accountId } = oidc.session ?? {};
      const clientId = oidc.client?.clientId;
      const grant = new provider.Grant({ ...(clientId && { clientId }), ...(accountId && { accountId }) });
      const own = granted === undefined ? scopes : (granted[accountId ?? ''] ?? '').split(' ');
      // The other scopes are declined without a question.
      const declined = scopes.filter((scope) => !own.includes(scope)).join(' ');
      grant.addOIDCScope(['openid', ...own].join(' '));
      grant.rejectOIDCScope(declined);
      grant.addResourceScope(resource, own.join(' '));
      grant.rejectResourceScope(resource, declined);
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

/** Visits a provider like a browser, types a name, and resolves with the address to which people come back. */
export async function signInAt(location: string, name: string): Promise<string> {
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
