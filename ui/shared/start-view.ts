import { connectHost, type Host, type HostContext, type HostEvents } from '../host/host.js';
import { applyAppearance } from './appearance.js';
import { element } from './elements.js';

/** The handlers that a view implements. */
interface ViewEvents extends Omit<HostEvents, 'onContext'> {
  /** Called after colours or fonts changed. */
  onAppearance?(): void;
}

/**
 * Connects a view to its host, applies the host's appearance, and reports the view's size. If no host answers, the view says so and the
 * result is undefined. No event arrives before the result.
 */
export async function startView(name: string, main: HTMLElement, events: ViewEvents): Promise<Host | undefined> {
  const onContext = (context: HostContext) => {
    applyAppearance(document, context);
    events.onAppearance?.();
  };
  try {
    const host = await connectHost(window, { name, version: '1' }, { ...events, onContext });
    applyAppearance(document, host.context);
    const reportSize = () => host.reportSize(window.innerWidth, Math.ceil(main.getBoundingClientRect().height));
    new ResizeObserver(reportSize).observe(main);
    return host;
  } catch {
    main.replaceChildren(
      element('p', {}, 'This view works only inside a chat that supports MCP Apps. No chat answered.'),
    );
    return undefined;
  }
}
