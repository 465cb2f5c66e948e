/** Resolves with the result of `work`, or rejects with `late` if `work` takes longer than `ms` milliseconds. `work` itself then goes on. */
export async function withinTime<Value>(work: Promise<Value>, ms: number, late: Error): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(reject, ms, late);
  });
  return Promise.race([work, timeout]).finally(() => clearTimeout(timer));
}

/**
 * Returns a signal that aborts with a `TimeoutError` after `ms` milliseconds, or as soon as `signal` aborts. Disposing stops the timer and
 * removes the listener from `signal`. `AbortSignal.any` is not used, because on Node 20 a time limit inside it can be garbage-collected and
 * then never fires.
 */
export function timeLimit(ms: number, signal: AbortSignal): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  const abort = () => controller.abort(signal.reason);
  const timer = setTimeout(() => controller.abort(new DOMException('time is up', 'TimeoutError')), ms);
  signal.addEventListener('abort', abort);
  if (signal.aborted) abort();
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
    },
  };
}
