import type { SafeText } from '../util/safe-text.js';
import { Refusal } from './refusal.js';
import type { ConsentClaims } from './tokens.js';

/** The reply of a person to a question. */
export type UserReply = 'agreed' | 'declined' | 'notChosen' | 'cancelled' | 'unanswered';

/** Does work that waits for a person. @throws Refusal if too many wait already */
export type Wait = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** The way to the person behind a call. */
export interface Elicitor {
  /** Set where it reaches the person itself, without a client that could answer on its own. */
  readonly isDirect?: true;
  /** Shows the plan with its sections before the question, where there is room for it. */
  show?(plan: SafeText): void;
  /** The person's reply, or `later` if the client brings it with another entry of the same call. `accept` are the words of a yes. */
  ask(message: SafeText, accept: SafeText): Promise<UserReply | 'later'>;
  /** The reply that this entry brings, and the question that it belongs to. */
  readonly resumedReply?: { readonly claims: ConsentClaims; read(accept: string): UserReply };
}

/** The result of sending the user to an address. `opened` is no decision. */
export type Visit = 'opened' | 'declined' | 'cancelled';

/** The way in which a client sends its user to an address. */
export interface Guide {
  /** The result, or `later` if the client brings that with another entry of the same call. */
  send(message: SafeText, address: string): Promise<Visit | 'later'>;
  /** The answer that this entry brings, and the claims of the plan that the user was sent to. */
  readonly resumedReply?: { readonly claims: ConsentClaims; readonly visit: Visit };
}

/**
 * Does work that waits for a person, until the server is to end.
 * @throws Refusal then: nobody has refused anything
 */
export async function unlessStopped<Result>(
  stop: AbortSignal | undefined,
  work: () => Promise<Result>,
): Promise<Result> {
  if (stop === undefined) return work();
  if (stop.aborted) throw new Refusal('Stopping', []);
  const over = new AbortController();
  const stopped = new Promise<never>((_, reject) => {
    stop.addEventListener('abort', () => reject(new Refusal('Stopping', [])), { signal: over.signal });
  });
  try {
    return await Promise.race([stopped, work()]);
  } finally {
    over.abort();
  }
}
