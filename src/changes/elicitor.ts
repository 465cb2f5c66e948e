import type { Plan } from '../calls/outcome.js';
import type { SafeText } from '../util/safe-text.js';

/** This file has the ways in which the person behind a call is asked, and what a call brings back from them. */

/**
 * The response of a person to a form. `cancelled` is a form that was closed, and `unanswered` one that stayed open for too long. `notAsked` is no
 * response of a person: the client answered with an error, without content or with something unusable, so it could not ask.
 */
export interface FormResponse {
  readonly kind: 'agreed' | 'wrongName' | 'declined' | 'cancelled' | 'unanswered' | 'notAsked';
  /** Why the person declined, as it was typed. */
  readonly reason?: string | undefined;
}

/** Asks the person behind a call. */
export interface Elicitor {
  /** Set if the person answers at this process's own terminal, so that no client can answer in the person's place. */
  readonly isDirect?: true;
  /** Shows the whole plan before the question. Absent if the client shows nothing but the question. */
  show?(plan: Plan): void;
  /**
   * Asks a question. Clients of protocols before 2026-07-28 respond during the call. For clients of newer protocols, this resolves with
   * `later`, because the call ends with the question, and the client makes the same call again with the response (`Brought`).
   * @param accept label of the accepting option
   * @param cancel aborts when the response is not needed any more
   * @param nameToType the name that the person has to type to accept, for a deletion
   */
  ask(message: SafeText, accept: SafeText, cancel: AbortSignal, nameToType?: string): Promise<FormResponse | 'later'>;
}

/** The response of a user who was asked to open an address. `opened` is no decision, because the person decides on the page. */
export type Visit = 'opened' | 'declined' | 'cancelled';

/** Asks the client's user to open an address, as MCP's URL elicitation does. */
export interface Guide {
  /** Sends the user to an address. Resolves with `later` for clients of protocols since 2026-07-28: see `Elicitor.ask`. */
  send(message: SafeText, address: string, cancel: AbortSignal): Promise<Visit | 'later'>;
}

/** What a call brings back from a person whom an earlier call asked. */
export type Brought =
  | { readonly kind: 'nothing' }
  | {
      readonly kind: 'answer';
      /** The proof that the client got with the question, as its `requestState`. */
      readonly proof: string;
      /** Reads the answer as the response to a form with this label and name. */
      readonly responseTo: (accept: string, nameToType?: string) => FormResponse;
      /** The answer, if the question was to open the page. */
      readonly visit: Visit;
    };
