/** A controller that aborts with a signal, unless `mayAbort` returns false, until it is disposed of. */
export function linkedController(signal: AbortSignal | undefined, mayAbort = () => true) {
  const controller = new AbortController();
  const abort = () => {
    if (mayAbort()) controller.abort(signal?.reason);
  };
  // The option `signal` of `addEventListener` removes only the last listener after a garbage collection (Node.js issue 63954).
  signal?.addEventListener('abort', abort);
  if (signal?.aborted) abort();
  return { controller, [Symbol.dispose]: () => signal?.removeEventListener('abort', abort) };
}

/** On Node 20, a time limit inside `AbortSignal.any` can be garbage-collected and then never fires. */
export function timeLimit(ms: number, signal: AbortSignal): Disposable & { readonly signal: AbortSignal } {
  const { controller, [Symbol.dispose]: unlink } = linkedController(signal);
  const timer = setTimeout(() => controller.abort(new DOMException('time is up', 'TimeoutError')), ms);
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      unlink();
    },
  };
}
