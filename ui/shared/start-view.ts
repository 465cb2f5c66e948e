import { connectHost, type Host, type HostEvents } from '../host/host.js';
import { applyAppearance } from './appearance.js';
import { element } from './elements.js';

/** A view's own part: its handling of messages from the host. */
export interface ViewEvents extends Omit<HostEvents, 'onContext'> {
  /** Colours and fonts have changed. */
  onAppearance?(): void;
}

/**
 * Connects a view to its host: the page takes on the host's looks, and the host learns how tall it is. The result is undefined,
 * and the view says so, where no host answers. No event comes before the result.
 */
export async function startView(name: string, main: HTMLElement, events: ViewEvents): Promise<Host | undefined> {
  try {
    const host = await connectHost(
      window,
      { name, version: '1' },
      {
        ...events,
        onContext(context) {
          applyAppearance(document, context);
          events.onAppearance?.();
        },
      },
    );
    applyAppearance(document, host.context);
    const report = () => host.reportSize(window.innerWidth, Math.ceil(main.getBoundingClientRect().height));
    new ResizeObserver(report).observe(main);
    return host;
  } catch {
    main.replaceChildren(
      element('p', {}, 'This view works only inside a chat that supports MCP Apps. No chat answered.'),
    );
    return undefined;
  }
}
