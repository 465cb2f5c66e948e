import { html } from 'hono/html';
import type { Risk } from '../calls/outcome.js';
import type { Change, State } from '../changes/change.js';
import { readView } from '../mcp/views/view-of-tool.js';
import { countText, humanDuration, sentenceCase } from '../util/human.js';
import { groupedBy, textAt } from '../util/objects.js';
import { counted, own, quoted, type SafeText, say, shortNames, words } from '../util/safe-text.js';
import { relatedChanges } from './change-on-page.js';
import type { PageUser } from './decision-session.js';
import type { Html } from './pages.js';

/** A whole HTML page with the style and the script of the list. */
export async function decisionPage(title: SafeText, body: Html): Promise<string> {
  const [template, titleHtml, bodyHtml] = await Promise.all([readView('list'), html`<title>${title}</title>`, body]);
  return template.replace('<title></title>', () => String(titleHtml)).replace('<body>', () => `<body>${bodyHtml}`);
}

/** The name of a person, caller or account. `<bdi>` isolates right-to-left names. */
export const nameHtml = (name: string): Html => html`<bdi>${shortNames(quoted(name, 100))}</bdi>`;

/** The top of a page. */
export const pageTop = ({ person, csrf = '' }: PageUser, links: Html | '' = ''): Html =>
  html`<header><strong>cloudops-mcp</strong>${links}<div>${person === undefined ? 'On this machine' : html`<span>Signed in as ${nameHtml(person)}</span><form method="post" action="/decisions/sign-out"><input type="hidden" name="csrf" value="${csrf}"><button>Sign out</button></form>`}</div></header>`;

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

const filters = { caller: 'Asked for by', account: 'Account', tool: 'Tool', risk: 'Risk' } as const;
type FilterName = keyof typeof filters;
const filterNames = ['caller', 'account', 'tool', 'risk'] as const satisfies readonly FilterName[];

type ListFilter = Readonly<Record<FilterName, string>>;

interface ListOptions {
  /** Oldest first. */
  readonly changes: readonly Change[];
  readonly accountsAreNamed: boolean;
  /** True if all changes go to the sandbox. */
  readonly isSandbox: boolean;
  readonly filter: ListFilter;
  readonly now: Date;
}

const longestList = 200;
const longestHistory = 50;

/** Reads the filter from the query of the page's address. */
export const filterIn = (query: (name: string) => string | undefined): ListFilter => ({
  caller: query('caller') ?? '',
  account: query('account') ?? '',
  tool: query('tool') ?? '',
  risk: query('risk') ?? '',
});

interface ListedChange {
  readonly change: Change;
  /** What the filters compare. */
  readonly values: Readonly<Record<FilterName, readonly string[]>>;
}

interface RowOptions {
  readonly shorten: (quotedValue: string) => string;
  readonly showsPlace: boolean;
  readonly marksSandbox: boolean;
  /** All changes, also those that the filter leaves out. */
  readonly changes: readonly Change[];
  readonly now: Date;
}

/** The page of changes: waiting changes by age, and then decided changes, newest first. */
export function listPage(
  user: PageUser,
  { changes, accountsAreNamed, isSandbox, filter, now }: ListOptions,
): Promise<string> {
  const all = changes.map((change): ListedChange => {
    const { caller = '', tool, plan } = change;
    const account = (accountsAreNamed && textAt(change.args, 'account')) || '';
    return { change, values: { caller: [caller], account: [account], tool: [tool], risk: plan.risks } };
  });
  const filtered = all.filter((listed) => matches(listed, filter));
  const waiting = togetherBySubject(filtered.filter(({ change }) => change.state === 'waiting'));
  const decided = filtered.filter(({ change }) => change.state !== 'waiting').reverse();

  // What is the same in all rows is said once.
  const isAllSandbox =
    isSandbox || (filtered.length > 0 && filtered.every(({ change }) => change.plan.sandbox === true));
  const places = new Set(filtered.map(({ change }) => placeOf(change)));
  const [place = ''] = filtered.length > 1 && places.size === 1 ? places : [];
  const row = {
    shorten: idShortener(filtered.map(({ change }) => summaryOf(change))),
    showsPlace: place === '',
    marksSandbox: !isAllSandbox,
    changes,
    now,
  };

  const title = waiting.length === 0 ? words('Nothing waits for a decision') : waitTitle(waiting.length);
  const lists = html`${isAllSandbox && html`<p class="sandbox">Sandbox: nothing real happens</p>`}<h2>${title}</h2>${place !== '' && html`<p class="quiet">${sentenceCase(place)}</p>`}${waitingList(waiting, all.length > filtered.length, row)}${decidedList(decided, row)}`;
  return decisionPage(
    title,
    html`${pageTop(user)}<main><h1>Decisions on changes</h1>${filterForm(all, filter)}<p id="news" role="status"></p><div id="plans">${lists}</div></main>`,
  );
}

const waitTitle = (count: number): SafeText =>
  say`${counted(count, 'change')} ${words(count === 1 ? 'waits' : 'wait')} for a decision`;

const nothingWaits = html`<p class="quiet">When an agent asks for a change that a person has to agree to, the change appears here by itself. Open it to read its plan, and agree or decline. Nothing is sent before that.</p>`;
const nothingFits = html`<p class="quiet">No change that waits fits the filter. <a href="/decisions">Show all changes</a></p>`;

const waitingList = (waiting: readonly ListedChange[], isFiltered: boolean, row: RowOptions): Html => {
  if (waiting.length === 0) return isFiltered ? nothingFits : nothingWaits;
  return html`<ul class="waiting">${waiting.slice(0, longestList).map((listed) => listItem(listed, row))}</ul>${hiddenCount(waiting.length, longestList)}`;
};

const decidedList = (decided: readonly ListedChange[], row: RowOptions): Html | false =>
  decided.length > 0 &&
  html`<h2>Recently decided</h2><ul>${decided.slice(0, longestHistory).map((listed) => listItem(listed, row))}</ul>${hiddenCount(decided.length, longestHistory)}`;

/** Changes of the same thing follow the first of them. */
const togetherBySubject = (changes: readonly ListedChange[]): readonly ListedChange[] =>
  [...groupedBy(changes, ({ change }) => change.subject?.digest ?? change.id).values()].flat();

type Mark = readonly [cssClass: string, text: string];

function relatedMarks(change: Change, changes: readonly Change[]): readonly Mark[] {
  if (change.state !== 'waiting') return [];
  const others = relatedChanges(change, changes);
  const isOlder = others.some(({ state, madeAt }) => state === 'waiting' && madeAt > change.madeAt);
  const isOtherAccepted = others.some(({ state }) => state !== 'waiting');
  const marks: Mark[] = [];
  if (isOlder) marks.push(['unknown', 'Older: a newer plan waits']);
  if (isOtherAccepted) marks.push(['unknown', 'Another plan was accepted']);
  return marks;
}

const matches = ({ values }: ListedChange, filter: ListFilter) =>
  filterNames.every((name) => filter[name] === '' || values[name].includes(filter[name]));

const hiddenCount = (count: number, limit: number) =>
  count > limit &&
  html`<p class="quiet">${countText(count - limit, 'other change')}, which this page does not show.</p>`;

/** A filter is offered if there is a choice, or if it is in use. */
function filterForm(all: readonly ListedChange[], filter: ListFilter): Html | false {
  const fields = filterNames.flatMap((name) => {
    const values = [...new Set(all.flatMap((listed) => listed.values[name]))].filter((value) => value !== '').sort();
    return values.length > 1 || filter[name] !== '' ? [{ name, values }] : [];
  });
  if (fields.length === 0) return false;
  const selects = fields.map(({ name, values }) => {
    const options = ['', ...values].map((value) => {
      const text = value === '' ? 'All' : shortNames(own(value)).text;
      return html`<option value="${value}" ${value === filter[name] && 'selected'}>${text}</option>`;
    });
    return html`<div><label for="${name}">${filters[name]}</label><select id="${name}" name="${name}">${options}</select></div>`;
  });
  // With scripts, a choice applies at once.
  return html`<form class="filter" method="get" action="/decisions">${selects}<noscript><button>Show</button></noscript></form>`;
}

const riskMarks: Readonly<Record<Risk, Mark>> = {
  'costs money': ['cost', 'Costs money'],
  'may cost money': ['cost', 'May cost money'],
  'no way back': ['one-way', 'No way back'],
};

const underWay: Mark = ['', 'No outcome yet'];

const stateMarks: Readonly<Record<Exclude<State, 'waiting'>, Mark>> = {
  approved: underWay,
  begun: underWay,
  accepted: ['accepted', 'Accepted'],
  partly: ['unknown', 'Done in part'],
  rejected: ['rejected', 'Rejected by the cloud'],
  'not sent': ['', 'Not sent'],
  unknown: ['unknown', 'Outcome unknown'],
  declined: ['', 'Declined'],
  withdrawn: ['', 'Withdrawn'],
};

function listItem({ change }: ListedChange, { shorten, showsPlace, marksSandbox, changes, now }: RowOptions): Html {
  const { id, caller, plan, decision, madeAt, expiresAt, decidedAt, state } = change;
  const isWaiting = state === 'waiting';

  const marks: Mark[] = [...relatedMarks(change, changes)];
  if (isWaiting) marks.push(...plan.risks.map((risk) => riskMarks[risk]));
  else marks.push(stateMarks[state]);
  if (marksSandbox && plan.sandbox === true) marks.push(['in-sandbox', 'Sandbox']);
  const markElements = marks.map(([cssClass, text]) => html`<span class="${cssClass}">${text}</span> `);

  const place = showsPlace && html`${isolated(placeOf(change))} · `;
  const by = caller !== undefined && html` by ${nameHtml(caller)}`;
  const asked = html`<span class="asked">Asked for${by}</span> ${ago(madeAt, now)}`;
  const isSoon = expiresAt - now.getTime() < soonMs;
  const expiry =
    isWaiting &&
    html`<span class="${isSoon ? 'soon' : 'wide'}"> · expires in ${timeText(expiresAt, timeLeft(expiresAt, now))}</span>`;
  const byPerson = decision?.person !== undefined && html` by ${nameHtml(decision.person)}`;
  const decided = decidedAt !== undefined && html` · decided${byPerson} ${ago(decidedAt, now)}`;
  return html`<li class="plan"><a dir="auto" href="/decisions/${id}/">${isolated(summaryOf(change), shorten)}</a><p class="facts">${markElements}<small>${place}${asked}${expiry}${decided}</small></p></li>`;
}

const summaryOf = ({ plan }: Change): string => shortNames(plan.summary).text;

/** Account and region, without their reasons. */
const placeOf = ({ plan }: Change): string =>
  plan.where
    .map(({ text }) => text.replace(/ \([^()]*\)$/, ''))
    .filter((text) => !text.startsWith('zone'))
    .join(' · ');

const quotedParts = (text: string): readonly string[] => text.split(/("(?:[^"\\]|\\.)*")/);

/** Quoted IDs. Names have separators, or are shorter. */
const longId = /^"(?:[\da-z]{20,}|[\da-f-]{36})"$/i;
const shownStart = 8;

/** Returns the function that shortens long IDs to their start, unless another ID in the list has the same start. */
function idShortener(summaries: readonly string[]): RowOptions['shorten'] {
  const ids = new Set(summaries.flatMap(quotedParts).filter((part) => longId.test(part)));
  return (value) => {
    const start = value.slice(0, 1 + shownStart);
    const isShared = [...ids].some((other) => other !== value && other.startsWith(start));
    return ids.has(value) && !isShared ? `${start}…"` : value;
  };
}

/** `<bdi>` keeps right-to-left values from reordering our words. */
const isolated = (text: string, shorten: RowOptions['shorten'] = (value) => value): Html =>
  html`${quotedParts(text).map((part, index) => {
    if (index % 2 === 0) return part;
    const shown = shorten(part);
    return shown === part ? html`<bdi>${part}</bdi>` : html`<bdi title="${part.slice(1, -1)}">${shown}</bdi>`;
  })}`;

/** A plan that expires within this time says so in narrow lists too. */
const soonMs = 2 * 3_600_000;

const ago = (time: number, now: Date): Html => {
  const seconds = Math.max(0, now.getTime() - time) / 1000;
  return timeText(time, seconds < 60 ? 'just now' : `${humanDuration(seconds)} ago`);
};

function timeLeft(expiresAt: number, now: Date): string {
  const seconds = Math.max(0, expiresAt - now.getTime()) / 1000;
  return seconds < 7200 ? humanDuration(seconds) : `${Math.floor(seconds / 3600)} h`;
}

function timeText(time: number, text: string): Html {
  const iso = new Date(time).toISOString();
  return html`<time datetime="${iso}" title="${iso.slice(0, 16).replace('T', ' ')} UTC">${text}</time>`;
}
