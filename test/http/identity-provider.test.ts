import { auth, type OAuthClientProvider, UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { authenticateByIssuer } from '../../src/http/issuer.js';
import { createIssuerKeys } from '../../src/http/issuer-keys.js';
import { createHttpClient } from '../../src/transport/http-client.js';
import { freePort } from '../support/free-port.js';
import { message, post, serveInProcess } from '../support/http-in-process.js';
import { offeredBy, openPolicy } from '../support/operations.js';
import { signInAt, startProvider } from '../support/provider.js';

/** A client of the 1.x SDK, a certified identity provider and this server, as an operator puts them together. */

const callback = 'http://127.0.0.1:1/callback';

/** Stores a client's authorization in memory. */
function clientProvider() {
  const kept: {
    verifier: string;
    at?: URL;
    information?: never;
    tokens?: { access_token: string; token_type: string };
  } = { verifier: '' };
  const provider: OAuthClientProvider = {
    redirectUrl: callback,
    clientMetadata: { client_name: 'test', redirect_uris: [callback], token_endpoint_auth_method: 'none' },
    clientInformation: () => kept.information,
    saveClientInformation: (information) => void Object.assign(kept, { information }),
    tokens: () => kept.tokens,
    saveTokens: (tokens) => void Object.assign(kept, { tokens }),
    redirectToAuthorization: (at) => void Object.assign(kept, { at }),
    saveCodeVerifier: (verifier) => void Object.assign(kept, { verifier }),
    codeVerifier: () => kept.verifier,
  };
  return { provider, kept };
}

describe('with a certified identity provider', () => {
  const httpClient = createHttpClient();
  let issuer: Awaited<ReturnType<typeof startProvider>>;
  let server: Awaited<ReturnType<typeof serveInProcess>>;
  const refused: string[] = [];
  beforeAll(async () => {
    // The audience names the port before the server listens.
    const port = await freePort();
    const audience = `http://127.0.0.1:${port}/mcp`;
    issuer = await startProvider({ redirectUri: callback, resource: audience });
    const options = { issuer: issuer.issuer, audience, now: () => new Date(), log: () => undefined };
    const keys = createIssuerKeys({ ...options, httpClient, sleep: async () => undefined });
    const authenticate = authenticateByIssuer({ ...options, keys });
    server = await serveInProcess({
      listen: { host: '127.0.0.1', port },
      resource: { url: audience, issuer: issuer.issuer, scopePrefix: '' },
      authenticate: async (token) => {
        const result = await authenticate(token);
        if (result.kind !== 'authenticated') refused.push(result.reason);
        return result;
      },
    });
  });
  afterAll(async () => {
    await server.close();
    await issuer.close();
    await httpClient.close();
  });

  /** Signs a person in through a client that knows only the server's address. */
  async function signIn(login: string) {
    const { provider, kept } = clientProvider();
    const transport = new StreamableHTTPClientTransport(server.url, { authProvider: provider });
    await expect(new Client({ name: 'test', version: '1' }).connect(transport)).rejects.toThrow(UnauthorizedError);
    const asked = kept.at?.searchParams;
    const back = await signInAt(kept.at?.href ?? '', login);
    const authorizationCode = new URL(back).searchParams.get('code') ?? '';
    expect(await auth(provider, { serverUrl: server.url, authorizationCode })).toBe('AUTHORIZED');
    return { provider, asked, token: kept.tokens?.access_token ?? '' };
  }

  test('a client finds it, signs a person in, and lists and calls what that person may', async () => {
    const { provider, asked, token } = await signIn('alice');
    expect(asked?.get('scope')).toBe('cloudops:read cloudops:write');
    expect(decodeJwt(token)).toMatchObject({ sub: 'alice', scope: 'cloudops:read cloudops:write' });
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(server.url, { authProvider: provider }));
    const { tools } = await client.listTools();
    const offered = offeredBy(openPolicy).map(({ name }) => name);
    expect(tools.map(({ name }) => name)).toEqual([...offered, 'get_change', 'withdraw_change']);
    await client.close();
    expect(refused).toEqual([]);
  });

  test('a token that was altered is refused', async () => {
    const { token } = await signIn('bob');
    const [head, , signature] = token.split('.');
    const claims = Buffer.from(JSON.stringify({ ...decodeJwt(token), sub: 'alice' })).toString('base64url');
    const response = await post(server.url, message('ping'), {
      authorization: `Bearer ${head}.${claims}.${signature}`,
    });
    expect(response.status).toBe(401);
    expect(refused.splice(0)).toEqual(['ERR_JWS_SIGNATURE_VERIFICATION_FAILED']);
  });
});
