import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Hono } from 'hono';
import { languageDetector } from 'hono/language';
import { secureHeaders } from 'hono/secure-headers';
import type { Change } from '../changes/change.js';
import { readView } from '../mcp/views/view-of-tool.js';
import { type Language, languages, translatorFor } from '../util/language.js';
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
import { listPage, pageTop, problemPage, signInPage } from './decision-pages.js';
import { checkProof, createSessionCookie, NotNow, notFound, type PageEnv, type PageUser } from './decision-session.js';
import { checkIsJson, createBodyReader, HttpError, webHeaders } from './http-helpers.js';
import { createLimitedLog } from './limits.js';
import { changeInQuery, type Reception, type SignIn } from './sign-in.js';

export interface DecisionsOptions extends PageDependencies {
  readonly publicUrl: string;
  /** Undefined at a secret address, which only the person at this machine has. */
  readonly signIn: { readonly way: SignIn; readonly stateKeys: SealingKeys } | undefined;
  readonly noteRefusal?: (request: IncomingMessage, refusal: HttpError) => void;
  /** Undefined for the browser's. */
  readonly language?: Language | undefined;
  readonly isSandbox?: boolean;
}

/** In bytes. */
const maximumBody = 64 * 1024;

interface DecisionsEnv extends PageEnv {
  readonly Variables: PageEnv['Variables'] & { user: PageUser; change: Change };
}
type Pages = Hono<DecisionsEnv>;

/** Serves the pages for decisions. All but the sign-in and the view need a session, and changes also need our origin and a `csrf` proof. */
export function createDecisions(options: DecisionsOptions) {
  const { publicUrl, accounts, now } = options;
  const { origin } = new URL(publicUrl);
  const pages: Pages = new Hono<DecisionsEnv>();
  pages.onError((error, context) => {
    if (!(error instanceof NotNow)) throw error;
    options.noteRefusal?.(context.env.incoming, error);
    const { translator } = context.var;
    // A click that comes at a bad time decided nothing, and a page can be loaded again.
    return context.req.method === 'POST' && context.req.path.endsWith('/tool')
      ? context.json(undecidedClick(error.missing, translator))
      : context.html(problemPage(sentence(error.missing), error.advice, translator), 503, error.headers);
  });
  pages.notFound(() => {
    throw notFound();
  });
  pages.use(async (context, next) => {
    if (context.req.method === 'POST' && context.req.header('origin') !== origin)
      throw new HttpError(403, 'origin', 'The request comes from another site.');
    context.header('cache-control', 'no-store');
    await next();
  });
  pages.use(
    languageDetector({ order: ['header'], caches: false, supportedLanguages: [...languages], fallbackLanguage: 'en' }),
  );
  pages.use(async (context, next) => {
    const ofBrowser = languages.find((language) => language === context.var.language);
    context.set('translator', await translatorFor(options.language ?? ofBrowser));
    await next();
  });
  pages.use(hostHeaders);
  // The view holds no secrets, and its sandboxed frame sends no cookies.
  pages.get(`${changePath}/view`, viewHeaders, async (context) =>
    context.html(context.var.translator.inHtml(await readView('change'))),
  );
  addSignIn(pages, options);

  pages.on('GET', ['/decisions', '/decisions/'], async (context) => {
    const { user, translator } = context.var;
    const changes = await visibleChanges(user, options);
    const filterBy = (name: string) => context.req.query(name);
    const { isSandbox = false } = options;
    const list = { changes, accountsAreNamed: accounts.areNamed, isSandbox, filterBy, now: now() };
    return context.html(listPage(user, list, translator));
  });
  // `/*` also matches the path without a slash at its end.
  pages.use(`${changePath}/*`, async (context, next) => {
    const change = await readPlans(() => options.store.find(context.req.param('id') ?? ''), options);
    // Missing and invisible changes get the same answer, so that nobody learns which changes others have.
    if (change === undefined || !isVisible(change, context.var.user, accounts)) {
      const why = words(
        'It has expired, was never there, or is for somebody else. If it was decided, the journal has its outcome.',
      );
      return context.html(problemPage(words('No such plan'), why, context.var.translator), 404);
    }
    context.set('change', change);
    return next();
  });
  addChangeRoutes(pages, options);

  return (request: IncomingMessage, response: ServerResponse): Promise<void> =>
    servePages(pages, publicUrl, request, response);
}

/**
 * Answers a request of Node's server with a Hono app.
 * @param publicUrl the address of the server, whose path stands in front of the pages' own in links and redirects
 * @throws HttpError
 */
async function servePages(
  pages: Pages,
  publicUrl: string,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const { method = '', url = '' } = incoming;
  if (!['GET', 'HEAD', 'POST'].includes(method)) throw notFound();
  // Handlers read the body from `incoming`, with limits on its size.
  const request = new Request(new URL(url, publicUrl), { method, headers: webHeaders(incoming) });
  const response = await pages.fetch(request, { incoming, outgoing });
  const headers = new Headers(response.headers);
  const above = new URL(publicUrl).pathname.replace(/\/$/, '');
  const location = headers.get('location');
  if (location?.startsWith('/')) headers.set('location', above + location);
  // Templates escape quotation marks, so no other text looks like a link.
  const html = (await response.text()).replaceAll(/ (href|action)="(?=\/decisions)/g, (link) => link + above);
  const body = Buffer.from(html);
  // Hono's answer to HEAD has no body.
  if (method !== 'HEAD') headers.set('content-length', String(body.length));
  outgoing.writeHead(response.status, [...headers].flat());
  outgoing.end(body);
}

/** Sets security headers. `policy` is the CSP without `frame-ancestors`. */
const pageHeaders = (policy: Readonly<Record<string, string[]>>, frameAncestors: "'none'" | "'self'") =>
  secureHeaders({
    contentSecurityPolicy: { ...policy, frameAncestors: [frameAncestors] },
    // `true` allows framing by the same origin.
    xFrameOptions: frameAncestors === "'none'" ? 'DENY' : true,
    // Not `no-referrer`, with which browsers send forms without an origin.
    referrerPolicy: 'same-origin',
    strictTransportSecurity: false,
    overwrite: false,
  });

/** For a view, which only our page may frame. */
const viewHeaders = pageHeaders({ sandbox: ['allow-scripts'] }, "'self'");

/** For all other pages, whose HTML limits the scripts. */
const hostHeaders = pageHeaders({}, "'none'");

/** Adds the routes to sign in and out. The routes after them have a `user`. */
function addSignIn(pages: Pages, { signIn, now, log }: DecisionsOptions): void {
  if (signIn === undefined) {
    pages.use(async (context, next) => {
      context.set('user', { person: undefined, mayApprove: false, scopes: [] });
      await next();
    });
    return;
  }

  const { way, stateKeys } = signIn;
  const cookie = createSessionCookie(stateKeys, now);
  const readForm = createFormReader();
  const logRefusal = createLimitedLog(now, log, 'sign-in refused');
  const signInAt = ({ translator }: PageEnv['Variables'], changeId: string | undefined, problem?: SafeText) =>
    signInPage(way.form(changeId === undefined ? '' : `?change=${changeId}`, translator), translator, problem);

  pages.route(
    '/',
    way.routes({
      stateKeys,
      readForm,
      refuse(context, text, logReason, changeId) {
        logRefusal(context.env.incoming, logReason);
        return context.html(signInAt(context.var, changeId, text), 401);
      },
      refuseForNow(context, missing, logReason) {
        logRefusal(context.env.incoming, logReason);
        throw new NotNow('sign-in', missing, words('Try again in a few seconds.'), 5);
      },
      admit(context, signedIn, changeId) {
        cookie.write(context, { ...signedIn, csrf: randomBytes(16).toString('base64url') });
        log('info', 'sign-in', { person: signedIn.person });
        return context.redirect(changeId === undefined ? '/decisions' : `/decisions/${changeId}/`, 303);
      },
    }),
  );
  pages.get('/decisions/sign-in', (context) => context.html(signInAt(context.var, changeInQuery(context))));

  pages.use(async (context, next) => {
    const session = cookie.read(context);
    // The person's rights may have changed since the sign-in.
    const user = session && (await way.renew(session));
    if (user !== undefined) {
      context.set('user', user);
      return next();
    }
    // A POST comes from the script around the view, which cannot show another page.
    if (context.req.method === 'POST') throw new HttpError(401, 'session', 'Sign in again.');
    cookie.clear(context);
    const [, changeId] = /^\/decisions\/([\w-]{22})(?:\/|$)/.exec(context.req.path) ?? [];
    return context.redirect(`/decisions/sign-in${changeId === undefined ? '' : `?change=${changeId}`}`, 303);
  });
  pages.post('/decisions/sign-out', async (context) => {
    const form = await readForm(context.env.incoming);
    checkProof(context.var.user, form.get('csrf') ?? '');
    cookie.clear(context);
    return context.redirect('/decisions', 303);
  });
}

/** The changes that a person may see: decided ones, the oldest first, and then those that wait. */
async function visibleChanges(user: PageUser, options: DecisionsOptions): Promise<readonly Change[]> {
  const { store, accounts } = options;
  return readPlans(async () => {
    const newest = await store.newest({ limit: 200 });
    // The waiting changes are read later, so that no change is among both.
    const waiting = await store.waiting({});
    const all = [...newest.filter(({ state }) => state !== 'waiting').reverse(), ...waiting];
    return all.filter((change) => isVisible(change, user, accounts));
  }, options);
}

/** @throws NotNow */
const readPlans = <Result>(read: () => Promise<Result>, { log }: DecisionsOptions): Promise<Result> =>
  read().catch((error: unknown) => {
    log('error', 'journal', { error: reasonOf(error) });
    const advice = words('They and their outcomes are kept. Load this page again in a few seconds.');
    throw new NotNow('journal', words('the plans cannot be read now'), advice, 2);
  });

/** Adds the page of a change, and its requests, after the change is found. */
function addChangeRoutes(pages: Pages, options: DecisionsOptions): void {
  const { accounts } = options;
  const readBody = createBodyReader(maximumBody, 16 * maximumBody);

  pages.get(changePath, (context) => context.redirect(`/decisions/${context.var.change.id}/`, 303));
  pages.get(`${changePath}/`, async (context) => {
    const { user, change, translator } = context.var;
    const reason = reasonAgainst(change, user, accounts);
    if (reason !== undefined && change.state === 'waiting')
      return context.html(problemPage(words('You cannot decide on this change'), reason, translator), 403);
    const html = translator.inHtml(await readView('page'));
    const proof = `<meta name="csrf-token" content="${user.csrf ?? ''}">`;
    return context.html(
      html
        .replace('<meta name="viewport"', (tag) => proof + tag)
        .replace('<body>', (tag) => `${tag}${pageTop(user, translator)}`),
    );
  });

  pages.post(`${changePath}/*`, async (context, next) => {
    checkIsJson(context.env.incoming);
    checkProof(context.var.user, context.req.header('x-csrf-token'));
    await next();
  });
  pages.post(`${changePath}/call`, async (context) => {
    const { user, change, translator } = context.var;
    const visible = await visibleChanges(user, options);
    const result = shownChange({ ...options, ...context.var }, visible);
    return context.json({ note: translator.translate(noteOf(change)), result });
  });
  pages.post(`${changePath}/tool`, async (context) => {
    const { user, change } = context.var;
    const click = readClick(parseJson(String(await readBody(context.env.incoming))));
    if (click?.ticket !== change.id) throw new HttpError(400, 'decision', 'This is not a decision on the plan.');
    const { decision, ...typed } = click;
    const viewing = { ...options, ...context.var };
    if (decision !== 'look') return context.json(await answerClick(viewing, { ...typed, decision }));
    const visible = await visibleChanges(user, options);
    const otherWaits = visible.some(
      (other) => other.id !== change.id && other.state === 'waiting' && !reasonAgainst(other, user, accounts),
    );
    return context.json({ ...shownChange(viewing, visible), otherWaits });
  });
}

const changePath = '/decisions/:id{[\\w-]{22}}';

/** Closes the oldest connection if there are too many, because a slow form is an attack. */
function createFormReader(): Reception['readForm'] {
  // In bytes. Low, because people who are not signed in can send forms.
  const readBody = createBodyReader(8 * 1024, Number.POSITIVE_INFINITY);
  const receiving = new Set<IncomingMessage>();
  return async (request) => {
    const [oldest] = receiving;
    if (oldest !== undefined && receiving.size >= 64) {
      receiving.delete(oldest);
      oldest.destroy();
    }
    receiving.add(request);
    const body = await readBody(request).finally(() => receiving.delete(request));
    return new URLSearchParams(String(body));
  };
}
