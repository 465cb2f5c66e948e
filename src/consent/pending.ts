import type { Intent } from '../journal/entry.js';
import type { ConsentWay } from './outcome.js';
import type { Plan, PlannedCall } from './plan.js';

/** Arguments that steer a change and are not sent. */
export interface ControlArguments {
  readonly planOnly: boolean;
  readonly planId: string | undefined;
  readonly allowRepeat: boolean;
  /** Set if the plan of the planId is no longer wanted. */
  readonly withdraw: boolean;
}

/** The entry of a change in the journal, as far as that is known before anybody decides. */
export type PendingEntry = Omit<Intent, 'time' | 'consent' | 'nonce' | 'answeredAfterMs' | 'approver'>;

/** A change that waits for consent. */
export interface PendingChange {
  readonly call: PlannedCall;
  readonly plan: Plan;
  readonly control: ControlArguments;
  /** The id of the change that it may repeat, as its plan says; empty if there is none, true for any, false if it may repeat none. */
  readonly repeats: string | boolean;
  readonly entry: PendingEntry;
  /** The nonce of the plan that the call brings the planId of, if nobody has decided on it. */
  readonly planNonce?: string | undefined;
  readonly now: () => Date;
  /**
   * Takes the plan with a nonce out of those that wait.
   * @throws Refusal if somebody else has decided on it
   */
  readonly claim: (nonce: string) => Promise<void>;
}

/** Consent to a change, and how it came. */
export interface Consent {
  readonly kind: 'given';
  readonly how: ConsentWay;
  /** Makes it count once. */
  readonly nonce?: string | undefined;
  /** The name of the person who decided, where that is not the caller. */
  readonly approver?: string | undefined;
  /** The time that the person took to answer. */
  readonly answeredAfterMs?: number | undefined;
}

/** The entry of a change in the journal, now that somebody has decided on it. */
export const journalIntent = ({ entry, now }: Pick<PendingChange, 'entry' | 'now'>, consent: Consent): Intent => ({
  ...entry,
  time: now().toISOString(),
  consent: consent.how,
  nonce: consent.nonce,
  approver: consent.approver,
  answeredAfterMs: consent.answeredAfterMs,
});
