import { readOutcome, readProposedChange } from '../../src/mcp/views/contract/change-data.js';
import { createPeer } from '../../src/mcp/views/contract/json-rpc.js';
import { type Fields, fieldsOf, numberOf, readText } from '../../src/mcp/views/contract/read-fields.js';
import { element } from '../shared/elements.js';

/**
 * The page of `cloudops-mcp view`, and of a change on a page for decisions: a host with one view, for people without a chat that shows
 * any. It has the view's call from the process that serves it, and passes the view's own calls on to it.
 */
export function startHostPage(): void {
  const frame = element('iframe', { sandbox: 'allow-scripts', title: 'View' });
  const heading = element('h1', {}, 'cloudops-mcp');
  const said = element('p', { role: 'alert' });
  const note = element('p', { class: 'note', dir: 'auto' });
  const more = element('p', { role: 'status' });
  document.body.append(element('main', {}, heading, said, note, more, frame));
  // Asked for at once: an upload of many pages takes a while.
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

  /** Waits for a plan after the one that is shown. The person goes on to it when they have read what came of this one. */
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

  /** Says what the page shows: in its heading, to those who hear the frame's name, and in the tabs of the browser. */
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

/** What a result is about; undefined for one that says nothing of it, such as a failed call. */
function shownBy({ _meta, structuredContent }: Fields): { heading: string; title: string } | undefined {
  const outcome = readOutcome(_meta);
  if (outcome !== undefined) return { heading: 'A change and its outcome', title: outcome.sentence };
  const change = readProposedChange(_meta);
  if (change !== undefined) return { heading: 'A change to decide on', title: change.sentence };
  const { object } = fieldsOf(fieldsOf(structuredContent).answer);
  return readText(object) === undefined ? undefined : { heading: 'An upload', title: `Upload of ${readText(object)}` };
}

/** Asks the process. Rejects where it does not answer. */
async function ask(path: string, body: Fields): Promise<Fields> {
  const csrf = document.querySelector<HTMLMetaElement>('meta[name="csrf-token"]')?.content;
  const headers = { 'content-type': 'application/json', ...(csrf !== undefined && { 'x-csrf-token': csrf }) };
  const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`HTTP status ${response.status}`);
  return fieldsOf(await response.json());
}
