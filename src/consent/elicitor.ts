import type { SafeText } from '../util/safe-text.js';
import type { Plan } from './plan.js';
import { Refusal } from './refusal.js';
import type { ConsentClaims } from './tokens.js';

/** The reply of a person to a question. */
export interface UserReply {
  readonly kind: 'agreed' | 'wrongName' | 'declined' | 'notChosen' | 'cancelled' | 'unanswered';
  /** Why the person declined, as it was typed. */
  readonly reason?: string | undefined;
}

/** Runs work that waits for a person. @throws Refusal if too many calls wait already */
export type Wait = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** Runs work that waits for a person, if possible outside the limit of concurrent calls. */
export const waitForPerson = <Result>(
  { wait }: { readonly wait?: Wait | undefined },
  work: () => Promise<Result>,
): Promise<Result> => (wait === undefined ? work() : wait(work));

/** Asks the person behind a call. */
export interface Elicitor {
  /** Set if no client is in between that could answer by itself. */
  readonly isDirect?: true;
  /** Shows the whole plan before the question. Absent if there is no room for it. */
  show?(plan: Plan): void;
  /**
   * Asks a question. Resolves with `later` if the client will send the reply with a second request for the same call.
   * @param accept label of the accepting option
   * @param over aborts when the reply is not needed any more
   * @param typedName the name that the person types to accept, for a deletion
   */
  ask(message: SafeText, accept: SafeText, over: AbortSignal, typedName?: string): Promise<UserReply | 'later'>;
  /** The reply that this request carries, and the claims of its question. */
  readonly resumedReply?: { readonly claims: ConsentClaims; read(accept: string, typedName?: string): UserReply };
}

/** The result of asking the user to open an address. `opened` is no decision. */
export type Visit = 'opened' | 'declined' | 'cancelled';

/** Asks the client's user to open an address. */
export interface Guide {
  /**
   * Resolves with `later` if the client will send the result with a second request for the same call.
   * @param over aborts when the result is not needed any more
   */
  send(message: SafeText, address: string, over: AbortSignal): Promise<Visit | 'later'>;
  /** The result that this request carries, and the claims of the plan on the page. */
  readonly resumedReply?: { readonly claims: ConsentClaims; readonly visit: Visit };
}

/**
 * Runs work that changes nothing, such as waiting for a person, until the server shuts down. The signal of the work then aborts.
 * @param signal also aborts the signal of the work
 * @throws Refusal `Stopping` on shutdown, which does not count as declined
 */
export async function unlessStopped<Result>(
  stop: AbortSignal | undefined,
  work: (over: AbortSignal) => Promise<Result>,
  signal?: AbortSignal,
): Promise<Result> {
  const over = new AbortController();
  const abort = () => over.abort(signal?.reason);
  signal?.addEventListener('abort', abort, { signal: over.signal });
  if (signal?.aborted) abort();
  if (stop === undefined) return work(over.signal);
  if (stop.aborted) throw new Refusal('Stopping', []);
  const stopping = new Promise<never>((_, reject) => {
    stop.addEventListener('abort', () => reject(new Refusal('Stopping', [])), { signal: over.signal });
  });
  try {
    return await Promise.race([stopping, work(over.signal)]);
  } finally {
    // Ends the work, and removes both listeners.
    over.abort();
  }
}
