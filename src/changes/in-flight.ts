/** The changes that are being sent. A process that shuts down calls `detach`, and then `finish` to wait for them. */
export interface InFlightCalls {
  /** Sends a change by `work`. The signal of `work` aborts with the client's signal, but not after `detach`. */
  track<Result>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<Result>): Promise<Result>;
  /** Number of changes that are being sent. */
  count(): number;
  /** After this, changes are completed even if their clients' signals abort, because shutting down cuts the connections to clients. */
  detach(): void;
  /** Resolves when all changes have ended. Aborts the remaining changes after `graceMs`. */
  finish(graceMs: number): Promise<void>;
}

/** Keeps the changes that are being sent, so that a process that shuts down can wait for them. */
export function createInFlightCalls(): InFlightCalls {
  /** The changes that have not ended, by the controllers that can abort them. */
  const running = new Map<AbortController, Promise<unknown>>();
  /** Set at shutdown. From then on, a client that goes away no longer aborts its changes. */
  let isDetached = false;
  return {
    async track(signal, work) {
      const controller = new AbortController();
      const abort = () => {
        // At shutdown, the client's signal aborts because this process cuts the connection. The change is completed then.
        if (!isDetached) controller.abort(signal.reason);
      };
      signal.addEventListener('abort', abort);
      // If the signal has aborted before, its listeners are not called.
      if (signal.aborted) abort();

      const result = work(controller.signal);
      running.set(controller, result);
      try {
        return await result;
      } finally {
        running.delete(controller);
        signal.removeEventListener('abort', abort);
      }
    },
    count: () => running.size,
    detach() {
      isDetached = true;
    },
    async finish(graceMs) {
      const timer = setTimeout(() => {
        for (const controller of running.keys()) controller.abort(new DOMException('time is up', 'TimeoutError'));
      }, graceMs);
      // Waits for aborted changes too, because they still write their outcomes into the journal.
      await Promise.allSettled(running.values());
      clearTimeout(timer);
    },
  };
}
