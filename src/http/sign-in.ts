import type { IncomingMessage } from 'node:http';
import { type Context, Hono } from 'hono';
import { html } from 'hono/html';
import { accountScopePrefix } from '../calls/account.js';
import type { Translator } from '../util/language.js';
import { type SafeText, words } from '../util/safe-text.js';
import type { SealingKeys } from '../util/seal.js';
import type { Authenticate } from './auth.js';
import type { Html } from './decision-pages.js';
import { type DecisionSession, type NewSession, NotNow, type PageEnv, sessionMs } from './decision-session.js';
import { decidesOnly } from './tokens-file.js';

/** A way to sign in to the pages for decisions: by a token, or at an issuer. */
export interface SignIn {
  /** `query` is empty, or `?change=` with the wanted change. */
  form(query: string, translator: Translator): Html;
  routes(reception: Reception): Hono<PageEnv>;
  /** Returns the session with the rights that the person has now. @throws NotNow if the rights cannot be verified now */
  renew(session: DecisionSession): Promise<DecisionSession | undefined>;
}

/** Functions that every way to sign in needs. `logReason` is a fixed word, or the code of an error. */
export interface Reception {
  /** Redirects to the wanted change, or to the list. */
  admit(context: Context<PageEnv>, signedIn: NewSession, changeId: string | undefined): Response;
  refuse(
    context: Context<PageEnv>,
    text: SafeText,
    logReason: string,
    changeId: string | undefined,
  ): Response | Promise<Response>;
  /** `missing` is a clause. @throws NotNow */
  refuseForNow(context: Context<PageEnv>, missing: SafeText, logReason: string): never;
  /** @throws HttpError if the form is too large */
  readForm(request: IncomingMessage): Promise<URLSearchParams>;
  readonly stateKeys: SealingKeys;
}

/** The ID of the change that the query names. */
export const changeInQuery = ({ req }: Pick<Context, 'req'>): string | undefined =>
  /^[\w-]{22}$/.exec(req.query('change') ?? '')?.[0];

/** Also true for impossible names, because without such a scope, a person would get the default account. */
export const namesAccount = (scope: string) => scope.startsWith(accountScopePrefix);

/** Signs in by a token that may only decide, which agents cannot use. */
export function signInByToken(authenticate: Authenticate, now: () => Date): SignIn {
  const rightsOf = async (token: string) => {
    const authentication = await authenticate(token);
    if (authentication.kind === 'unavailable')
      throw new NotNow(
        authentication.reason,
        words('your sign-in cannot be verified now'),
        words('Load this page again in a few seconds.'),
        5,
      );
    if (authentication.kind === 'invalid') return undefined;
    const { name, personId, scopes } = authentication.principal;
    if (!decidesOnly(scopes)) return undefined;
    return { person: name, personId, mayApprove: true, scopes: scopes.filter(namesAccount) };
  };

  return {
    form(query, { translate: t }) {
      const about = words(
        'The person who runs this server made it for you, with your name in its file of tokens. The token of an agent does not work here.',
      );
      return html`<form method="post" action="/decisions/sign-in${query}"><label for="token">${t(words('Token with the scope cloudops:approve'))}</label><input id="token" name="token" type="password" autocomplete="current-password" required><p class="quiet">${t(about)}</p><button>${t(words('Sign in'))}</button></form>`;
    },
    routes: ({ admit, refuse, readForm }) =>
      new Hono<PageEnv>().post('/decisions/sign-in', async (context) => {
        const changeId = changeInQuery(context);
        const token = (await readForm(context.env.incoming)).get('token') ?? '';
        const rights = await rightsOf(token);
        if (rights === undefined) return refuse(context, words('This token cannot decide here.'), 'token', changeId);
        return admit(context, { ...rights, token, expiresAt: now().getTime() + sessionMs }, changeId);
      }),
    async renew(session) {
      // A session without a token began at an issuer.
      const rights = session.token === undefined ? undefined : await rightsOf(session.token);
      // The file may have given the token to another person.
      return rights?.person === session.person ? { ...session, ...rights } : undefined;
    },
  };
}
