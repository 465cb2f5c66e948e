/** The changes under way, which a process that is asked to end lets finish. */
export interface InFlightCalls {
  /** Runs work with a signal that follows the client's signal until the process is ending. */
  track<Result>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<Result>): Promise<Result>;
  /** Number of changes under way. */
  count(): number;
  /** After this, a lost connection no longer aborts work. */
  detach(): void;
  /** Resolves when all work has ended. Aborts the remaining work after `graceMs`. */
  finish(graceMs: number): Promise<void>;
}

export function createInFlightCalls(): InFlightCalls {
  /** The work under way, with the controllers that can abort it. */
  const running = new Map<AbortController, Promise<unknown>>();
  let isDetached = false;
  return {
    async track(signal, work) {
      const controller = new AbortController();
      const abort = () => {
        if (!isDetached) controller.abort(signal.reason);
      };
      signal.addEventListener('abort', abort);
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
      await Promise.allSettled(running.values());
      clearTimeout(timer);
    },
  };
}
