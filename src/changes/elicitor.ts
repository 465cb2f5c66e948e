import type { SafeText } from '../util/safe-text.js';
import type { Plan } from './plan.js';
import { Refusal } from '../calls/refusal.js';
import type { ConsentClaims } from '../consent/tokens.js';

/** The reply of a person to a question. `notChosen` is a form that was sent without a choice, and `cancelled` a form that was closed. */
export interface UserReply {
  readonly kind: 'agreed' | 'wrongName' | 'declined' | 'notChosen' | 'cancelled' | 'unanswered';
  /** Why the person declined, as it was typed. */
  readonly reason?: string | undefined;
}

/** Runs work that waits for a person, outside the limit of concurrent calls. @throws Refusal if too many calls wait already */
export type Wait = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** Runs work that waits for a person: with `wait`, or directly if there is no limit of concurrent calls. */
export const waitForPerson = <Result>(
  { wait }: { readonly wait?: Wait | undefined },
  work: () => Promise<Result>,
): Promise<Result> => (wait === undefined ? work() : wait(work));

/** Asks the person behind a call. */
export interface Elicitor {
  /** Set if the person answers at this process's own terminal, so that no client can answer in the person's place. */
  readonly isDirect?: true;
  /** Shows the whole plan before the question. Absent if the client shows nothing but the question. */
  show?(plan: Plan): void;
  /**
   * Asks a question. Clients of protocols before 2026-07-28 reply during the call. For clients of newer protocols, this resolves with
   * `later`, because the call ends with the question, and the client makes the same call again with the reply.
   * @param accept label of the accepting option
   * @param cancel aborts when the reply is not needed any more
   * @param nameToType the name that the person has to type to accept, for a deletion
   */
  ask(message: SafeText, accept: SafeText, cancel: AbortSignal, nameToType?: string): Promise<UserReply | 'later'>;
  /** Set if this request is the second call, which brings the reply. `claims` are the claims of the question. */
  readonly resumedReply?: { readonly claims: ConsentClaims; read(accept: string, nameToType?: string): UserReply };
}

/** The reply of a user who was asked to open an address. `opened` is no decision, because the person decides on the page. */
export type Visit = 'opened' | 'declined' | 'cancelled';

/** Asks the client's user to open an address, as MCP's URL elicitation does. */
export interface Guide {
  /**
   * Sends the user to an address. Resolves with `later` for clients of protocols since 2026-07-28: see `Elicitor.ask`.
   * @param cancel aborts when the reply is not needed any more
   */
  send(message: SafeText, address: string, cancel: AbortSignal): Promise<Visit | 'later'>;
  /** Set if this request is the second call, which brings the reply. `claims` are the claims of the plan on the page. */
  readonly resumedReply?: { readonly claims: ConsentClaims; readonly visit: Visit };
}

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
