import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Context, Hono, MiddlewareHandler } from 'hono';
import { csrf } from 'hono/csrf';
import type { FoundPlan } from '../consent/plans.js';
import { readView } from '../mcp/views/view-of-tool.js';
import { reasonOf } from '../util/log.js';
import { words } from '../util/safe-text.js';
import {
  accountOfPlan,
  answerClick,
  noteOf,
  type PlanDeciding,
  readClick,
  reasonAgainst,
  relatedTexts,
  shownPlan,
} from './decide-on-plan.js';
import { filterIn, listPage } from './decision-list.js';
import { decisionPageHeaders, pageTop, planLinks, problemPage, signInPage } from './decision-pages.js';
import { createSessionCookie, type DecisionSession, isOwnPage, newSession } from './decision-session.js';
import { createBodyReader, HttpError } from './http-helpers.js';
import { createFailedLogins } from './limits-by-address.js';
import {
  createPages,
  hostHeaders,
  otherSite,
  type PageEnv,
  requireForm,
  requireJson,
  servePages,
  viewHeaders,
} from './pages.js';
import { planInQuery, type Reception, type SignIn } from './sign-in.js';

export interface DecisionsOptions extends PlanDeciding {
  /** The origin under which people reach this server. */
  readonly publicUrl: string;
  readonly signIn: SignIn;
}

/** Size limit of a click, in bytes. */
const maximumBody = 64 * 1024;

/** True for the paths of the page for decisions. */
export const isDecisionsPath = (path: string) => path === '/decisions' || path.startsWith('/decisions/');

interface DecisionsEnv extends PageEnv {
  readonly Variables: {
    session: DecisionSession;
    /** The plan in the path. */
    plan: FoundPlan;
    /** All plans that the person may see. */
    visiblePlans: readonly FoundPlan[];
  };
}

/**
 * Serves the page on which people decide on changes. Everything but the sign-in needs a session. A request that changes something
 * also needs our origin and the session's proof that it comes from one of our pages.
 */
export function createDecisions(options: DecisionsOptions) {
  const { publicUrl, stateKeys, now } = options;
  const sessionCookie = createSessionCookie(stateKeys, now);
  const readForm = createFormReader();
  const checks = createChecks(options, sessionCookie);

  const pages = createPages<DecisionsEnv>();
  pages.use(decisionPageHeaders);
  // The origin alone decides, because browsers call another port of the same host the same site.
  pages.use(csrf({ origin: publicUrl, secFetchSite: () => false }));
  addSignIn(pages, options, sessionCookie, readForm);
  // The view has no secrets, and its sandboxed frame sends no cookies.
  pages.get(`${planPath}/view`, viewHeaders('same-origin'), async (context) => context.html(await readView('change')));

  pages.use(checks.session);
  pages.post('/decisions/sign-out', requireForm, async (context) => {
    const form = await readForm(context.env.incoming);
    checkProof(context.get('session'), form.get('csrf') ?? undefined);
    sessionCookie.clear(context);
    return context.redirect('/decisions', 303);
  });
  addList(pages, options, checks);
  pages.use(`${planPath}/*`, checks.plan);
  addPlan(pages, options, checks);

  return (request: IncomingMessage, response: ServerResponse): Promise<void> =>
    servePages(pages, publicUrl, request, response);
}

type Pages = Hono<DecisionsEnv>;
type SessionCookie = ReturnType<typeof createSessionCookie>;
type Check = MiddlewareHandler<DecisionsEnv>;
type ReadForm = (request: IncomingMessage) => Promise<URLSearchParams>;

/** Checks of requests to the page. A request that fails gets a page or an error in place of its answer. */
interface Checks {
  /** The person is signed in. */
  readonly session: Check;
  /** The plan in the path is there, and the person may see it. */
  readonly plan: Check;
  /** The plans can be read. */
  readonly visiblePlans: Check;
  /** The person may decide on the plan, or the plan was decided. */
  readonly mayDecide: Check;
  /** A click comes from our page. Hono's `csrf` checks only forms. */
  readonly ownPage: Check;
}

function createChecks(options: DecisionsOptions, sessionCookie: SessionCookie): Checks {
  const { publicUrl, signIn, plans, accounts } = options;
  return {
    session: async (context, next) => {
      const cookieSession = sessionCookie.read(context);
      const session = cookieSession && (await signIn.renew(cookieSession));
      if (session !== undefined) {
        context.set('session', session);
        return next();
      }
      if (context.req.method === 'POST') throw new HttpError(401, 'session', 'Sign in again.');
      sessionCookie.clear(context);
      return context.redirect(`/decisions/sign-in${queryOf(planInPath(context.req.path))}`, 303);
    },
    plan: async (context, next) => {
      const nonce = context.req.param('nonce') ?? '';
      const plan = await plans.find(nonce).catch((error) => unreadableAnswer(context, error, options));
      if (plan instanceof Response) return plan;
      if (plan === undefined || !isVisible(plan, context.get('session'), options))
        return context.html(problemPage(words('No such plan'), goneText), 404);
      context.set('plan', plan);
      return next();
    },
    visiblePlans: async (context, next) => {
      const all = await plans.list().catch((error) => unreadableAnswer(context, error, options));
      if (all instanceof Response) return all;
      const visible = all.filter((plan) => isVisible(plan, context.get('session'), options));
      context.set('visiblePlans', visible);
      return next();
    },
    mayDecide: async (context, next) => {
      const { session, plan } = context.var;
      const reason = reasonAgainst(plan, session, accounts);
      if (reason === undefined || plan.state !== 'waiting') return next();
      return context.html(problemPage(words('You cannot decide on this change'), reason), 403);
    },
    ownPage: async (context, next) => {
      if (context.req.header('origin') !== publicUrl) throw otherSite();
      checkProof(context.get('session'), context.req.header('x-csrf-token'));
      await next();
    },
  };
}

function addSignIn(
  pages: Pages,
  { signIn, stateKeys, now, log }: DecisionsOptions,
  sessionCookie: SessionCookie,
  readForm: ReadForm,
): void {
  const logRefusal = createFailedLogins(now, log, 'sign-in refused');
  const reception: Reception = {
    stateKeys,
    readForm,
    refuse(context, { status, text, reason }, plan) {
      logRefusal(context.env.incoming, reason);
      return context.html(signInPage(words('Sign in'), signIn.form(queryOf(plan)), text), status);
    },
    admit(context, person, plan) {
      sessionCookie.write(context, newSession(person));
      log('info', 'sign-in', { person: person.person });
      return context.redirect(plan === undefined ? '/decisions' : `/decisions/${plan}/`, 303);
    },
  };
  pages.route('/', signIn.routes(reception));
  pages.get('/decisions/sign-in', (context) =>
    context.html(signInPage(words('Sign in'), signIn.form(queryOf(planInQuery(context))), undefined)),
  );
}

function addList(pages: Pages, { accounts, now }: DecisionsOptions, checks: Checks): void {
  pages.on('GET', ['/decisions', '/decisions/'], checks.visiblePlans, (context) => {
    const { session, visiblePlans: plans } = context.var;
    const filter = filterIn((name) => context.req.query(name));
    return context.html(listPage(session, { plans, areNamed: accounts.areNamed, filter, now: now() }));
  });
}

/** Adds the page of a plan, the link to the next plan, and the two requests of the view in the page. */
function addPlan(pages: Pages, options: DecisionsOptions, checks: Checks): void {
  const { accounts } = options;
  const readBody = createBodyReader(maximumBody, 16 * maximumBody);
  const mayDecide = (plan: FoundPlan, session: DecisionSession) => reasonAgainst(plan, session, accounts) === undefined;

  pages.get(planPath, (context) => context.redirect(`/decisions/${context.get('plan').nonce}/`, 303));
  pages.get(`${planPath}/`, checks.mayDecide, hostHeaders('same-origin'), async (context) =>
    context.html(withSession(await readView('page'), context.get('session'), context.get('plan'))),
  );
  pages.get(`${planPath}/next`, checks.visiblePlans, (context) => {
    const { session, plan, visiblePlans } = context.var;
    const others = visiblePlans.filter(
      (other) => other.nonce !== plan.nonce && other.state === 'waiting' && mayDecide(other, session),
    );
    const next = others.find(({ issuedAt }) => issuedAt >= plan.issuedAt) ?? others[0];
    return context.redirect(next === undefined ? '/decisions' : `/decisions/${next.nonce}/`, 303);
  });

  pages.post(`${planPath}/*`, requireJson, checks.ownPage);
  pages.post(`${planPath}/call`, checks.visiblePlans, (context) => {
    const { session, plan, visiblePlans } = context.var;
    const related = relatedTexts(plan, visiblePlans, options);
    return context.json({ note: noteOf(plan), result: shownPlan(plan, mayDecide(plan, session), related) });
  });
  pages.post(`${planPath}/tool`, async (context) => {
    const { session, plan } = context.var;
    const click = readClick(jsonOf(await readBody(context.env.incoming)));
    if (click?.nonce !== plan.nonce) throw new HttpError(400, 'decision', 'This is not a decision on the plan.');
    return context.json(await answerClick(plan, click, session, options));
  });
}

/** People see their own plans, and approvers see all plans of their accounts. */
const isVisible = (plan: FoundPlan, session: DecisionSession, { accounts }: DecisionsOptions): boolean =>
  (session.mayApprove || plan.caller === session.person) && accountOfPlan(plan, session, accounts) !== undefined;

/** The answer if the plans cannot be read. Logs the error. */
function unreadableAnswer(context: Context, error: unknown, { log }: DecisionsOptions) {
  log('error', 'journal', { error: reasonOf(error) });
  return context.html(problemPage(words('The plans cannot be read'), unreadableText), 503, { 'retry-after': '2' });
}

const planPath = '/decisions/:nonce{[0-9a-f]{16}}';
const planInPath = (path: string) => /^\/decisions\/([0-9a-f]{16})(?:\/|$)/.exec(path)?.[1];
const queryOf = (plan: string | undefined) => (plan === undefined ? '' : `?plan=${plan}`);
const unreadableText = words('They and their outcomes are kept. Load this page again in a few seconds.');
const goneText = words(
  'It has expired, was never there, or is for somebody else. If it was decided, the journal has its outcome.',
);

function checkProof(session: DecisionSession, proof: string | undefined): void {
  if (!isOwnPage(session, proof)) throw new HttpError(403, 'csrf', 'The request comes from another page.');
}

/** The page around the view, with the proof for the requests that it sends, and with the person and the links at its top. */
const withSession = (html: string, session: DecisionSession, { nonce }: FoundPlan): string =>
  html
    .replace('<meta name="viewport"', `<meta name="csrf-token" content="${session.csrf}"><meta name="viewport"`)
    .replace('<body>', () => `<body>${pageTop(session, planLinks(nonce))}`);

function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** Size limit of a form, in bytes. Forms have a limit of their own, because people who are not signed in send them too. */
const maximumForm = 8 * 1024;
/** Number of forms that are received at a time. */
const mostForms = 64;

/**
 * Reads forms. If too many are being received, the oldest is cut off, because the form of a person arrives at once. Limits by address
 * would not help behind a proxy, where all clients have the same address.
 */
function createFormReader() {
  const readBody = createBodyReader(maximumForm, Number.POSITIVE_INFINITY);
  const receiving = new Set<IncomingMessage>();
  return async (request: IncomingMessage): Promise<URLSearchParams> => {
    const [oldest] = receiving;
    if (oldest !== undefined && receiving.size >= mostForms) {
      receiving.delete(oldest);
      oldest.destroy();
    }
    receiving.add(request);
    const body = await readBody(request).finally(() => receiving.delete(request));
    return new URLSearchParams(String(body));
  };
}
