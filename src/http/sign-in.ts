import { accountScopePrefix } from '../calls/account.js';
import { approveScope, scopes as callerScopes } from '../calls/policy.js';
import type { HttpClient } from '../transport/http-client.js';
import { reasonOf } from '../util/log.js';
import type { Authenticate } from './auth.js';
import { type DecisionSession, type SignInState, sessionMs } from './decision-session.js';
import { decidesOnly } from './tokens-file.js';

/** A person, before a session is made. */
export type Person = Pick<DecisionSession, 'person' | 'mayApprove' | 'scopes'>;

/** The way in which people sign in to the page for decisions. */
export type SignIn =
  | {
      readonly kind: 'token';
      /** The person of a token that decides and does nothing else. */
      check(token: string): Promise<Person | undefined>;
      expiry(): number;
    }
  | {
      readonly kind: 'issuer';
      /** The address that the browser is sent to, and the values needed when it comes back. */
      start(): Promise<{ readonly url: string; readonly state: string; readonly verifier: string } | NotSignedIn>;
      finish(url: URL, begun: SignInState): Promise<(Person & { readonly expiresAt: number }) | NotSignedIn>;
    };

/** The reason for the log: a fixed word, or the code of an error. */
interface NotSignedIn {
  readonly refused: string;
}

/** True also for a name that no account can have: whoever has such a scope has not the default account. */
const namesAccount = (scope: string) => scope.startsWith(accountScopePrefix);

/** By a token of the tokens file whose line has the scope `cloudops:approve`, and no other but those of accounts. No agent holds it: `/mcp` refuses it. */
export const signInByToken = (authenticate: Authenticate, now: () => Date): SignIn => ({
  kind: 'token',
  expiry: () => now().getTime() + sessionMs,
  check: async (token) => {
    const authentication = await authenticate(token);
    if (authentication.kind !== 'authenticated') return undefined;
    const { name, scopes } = authentication.principal;
    return decidesOnly(scopes) ? { person: name, mayApprove: true, scopes: scopes.filter(namesAccount) } : undefined;
  },
});

export interface IssuerSignInOptions {
  readonly issuer: string;
  readonly audience: string;
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  readonly publicUrl: string;
  /** Goes through the proxies that are configured, as all that this server sends does. */
  readonly httpClient: HttpClient;
  /** Verifies access tokens as those of callers are. */
  readonly authenticate: Authenticate;
  readonly now: () => Date;
}

const networkSeconds = 5;
/** So long does what the issuer says of itself hold (milliseconds): strangers may begin as many sign-ins as they like. */
const metadataMs = 5000;

/**
 * At the issuer, by authorization code with PKCE. Name and scopes come from the access token for our own audience: ID tokens have no
 * scopes of an API, and some issuers give them another `sub`, so that one's own change would look like another's.
 */
export function signInAtIssuer(options: IssuerSignInOptions): SignIn {
  const { issuer, audience, clientId, clientSecret, publicUrl, httpClient, authenticate, now } = options;
  const redirectUri = `${publicUrl}/decisions/callback`;
  const askIssuer = async () => {
    const oidc = await import('./openid.js');
    const url = new URL(issuer);
    const authentication = clientSecret === undefined ? oidc.None() : oidc.ClientSecretBasic(clientSecret);
    const configuration = await oidc.discovery(url, clientId, clientSecret, authentication, {
      timeout: networkSeconds,
      [oidc.customFetch]: (address, request) => fetchBy(httpClient, address, request),
      // Configuration allows plain http for an issuer on loopback only.
      ...(url.protocol === 'http:' && { execute: [oidc.allowInsecureRequests] }),
    });
    return { oidc, configuration };
  };
  let asked: { readonly at: number; readonly answer: ReturnType<typeof askIssuer> } | undefined;
  const discover = () => {
    const at = now().getTime();
    if (asked === undefined || Math.abs(at - asked.at) >= metadataMs) asked = { at, answer: askIssuer() };
    return asked.answer;
  };
  return {
    kind: 'issuer',
    async start() {
      try {
        const { oidc, configuration } = await discover();
        const [state, verifier] = [oidc.randomState(), oidc.randomPKCECodeVerifier()];
        const url = oidc.buildAuthorizationUrl(configuration, {
          redirect_uri: redirectUri,
          scope: ['openid', ...callerScopes, approveScope].join(' '),
          resource: audience,
          state,
          code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
        });
        return { url: url.href, state, verifier };
      } catch (error) {
        return { refused: reasonOf(error) };
      }
    },
    async finish(url, { state, verifier }) {
      try {
        const { oidc, configuration } = await discover();
        const checks = { expectedState: state, pkceCodeVerifier: verifier };
        const { access_token: token } = await oidc.authorizationCodeGrant(
          configuration,
          new URL(`${redirectUri}${url.search}`),
          checks,
          { resource: audience },
        );
        const authentication = await authenticate(token);
        if (authentication.kind !== 'authenticated') return { refused: authentication.reason };
        const { principal, expiresAt = 0 } = authentication;
        const { name, scopes } = principal;
        const mayApprove = scopes.includes(approveScope);
        if (!mayApprove && !scopes.some((scope) => callerScopes.includes(scope))) return { refused: 'scope' };
        // Of what issuers say, only the time in the token itself is signed; many leave out the other.
        const end = Math.min(now().getTime() + sessionMs, expiresAt);
        return { person: name, mayApprove, scopes: scopes.filter(namesAccount), expiresAt: end };
      } catch (error) {
        return { refused: reasonOf(error) };
      }
    },
  };
}

/** The form in which openid-client sends. It follows no redirect. */
interface Sent {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

/** Sends a request of openid-client, which knows the answers of `fetch`. */
async function fetchBy(
  client: HttpClient,
  address: string,
  { method, headers, body, signal }: Sent,
): Promise<Response> {
  const { origin, pathname, search } = new URL(address);
  const sent = { origin, path: `${pathname}${search}`, headers, newConnection: false };
  const limit = signal ?? AbortSignal.timeout(networkSeconds * 1000);
  const answer = await client.send(
    method === 'POST' ? { ...sent, method, body: String(body ?? '') } : { ...sent, method: 'GET' },
    limit,
  );
  if (answer.kind === 'failure') throw new Error(answer.code);
  return new Response(answer.body === '' ? null : answer.body, { status: answer.status, headers: answer.headers });
}
