import { Refusal } from './refusal.js';

/** This file has the ways in which a call waits: for a person, and until the server stops. */

/** Runs work that waits for a person, outside the limit of concurrent calls. @throws Refusal if too many calls wait already */
export type Wait = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** Runs work that waits for a person: with `wait`, or directly if there is no limit of concurrent calls. */
export const waitForPerson = <Result>(
  { wait }: { readonly wait?: Wait | undefined },
  work: () => Promise<Result>,
): Promise<Result> => (wait === undefined ? work() : wait(work));

/**
 * Runs work, and stops waiting for it when `stop` aborts because this server shuts down. The work may be abandoned, because it changes nothing
 * (it asks a person, for example). The work gets a signal that aborts when `stop` or `signal` aborts.
 * @param signal asks the work to end. Unlike after `stop`, the wait goes on until the work has ended
 * @throws Refusal `Stopping` on shutdown, which does not count as a person's refusal
 */
export async function unlessStopped<Result>(
  stop: AbortSignal | undefined,
  work: (workSignal: AbortSignal) => Promise<Result>,
  signal?: AbortSignal,
): Promise<Result> {
  if (stop?.aborted) throw new Refusal('Stopping');

  /** Aborts the work: in `abort` when `signal` aborts, and in the `finally` below in all other cases. */
  const workController = new AbortController();
  const abort = () => workController.abort(signal?.reason);
  signal?.addEventListener('abort', abort);
  // A signal that has aborted before calls no listener.
  if (signal?.aborted) abort();

  /** Rejects `stopping`, which ends the wait. */
  let rejectStopping: () => void = () => {};
  const stopping = new Promise<never>((_, reject) => {
    rejectStopping = () => reject(new Refusal('Stopping'));
  });
  stop?.addEventListener('abort', rejectStopping);

  try {
    return await Promise.race([stopping, work(workController.signal)]);
  } finally {
    // The listeners are removed one by one, because the option `signal` of `addEventListener` removes only the last listener after a garbage
    // collection (Node.js issue 63954). All others would stay on `stop` as long as the process runs, and keep the results of their work in memory.
    signal?.removeEventListener('abort', abort);
    stop?.removeEventListener('abort', rejectStopping);
    // On shutdown or after an error, parts of the work may still run. They are aborted only after the wait, so that the error of an aborted part
    // cannot replace the error that ended the wait. The reason is a text, because the default reason is an error with a stack, which costs time.
    workController.abort('the work has ended');
  }
}
