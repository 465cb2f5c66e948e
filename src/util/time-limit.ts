/** On Node 20, a time limit inside `AbortSignal.any` can be garbage-collected and then never fires. */
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
