import { html } from 'hono/html';
import { readView } from '../mcp/views/view-of-tool.js';
import { quoted, type SafeText, shortNames, words } from '../util/safe-text.js';
import type { DecisionSession } from './decision-session.js';
import type { Html } from './pages.js';

/** This file has the HTML that all pages for decisions share. Their style and the script of the list are in `ui/list`. */

/** A whole HTML page with the style and the script of the list. `title` is the title of the browser tab. */
export async function decisionPage(title: SafeText, body: Html): Promise<string> {
  const [template, titleHtml, bodyHtml] = await Promise.all([readView('list'), html`<title>${title}</title>`, body]);
  return template.replace('<title></title>', () => String(titleHtml)).replace('<body>', () => `<body>${bodyHtml}`);
}

/** The name of a person, a caller or an account. `<bdi>` isolates it, because a name from outside may be in a right-to-left script. */
export const nameHtml = (name: string): Html => html`<bdi>${shortNames(quoted(name, 100))}</bdi>`;

/** The top of a page for a signed-in person: links to other pages, the person's name, and a button to sign out. */
export const pageTop = ({ person, csrf }: DecisionSession, links: Html | '' = ''): Html =>
  html`<header>${links}<div><span>Signed in as ${nameHtml(person)}</span><form method="post" action="/decisions/sign-out"><input type="hidden" name="csrf" value="${csrf}"><button>Sign out</button></form></div></header>`;

/** The links on the page of one change. The next one is found only when its link is followed, because changes come and go. */
export const changeLinks = (id: string): Html =>
  html`<nav><a href="/decisions">All changes</a> <a href="/decisions/${id}/next">Next change</a></nav>`;

/** The sign-in page. `form` is the form or the link with which people sign in, and `problem` tells why the last attempt failed. */
export const signInPage = (form: Html, problem?: SafeText): Promise<string> =>
  decisionPage(
    words('Sign in'),
    html`<main><h1>Decisions on changes</h1><p>Sign in to see the changes that wait for you, and to decide on them.</p>${problem !== undefined && html`<p role="alert">${problem}</p>`}${form}</main>`,
  );

export const problemPage = (title: SafeText, text: SafeText): Promise<string> =>
  decisionPage(title, html`<main><h1>${title}</h1><p>${text}</p><p><a href="/decisions">All changes</a></p></main>`);
