import { createHash } from 'node:crypto';
import { html, raw } from 'hono/html';
import type { FoundPlan } from '../consent/plans.js';
import { textAt } from '../util/objects.js';
import { quoted, type SafeText } from '../util/safe-text.js';
import type { DecisionSession } from './decision-session.js';
import { type Html, pageHeaders } from './pages.js';

/** The HTML of the pages around the decisions. Their only script formats times. */

const style = `:root{color-scheme:light dark;--text:light-dark(#1b1f24,#e8eaed);--quiet:light-dark(#525a65,#aab2bd);--page:light-dark(#fff,#1e2126);--line:light-dark(#767f8b,#8b94a1);--link:light-dark(#0b57d0,#8ab4f8)}
*{box-sizing:border-box}body{background:var(--page);color:var(--text);font:15px/1.5 system-ui,sans-serif;margin:0 auto;max-width:760px;overflow-wrap:anywhere;padding:16px}
h1{font-size:1.4em;margin:0 0 12px}h2{font-size:1.1em;margin:24px 0 8px}ul{list-style:none;margin:0;padding:0}li{border-top:1px solid var(--line);padding:10px 0}a{color:var(--link)}
small{color:var(--quiet);display:block;font-size:.9em}label{display:block;margin-bottom:4px}input{font:inherit;max-width:100%;padding:6px 8px;width:28em}
button,.button{background:light-dark(#0b57d0,#8ab4f8);border:0;border-radius:6px;color:light-dark(#fff,#0d1b33);cursor:pointer;display:inline-block;font:inherit;font-weight:600;margin-top:12px;padding:8px 16px;text-decoration:none}
header{align-items:baseline;display:flex;flex-wrap:wrap;gap:4px 16px;justify-content:space-between;margin-bottom:16px}header form{display:inline}header button{background:none;color:var(--link);font-weight:400;margin:0;padding:0;text-decoration:underline}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}`;

/** Shows times in the reader's time zone. Without the script, they are in UTC. */
const script = `for(const time of document.querySelectorAll('time'))time.textContent=new Date(time.dateTime).toLocaleString(undefined,{dateStyle:'medium',timeStyle:'long'})`;

const hashOf = (source: string) => `'sha256-${createHash('sha256').update(source).digest('base64')}'`;

/** Allows only our own style and script, and forbids framing. */
export const decisionPageHeaders = pageHeaders(
  {
    defaultSrc: ["'none'"],
    styleSrc: [hashOf(style)],
    scriptSrc: [hashOf(script)],
    formAction: ["'self'"],
    baseUri: ["'none'"],
  },
  "'none'",
  'same-origin',
);

const page = (title: SafeText, body: Html): Html =>
  html`<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title><style>${raw(style)}</style></head><body>${body}</body></html>`;

/** The name of a person, a caller or an account. It may come from outside. */
const nameOf = (name: string) => quoted(name, 100);

/** @param form the form or the link with which people sign in */
export const signInPage = (title: SafeText, form: Html, problem: SafeText | undefined): Html =>
  page(
    title,
    html`<main><h1>Decisions on changes</h1>${problem !== undefined && html`<p role="alert">${problem}</p>`}${form}</main>`,
  );

export const problemPage = (title: SafeText, text: SafeText): Html =>
  page(title, html`<main><h1>${title}</h1><p>${text}</p><p><a href="/decisions">All changes</a></p></main>`);

/**
 * Lists the changes that wait, and those that were decided recently.
 * @param areNamed true if accounts have names, so that each change has an account
 */
export function listPage(
  title: SafeText,
  { person, csrf }: DecisionSession,
  plans: readonly FoundPlan[],
  areNamed: boolean,
): Html {
  const itemOf = (plan: FoundPlan) => item(plan, areNamed ? textAt(plan.args, 'account') : undefined);
  const waiting = plans.filter(({ state }) => state === 'waiting').map(itemOf);
  const decided = plans.filter(({ state }) => state === 'decided').map(itemOf);
  const signOut = html`<form method="post" action="/decisions/sign-out"><input type="hidden" name="csrf" value="${csrf}"><button>Sign out</button></form>`;
  const waitingList = waiting.length === 0 ? html`<p>No change waits for a decision.</p>` : html`<ul>${waiting}</ul>`;
  const decidedList = decided.length > 0 && html`<h2>Recently decided</h2><ul>${decided.reverse()}</ul>`;
  return page(
    title,
    html`<header><span>Signed in as ${nameOf(person)}</span>${signOut}</header><main><h1>Decisions on changes</h1><h2>Waiting</h2>${waitingList}${decidedList}</main><script>${raw(script)}</script>`,
  );
}

function item(plan: FoundPlan, account: string | undefined): Html {
  const { nonce, caller, decision, issuedAt, expiresAt, state, outcome } = plan;
  const inAccount = account && html` in account ${nameOf(account)}`;
  const byCaller = caller !== undefined && html` by ${nameOf(caller)}`;
  const status = state === 'waiting' ? html`waits until ${timeOf(expiresAt)}` : statusOf(outcome);
  const byPerson = decision?.person !== undefined && html`, decided by ${nameOf(decision.person)}`;
  return html`<li><a href="/decisions/${nonce}/">${plan.plan.summary}</a><small>Asked for${inAccount}${byCaller} at ${timeOf(issuedAt)}; ${status}${byPerson}</small></li>`;
}

function timeOf(time: number): Html {
  const iso = new Date(time).toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 16).replace('T', ' ')} UTC</time>`;
}

function statusOf(outcome: FoundPlan['outcome']): string {
  if (outcome === undefined) return 'under way';
  if (outcome.kind === 'succeeded') return 'accepted';
  const { mayHaveHappened, status, code } = outcome.failure;
  if (mayHaveHappened === true) return 'outcome unknown';
  if (status !== undefined) return 'rejected by the cloud';
  return code === 'Declined' || code === 'Withdrawn' ? code.toLowerCase() : 'not sent';
}
