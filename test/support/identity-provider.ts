import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair } from 'jose';
import Provider from 'oidc-provider';

/**
 * A certified identity provider in this process, on loopback, for the tokens of one audience: with dynamic registration, as MCP clients
 * use it. Anybody who signs in is who they say.
 */
export async function startIdentityProvider(audience: string) {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  let answer: RequestListener = () => undefined;
  const server = createServer((request, response) => answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, {
    jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: 'first', alg: 'ES256', use: 'sig' }] },
    cookies: { keys: ['cookies of a test'] },
    scopes: ['openid', 'offline_access', 'cloudops:read', 'cloudops:write', 'cloudops:audit'],
    features: {
      devInteractions: { enabled: true },
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({
          scope: 'cloudops:read cloudops:write cloudops:audit',
          audience,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        }),
        useGrantedResource: () => true,
      },
    },
    pkce: { required: () => true },
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
  });
  answer = provider.callback();
  return {
    issuer,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Follows an address of authorization as a browser does, signs in and agrees. Resolves with the address that the client gets back. */
export async function signInAs(login: string, start: URL, callback: string): Promise<URL> {
  const browse = createBrowser();
  let { at, page } = await browse(start, callback);
  while (!at.href.startsWith(callback)) {
    const [, prompt] = /name="prompt" value="(\w+)"/.exec(page) ?? [];
    const [, action] = /action="([^"]+)"/.exec(page) ?? [];
    if (prompt === undefined || action === undefined) throw new Error(`${at.href} has no form: ${page}`);
    const form = new URLSearchParams({ prompt, login, password: 'any' });
    ({ at, page } = await browse(new URL(action, at), callback, form));
  }
  return at;
}

/** Opens URLs with the cookies of earlier answers, and follows redirects, but not to URLs that begin with `end`. */
function createBrowser() {
  const cookies = new Map<string, string>();
  const browse = async (at: URL, end: string, form?: URLSearchParams): Promise<{ at: URL; page: string }> => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const posted = form && { method: 'POST', body: form };
    const response = await fetch(at, { redirect: 'manual', headers: { cookie }, ...posted });
    for (const set of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      cookies.set(name, value);
    }
    const location = response.headers.get('location');
    if (location === null) return { at, page: await response.text() };
    const next = new URL(location, at);
    return next.href.startsWith(end) ? { at: next, page: '' } : browse(next, end);
  };
  return browse;
}
