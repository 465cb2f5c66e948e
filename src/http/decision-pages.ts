import { createHash } from 'node:crypto';
import { html, raw } from 'hono/html';
import { quoted, type SafeText, shortNames, words } from '../util/safe-text.js';
import type { DecisionSession } from './decision-session.js';
import { type Html, pageHeaders } from './pages.js';

/** This file has the HTML, style and headers that all pages for decisions share, and the script of `decision-list.ts`. */

const style = `
:root {
  color-scheme: light dark;
  --text: light-dark(#1b1f24, #e8eaed); --quiet: light-dark(#525a65, #aab2bd); --page: light-dark(#fff, #1e2126);
  --raised: light-dark(#f3f5f7, #2a2e35); --line: light-dark(#767f8b, #8b94a1); --link: light-dark(#0b57d0, #8ab4f8);
  --good: light-dark(#0b6b36, #6fd08c); --bad: light-dark(#b3261e, #ff9d94); --caution: light-dark(#8a4b00, #f5b94e);
  --sandbox: light-dark(#6b3fa0, #c9a6f5);
}
* { box-sizing: border-box }
body { background: var(--page); color: var(--text); font: 15px/1.45 system-ui, sans-serif; margin: 0 auto; max-width: 860px; overflow-wrap: anywhere; padding: 16px }
h1 { font-size: 1.4em; margin: 0 0 12px }
h2 { font-size: 1.1em; margin: 24px 0 8px }
ul { list-style: none; margin: 0; padding: 0 }
a { color: var(--link) }
p { margin: 8px 0 }
.quiet, small { color: var(--quiet); font-size: .93em }
label { display: block; margin-bottom: 4px }
input, select { background: var(--page); border: 1px solid var(--line); border-radius: 6px; color: var(--text); font: inherit; max-width: 100%; min-height: 36px; padding: 6px 8px }
input { width: 28em }
button, .button { background: light-dark(#0b57d0, #8ab4f8); border: 1px solid transparent; border-radius: 6px; color: light-dark(#fff, #0d1b33); cursor: pointer; display: inline-block; font: inherit; font-weight: 600; margin-top: 12px; min-height: 36px; padding: 6px 16px; text-decoration: none }
nav { display: flex; gap: 16px }
header { align-items: center; display: flex; flex-wrap: wrap; gap: 4px 16px; margin-bottom: 16px }
header div { align-items: baseline; display: flex; gap: 12px; margin-left: auto }
header button { background: none; color: var(--link); font-weight: 400; margin: 0; min-height: 24px; padding: 0; text-decoration: underline }
[role=alert] { border: 1px solid; border-left-width: 4px; border-radius: 6px; color: var(--bad); padding: 8px 12px }
.sandbox { background: color-mix(in srgb, var(--sandbox) 14%, var(--page)); border: 1px dashed var(--sandbox); border-radius: 6px; font-weight: 600; padding: 4px 10px }
.filter { align-items: end; background: var(--raised); border-radius: 6px; display: flex; flex-wrap: wrap; gap: 8px; padding: 8px 12px }
.filter div { flex: 1 1 100px; max-width: 20em; min-width: 0 }
.filter select { width: 100% }
.filter button { margin: 0 }
.plan { border-top: 1px solid var(--line); padding: 8px 2px; position: relative }
.plan > a { color: var(--text); font-weight: 500; text-decoration: none }
.plan:hover > a { text-decoration: underline }
.plan > a::after { content: ""; inset: 0; position: absolute }
.plan:hover { background: var(--raised) }
.facts { align-items: baseline; display: flex; flex-wrap: wrap; gap: 4px 8px; margin: 4px 0 0 }
.facts span { border: 1px solid; border-radius: 999px; font-size: .87em; font-weight: 600; padding: 0 9px }
.facts .account { border-color: var(--line); font-weight: 400 }
.facts .accepted { color: var(--good) }
.facts .cost, .facts .unknown { color: var(--caution) }
.facts .one-way, .facts .rejected { color: var(--bad) }
.facts .in-sandbox { color: var(--sandbox) }
time { position: relative; z-index: 1 }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px }
@media (forced-colors: active) { button, .button { background: ButtonFace; color: ButtonText } }
`;

/**
 * The script of the list. It converts the exact times from UTC to the reader's time zone. While the page is visible, it loads the list again
 * every ten seconds, so that new plans appear. The keyboard focus stays on the same plan.
 */
export const listScript = `
const showLocalTimes = () => {
  for (const time of document.querySelectorAll('time'))
    time.title = new Date(time.dateTime).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'long' });
};
const listIn = (page) => page.getElementById('plans');
const linksIn = (list) => [...list.querySelectorAll('.waiting a')].map((link) => link.getAttribute('href'));
const news = document.getElementById('news');
// The list as the server sent it, without local times.
let shownHtml = listIn(document).innerHTML;
let isReading = false;
showLocalTimes();
const show = (newPage) => {
  const [oldList, newList] = [listIn(document), listIn(newPage)];
  if (newList.innerHTML === shownHtml) return;
  const oldLinks = linksIn(oldList);
  const added = linksIn(newList).filter((link) => !oldLinks.includes(link)).length;
  const focusedLink = document.activeElement?.closest('.plan a')?.getAttribute('href');
  shownHtml = newList.innerHTML;
  oldList.replaceWith(newList);
  showLocalTimes();
  document.title = newPage.title;
  if (added > 0) news.textContent = added === 1 ? 'A new change waits.' : added + ' new changes wait.';
  if (focusedLink) newList.querySelector('a[href="' + focusedLink + '"]')?.focus({ preventScroll: true });
};
const refresh = async () => {
  const answer = await fetch(location.href);
  // The session has ended.
  if (answer.redirected) return location.reload();
  if (!answer.ok) throw new Error(answer.status);
  if (news.textContent === lost) news.textContent = '';
  show(new DOMParser().parseFromString(await answer.text(), 'text/html'));
};
const lost = 'The server does not answer. This list may be out of date.';
const refreshIfVisible = async () => {
  if (document.hidden || isReading) return;
  isReading = true;
  await refresh().catch(() => { news.textContent = lost; });
  isReading = false;
};
setInterval(refreshIfVisible, 10000);
document.addEventListener('visibilitychange', refreshIfVisible);
`;

const hashOf = (source: string) => `'sha256-${createHash('sha256').update(source).digest('base64')}'`;

/** The headers of our pages. They allow only our own style and script, allow the script to load the list, and forbid framing. */
export const decisionPageHeaders = pageHeaders(
  {
    defaultSrc: ["'none'"],
    styleSrc: [hashOf(style)],
    scriptSrc: [hashOf(listScript)],
    connectSrc: ["'self'"],
    formAction: ["'self'"],
    baseUri: ["'none'"],
  },
  "'none'",
  'same-origin',
);

/** A whole HTML page with our style. `title` is the title of the browser tab. */
export const decisionPage = (title: SafeText, body: Html): Html =>
  html`<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title><style>${raw(style)}</style></head><body>${body}</body></html>`;

/** The name of a person, a caller or an account. `<bdi>` isolates it, because a name from outside may be in a right-to-left script. */
export const nameHtml = (name: string): Html => html`<bdi>${shortNames(quoted(name, 100))}</bdi>`;

/** The top of a page for a signed-in person: links to other pages, the person's name, and a button to sign out. */
export const pageTop = ({ person, csrf }: DecisionSession, links: Html | '' = ''): Html =>
  html`<header>${links}<div><span>Signed in as ${nameHtml(person)}</span><form method="post" action="/decisions/sign-out"><input type="hidden" name="csrf" value="${csrf}"><button>Sign out</button></form></div></header>`;

/** The links on the page of one change. The next one is found only when its link is followed, because changes come and go. */
export const changeLinks = (id: string): Html =>
  html`<nav><a href="/decisions">All changes</a> <a href="/decisions/${id}/next">Next change</a></nav>`;

/** The sign-in page. `form` is the form or the link with which people sign in, and `problem` tells why the last attempt failed. */
export const signInPage = (form: Html, problem?: SafeText): Html =>
  decisionPage(
    words('Sign in'),
    html`<main><h1>Decisions on changes</h1><p>Sign in to see the changes that wait for you, and to decide on them.</p>${problem !== undefined && html`<p role="alert">${problem}</p>`}${form}</main>`,
  );

export const problemPage = (title: SafeText, text: SafeText): Html =>
  decisionPage(title, html`<main><h1>${title}</h1><p>${text}</p><p><a href="/decisions">All changes</a></p></main>`);
