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
  const running = new Map<AbortController, Promise<unknown>>();
  let ending = false;
  return {
    async track(signal, work) {
      const controller = new AbortController();
      const follow = () => {
        if (!ending) controller.abort(signal.reason);
      };
      signal.addEventListener('abort', follow);
      if (signal.aborted) follow();
      const done = work(controller.signal);
      running.set(controller, done);
      try {
        return await done;
      } finally {
        running.delete(controller);
        signal.removeEventListener('abort', follow);
      }
    },
    count: () => running.size,
    detach() {
      ending = true;
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
