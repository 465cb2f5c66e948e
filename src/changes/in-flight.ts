/** Keeps the changes that are being sent. A process that shuts down calls `detach`, and then `finish` to wait for them. */
export function createInFlightCalls() {
  /** The changes that have not ended, by the controllers that can abort them. */
  const running = new Map<AbortController, Promise<unknown>>();
  let isDetached = false;
  return {
    /** Sends a change by `work`. The signal of `work` aborts with the client's signal, but not after `detach`. */
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
    /** Number of changes that are being sent. */
    count: () => running.size,
    /** After this, changes are completed even if their clients' signals abort, because shutting down cuts the connections to clients. */
    detach() {
      isDetached = true;
    },
    /** Resolves when all changes have ended. Aborts the remaining changes after `graceMs`. */
    async finish(graceMs: number): Promise<void> {
      const timer = setTimeout(() => {
        for (const controller of running.keys()) controller.abort(new DOMException('time is up', 'TimeoutError'));
      }, graceMs);
      // Waits for aborted changes too, because they still write their outcomes into the journal.
      await Promise.allSettled(running.values());
      clearTimeout(timer);
    },
  };
}

export type InFlightCalls = ReturnType<typeof createInFlightCalls>;
