import { linkedController } from '../util/time-limit.js';
import { Refusal } from './refusal.js';

/** This file has the ways in which a call waits. */

/** Runs work outside the limit of concurrent calls. @throws Refusal */
export type Wait = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** Runs work with `wait`, or directly if there is no limit. */
export const waitForPerson = <Result>(
  { wait }: { readonly wait?: Wait | undefined },
  work: () => Promise<Result>,
): Promise<Result> => (wait === undefined ? work() : wait(work));

/**
 * Runs work that changes nothing, and stops waiting for it when `stop` aborts. After `signal`, the wait goes on until the work has ended.
 * @throws Refusal `Stopping`
 */
export async function unlessStopped<Result>(
  stop: AbortSignal | undefined,
  work: (workSignal: AbortSignal) => Promise<Result>,
  signal?: AbortSignal,
): Promise<Result> {
  if (stop?.aborted) throw new Refusal('Stopping');

  using linked = linkedController(signal);
  let rejectStopping: () => void = () => {};
  const stopping = new Promise<never>((_, reject) => {
    rejectStopping = () => reject(new Refusal('Stopping'));
  });
  stop?.addEventListener('abort', rejectStopping);

  try {
    return await Promise.race([stopping, work(linked.controller.signal)]);
  } finally {
    stop?.removeEventListener('abort', rejectStopping);
    // Aborted only now, so that the error of an aborted part cannot replace the first error.
    linked.controller.abort('the work has ended');
  }
}
