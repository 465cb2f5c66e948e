import { Hono } from 'hono';
import { html } from 'hono/html';
import * as oidc from 'openid-client';
import * as z from 'zod';
import { approveScope, readScope, scopes as serverScopes, writeScope } from '../calls/policy.js';
import type { HttpClient } from '../transport/http-client.js';
import { reasonOf } from '../util/log.js';
import { lazy } from '../util/objects.js';
import { own, say, words } from '../util/safe-text.js';
import type { Authenticate } from './auth.js';
import { createSealedCookie, type NewSession, notFound, type PageEnv, sessionMs } from './decision-session.js';
import type { IssuerOptions } from './issuer.js';
import { fetchFromIssuer, type IssuerKeys, IssuerProblem } from './issuer-keys.js';
import { createCounter } from './limits.js';
import { changeInQuery, namesAccount, type Reception, type SignIn } from './sign-in.js';

/** Loaded only if people sign in at an issuer, because openid-client is large. */

interface IssuerSignInOptions extends Pick<IssuerOptions, 'issuer' | 'audience' | 'scopePrefix' | 'now'> {
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  readonly publicUrl: string;
  readonly keys: Pick<IssuerKeys, 'metadata'>;
  readonly httpClient: HttpClient;
  readonly authenticate: Authenticate;
}

/** Time that a person has to sign in at the issuer. */
const signInMs = 10 * 60_000;

/** Anybody can begin a sign-in. */
const mostWaiting = 32;
/** A remembered state, and with it the cookie, cannot be used again. */
const mostUsedStates = 10_000;

const pendingSchema = lazy(() =>
  z.object({ state: z.string(), verifier: z.string(), changeId: z.string().optional(), expiresAt: z.number() }),
);

/** Signs in at the issuer, by authorization code with PKCE. The ID token may have another `sub`, so the access token counts. */
export const signInAtIssuer = (options: IssuerSignInOptions): SignIn => ({
  form: (query, { translate: t }) =>
    html`<p class="quiet">${t(say`You sign in at ${own(new URL(options.issuer).host)} with your usual account.`)}</p><a class="button" href="/decisions/start${query}">${t(words('Sign in'))}</a>`,
  routes: signInRoutes(options),
  renew: async (session) => (session.token === undefined ? session : undefined),
});

const signInRoutes =
  (options: IssuerSignInOptions) =>
  ({ admit, refuse, refuseForNow, stateKeys }: Reception) => {
    const { now, audience, publicUrl, authenticate, scopePrefix = '' } = options;
    const redirectUri = `${publicUrl}/decisions/callback`;
    const pendingCookie = createSealedCookie({
      name: 'sign-in',
      purpose: 'cloudops decisions signIn',
      schema: pendingSchema,
      keys: stateKeys,
      now,
    });
    const enterCallback = createCounter(mostWaiting);
    const usedStates = new Set<string>();

    const addressOf = async (state: string, verifier: string): Promise<URL> =>
      oidc.buildAuthorizationUrl(await configure(options), {
        redirect_uri: redirectUri,
        // Without `cloudops:audit`, because strict issuers refuse scopes that the client may not have.
        scope: ['openid', ...[readScope, writeScope, approveScope].map((scope) => scopePrefix + scope)].join(' '),
        resource: audience,
        state,
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      });
    /** Exchanges the code in the callback's query for an access token. */
    const finish = async (state: string, verifier: string, search: string): Promise<NewSession> => {
      // Nobody may repeat this step, which sends requests to the issuer.
      if (usedStates.has(state)) throw new Error('used');
      usedStates.add(state);
      const [oldest] = usedStates;
      if (usedStates.size > mostUsedStates && oldest !== undefined) usedStates.delete(oldest);

      const callback = new URL(`${redirectUri}${search}`);
      const checks = { expectedState: state, pkceCodeVerifier: verifier };
      const answer = await oidc.authorizationCodeGrant(await configure(options), callback, checks, {
        resource: audience,
      });
      const authentication = await authenticate(answer.access_token);
      if (authentication.kind !== 'authenticated') throw new Error(authentication.reason);
      const { principal, expiresAt = 0 } = authentication;
      const { name, personId, scopes } = principal;
      const mayApprove = scopes.includes(approveScope);
      if (!mayApprove && !scopes.some((scope) => serverScopes.includes(scope))) throw new Error('scope');
      // `expires_in` is unsigned and often missing.
      const end = Math.min(now().getTime() + sessionMs, expiresAt);
      return { person: name, personId, mayApprove, scopes: scopes.filter(namesAccount), expiresAt: end };
    };

    const pages = new Hono<PageEnv>();
    pages.get('/decisions/start', async (context) => {
      const [state, verifier] = [oidc.randomState(), oidc.randomPKCECodeVerifier()];
      const address = await addressOf(state, verifier).catch(reasonForLog);
      if (typeof address === 'string') return refuseForNow(context, words('the issuer does not answer now'), address);
      const expiresAt = now().getTime() + signInMs;
      pendingCookie.write(context, { state, verifier, changeId: changeInQuery(context), expiresAt });
      return context.redirect(address.href, 303);
    });

    pages.get('/decisions/callback', async (context) => {
      const pending = pendingCookie.read(context);
      // Begun in another browser, already used, or older than `signInMs`.
      if (pending === undefined) throw notFound();
      const { changeId, state, verifier } = pending;
      const leave = enterCallback();
      // The cookie is kept, so that the browser can try again.
      if (leave === undefined) return refuseForNow(context, words('too many people sign in now'), 'busy');

      pendingCookie.clear(context);
      const { search } = new URL(context.req.url);
      const session = await finish(state, verifier, search).catch(reasonForLog).finally(leave);
      if (typeof session !== 'string') return admit(context, session, changeId);
      return refuse(context, words('Signing in did not work, or you may not decide here.'), session, changeId);
    });
    return pages;
  };

async function configure({ keys, issuer, clientId, clientSecret, httpClient }: IssuerSignInOptions) {
  const clientAuthentication = clientSecret === undefined ? oidc.None() : oidc.ClientSecretBasic(clientSecret);
  const configuration = new oidc.Configuration(await keys.metadata(), clientId, clientSecret, clientAuthentication);
  // In seconds.
  configuration.timeout = 5;
  configuration[oidc.customFetch] = (address, request) => fetchFromIssuer(httpClient, address, request);
  // Plain http is allowed only for an issuer on loopback.
  if (new URL(issuer).protocol === 'http:') oidc.allowInsecureRequests(configuration);
  return configuration;
}

/** openid-client hides an `IssuerProblem` as a cause. */
function reasonForLog(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return reasonOf(cause instanceof IssuerProblem ? cause : error);
}
