import { html } from 'hono/html';
import type { Risk } from '../calls/outcome.js';
import type { Change, State } from '../changes/change.js';
import { riskNames } from '../mcp/views/view-contract.js';
import { readView } from '../mcp/views/view-of-tool.js';
import { sentenceCase } from '../util/human.js';
import type { Translator } from '../util/language.js';
import { textAt } from '../util/objects.js';
import { counted, duration, own, quoted, type SafeText, say, shortNames, words } from '../util/safe-text.js';
import type { PageUser } from './decision-session.js';

/** HTML from a template that escapes all values. */
export type Html = ReturnType<typeof html>;

/** A whole HTML page with the style and the script of the list. */
async function decisionPage(title: SafeText, body: Html, { translate, inHtml }: Translator): Promise<string> {
  const titleTag = html`<title>${translate(title)}</title>`;
  const [template, titleHtml, bodyHtml] = await Promise.all([readView('list'), titleTag, body]);
  return inHtml(template)
    .replace('<title></title>', () => String(titleHtml))
    .replace('<body>', () => `<body>${bodyHtml}`);
}

/** The name of a person, caller or account. */
const nameOf = (name: string): SafeText => shortNames(quoted(name, 100));

/** The top of a page, with a link to the list unless the page has it. */
export const pageTop = ({ person, csrf = '' }: PageUser, { translate: t }: Translator, hasList = false): Html =>
  html`<header><strong>cloudops-mcp</strong>${!hasList && html`<nav><a href="/decisions">${t(words('All changes'))}</a></nav>`}<div>${person === undefined ? t(words('On this machine')) : html`<span>${isolated(t(say`Signed in as ${nameOf(person)}`))}</span><form method="post" action="/decisions/sign-out"><input type="hidden" name="csrf" value="${csrf}"><button>${t(words('Sign out'))}</button></form>`}</div></header>`;

export function signInPage(form: Html, translator: Translator, problem?: SafeText): Promise<string> {
  const { translate: t } = translator;
  const alert = problem !== undefined && html`<p role="alert">${t(problem)}</p>`;
  const body = html`<main><h1>${t(heading)}</h1><p>${t(words('Sign in to see the changes that wait for you, and to decide on them.'))}</p>${alert}${form}</main>`;
  return decisionPage(words('Sign in'), body, translator);
}

const heading = words('Decisions on changes');

export function problemPage(title: SafeText, text: SafeText, translator: Translator): Promise<string> {
  const { translate: t } = translator;
  const body = html`<main><h1>${t(title)}</h1><p>${t(text)}</p><p><a href="/decisions">${t(words('All changes'))}</a></p></main>`;
  return decisionPage(title, body, translator);
}

const filters = [
  ['caller', words('Asked for by')],
  ['account', words('Account')],
  ['tool', words('Tool')],
  ['risk', words('Risk')],
] as const;

interface ListedChange {
  readonly change: Change;
  /** What the filters compare. */
  readonly values: Readonly<Record<(typeof filters)[number][0], readonly string[]>>;
}

interface RowOptions extends Pick<Translator, 'translate'> {
  readonly shorten: (quotedValue: string) => string;
  readonly showsPlace: boolean;
  readonly marksSandbox: boolean;
  readonly now: Date;
}

interface ListOptions {
  /** Oldest first. */
  readonly changes: readonly Change[];
  readonly accountsAreNamed: boolean;
  /** True if all changes go to the sandbox. */
  readonly isSandbox: boolean;
  /** Reads a filter from the query of the page's address. */
  readonly filterBy: (name: string) => string | undefined;
  readonly now: Date;
}

/** The page of changes: waiting changes by age, and then decided changes, newest first. */
export function listPage(
  user: PageUser,
  { changes, accountsAreNamed, isSandbox, filterBy, now }: ListOptions,
  translator: Translator,
): Promise<string> {
  const { translate: t } = translator;
  const all = changes.map((change): ListedChange => {
    const { caller = '', tool, plan } = change;
    const account = (accountsAreNamed && textAt(change.args, 'account')) || '';
    return { change, values: { caller: [caller], account: [account], tool: [tool], risk: plan.risks } };
  });
  const filtered = all
    .filter(({ values }) => filters.every(([name]) => !filterBy(name) || values[name].includes(filterBy(name) ?? '')))
    .map(({ change }) => change);
  const waiting = filtered.filter(({ state }) => state === 'waiting');
  const decided = filtered.filter(({ state }) => state !== 'waiting').reverse();

  // What is the same in all rows is said once.
  const places = new Set(filtered.map((change) => placeOf(change, translator)));
  const [place = ''] = filtered.length > 1 && places.size === 1 ? places : [];
  const row = {
    shorten: idShortener(filtered.map((change) => summaryOf(change).text)),
    showsPlace: place === '',
    marksSandbox: !isSandbox,
    now,
    translate: t,
  };
  const rows = (shown: readonly Change[], limit: number) => {
    const hidden = say`${counted(shown.length - limit, 'other change')}, which this page does not show.`;
    return html`${shown.slice(0, limit).map((change) => listItem(change, row))}</ul>${shown.length > limit && html`<p class="quiet">${t(hidden)}</p>`}`;
  };
  const empty =
    all.length > filtered.length
      ? html`<p class="quiet">${t(words('No change that waits fits the filter.'))} <a href="/decisions">${t(words('Show all changes'))}</a></p>`
      : html`<p class="quiet">${t(nothingWaits)}</p>`;
  const count = waiting.length;
  const someWait = count === 1 ? say`${count} change waits for a decision` : say`${count} changes wait for a decision`;
  const title = count === 0 ? words('Nothing waits for a decision') : someWait;
  const lists = html`${isSandbox && html`<p class="sandbox">${t(words('Sandbox: nothing real happens'))}</p>`}<h2>${t(title)}</h2>${place !== '' && html`<p class="quiet">${sentenceCase(place)}</p>`}${count === 0 ? empty : html`<ul class="waiting">${rows(waiting, 200)}`}${decided.length > 0 && html`<h2>${t(words('Recently decided'))}</h2><ul>${rows(decided, 50)}`}`;
  const body = html`${pageTop(user, translator, true)}<main><h1>${t(heading)}</h1>${filterForm(all, filterBy, translator)}<p id="news" role="status"></p><div id="plans">${lists}</div></main>`;
  return decisionPage(title, body, translator);
}

const nothingWaits = words(
  'When an agent asks for a change that a person has to agree to, the change appears here by itself. Open it to read its plan, and agree or decline. Nothing is sent before that.',
);

/** A filter is offered if there is a choice, or if it is in use. */
function filterForm(
  all: readonly ListedChange[],
  filterBy: ListOptions['filterBy'],
  { translate: t }: Translator,
): Html | false {
  const selects = filters.flatMap(([name, label]) => {
    const chosen = filterBy(name) ?? '';
    const values = [...new Set(all.flatMap((listed) => listed.values[name]))].filter((value) => value !== '').sort();
    if (values.length <= 1 && chosen === '') return [];
    const options = ['', ...values].map((value) => {
      const risk = riskNames.find((each) => name === 'risk' && each === value);
      const text = risk === undefined ? shortNames(own(value)) : words(risk);
      return html`<option value="${value}" ${value === chosen && 'selected'}>${t(value === '' ? words('All') : text)}</option>`;
    });
    return html`<div><label for="${name}">${t(label)}</label><select id="${name}" name="${name}">${options}</select></div>`;
  });
  // With scripts, a choice applies at once.
  return (
    selects.length > 0 &&
    html`<form class="filter" method="get" action="/decisions">${selects}<noscript><button>${t(words('Show'))}</button></noscript></form>`
  );
}

type Mark = readonly [cssClass: string, text: SafeText];

const riskMarks: Readonly<Record<Risk, Mark>> = {
  'costs money': ['cost', words('Costs money')],
  'may cost money': ['cost', words('May cost money')],
  'no way back': ['one-way', words('No way back')],
};

const underWay: Mark = ['', words('No outcome yet')];

const stateMarks: Readonly<Record<Exclude<State, 'waiting'>, Mark>> = {
  approved: underWay,
  begun: underWay,
  accepted: ['accepted', words('Accepted')],
  partly: ['unknown', words('Done in part')],
  rejected: ['rejected', words('Rejected by the cloud')],
  'not sent': ['', words('Not sent')],
  unknown: ['unknown', words('Outcome unknown')],
  declined: ['', words('Declined')],
  withdrawn: ['', words('Withdrawn')],
};

function listItem(change: Change, row: RowOptions): Html {
  const { shorten, showsPlace, marksSandbox, now, translate: t } = row;
  const { id, caller, plan, decision, madeAt, expiresAt, decidedAt, state } = change;
  const marks = state === 'waiting' ? plan.risks.map((risk) => riskMarks[risk]) : [stateMarks[state]];
  if (marksSandbox && plan.sandbox === true) marks.push(['in-sandbox', words('Sandbox')]);
  const markElements = marks.map(([cssClass, text]) => html`<span class="${cssClass}">${t(text)}</span> `);

  const place = showsPlace && html`${isolated(placeOf(change, row))} · `;
  const by = caller === undefined ? words('Asked for') : say`Asked for by ${nameOf(caller)}`;
  const asked = html`<span class="asked">${isolated(t(by))}</span> ${ago(madeAt, row)}`;
  const seconds = Math.max(0, expiresAt - now.getTime()) / 1000;
  const left = seconds < 7200 ? duration(seconds) : say`${Math.floor(seconds / 3600)} h`;
  const expiry =
    state === 'waiting' && html`<span class="wide"> · ${timeText(expiresAt, t(say`expires in ${left}`))}</span>`;
  const who = decision?.person === undefined ? words('decided') : say`decided by ${nameOf(decision.person)}`;
  const decided = decidedAt !== undefined && html` · ${isolated(t(who))} ${ago(decidedAt, row)}`;
  return html`<li class="plan"><a dir="auto" href="/decisions/${id}/">${isolated(t(summaryOf(change)), shorten)}</a><p class="facts">${markElements}<small>${place}${asked}${expiry}${decided}</small></p></li>`;
}

const summaryOf = ({ plan }: Change): SafeText => shortNames(plan.summary);

/** Account and region, without their sources. */
const placeOf = ({ plan }: Change, { translate: t }: Pick<Translator, 'translate'>): string =>
  plan.where.flatMap(({ place }) => (place.text.startsWith('zone') ? [] : t(place))).join(' · ');

const quotedParts = (text: string): readonly string[] => text.split(/("(?:[^"\\]|\\.)*")/);

/** Returns the function that shortens long IDs to 8 characters, unless another ID in the list has the same start. */
function idShortener(summaries: readonly string[]): RowOptions['shorten'] {
  // Names have separators, or are shorter.
  const longId = /^"(?:[\da-z]{20,}|[\da-f-]{36})"$/i;
  const ids = new Set(summaries.flatMap(quotedParts).filter((part) => longId.test(part)));
  return (value) => {
    const start = value.slice(0, 9);
    const isShared = [...ids].some((other) => other !== value && other.startsWith(start));
    return ids.has(value) && !isShared ? `${start}…"` : value;
  };
}

/** `<bdi>` keeps right-to-left values from reordering our words. */
const isolated = (text: SafeText | string, shorten: RowOptions['shorten'] = (value) => value): Html =>
  html`${quotedParts(String(text)).map((part, index) => {
    if (index % 2 === 0) return part;
    const shown = shorten(part);
    return shown === part ? html`<bdi>${part}</bdi>` : html`<bdi title="${part.slice(1, -1)}">${shown}</bdi>`;
  })}`;

const ago = (time: number, { now, translate: t }: RowOptions): Html => {
  const seconds = Math.max(0, now.getTime() - time) / 1000;
  return timeText(time, t(seconds < 60 ? words('just now') : say`${duration(seconds)} ago`));
};

function timeText(time: number, text: SafeText): Html {
  const iso = new Date(time).toISOString();
  return html`<time datetime="${iso}" title="${iso.slice(0, 16).replace('T', ' ')} UTC">${text}</time>`;
}
