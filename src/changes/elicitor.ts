import type { Plan } from '../calls/outcome.js';
import type { SafeText } from '../util/safe-text.js';

/** This file has the ways to ask the person behind a call. */

/** The response to a form. `unanswered` stayed open for too long, and `notAsked` means that the client could not ask. */
export interface FormResponse {
  readonly kind: 'agreed' | 'wrongName' | 'declined' | 'cancelled' | 'unanswered' | 'notAsked';
  /** As it was typed. */
  readonly reason?: string | undefined;
}

/** Asks the person behind a call. */
export interface Elicitor {
  /** Set for this process's own terminal, where no client can answer for the person. */
  readonly isDirect?: true;
  show?(plan: Plan): void;
  /**
   * Asks a question. Clients since 2026-07-28 get `later`, and call again with the response (`Brought`).
   * @param accept label of the accepting option
   */
  ask(message: SafeText, accept: SafeText, cancel: AbortSignal, nameToType?: string): Promise<FormResponse | 'later'>;
}

/** The response to an address. `opened` is no decision. */
export type Visit = 'opened' | 'declined' | 'cancelled';

/** Asks the client's user to open an address (MCP's URL elicitation). */
export interface Guide {
  /** Resolves with `later` as `ask` does. */
  send(message: SafeText, address: string, cancel: AbortSignal): Promise<Visit | 'later'>;
}

/** What a call brings back from a person whom an earlier call asked. */
export type Brought =
  | { readonly kind: 'nothing' }
  | {
      readonly kind: 'answer';
      /** The question's `requestState`. */
      readonly proof: string;
      /** As the response to a form. */
      readonly responseTo: (accept: string, nameToType?: string) => FormResponse;
      readonly visit: Visit;
    };
