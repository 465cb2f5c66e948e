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
  const said = element('p', { role: 'alert' });
  const note = element('p', { class: 'note', dir: 'auto' });
  const more = element('p', { role: 'status' });
  document.body.append(element('main', {}, heading, said, note, more, frame));
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

  /** Waits for the next plan. The person opens it after reading the outcome of this one. */
  async function follow(shown: string | undefined): Promise<void> {
    while ((await ask('next', { shown })).waits !== true);
    if (shown === undefined) return location.reload();
    const button = element('button', { type: 'button' }, 'Show the next change');
    button.addEventListener('click', () => location.reload());
    more.append('Another change waits for a decision. ', button);
    document.title = 'A change waits';
  }

  async function callTool(params: Fields): Promise<Fields> {
    const result = await ask('tool', params);
    entitle(result);
    return result;
  }

  /** Sets the heading, the name of the frame for screen readers, and the title of the browser tab. */
  function entitle(result: Fields): void {
    const shown = shownBy(result);
    if (shown === undefined) return;
    const { heading: text, title } = shown;
    heading.textContent = text;
    frame.title = text;
    document.title = `${title} – cloudops-mcp`;
  }

  async function begin(): Promise<void> {
    try {
      const { args, result, note: text, follows, shown } = await call;
      note.textContent = readText(text) ?? '';
      if (follows === true) follow(readText(shown)).catch(tellOfSilence);
      frame.hidden = result === undefined;
      entitle(fieldsOf(result));
      peer.notify('ui/notifications/tool-input', { arguments: fieldsOf(args) });
      peer.notify('ui/notifications/tool-result', fieldsOf(result));
    } catch {
      tellOfSilence();
    }
  }

  function tellOfSilence(): void {
    said.textContent =
      'The server does not answer, or has ended. If this page is from cloudops-mcp view, see the terminal that it runs in; otherwise load it again.';
  }

  window.addEventListener('message', (event) => {
    if (event.source === frame.contentWindow) peer.receive(event.data);
  });
  frame.src = 'view';
}

/** Heading and title for a result. Undefined if the result names no subject, such as a failed call. */
function shownBy({ _meta, structuredContent }: Fields): { heading: string; title: string } | undefined {
  const outcome = readOutcome(_meta);
  if (outcome !== undefined) return { heading: 'A change and its outcome', title: outcome.sentence };
  const change = readProposedChange(_meta);
  if (change !== undefined) return { heading: 'A change to decide on', title: change.sentence };
  const { object } = fieldsOf(fieldsOf(structuredContent).answer);
  const name = readText(object);
  return name === undefined ? undefined : { heading: 'An upload', title: `Upload of ${nameText(name)}` };
}

/** Sends a request to the process. Rejects if the process does not answer. */
async function ask(path: string, body: Fields): Promise<Fields> {
  const csrf = document.querySelector<HTMLMetaElement>('meta[name="csrf-token"]')?.content;
  const headers = { 'content-type': 'application/json', ...(csrf !== undefined && { 'x-csrf-token': csrf }) };
  const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`HTTP status ${response.status}`);
  return fieldsOf(await response.json());
}
