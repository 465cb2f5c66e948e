/**
 * Does work that ends when its time is up or the caller gives up, whichever is first. The signal it gets then aborts, with a
 * `TimeoutError` as reason if it was the time. (On Node 20, a time-out inside `AbortSignal.any` can be collected as
 * garbage and never fires.)
 */
export async function withDeadline<Result>(
  timeoutMs: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController();
  const giveUp = () => controller.abort(signal.reason);
  const timer = setTimeout(() => controller.abort(new DOMException('time is up', 'TimeoutError')), timeoutMs);
  signal.addEventListener('abort', giveUp);
  if (signal.aborted) giveUp();
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', giveUp);
  }
}
