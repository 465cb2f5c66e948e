import { type Context, Hono } from 'hono';
import { html } from 'hono/html';
import * as oidc from 'openid-client';
import * as z from 'zod';
import { approveScope, readScope, scopes as serverScopes, writeScope } from '../calls/policy.js';
import type { HttpClient } from '../transport/http-client.js';
import { reasonOf } from '../util/log.js';
import { lazy } from '../util/objects.js';
import { own, type SafeText, words } from '../util/safe-text.js';
import type { Authenticate } from './auth.js';
import { type NewSession, sessionMs } from './decision-session.js';
import type { IssuerKeys } from './issuer-keys.js';
import { createCounter } from './limits.js';
import { notFound, type PageEnv } from './pages.js';
import { createSealedCookie } from './sealed-cookie.js';
import { changeInQuery, namesAccount, type Reception, type SignIn } from './sign-in.js';

/** This file is loaded only if people sign in at an issuer, because openid-client is large. */

interface IssuerSignInOptions {
  readonly issuer: string;
  readonly audience: string;
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  readonly publicUrl: string;
  /** See `IssuerOptions`. */
  readonly scopePrefix?: string | undefined;
  readonly keys: Pick<IssuerKeys, 'metadata'>;
  /** Sends the requests to the issuer, through the configured proxies. */
  readonly httpClient: HttpClient;
  /** Verifies an access token, in the same way as for callers of `/mcp`. */
  readonly authenticate: Authenticate;
  readonly now: () => Date;
}

/** Time limit for each request to the issuer (seconds). */
const networkSeconds = 5;
/** Time that a person has to sign in at the issuer (milliseconds). */
const signInMs = 10 * 60_000;

/** Maximum number of sign-ins that wait for the issuer in each of the two steps. Anybody can begin a sign-in. */
const mostWaiting = 32;
/** Maximum number of remembered states of sign-ins. A remembered state, and with it the cookie of the sign-in, cannot be used again. */
const mostUsedStates = 10_000;
/** The scopes for people. `cloudops:audit` is left out, because strict issuers refuse a request for a scope that the client may not have. */
const requestedScopes = [readScope, writeScope, approveScope];

/** The cookie of a sign-in while the person is at the issuer. `changeId` names the change to show afterwards. */
const pendingSchema = lazy(() =>
  z.object({ state: z.string(), verifier: z.string(), changeId: z.string().optional(), expiresAt: z.number() }),
);

type Pending = z.output<ReturnType<typeof pendingSchema>>;

/**
 * Signs in at the issuer, by authorization code with PKCE. Name and scopes come from the access token. The ID token has no scopes of an API, and
 * some issuers give it another `sub`, with which people would not be recognised as the callers of their own changes.
 */
export const signInAtIssuer = (options: IssuerSignInOptions): SignIn => ({
  form: (query) =>
    html`<p class="quiet">You sign in at ${own(new URL(options.issuer).host)} with your usual account.</p><a class="button" href="/decisions/start${query}">Sign in</a>`,
  routes: (reception) => signInRoutes(options, reception),
  renew: async (session) => (session.token === undefined ? session : undefined),
});

/** Serves the link that sends the browser to the issuer, and the callback to which the browser returns. A cookie connects the two. */
function signInRoutes(options: IssuerSignInOptions, { admit, refuse, stateKeys }: Reception): Hono<PageEnv> {
  const { now } = options;
  const issuer = createIssuerClient(options);
  const pendingCookie = createSealedCookie({
    name: 'sign-in',
    purpose: 'cloudops decisions signIn',
    schema: pendingSchema,
    keys: stateKeys,
    now,
  });
  const enterStep = createCounter(mostWaiting);

  /** Shows the sign-in page again with `text`. */
  const refuseForNow = (context: Context<PageEnv>, text: SafeText, logReason: string, changeId: string | undefined) => {
    context.header('retry-after', String(networkSeconds));
    return refuse(context, { status: 503, text, logReason }, changeId);
  };

  const pages = new Hono<PageEnv>();
  pages.get('/decisions/start', async (context) => {
    const changeId = changeInQuery(context);
    const leave = enterStep('start');
    if (leave === undefined) return refuseForNow(context, tooMany, 'busy', changeId);
    try {
      const { url, state, verifier } = await issuer.start();
      pendingCookie.write(context, { state, verifier, changeId, expiresAt: now().getTime() + signInMs });
      return context.redirect(url, 303);
    } catch (error) {
      return refuseForNow(context, words('The issuer does not answer now.'), reasonForLog(error), changeId);
    } finally {
      leave();
    }
  });

  pages.get('/decisions/callback', async (context) => {
    const pending = pendingCookie.read(context);
    // The sign-in did not begin in this browser, has ended before, or took longer than `signInMs`.
    if (pending === undefined) throw notFound();
    const { changeId } = pending;
    const leave = enterStep('callback');
    // The cookie is not cleared yet, so that the browser can try again.
    if (leave === undefined) return refuseForNow(context, tooMany, 'busy', changeId);

    pendingCookie.clear(context);
    const { search } = new URL(context.req.url);
    let session: NewSession;
    try {
      session = await issuer.finish(pending, search);
    } catch (error) {
      const text = words('Signing in did not work, or you may not decide here.');
      return refuse(context, { status: 401, text, logReason: reasonForLog(error) }, changeId);
    } finally {
      leave();
    }
    return admit(context, session, changeId);
  });
  return pages;
}

const tooMany = words('Too many people sign in now. Try again in a few seconds.');

/**
 * Creates the two steps of a sign-in, before and after the person signs in on the issuer's page. Both steps reject if the issuer does not answer
 * or refuses, and `finish` also rejects if this server refuses the sign-in. The message of the error is the reason for the log.
 */
function createIssuerClient(options: IssuerSignInOptions) {
  const { audience, publicUrl, scopePrefix = '' } = options;
  const redirectUri = `${publicUrl}/decisions/callback`;
  const usedStates = new Set<string>();

  return {
    /** Returns the URL at which the person signs in, and the values that `finish` needs. */
    async start() {
      const state = oidc.randomState();
      const verifier = oidc.randomPKCECodeVerifier();
      const url = oidc.buildAuthorizationUrl(await configure(options), {
        redirect_uri: redirectUri,
        scope: ['openid', ...requestedScopes.map((scope) => scopePrefix + scope)].join(' '),
        resource: audience,
        state,
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      });
      return { url: url.href, state, verifier };
    },
    /** Exchanges the code in the callback's query, `search`, for an access token, and makes the person's session. */
    async finish({ state, verifier }: Pending, search: string): Promise<NewSession> {
      // A client that keeps its cookie must not be able to repeat this step, which sends requests to the issuer.
      if (usedStates.has(state)) throw new Error('used');
      usedStates.add(state);
      const [oldest] = usedStates;
      if (usedStates.size > mostUsedStates && oldest !== undefined) usedStates.delete(oldest);

      const callback = new URL(`${redirectUri}${search}`);
      const checks = { expectedState: state, pkceCodeVerifier: verifier };
      const answer = await oidc.authorizationCodeGrant(await configure(options), callback, checks, {
        resource: audience,
      });
      return sessionOf(answer.access_token, options);
    },
  };
}

/** Makes the session of the person with an access token. @throws Error if the person may not sign in */
async function sessionOf(
  token: string,
  { authenticate, now }: Pick<IssuerSignInOptions, 'authenticate' | 'now'>,
): Promise<NewSession> {
  const authentication = await authenticate(token);
  if (authentication.kind !== 'authenticated') throw new Error(authentication.reason);
  const { principal, expiresAt = 0 } = authentication;
  const { name, personId, scopes } = principal;
  const mayApprove = scopes.includes(approveScope);
  if (!mayApprove && !scopes.some((scope) => serverScopes.includes(scope))) throw new Error('scope');
  // The session ends at the token's `exp` at the latest. `expires_in` in the answer is unsigned and often missing.
  const end = Math.min(now().getTime() + sessionMs, expiresAt);
  return { person: name, personId, mayApprove, scopes: scopes.filter(namesAccount), expiresAt: end };
}

/** Configures openid-client with the metadata that was fetched together with the keys. */
async function configure({ keys, issuer, clientId, clientSecret, httpClient }: IssuerSignInOptions) {
  const clientAuthentication = clientSecret === undefined ? oidc.None() : oidc.ClientSecretBasic(clientSecret);
  const configuration = new oidc.Configuration(await keys.metadata(), clientId, clientSecret, clientAuthentication);
  configuration.timeout = networkSeconds;
  configuration[oidc.customFetch] = (address, request) => fetchBy(httpClient, address, request);
  // openid-client refuses plain http otherwise. The configuration allows it only for an issuer on loopback.
  if (new URL(issuer).protocol === 'http:') oidc.allowInsecureRequests(configuration);
  return configuration;
}

/** Thrown if the issuer does not answer a request. The message is the code of the failure. */
class NoAnswer extends Error {}

/** The reason of a refused sign-in. openid-client hides a `NoAnswer` as the cause of another error. */
function reasonForLog(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof NoAnswer ? `the issuer does not answer (${cause.message})` : reasonOf(error);
}

/** Sends a request with our HTTP client, which follows no redirects. Returns the answer as a `fetch` response. */
async function fetchBy(client: HttpClient, address: string, request: oidc.CustomFetchOptions): Promise<Response> {
  const { method, headers, body, signal = AbortSignal.timeout(networkSeconds * 1000) } = request;
  const { origin, pathname, search } = new URL(address);
  const sent = { origin, path: `${pathname}${search}`, headers, newConnection: false };
  const answer = await client.send(
    method === 'POST' ? { ...sent, method, body: String(body ?? '') } : { ...sent, method: 'GET' },
    signal,
  );
  if (answer.kind === 'failure') throw new NoAnswer(answer.code);
  return new Response(answer.body === '' ? null : answer.body, { status: answer.status, headers: answer.headers });
}
