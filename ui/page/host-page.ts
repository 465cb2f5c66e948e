import { outcomeKey, readOutcome, readProposedChange } from '../../src/mcp/views/contract/change-data.js';
import { createPeer } from '../../src/mcp/views/contract/json-rpc.js';
import { type Fields, fieldsOf, numberOf, readText, textInUtc } from '../../src/mcp/views/contract/read-fields.js';
import { element } from '../shared/elements.js';

/** Starts the page that is the host of one view. The process that serves the page answers the view's tool calls: the first one with the plan, and later ones with the outcome of a click. */
export function startHostPage(): void {
  new HostPage().start();
}

class HostPage {
  readonly #frame = element('iframe', { sandbox: 'allow-scripts', title: 'View' });
  readonly #heading = element('h1', {}, 'cloudops-mcp');
  readonly #problem = element('p', { role: 'alert' });
  readonly #note = element('p', { class: 'note', dir: 'auto' });
  readonly #nextChange = element('p', { role: 'status' });
  /** The JSON-RPC connection to the view in the frame. */
  readonly #view = createPeer((message) => this.#frame.contentWindow?.postMessage(message, '*'), {
    onRequest: (method, params) => this.#answerView(method, params),
    onNotification: (method, params) => this.#handleNotification(method, params),
  });
  /** The first tool call and its result. They are requested before the view is loaded, so that the plan is there as soon as the view is. */
  readonly #firstCall = ask('call', {});

  start(): void {
    document.body.append(element('main', {}, this.#heading, this.#problem, this.#note, this.#nextChange, this.#frame));
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
    const response = await post('tool', params);
    const result = refusedStatuses.includes(response.status) ? refusedCall : await contentOf(response);
    this.#showTitles(result);
    return result;
  }

  /** Passes the first tool call and its result to the view, once the view is ready. */
  async #showFirstCall(): Promise<void> {
    try {
      const { result, note, follows, shown } = await this.#firstCall;
      this.#note.textContent = readText(note) ?? '';
      // Not awaited, because the next plan may come much later.
      if (follows === true) this.#waitForNextPlan(readText(shown)).catch(() => this.#showNoAnswer());
      this.#frame.hidden = result === undefined;
      this.#showTitles(fieldsOf(result));
      // The protocol wants the arguments first. They may hold a secret, and the view of a change does not need them.
      this.#view.notify('ui/notifications/tool-input', { arguments: {} });
      this.#view.notify('ui/notifications/tool-result', fieldsOf(result));
    } catch {
      this.#showNoAnswer();
    }
  }

  /** Waits until another plan needs a decision, and offers it with a button. Without a `shown` plan on this page, shows the next plan at once. */
  async #waitForNextPlan(shown: string | undefined): Promise<void> {
    let hasNextPlan = false;
    // The process answers each request after a while even without a new plan, so the page repeats the request.
    while (!hasNextPlan) hasNextPlan = (await ask('next', { shown })).otherPlanWaits === true;
    if (shown === undefined) return location.reload();
    const button = element('button', { type: 'button' }, 'Show the next change');
    button.addEventListener('click', () => location.reload());
    this.#nextChange.append('Another change waits for a decision. ', button);
    document.title = 'A change waits';
  }

  /** Names the subject of a result in the heading, in the frame's title (for screen readers), and in the title of the browser tab. */
  #showTitles(result: Fields): void {
    const titles = titlesOf(result);
    if (titles === undefined) return;
    this.#heading.textContent = titles.heading;
    this.#frame.title = titles.heading;
    document.title = `${titles.tab} – cloudops-mcp`;
  }

  #showNoAnswer(): void {
    this.#problem.textContent = 'The server does not answer, or has ended. Load this page again.';
  }
}

/** Upper limit for the height of the frame, which the view reports (CSS pixels). */
const maximumHeight = 20_000;

/** The answer with which this page introduces itself to the view as an MCP Apps host. */
const hostDescription = {
  protocolVersion: '2026-01-26',
  hostInfo: { name: 'cloudops-mcp', version: '1' },
  hostCapabilities: { serverTools: {} },
  hostContext: {},
};

/** The heading of the page and the title of its tab. Undefined for a result without a subject, such as that of a failed call. */
function titlesOf({ _meta }: Fields): { heading: string; tab: string } | undefined {
  const outcome = readOutcome(_meta);
  // The titles stay while the plan may still wait: after a wrong name, and after a refused click that did not end the plan.
  if (outcome?.kind === 'misnamed' || (outcome?.kind === 'refused' && outcome.isOfPlan !== true)) return undefined;
  if (outcome !== undefined) return { heading: 'A change and its outcome', tab: textInUtc(outcome.sentence) };
  const change = readProposedChange(_meta);
  return change && { heading: 'A change to decide on', tab: change.sentence };
}

/**
 * The statuses of a tool call that was refused before anything was done: without a session, from a page of another session, or for a plan that
 * has expired. Any other error may come from a proxy, after the call was carried out.
 */
const refusedStatuses = [401, 403, 404];

/** The result of a refused tool call, from which the view can tell that nothing was done. */
const refusedCall = {
  _meta: {
    [outcomeKey]: {
      kind: 'refused',
      sentence: 'The server refused this click, so nothing was sent.',
      next: 'Load this page again, and sign in if it asks you to.',
    },
  },
  content: [{ type: 'text', text: 'The server refused this call. Load this page again.' }],
  isError: true,
};

/** Sends a request to the cloudops-mcp process that serves this page. Rejects if the process does not answer, or answers with an error. */
const ask = async (path: string, body: Fields): Promise<Fields> => contentOf(await post(path, body));

/** Sends a request to the cloudops-mcp process that serves this page. Rejects if the process does not answer. */
function post(path: string, body: Fields): Promise<Response> {
  const csrf = document.querySelector<HTMLMetaElement>('meta[name="csrf-token"]')?.content;
  const headers = { 'content-type': 'application/json', ...(csrf !== undefined && { 'x-csrf-token': csrf }) };
  return fetch(path, { method: 'POST', headers, body: JSON.stringify(body) });
}

async function contentOf(response: Response): Promise<Fields> {
  if (!response.ok) throw new Error(`HTTP status ${response.status}`);
  return fieldsOf(await response.json());
}
