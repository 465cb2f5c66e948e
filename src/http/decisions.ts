import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FoundPlan } from '../consent/plans.js';
import { readView } from '../mcp/views/view-of-tool.js';
import type { Log } from '../util/log.js';
import { words } from '../util/safe-text.js';
import {
  accountOfPlan,
  answerClick,
  noteOf,
  type PlanDeciding,
  readClick,
  reasonAgainst,
  shownPlan,
} from './decide-on-plan.js';
import { listPage, problemPage, sendHtml, signInPage } from './decision-pages.js';
import { createDecisionSessions, type DecisionSession, isOwnPage } from './decision-session.js';
import { createBodyReader, HttpError, sendJson } from './http-helpers.js';
import { createFailedLogins } from './limits-by-address.js';
import type { SignIn } from './sign-in.js';

export interface DecisionsOptions extends PlanDeciding {
  /** The origin under which people reach this server. */
  readonly publicUrl: string;
  readonly signIn: SignIn;
  readonly log: Log;
}

const maximumBody = 64 * 1024;
/** Of a form. Strangers send them too, and theirs take nothing from the bodies of people who are signed in. */
const maximumForm = 8 * 1024;
/** So many are received at a time. One more ends the oldest: a person's comes at once, and all of a proxy have the same address. */
const mostForms = 64;

/** True for the paths of the page for decisions. */
export const isDecisionsPath = (path: string) => path === '/decisions' || path.startsWith('/decisions/');

/**
 * Serves the page on which people decide on changes. Everything but the sign-in needs a session; what changes something needs in
 * addition our origin and the session's proof that the request comes from a page of ours. It throws an HttpError for what is not served.
 */
export function createDecisions(options: DecisionsOptions) {
  const { publicUrl, signIn, plans, accounts, stateKeys, now, log } = options;
  const sessions = createDecisionSessions(stateKeys, now);
  const readBody = createBodyReader(maximumBody, 16 * maximumBody);
  const readForm = createBodyReader(maximumForm, Number.POSITIVE_INFINITY);
  const forms = new Set<IncomingMessage>();
  const formOf = async (request: IncomingMessage): Promise<URLSearchParams> => {
    const [oldest] = forms;
    if (oldest !== undefined && forms.size >= mostForms) {
      forms.delete(oldest);
      oldest.destroy();
    }
    forms.add(request);
    return new URLSearchParams(String(await readForm(request).finally(() => forms.delete(request))));
  };
  const onRefused = createFailedLogins(now, log, 'sign-in refused');

  /** The person, if the session still holds: a token is looked up again. */
  const sessionOf = async (request: IncomingMessage): Promise<DecisionSession | undefined> => {
    const session = sessions.session(request);
    // A session of the other way, from before the configuration was changed, is none.
    if ((session?.token === undefined) === (signIn.kind === 'token')) return undefined;
    if (session?.token === undefined || signIn.kind !== 'token') return session;
    const again = await signIn.check(session.token);
    return again?.person === session.person ? { ...session, ...again } : undefined;
  };
  const checkOrigin = ({ headers: { origin } }: IncomingMessage) => {
    if (origin !== publicUrl) throw new HttpError(403, 'origin', 'The request comes from another site.');
  };
  const isVisible = (plan: FoundPlan, session: DecisionSession) =>
    (session.mayApprove || plan.caller === session.person) && accountOfPlan(plan, session, accounts) !== undefined;

  const signOut = async (request: IncomingMessage, response: ServerResponse, session: DecisionSession) => {
    checkOrigin(request);
    const csrf = (await formOf(request)).get('csrf') ?? undefined;
    if (!isOwnPage(session, csrf)) throw new HttpError(403, 'csrf', 'The request comes from another page.');
    redirect(response, '/decisions', [sessions.clear('session')]);
  };

  const showList = async (response: ServerResponse, session: DecisionSession) => {
    const visible = (await plans.list()).filter((plan) => isVisible(plan, session));
    sendHtml(response, 200, words('Decisions on changes'), listPage(session, visible, accounts.areNamed));
  };

  const serveSignIn = async (request: IncomingMessage, response: ServerResponse, nonce: string | undefined) => {
    if (signIn.kind !== 'token' || request.method !== 'POST')
      return sendHtml(response, 200, words('Sign in'), signInPage(signIn.kind, nonce));
    checkOrigin(request);
    const token = (await formOf(request)).get('token') ?? '';
    const person = await signIn.check(token);
    if (person === undefined) {
      onRefused(request, 'token');
      return sendHtml(
        response,
        401,
        words('Sign in'),
        signInPage('token', nonce, words('This token cannot decide here.')),
      );
    }
    const session = sessions.newSession({ ...person, token, expiresAt: signIn.expiry() });
    log('info', 'sign-in', { person: person.person });
    redirect(response, placeOf(nonce), [sessions.sessionCookie(session)]);
  };

  const startAtIssuer = async (request: IncomingMessage, response: ServerResponse, nonce: string | undefined) => {
    if (signIn.kind !== 'issuer') throw notHere();
    const begun = await signIn.start();
    if ('refused' in begun) {
      onRefused(request, begun.refused);
      return sendHtml(
        response,
        503,
        words('Sign in'),
        signInPage('issuer', nonce, words('The issuer does not answer now.')),
      );
    }
    const { url, state, verifier } = begun;
    const expiresAt = now().getTime() + 10 * 60_000;
    redirect(response, url, [sessions.signInCookie({ state, verifier, nonce, expiresAt })]);
  };

  const finishAtIssuer = async (request: IncomingMessage, response: ServerResponse) => {
    const begun = sessions.signIn(request);
    if (signIn.kind !== 'issuer' || begun === undefined) throw notHere();
    const person = await signIn.finish(new URL(request.url ?? '', publicUrl), begun);
    const cookies = [sessions.clear('signIn')];
    if ('refused' in person) {
      onRefused(request, person.refused);
      const page = signInPage('issuer', begun.nonce, words('Signing in did not work, or you may not decide here.'));
      return sendHtml(response, 401, words('Sign in'), page, { 'set-cookie': cookies });
    }
    log('info', 'sign-in', { person: person.person });
    redirect(response, placeOf(begun.nonce), [...cookies, sessions.sessionCookie(sessions.newSession(person))]);
  };

  const checkOwnPage = (request: IncomingMessage, session: DecisionSession) => {
    checkOrigin(request);
    if (request.headers['content-type'] !== 'application/json')
      throw new HttpError(415, 'content type', 'The content type must be application/json.');
    if (!isOwnPage(session, request.headers['x-csrf-token']?.toString()))
      throw new HttpError(403, 'csrf', 'The request comes from another page.');
  };

  /** The page of one plan: a host with the change view, its data, and the decision. */
  const servePlan = async (
    request: IncomingMessage,
    response: ServerResponse,
    session: DecisionSession,
    plan: FoundPlan,
    part: string,
  ) => {
    const reason = reasonAgainst(plan, session, accounts);
    const route = `${request.method} ${part}`;
    if (route === 'GET ' && reason !== undefined && plan.state === 'waiting')
      return sendHtml(
        response,
        403,
        words('You cannot decide on this change'),
        problemPage(words('You cannot decide on this change'), reason),
      );
    if (route === 'GET ') return sendHost(response, await readView('page'), session);
    if (request.method !== 'POST') throw notHere();
    checkOwnPage(request, session);
    if (part === 'call')
      return sendJson(response, 200, { note: noteOf(plan), result: shownPlan(plan, reason === undefined) });
    if (part !== 'tool') throw notHere();
    const given = readClick(jsonOf(await readBody(request)));
    if (given?.nonce !== plan.nonce) throw new HttpError(400, 'decision', 'This is not a decision on the plan.');
    sendJson(response, 200, await answerClick(plan, given.decision, session, options));
  };

  /** Serves what needs no session; undefined if it is none of that. */
  const serveAnybody = (
    request: IncomingMessage,
    response: ServerResponse,
    { first, part, nonce }: Place,
  ): Promise<void> | undefined => {
    // The view has no secret, and its frame no cookies of ours.
    if (request.method === 'GET' && part === 'view' && noncePattern.test(first)) return sendView(response);
    if (first === 'sign-in') return serveSignIn(request, response, nonce);
    switch (`${request.method} ${first}`) {
      case 'GET start':
        return startAtIssuer(request, response, nonce);
      case 'GET callback':
        return finishAtIssuer(request, response);
      default:
        return undefined;
    }
  };

  const servePerson = async (
    request: IncomingMessage,
    response: ServerResponse,
    session: DecisionSession,
    { first, part }: Place,
  ): Promise<void> => {
    const route = `${request.method} ${first}`;
    if (route === 'GET ') return showList(response, session);
    if (route === 'POST sign-out') return signOut(request, response, session);
    if (!noncePattern.test(first)) throw notHere();
    const plan = await plans.find(first);
    if (plan === undefined || !isVisible(plan, session))
      return sendHtml(response, 404, words('No such plan'), problemPage(words('No such plan'), goneText));
    if (part === undefined) return redirect(response, `/decisions/${first}/`);
    return servePlan(request, response, session, plan, part);
  };

  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const place = placeIn(new URL(request.url ?? '', publicUrl));
    const served = serveAnybody(request, response, place);
    if (served !== undefined) return served;
    const session = await sessionOf(request);
    if (session !== undefined) return servePerson(request, response, session, place);
    if (request.method !== 'GET') throw new HttpError(401, 'session', 'Sign in again.');
    const wanted = noncePattern.test(place.first) ? `?plan=${place.first}` : '';
    redirect(response, `/decisions/sign-in${wanted}`, [sessions.clear('session')]);
  };
}

/** The parts of an address below /decisions, and the plan that a sign-in is for. */
interface Place {
  readonly first: string;
  readonly part: string | undefined;
  readonly nonce: string | undefined;
}

function placeIn({ pathname, searchParams }: URL): Place {
  const [, , first = '', part] = pathname.split('/');
  return { first, part, nonce: noncePattern.exec(searchParams.get('plan') ?? '')?.[0] };
}

const noncePattern = /^[0-9a-f]{16}$/;
const placeOf = (nonce: string | undefined) => (nonce === undefined ? '/decisions' : `/decisions/${nonce}/`);
const goneText = words(
  'It has expired, was never there, or is for somebody else. If it was decided, the journal has its outcome.',
);
const notHere = () => new HttpError(404, 'path', 'Nothing is here.');

function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

function redirect(response: ServerResponse, location: string, cookies: readonly string[] = []): void {
  response.writeHead(303, { location, 'cache-control': 'no-store', 'set-cookie': [...cookies] });
  response.end();
}

const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
};

/** The page around the view. What it sends has to carry the proof in its head. */
function sendHost(response: ServerResponse, html: string, { csrf }: DecisionSession): void {
  response.writeHead(200, {
    ...pageHeaders,
    'content-security-policy': "frame-ancestors 'none'",
    'x-frame-options': 'DENY',
    'cross-origin-opener-policy': 'same-origin',
  });
  response.end(
    html.replace('<meta name="viewport"', `<meta name="csrf-token" content="${csrf}"><meta name="viewport"`),
  );
}

/** Sandboxed by header too, in case it is opened outside its frame. */
async function sendView(response: ServerResponse): Promise<void> {
  const html = await readView('change');
  response.writeHead(200, {
    ...pageHeaders,
    'content-security-policy': "sandbox allow-scripts; frame-ancestors 'self'",
  });
  response.end(html);
}
