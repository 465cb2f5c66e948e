import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Context, Hono, MiddlewareHandler } from 'hono';
import { csrf } from 'hono/csrf';
import type { Change } from '../changes/change.js';
import { readView } from '../mcp/views/view-of-tool.js';
import { reasonOf } from '../util/log.js';
import { parseJson } from '../util/objects.js';
import { type SafeText, sentence, words } from '../util/safe-text.js';
import type { SealingKeys } from '../util/seal.js';
import {
  answerClick,
  isVisible,
  noteOf,
  type PageDependencies,
  readClick,
  reasonAgainst,
  shownChange,
  undecidedClick,
} from './change-on-page.js';
import { changeLinks, filterIn, listPage, pageTop, problemPage, signInPage } from './decision-pages.js';
import { createSessionCookie, type DecisionSession, isOwnPage, withNewProof } from './decision-session.js';
import { createBodyReader, HttpError, type NoteRefusal } from './http-helpers.js';
import { createLimitedLog } from './limits.js';
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
import { changeInQuery, type Reception, type SignIn } from './sign-in.js';

export interface DecisionsOptions extends PageDependencies {
  readonly publicUrl: string;
  readonly signIn: SignIn;
  readonly stateKeys: SealingKeys;
}

/** In bytes, for one click and for all that are being received. */
const maximumBody = 64 * 1024;
const maximumBodies = 16 * maximumBody;

export const isDecisionsPath = (path: string) => path === '/decisions' || path.startsWith('/decisions/');

interface DecisionsEnv extends PageEnv {
  readonly Variables: {
    session: DecisionSession;
    change: Change;
    visibleChanges: readonly Change[];
  };
}

/** Serves the pages for decisions. All but the sign-in and the view need a session, and changes also need our origin and a `csrf` proof. */
export function createDecisions(options: DecisionsOptions, noteRefusal: NoteRefusal) {
  const { publicUrl, stateKeys, accounts, now } = options;
  const { origin } = new URL(publicUrl);
  const sessionCookie = createSessionCookie(stateKeys, now);
  const readForm = createFormReader();

  const pages = createPages<DecisionsEnv>();
  // The HTML of each page limits scripts and styles itself.
  pages.use(hostHeaders('same-origin'));
  // Hono's default also accepts other ports of this host.
  pages.use(csrf({ origin, secFetchSite: () => false }));
  addSignInRoutes(pages, options, sessionCookie, readForm);
  // The view holds no secrets, and its sandboxed frame sends no cookies.
  pages.get(`${changePath}/view`, viewHeaders('same-origin'), async (context) =>
    context.html(await readView('change')),
  );

  pages.use(requireSession(options, sessionCookie, noteRefusal));
  pages.post('/decisions/sign-out', requireForm, async (context) => {
    const form = await readForm(context.env.incoming);
    checkProof(context.var.session, form.get('csrf') ?? undefined);
    sessionCookie.clear(context);
    return context.redirect('/decisions', 303);
  });
  pages.on('GET', ['/decisions', '/decisions/'], setVisibleChanges(options), (context) => {
    const { session, visibleChanges: changes } = context.var;
    const filter = filterIn((name) => context.req.query(name));
    return context.html(listPage(session, { changes, accountsAreNamed: accounts.areNamed, filter, now: now() }));
  });
  // `/*` also matches the path without a slash at its end.
  pages.use(`${changePath}/*`, requireChange(options));
  addChangeRoutes(pages, options);

  return (request: IncomingMessage, response: ServerResponse): Promise<void> =>
    servePages(pages, publicUrl, request, response);
}

type Pages = Hono<DecisionsEnv>;
type SessionCookie = ReturnType<typeof createSessionCookie>;
type Middleware = MiddlewareHandler<DecisionsEnv>;

const requireSession =
  ({ signIn }: DecisionsOptions, sessionCookie: SessionCookie, noteRefusal: NoteRefusal): Middleware =>
  async (context, next) => {
    const cookieSession = sessionCookie.read(context);
    let session: DecisionSession | undefined;
    try {
      // The person's rights may have changed since the sign-in.
      session = cookieSession && (await signIn.renew(cookieSession));
    } catch (error) {
      const isForPage = context.req.method !== 'POST' || isClick(context);
      if (!(error instanceof HttpError) || !isForPage) throw error;
      noteRefusal(context.env.incoming, error);
      return answerLater(context, words('your sign-in cannot be verified now'), retryText, error.headers);
    }
    if (session !== undefined) {
      context.set('session', session);
      return next();
    }

    // A POST comes from the script around the view, which cannot show another page.
    if (context.req.method === 'POST') throw new HttpError(401, 'session', 'Sign in again.');
    sessionCookie.clear(context);
    return context.redirect(`/decisions/sign-in${queryOf(changeInPath(context.req.path))}`, 303);
  };

const isClick = ({ req }: Pick<Context, 'req'>) => req.method === 'POST' && req.path.endsWith('/tool');

/** Says that something is `missing` now. A click decided nothing, and a page can be loaded again. */
function answerLater(
  context: Context,
  missing: SafeText,
  advice: SafeText,
  headers: HttpError['headers'],
): Response | Promise<Response> {
  if (isClick(context)) return context.json(undecidedClick(missing));
  return context.html(problemPage(sentence(missing), advice), 503, headers);
}

const requireChange =
  (options: DecisionsOptions): Middleware =>
  async (context, next) => {
    const { store, accounts } = options;
    let change: Change | undefined;
    try {
      change = await store.find(context.req.param('id') ?? '');
    } catch (error) {
      return unreadableAnswer(context, error, options);
    }
    // Missing and invisible changes get the same answer, so that nobody learns which changes others have.
    if (change === undefined || !isVisible(change, context.var.session, accounts))
      return context.html(problemPage(words('No such plan'), goneText), 404);
    context.set('change', change);
    return next();
  };

const mostRead = 200;

const setVisibleChanges =
  (options: DecisionsOptions): Middleware =>
  async (context, next) => {
    const { store, accounts } = options;
    try {
      const newest = await store.newest({ limit: mostRead });
      // The waiting changes are read later, so that no change is among both.
      const waiting = await store.waiting({});
      const all = [...newest.filter(({ state }) => state !== 'waiting').reverse(), ...waiting];
      const visible = all.filter((change) => isVisible(change, context.var.session, accounts));
      context.set('visibleChanges', visible);
    } catch (error) {
      return unreadableAnswer(context, error, options);
    }
    return next();
  };

function addSignInRoutes(
  pages: Pages,
  { signIn: signInMethod, stateKeys, now, log }: DecisionsOptions,
  sessionCookie: SessionCookie,
  readForm: Reception['readForm'],
): void {
  const logRefusal = createLimitedLog(now, log, 'sign-in refused');

  const reception: Reception = {
    stateKeys,
    readForm,
    refuse(context, { status, text, logReason }, changeId) {
      logRefusal(context.env.incoming, logReason);
      return context.html(signInPage(signInMethod.form(queryOf(changeId)), text), status);
    },
    admit(context, signedIn, changeId) {
      sessionCookie.write(context, withNewProof(signedIn));
      log('info', 'sign-in', { person: signedIn.person });
      return context.redirect(changeId === undefined ? '/decisions' : `/decisions/${changeId}/`, 303);
    },
  };

  pages.route('/', signInMethod.routes(reception));
  pages.get('/decisions/sign-in', (context) =>
    context.html(signInPage(signInMethod.form(queryOf(changeInQuery(context))))),
  );
}

/** Adds the page of a change, and its requests, which need `requireChange`. */
function addChangeRoutes(pages: Pages, options: DecisionsOptions): void {
  const { accounts } = options;
  const { origin } = new URL(options.publicUrl);
  const readBody = createBodyReader(maximumBody, maximumBodies);

  pages.get(changePath, (context) => context.redirect(`/decisions/${context.var.change.id}/`, 303));

  const requireRightToDecide: Middleware = async (context, next) => {
    const { session, change } = context.var;
    const reason = reasonAgainst(change, session, accounts);
    // A decided change only shows its outcome.
    if (reason === undefined || change.state !== 'waiting') return next();
    return context.html(problemPage(words('You cannot decide on this change'), reason), 403);
  };
  pages.get(`${changePath}/`, requireRightToDecide, async (context) =>
    context.html(withSession(await readView('page'), context.var.session, context.var.change)),
  );
  pages.get(`${changePath}/next`, setVisibleChanges(options), (context) => {
    const { session, change, visibleChanges } = context.var;
    const position = visibleChanges.findIndex(({ id }) => id === change.id);
    const others = [...visibleChanges.slice(position + 1), ...visibleChanges.slice(0, Math.max(position, 0))];
    const next = others.find(
      (other) => other.state === 'waiting' && reasonAgainst(other, session, accounts) === undefined,
    );
    return context.redirect(next === undefined ? '/decisions' : `/decisions/${next.id}/`, 303);
  });

  pages.post(`${changePath}/*`, requireJson, async (context, next) => {
    // Hono's `csrf` does not check JSON requests.
    if (context.req.header('origin') !== origin) throw otherSite();
    checkProof(context.var.session, context.req.header('x-csrf-token'));
    await next();
  });
  pages.post(`${changePath}/call`, setVisibleChanges(options), async (context) => {
    const { session, change, visibleChanges } = context.var;
    return context.json({ note: noteOf(change), result: shownChange(change, session, options, visibleChanges) });
  });
  // `answerClick` refuses a person who may not decide.
  pages.post(`${changePath}/tool`, async (context) => {
    const { session, change } = context.var;
    const click = readClick(parseJson(String(await readBody(context.env.incoming))));
    if (click?.ticket !== change.id) throw new HttpError(400, 'decision', 'This is not a decision on the plan.');
    return context.json(await answerClick(change, click, session, options));
  });
}

function unreadableAnswer(context: Context, error: unknown, { log }: DecisionsOptions) {
  log('error', 'journal', { error: reasonOf(error) });
  return answerLater(context, words('the plans cannot be read now'), unreadableText, { 'retry-after': '2' });
}

const changePath = '/decisions/:id{[\\w-]{22}}';
const changeInPath = (path: string) => /^\/decisions\/([\w-]{22})(?:\/|$)/.exec(path)?.[1];
const queryOf = (changeId: string | undefined) => (changeId === undefined ? '' : `?change=${changeId}`);
const retryText = words('Load this page again in a few seconds.');
const unreadableText = words('They and their outcomes are kept. Load this page again in a few seconds.');
const goneText = words(
  'It has expired, was never there, or is for somebody else. If it was decided, the journal has its outcome.',
);

function checkProof(session: DecisionSession, proof: string | undefined): void {
  if (!isOwnPage(session, proof)) throw new HttpError(403, 'csrf', 'The request comes from another page.');
}

const withSession = (html: string, session: DecisionSession, { id }: Change): string =>
  html
    .replace('<meta name="viewport"', `<meta name="csrf-token" content="${session.csrf}"><meta name="viewport"`)
    .replace('<body>', () => `<body>${pageTop(session, changeLinks(id))}`);

/** In bytes. Low, because people who are not signed in can send forms. */
const maximumForm = 8 * 1024;
const mostForms = 64;

/** Closes the oldest connection if there are too many, because a slow form is an attack. */
function createFormReader(): Reception['readForm'] {
  const readBody = createBodyReader(maximumForm, Number.POSITIVE_INFINITY);
  const receiving = new Set<IncomingMessage>();
  return async (request) => {
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
