import { connectHost, type Host, type HostContext, type HostEvents } from '../host/host.js';
import { applyAppearance } from './appearance.js';
import { element } from './elements.js';

/** The functions of a view that are called for events of the host. */
interface ViewEvents extends Omit<HostEvents, 'onContext'> {
  /** Called after the host's colours or fonts were applied again, because they changed. */
  onAppearance?(): void;
}

/**
 * Connects a view to its host and reports its size. If that fails, says that no chat answered and resolves with undefined. The first event
 * comes after the promise has resolved, because a host sends none before `connectHost` has told it that the view is ready.
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
