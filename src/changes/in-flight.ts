/** Keeps the changes that are being sent, so that a process that shuts down can wait for them. */
export function createInFlightCalls() {
  const running = new Map<AbortController, Promise<unknown>>();
  let isDetached = false;
  return {
    /** Sends a change by `work`. The signal aborts with the client's, but not after `detach`. */
    async track<Result>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
      const controller = new AbortController();
      const abort = () => {
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
    /** Completes changes without their clients, because shutting down cuts the connections. */
    detach() {
      isDetached = true;
    },
    /** Resolves when all changes have ended. Aborts the rest after `graceMs`. */
    async finish(graceMs: number): Promise<void> {
      const timer = setTimeout(() => {
        for (const controller of running.keys()) controller.abort(new DOMException('time is up', 'TimeoutError'));
      }, graceMs);
      // Aborted changes still write their outcomes into the journal.
      await Promise.allSettled(running.values());
      clearTimeout(timer);
    },
  };
}

export type InFlightCalls = ReturnType<typeof createInFlightCalls>;
