import { createPeer } from '../../src/mcp/views/contract/json-rpc.js';
import { type Fields, fieldsOf, numberOf, textOf } from '../../src/mcp/views/contract/read.js';
import { element } from '../shared/elements.js';

/**
 * The page of `cloudops-mcp view`, and of a change on a page for decisions: a host with one view, for people without a chat that shows
 * any. It has the view's call from the process that serves it, and passes the view's own calls on to it.
 */
export function startHostPage(): void {
  const frame = element('iframe', { sandbox: 'allow-scripts', title: 'View' });
  const said = element('p', { role: 'alert' });
  const note = element('p', { dir: 'auto' });
  const more = element('p', { role: 'status' });
  document.body.append(said, note, more, frame);
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
      if (method === 'tools/call') return ask('tool', params);
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

  async function begin(): Promise<void> {
    try {
      const { args, result, note: text, follows, shown } = await call;
      note.textContent = textOf(text) ?? '';
      if (follows === true) follow(textOf(shown)).catch(tellOfSilence);
      frame.hidden = result === undefined;
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

/** Asks the process. Rejects where it does not answer. */
async function ask(path: string, body: Fields): Promise<Fields> {
  const csrf = document.querySelector<HTMLMetaElement>('meta[name="csrf-token"]')?.content;
  const headers = { 'content-type': 'application/json', ...(csrf !== undefined && { 'x-csrf-token': csrf }) };
  const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`HTTP status ${response.status}`);
  return fieldsOf(await response.json());
}
