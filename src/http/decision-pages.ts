import { html } from 'hono/html';
import { readView } from '../mcp/views/view-of-tool.js';
import { quoted, type SafeText, shortNames, words } from '../util/safe-text.js';
import type { DecisionSession } from './decision-session.js';
import type { Html } from './pages.js';

/** The HTML that all pages for decisions share. Its style and script are in `ui/list`. */

/** A whole HTML page with the style and the script of the list. */
export async function decisionPage(title: SafeText, body: Html): Promise<string> {
  const [template, titleHtml, bodyHtml] = await Promise.all([readView('list'), html`<title>${title}</title>`, body]);
  return template.replace('<title></title>', () => String(titleHtml)).replace('<body>', () => `<body>${bodyHtml}`);
}

/** The name of a person, caller or account. `<bdi>` isolates right-to-left names. */
export const nameHtml = (name: string): Html => html`<bdi>${shortNames(quoted(name, 100))}</bdi>`;

/** The top of a page for a signed-in person. */
export const pageTop = ({ person, csrf }: DecisionSession, links: Html | '' = ''): Html =>
  html`<header>${links}<div><span>Signed in as ${nameHtml(person)}</span><form method="post" action="/decisions/sign-out"><input type="hidden" name="csrf" value="${csrf}"><button>Sign out</button></form></div></header>`;

/** The next change is found when its link is followed, because changes come and go. */
export const changeLinks = (id: string): Html =>
  html`<nav><a href="/decisions">All changes</a> <a href="/decisions/${id}/next">Next change</a></nav>`;

export const signInPage = (form: Html, problem?: SafeText): Promise<string> =>
  decisionPage(
    words('Sign in'),
    html`<main><h1>Decisions on changes</h1><p>Sign in to see the changes that wait for you, and to decide on them.</p>${problem !== undefined && html`<p role="alert">${problem}</p>`}${form}</main>`,
  );

export const problemPage = (title: SafeText, text: SafeText): Promise<string> =>
  decisionPage(title, html`<main><h1>${title}</h1><p>${text}</p><p><a href="/decisions">All changes</a></p></main>`);
