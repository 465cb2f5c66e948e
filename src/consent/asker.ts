import type { ConsentClaims } from './tokens.js';

/** The reply of a person to a question. */
export type Reply = 'agreed' | 'declined' | 'notChosen' | 'cancelled' | 'unanswered';

/** Does work that waits for a person. @throws Refusal if too many wait already */
export type Wait = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** The way to the person behind a call. */
export interface Asker {
  /** Set where it reaches the person itself, without a client that could answer on its own. */
  readonly isDirect?: true;
  /** The person's reply, or `later` if the client brings it with another entry of the same call. `accept` are the words of a yes. */
  ask(message: string, accept: string): Promise<Reply | 'later'>;
  /** The reply that this entry brings, and the question that it belongs to. */
  readonly brought?: { readonly claims: ConsentClaims; read(accept: string): Reply };
}
