/**
 * A signal that aborts with a `TimeoutError` when the time is up (milliseconds), or when another signal aborts. The disposer stops
 * the timer and leaves the other signal.
 * (On Node 20, a time-out inside `AbortSignal.any` can be collected as garbage and never fires.)
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
