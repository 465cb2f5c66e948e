import type { IncomingMessage } from 'node:http';
import { type Context, Hono } from 'hono';
import { html } from 'hono/html';
import { accountScopePrefix } from '../calls/account.js';
import { type SafeText, words } from '../util/safe-text.js';
import type { SealingKeys } from '../util/seal.js';
import type { Authenticate } from './auth.js';
import { type DecisionSession, sessionMs } from './decision-session.js';
import { type Html, type PageEnv, requireForm } from './pages.js';
import { decidesOnly } from './tokens-file.js';

/** One way to sign in to the page for decisions, with its own form and routes. */
export interface SignIn {
  /** The form or link on the sign-in page. `query` is empty, or names the plan that the person wants to see. */
  form(query: string): Html;
  /** Answers the requests that the form leads to. */
  routes(reception: Reception): Hono<PageEnv>;
  /** The session with the person's present rights; undefined if it has ended, or began with another way to sign in. */
  renew(session: DecisionSession): Promise<DecisionSession | undefined>;
}

/** Functions of the page for decisions that every way to sign in needs. */
export interface Reception {
  /** Signs the person in and redirects to the plan that the person wants to see, or to the list. */
  admit(context: Context<PageEnv>, person: NewSession, plan: string | undefined): Response;
  /** Shows the sign-in page again and logs the reason: a fixed word, or the code of an error. */
  refuse(
    context: Context<PageEnv>,
    refusal: { readonly status: 401 | 503; readonly text: SafeText; readonly reason: string },
    plan: string | undefined,
  ): Response | Promise<Response>;
  /** The fields of a form. @throws HttpError if the form is too large */
  readForm(request: IncomingMessage): Promise<URLSearchParams>;
  readonly stateKeys: SealingKeys;
}

export type NewSession = Omit<DecisionSession, 'csrf'>;

/** The nonce of the plan that a request's query names. */
export const planInQuery = ({ req }: Pick<Context, 'req'>): string | undefined =>
  /^[0-9a-f]{16}$/.exec(req.query('plan') ?? '')?.[0];

/** True even if no account can have the name, because a person with such a scope must not get the default account. */
export const namesAccount = (scope: string) => scope.startsWith(accountScopePrefix);

/**
 * Signs in by a token of the tokens file that has the scope `cloudops:approve`, and no others but scopes of accounts. No agent has
 * such a token, because `/mcp` refuses it.
 */
export function signInByToken(authenticate: Authenticate, now: () => Date): SignIn {
  /** The rights of the person with a token. Undefined if the token cannot decide. */
  const rightsOf = async (token: string) => {
    const authentication = await authenticate(token);
    if (authentication.kind !== 'authenticated') return undefined;
    const { name, scopes } = authentication.principal;
    return decidesOnly(scopes) ? { person: name, mayApprove: true, scopes: scopes.filter(namesAccount) } : undefined;
  };
  return {
    form: (query) =>
      html`<form method="post" action="/decisions/sign-in${query}"><label for="token">Token with the scope cloudops:approve</label><input id="token" name="token" type="password" autocomplete="current-password" required><p class="quiet">The person who runs this server made it for you, with your name in its file of tokens. The token of an agent does not work here.</p><button>Sign in</button></form>`,
    routes: ({ admit, refuse, readForm }) =>
      new Hono<PageEnv>().post('/decisions/sign-in', requireForm, async (context) => {
        const form = await readForm(context.env.incoming);
        const token = form.get('token') ?? '';
        const rights = await rightsOf(token);
        const plan = planInQuery(context);
        if (rights !== undefined)
          return admit(context, { ...rights, token, expiresAt: now().getTime() + sessionMs }, plan);
        return refuse(context, { status: 401, text: words('This token cannot decide here.'), reason: 'token' }, plan);
      }),
    async renew(session) {
      if (session.token === undefined) return undefined;
      const rights = await rightsOf(session.token);
      return rights?.person === session.person ? { ...session, ...rights } : undefined;
    },
  };
}
