import { readOutcome, readProposedChange } from '../../src/mcp/views/contract/change-data.js';
import { createPeer } from '../../src/mcp/views/contract/json-rpc.js';
import { type Fields, fieldsOf, numberOf, readText } from '../../src/mcp/views/contract/read-fields.js';
import { element, nameText } from '../shared/elements.js';

/**
 * A host page with one view, for `cloudops-mcp view` and for decisions in a browser. The process that serves the page makes the view's
 * first call, and carries out the view's later calls.
 */
export function startHostPage(): void {
  const frame = element('iframe', { sandbox: 'allow-scripts', title: 'View' });
  const heading = element('h1', {}, 'cloudops-mcp');
  const problem = element('p', { role: 'alert' });
  const note = element('p', { class: 'note', dir: 'auto' });
  const nextChange = element('p', { role: 'status' });
  document.body.append(element('main', {}, heading, problem, note, nextChange, frame));
  // Starts the call before the view is loaded, because reading a large upload takes a while.
  const call = ask('call', {});
  const send = (message: Fields) => frame.contentWindow?.postMessage(message, '*');
  const peer = createPeer(send, {
    onRequest(method, params) {
      if (method === 'ui/initialize')
        return Promise.resolve({
          protocolVersion: '2026-01-26',
          hostInfo: { name: 'cloudops-mcp', version: '1' },
          hostCapabilities: { serverTools: {} },
          hostContext: {},
        });
      if (method === 'tools/call') return callTool(params);
      return method === 'ping' ? Promise.resolve({}) : undefined;
    },
    onNotification(method, params) {
      if (method === 'ui/notifications/size-changed')
        frame.style.height = `${Math.min(20_000, numberOf(params.height) ?? 0)}px`;
      if (method === 'ui/notifications/initialized') void begin();
    },
  });

  /** Waits for the next plan, and offers it with a button, so that the person can read the outcome of this plan first. */
  async function waitForNextPlan(shown: string | undefined): Promise<void> {
    while ((await ask('next', { shown })).waits !== true);
    if (shown === undefined) return location.reload();
    const button = element('button', { type: 'button' }, 'Show the next change');
    button.addEventListener('click', () => location.reload());
    nextChange.append('Another change waits for a decision. ', button);
    document.title = 'A change waits';
  }

  async function callTool(params: Fields): Promise<Fields> {
    const result = await ask('tool', params);
    setTitles(result);
    return result;
  }

  /** Sets the heading, the name of the frame for screen readers, and the title of the browser tab. */
  function setTitles(result: Fields): void {
    const titles = titlesOf(result);
    if (titles === undefined) return;
    heading.textContent = titles.heading;
    frame.title = titles.heading;
    document.title = `${titles.tab} – cloudops-mcp`;
  }

  async function begin(): Promise<void> {
    try {
      const { args, result, note: text, follows, shown } = await call;
      note.textContent = readText(text) ?? '';
      if (follows === true) waitForNextPlan(readText(shown)).catch(showNoAnswer);
      frame.hidden = result === undefined;
      setTitles(fieldsOf(result));
      peer.notify('ui/notifications/tool-input', { arguments: fieldsOf(args) });
      peer.notify('ui/notifications/tool-result', fieldsOf(result));
    } catch {
      showNoAnswer();
    }
  }

  function showNoAnswer(): void {
    problem.textContent =
      'The server does not answer, or has ended. If this page is from cloudops-mcp view, see the terminal that it runs in; otherwise load it again.';
  }

  window.addEventListener('message', (event) => {
    if (event.source === frame.contentWindow) peer.receive(event.data);
  });
  frame.src = 'view';
}

/** The heading of the page and the title of its tab for a result. Undefined if the result names no subject, such as a failed call. */
function titlesOf({ _meta, structuredContent }: Fields): { heading: string; tab: string } | undefined {
  const outcome = readOutcome(_meta);
  if (outcome !== undefined) return { heading: 'A change and its outcome', tab: outcome.sentence };
  const change = readProposedChange(_meta);
  if (change !== undefined) return { heading: 'A change to decide on', tab: change.sentence };
  const { object } = fieldsOf(fieldsOf(structuredContent).answer);
  const name = readText(object);
  return name === undefined ? undefined : { heading: 'An upload', tab: `Upload of ${nameText(name)}` };
}

/** Sends a request to the process. Rejects if the process does not answer. */
async function ask(path: string, body: Fields): Promise<Fields> {
  const csrf = document.querySelector<HTMLMetaElement>('meta[name="csrf-token"]')?.content;
  const headers = { 'content-type': 'application/json', ...(csrf !== undefined && { 'x-csrf-token': csrf }) };
  const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`HTTP status ${response.status}`);
  return fieldsOf(await response.json());
}
