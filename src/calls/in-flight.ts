/** Lets changes under way come to their end when the process is asked to. */
export interface InFlightCalls {
  /** Does work whose signal follows the client's, but not while the process is ending: then it gets its time. */
  track<Result>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<Result>): Promise<Result>;
  /** The number of pieces of work under way. */
  count(): number;
  /** From now on, a connection that is lost ends no work. */
  detach(): void;
  /** Resolves when all work has ended. What has not by then is aborted after `graceMs`. */
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
