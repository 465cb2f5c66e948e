import { connectHost, type Host, type HostContext, type HostEvents } from '../host/host.js';
import { applyAppearance } from './appearance.js';
import { element } from './elements.js';
import { t } from './texts.js';

/** The functions of a view that are called for events of the host. */
interface ViewEvents extends Omit<HostEvents, 'onContext'> {
  /** Called after the host's colours or fonts were applied again, because they changed. */
  onAppearance?(): void;
}

/**
 * Connects a view to its host, the page around the view, and reports the view's size. If the host does not answer, says so in the view and
 * resolves with undefined. The handlers in `events` may use the resolved `Host`. No event arrives earlier, because the host sends events only
 * after the message that the view is ready, and the promise resolves in the task that sends this message.
 */
export async function startView(name: string, main: HTMLElement, events: ViewEvents): Promise<Host | undefined> {
  const onContext = (context: HostContext) => {
    applyAppearance(document, context);
    events.onAppearance?.();
  };

  const host = await connectHost(window, { name, version: '1' }, { ...events, onContext }).catch(() => undefined);
  if (host === undefined) {
    const explanation = 'This view works only inside a chat that supports MCP Apps. No chat answered.';
    main.replaceChildren(element('p', {}, t(explanation)));
    return undefined;
  }

  applyAppearance(document, host.context);
  // The view keeps the width that the host gave it, and asks for the height of its content.
  const reportSize = () => host.reportSize(window.innerWidth, Math.ceil(main.getBoundingClientRect().height));
  new ResizeObserver(reportSize).observe(main);
  return host;
}
