import type { Shown } from '../util/safe-text.js';
import type { DecisionPage } from './decision-page.js';
import type { Elicitor, Guide, Wait } from './elicitor.js';
import type { Plans } from './plans.js';
import type { Refusals } from './refusals.js';
import type { ConsentMode } from './required-consent.js';
import type { ConsentClaims, ConsentTokens } from './tokens.js';

/** The ways in which the person behind a call can be reached, and the consent that the call brings along. */
export interface ConsentInput {
  /** Aborts when the client cancels. */
  readonly signal: AbortSignal;
  /** Aborts when the server is to end: whoever is asked then answers too late. */
  readonly stop?: AbortSignal | undefined;
  /** Does what waits for a person, where a call that waits gives something back. */
  readonly wait?: Wait | undefined;
  /** Absent if the client cannot ask its user. */
  readonly elicitor?: Elicitor | undefined;
  /** Absent if the client cannot send its user to an address. */
  readonly guide?: Guide | undefined;
  /** Set if nobody knows what the client can do, because its session cannot be read. */
  readonly isUnknownClient?: boolean;
  /** Set if the client shows views (MCP Apps). */
  readonly hasView?: boolean;
  /** The click on the change view that makes this call. */
  readonly click?: Click | undefined;
  /** Set if the view of a plan asks what became of it. Nothing else is done then. */
  readonly look?: Click['claims'] | undefined;
  /** Set if the person who makes the call said yes beforehand, with an option of the command line. */
  readonly agreed?: boolean;
  /** The caller's scopes, where callers are told apart. */
  readonly principal?: { readonly scopes: readonly string[] } | undefined;
  readonly tokens: ConsentTokens;
}

/** The same for all calls of a process. */
export interface ConsentSettings {
  readonly confirm: ConsentMode;
  readonly refusals: Refusals;
  /** Plans that wait for a person. */
  readonly plans: Plans;
  /** Absent if there is none. */
  readonly page?: DecisionPage | undefined;
  /** A new text that nobody can guess. */
  readonly newNonce: () => string;
}

/** The decision of a person who clicked on a plan, and the plan that it is bound to. */
export interface Click {
  readonly decision: 'accept' | 'decline';
  readonly claims: Omit<ConsentClaims, 'use'>;
  /** Set if the click was on the page: who clicked, and the change that the plan said it repeats. */
  readonly page?: { readonly person: string | undefined; readonly repeats: string | boolean };
}

/** A question that the client brings the answer to, with another entry of the same call. */
export interface Question {
  readonly kind: 'inputRequired';
  readonly message: Shown;
  /** The words of a yes, or the address that the user is sent to. */
  readonly answer: { readonly accept: Shown } | { readonly address: string };
  readonly claims: Omit<ConsentClaims, 'issuedAt'>;
}
