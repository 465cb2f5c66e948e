import { changeKey, decideTool, type OutcomeKind, outcomeKey } from '../../src/mcp/views/view-contract.js';
import { readOutcome, readProposedChange } from '../change/read-change.js';
import { ownPageName } from '../host/host.js';
import { element, setText } from '../shared/elements.js';
import { createPeer } from '../shared/json-rpc.js';
import { type Fields, fieldsOf, numberOf, readText } from '../shared/read-fields.js';
import { t } from '../shared/texts.js';

/** Starts the page that is the host of one view. The process that serves the page answers the view's tool calls: the first one with the plan, and later ones with the outcome of a click. */
export function startHostPage(): void {
  new HostPage().start();
}

class HostPage {
  readonly #frame = element('iframe', { sandbox: 'allow-scripts', title: t('View') });
  /** For screen readers. The view has the visible heading. */
  readonly #heading = element('h1', { class: 'unseen' }, 'cloudops-mcp');
  readonly #problem = element('p', { role: 'alert' });
  readonly #note = element('p', { class: 'note', dir: 'auto' });
  /** Leads to the plan that replaced this one, or to the list. */
  readonly #successor = element('p', { role: 'status' });
  readonly #otherChange = element('p', { role: 'status' });
  /** Says what became of the session with which the page was loaded. */
  readonly #session = element('p', { role: 'status' });
  #isSettled = false;
  #shownState: string | undefined;
  /** The JSON-RPC connection to the view in the frame. */
  readonly #view = createPeer((message) => this.#frame.contentWindow?.postMessage(message, '*'), {
    onRequest: (method, params) => this.#answerView(method, params),
    onNotification: (method, params) => this.#handleNotification(method, params),
  });
  /** The first tool call and its result. They are requested before the view is loaded, so that the plan is there as soon as the view is. */
  readonly #firstCall = ask('call', {});

  start(): void {
    const lines = [this.#problem, this.#session, this.#note, this.#successor, this.#otherChange];
    document.body.append(element('main', {}, this.#heading, ...lines, this.#frame));
    window.addEventListener('message', (event) => {
      if (event.source === this.#frame.contentWindow) this.#view.receive(event.data);
    });
    this.#frame.src = 'view';
  }

  #answerView(method: string, params: Fields): Promise<Fields> | undefined {
    if (method === 'ui/initialize') return Promise.resolve(hostDescription);
    if (method === 'tools/call') return this.#callTool(params);
    return method === 'ping' ? Promise.resolve({}) : undefined;
  }

  #handleNotification(method: string, params: Fields): void {
    if (method === 'ui/notifications/size-changed')
      this.#frame.style.height = `${Math.min(maximumHeight, numberOf(params.height) ?? 0)}px`;
    if (method === 'ui/notifications/initialized') void this.#showFirstCall();
  }

  async #callTool(params: Fields): Promise<Fields> {
    const result = await answerTo(params);
    this.#showTitles(result);
    return result;
  }

  /** Looks again and again while the page is visible: at the plan until its outcome is known, and then for other changes. */
  async #look(): Promise<void> {
    const look = { name: decideTool, arguments: { ticket: changeId(), decision: 'look' } };
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, lookMs));
      if (!document.hidden) this.#showLook(await answerTo(look).catch(() => noAnswer));
    }
  }

  /** Passes news of the plan to the view, so that nobody goes on to decide on a plan that is settled. */
  #showLook(result: Fields): void {
    this.#showOtherChange(result.otherWaits === true);
    const { kind, sentence, isOfPlan } = readOutcome(result._meta) ?? {};
    // The view keeps what was typed, because the plan still waits.
    setText(this.#session, kind === 'uncounted' ? (sentence ?? '') : '');
    const state = stateIn(result);
    if (this.#isSettled || kind === 'uncounted' || state === undefined || state === this.#shownState) return;
    this.#isSettled = kind === 'expired' || (isOfPlan === true && kind !== 'used');
    this.#shownState = state;
    this.#view.notify('ui/notifications/tool-result', result);
    this.#showTitles(result);
    this.#showSuccessor(readText(result.successor));
  }

  /** Links to the newer plan that replaced the shown one. */
  #showSuccessor(id: string | undefined): void {
    if (id === undefined) return;
    const link = element('a', { href: `../${encodeURIComponent(id)}/` }, t('Open the newer plan'));
    this.#successor.replaceChildren(t('A newer plan replaced this one.'), ' ', link);
  }

  #showOtherChange(waits: boolean): void {
    if (waits === this.#otherChange.hasChildNodes()) return;
    const link = element('a', { href: '../' }, t('Show all changes'));
    this.#otherChange.replaceChildren(...(waits ? [t('Another change waits for a decision.'), ' ', link] : []));
  }

  /** Passes the first tool call and its result to the view, once the view is ready. */
  async #showFirstCall(): Promise<void> {
    try {
      const { result, note } = await this.#firstCall;
      this.#note.textContent = readText(note) ?? '';
      this.#showTitles(fieldsOf(result));
      this.#showSuccessor(readText(fieldsOf(result).successor));
      this.#isSettled = readProposedChange(fieldsOf(result)._meta)?.ticket === undefined;
      this.#shownState = stateIn(fieldsOf(result));
      void this.#look();
      // The protocol wants the arguments first. They may hold a secret, and the view of a change does not need them.
      this.#view.notify('ui/notifications/tool-input', { arguments: {} });
      this.#view.notify('ui/notifications/tool-result', fieldsOf(result));
    } catch {
      this.#problem.textContent = t('The server does not answer, or has ended. Load this page again.');
    }
  }

  /** Names the subject of a result in the heading, in the frame's title (for screen readers), and in the title of the browser tab. */
  #showTitles(result: Fields): void {
    const titles = titlesOf(result);
    if (titles === undefined) return;
    this.#heading.textContent = titles.heading;
    this.#frame.title = titles.heading;
    document.title = `${titles.tab} – cloudops-mcp`;
  }
}

/** Upper limit for the height of the frame, which the view reports (CSS pixels). */
const maximumHeight = 20_000;

/** The answer with which this page introduces itself to the view as an MCP Apps host. */
const hostDescription = {
  protocolVersion: '2026-01-26',
  hostInfo: { name: ownPageName, version: '1' },
  hostCapabilities: { serverTools: {} },
  hostContext: {},
};

/** The heading of the page and the title of its tab. Undefined for a result without a subject, such as that of a failed call. */
function titlesOf({ _meta }: Fields): { heading: string; tab: string } | undefined {
  const outcome = readOutcome(_meta);
  // The titles stay while the plan may still wait: after a click that did not count, and after a refused click that did not end the plan.
  if (outcome?.kind === 'uncounted' || (outcome?.kind === 'refused' && outcome.isOfPlan !== true)) return undefined;
  if (outcome !== undefined) return { heading: t('A change and its outcome'), tab: outcome.sentence };
  const change = readProposedChange(_meta);
  return change && { heading: t('A change to decide on'), tab: change.sentence };
}

/** The kind of the outcome, or the plan while there is none. */
const stateIn = ({ _meta }: Fields): string | undefined =>
  readOutcome(_meta)?.kind ?? JSON.stringify(fieldsOf(_meta)[changeKey]);

/** The page is at `/decisions/<ID of the change>/`. */
const changeId = () => location.pathname.split('/').at(-2);

/** The pause between two questions for the state of the plan (milliseconds). */
const lookMs = 3_000;

/**
 * The outcomes of tool calls that were refused before anything was done, by their status: without a session, from a page of another session, or
 * for a plan that has expired. Any other error may come from a proxy, after the call was carried out.
 */
const refusals: Readonly<Record<number, Fields>> = {
  401: resultWith(
    'uncounted',
    'You are signed out, in another tab or because your session has ended. Nothing was sent, and what you typed is kept. Sign in again in another tab, then click again here.',
  ),
  403: resultWith(
    'uncounted',
    'Another person has signed in since this page was loaded. Nothing was sent, and what you typed is kept. Load this page again to decide.',
  ),
  404: resultWith('expired', 'This plan has expired, or is not for you any more. This click sent nothing.'),
};

const noAnswer = resultWith(
  'uncounted',
  'The server does not answer, or has ended. What this page shows may be out of date.',
);

/** A tool result with an outcome for the view. */
function resultWith(kind: OutcomeKind, sentence: string): Fields {
  return { _meta: { [outcomeKey]: { kind, sentence: t(sentence) } }, content: [{ type: 'text', text: sentence }] };
}

/** The answer to a tool call of the view. Rejects if the process does not answer, or answers with an error after which anything may have happened. */
async function answerTo(params: Fields): Promise<Fields> {
  const response = await post('tool', params);
  return refusals[response.status] ?? contentOf(response);
}

/** Sends a request to the cloudops-mcp process that serves this page. Rejects if the process does not answer, or answers with an error. */
const ask = async (path: string, body: Fields): Promise<Fields> => contentOf(await post(path, body));

/** Sends a request to the cloudops-mcp process that serves this page. Rejects if the process does not answer. */
async function post(path: string, body: Fields): Promise<Response> {
  const send = (csrf = proofIn(document)?.content) => {
    const headers = { 'content-type': 'application/json', ...(csrf !== undefined && { 'x-csrf-token': csrf }) };
    return fetch(path, { method: 'POST', headers, body: JSON.stringify(body) });
  };
  const sentProof = proofIn(document)?.content;
  const response = await send(sentProof);
  return response.status === 403 && (await takeNewProof(sentProof)) ? send() : response;
}

const proofIn = (page: Document) => page.querySelector<HTMLMetaElement>('meta[name="csrf-token"]');
const personIn = (page: Document) => page.querySelector('header bdi')?.textContent;

/**
 * Takes over the proof of a newer session of the same person, who has signed in again in another tab. Resolves with false if it is still
 * `sentProof`: a click and a look may be refused at the same time, and the first of them then takes over the proof for both.
 */
async function takeNewProof(sentProof: string | undefined): Promise<boolean> {
  const own = proofIn(document);
  if (own === null) return false;
  const html = await fetch(location.href).then(
    (response) => response.text(),
    () => '',
  );
  const page = new DOMParser().parseFromString(html, 'text/html');
  const { content } = proofIn(page) ?? own;
  if (content === sentProof || personIn(page) !== personIn(document)) return false;
  own.content = content;
  return true;
}

async function contentOf(response: Response): Promise<Fields> {
  if (!response.ok) throw new Error(`HTTP status ${response.status}`);
  return fieldsOf(await response.json());
}
