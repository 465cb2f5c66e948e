import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { FoundPlan } from '../consent/plans.js';
import { textAt } from '../util/objects.js';
import { quoted, type Shown, say } from '../util/safe-text.js';
import type { DecisionSession } from './decision-session.js';

/** The pages around the decisions, as HTML. Their one script only writes times. */

const style = `:root{color-scheme:light dark;--text:light-dark(#1b1f24,#e8eaed);--quiet:light-dark(#525a65,#aab2bd);--page:light-dark(#fff,#1e2126);--line:light-dark(#767f8b,#8b94a1);--link:light-dark(#0b57d0,#8ab4f8)}
*{box-sizing:border-box}body{background:var(--page);color:var(--text);font:15px/1.5 system-ui,sans-serif;margin:0 auto;max-width:760px;overflow-wrap:anywhere;padding:16px}
h1{font-size:1.4em;margin:0 0 12px}h2{font-size:1.1em;margin:24px 0 8px}ul{list-style:none;margin:0;padding:0}li{border-top:1px solid var(--line);padding:10px 0}a{color:var(--link)}
small{color:var(--quiet);display:block;font-size:.9em}label{display:block;margin-bottom:4px}input{font:inherit;max-width:100%;padding:6px 8px;width:28em}
button,.button{background:light-dark(#0b57d0,#8ab4f8);border:0;border-radius:6px;color:light-dark(#fff,#0d1b33);cursor:pointer;display:inline-block;font:inherit;font-weight:600;margin-top:12px;padding:8px 16px;text-decoration:none}
header{align-items:baseline;display:flex;flex-wrap:wrap;gap:4px 16px;justify-content:space-between;margin-bottom:16px}header form{display:inline}header button{background:none;color:var(--link);font-weight:400;margin:0;padding:0;text-decoration:underline}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}`;

/** Times as the clock of whoever reads them shows them. Without it, they are in UTC. */
const script = `for(const one of document.querySelectorAll('time'))one.textContent=new Date(one.dateTime).toLocaleString(undefined,{dateStyle:'medium',timeStyle:'long'})`;

const hashOf = (source: string) => `'sha256-${createHash('sha256').update(source).digest('base64')}'`;

/** Nothing but the style and the script is let in; nobody frames the page or keeps it. */
const headers = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src ${hashOf(style)}; script-src ${hashOf(script)}; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  'cache-control': 'no-store',
  // With no-referrer, browsers would send forms without their origin.
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
};

const escaped = (text: Shown) => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** The name of a person, a caller or an account, as it may come from outside. */
const nameOf = (name: string) => escaped(say`${quoted(name, 100)}`);

export function sendHtml(
  response: ServerResponse,
  status: number,
  title: Shown,
  body: string,
  more: Readonly<Record<string, string | readonly string[]>> = {},
): void {
  const text = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${escaped(title)}</title><style>${style}</style></head><body>${body}</body></html>`;
  response.writeHead(status, { ...headers, ...more });
  response.end(text);
}

export const signInPage = (kind: 'token' | 'issuer', nonce: string | undefined, problem?: Shown): string => {
  const query = nonce === undefined ? '' : `?plan=${nonce}`;
  const said = problem === undefined ? '' : `<p role="alert">${escaped(problem)}</p>`;
  const way =
    kind === 'issuer'
      ? `<a class="button" href="/decisions/start${query}">Sign in</a>`
      : `<form method="post" action="/decisions/sign-in${query}"><label for="token">Token with the scope cloudops:approve</label><input id="token" name="token" type="password" autocomplete="current-password" required><br><button>Sign in</button></form>`;
  return `<main><h1>Decisions on changes</h1>${said}${way}</main>`;
};

export const problemPage = (title: Shown, text: Shown): string =>
  `<main><h1>${escaped(title)}</h1><p>${escaped(text)}</p><p><a href="/decisions">All changes</a></p></main>`;

/**
 * The changes that wait, and those that were decided lately.
 * @param areNamed true if accounts have names, of which each change then has one
 */
export function listPage({ person, csrf }: DecisionSession, plans: readonly FoundPlan[], areNamed: boolean): string {
  const itemOf = (plan: FoundPlan) => item(plan, areNamed && textAt(plan.args, 'account'));
  const waiting = plans.filter(({ state }) => state === 'waiting');
  const decided = plans.filter(({ state }) => state === 'decided').reverse();
  return `<header><span>Signed in as ${nameOf(person)}</span><form method="post" action="/decisions/sign-out"><input type="hidden" name="csrf" value="${csrf}"><button>Sign out</button></form></header><main><h1>Decisions on changes</h1><h2>Waiting</h2>${
    waiting.length === 0 ? '<p>No change waits for a decision.</p>' : `<ul>${waiting.map(itemOf).join('')}</ul>`
  }${decided.length === 0 ? '' : `<h2>Decided lately</h2><ul>${decided.map(itemOf).join('')}</ul>`}</main><script>${script}</script>`;
}

function at(time: number): string {
  const iso = new Date(time).toISOString();
  return `<time datetime="${iso}">${iso.slice(0, 16).replace('T', ' ')} UTC</time>`;
}

function item(found: FoundPlan, account: string | false | undefined): string {
  const { nonce, plan, caller, approver, issuedAt, expiresAt, state, outcome } = found;
  const where = account ? ` in account ${nameOf(account)}` : '';
  const by = caller === undefined ? '' : ` by ${nameOf(caller)}`;
  const end = state === 'waiting' ? `waits until ${at(expiresAt)}` : endOf(outcome);
  const who = approver === undefined ? '' : `, decided by ${nameOf(approver)}`;
  return `<li><a href="/decisions/${nonce}/">${escaped(plan.summary)}</a><small>Asked for${where}${by} at ${at(issuedAt)}; ${end}${who}</small></li>`;
}

function endOf(outcome: FoundPlan['outcome']): string {
  if (outcome === undefined) return 'under way';
  if (outcome.kind === 'succeeded') return 'accepted';
  const { mayHaveHappened, status, code } = outcome.failure;
  if (mayHaveHappened === true) return 'outcome unknown';
  if (status !== undefined) return 'rejected by the cloud';
  return code === 'Declined' || code === 'Withdrawn' ? code.toLowerCase() : 'not sent';
}
