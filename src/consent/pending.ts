import type { Plan, PlannedCall } from '../answers/plan.js';
import type { ConsentWay } from '../answers/success.js';
import type { Intent } from '../journal/entry.js';

/** Arguments that steer a change and are not sent. */
export interface Steering {
  readonly planOnly: boolean;
  readonly planId: string | undefined;
  readonly allowRepeat: boolean;
}

/** A change that waits for consent. */
export interface PendingChange {
  readonly call: PlannedCall;
  readonly plan: Plan;
  readonly steering: Steering;
  /** The id of the change that it may repeat, as its plan says; empty if there is none, true for any, false if it may repeat none. */
  readonly repeats: string | boolean;
  /** Its entry in the journal, as far as that is known before anybody decides. */
  readonly entry: Omit<Intent, 'time' | 'consent' | 'nonce' | 'answeredAfterMs'>;
  readonly now: () => Date;
}

/** Consent to a change, and how it came. */
export interface Consent {
  readonly kind: 'given';
  readonly how: ConsentWay;
  /** Makes it count once. */
  readonly nonce?: string | undefined;
  /** The time that the person took to answer. */
  readonly answeredAfterMs?: number | undefined;
}

/** The entry of a change in the journal, now that somebody has decided on it. */
export const intentOf = ({ entry, now }: PendingChange, consent: Consent): Intent => ({
  ...entry,
  time: now().toISOString(),
  consent: consent.how,
  nonce: consent.nonce,
  answeredAfterMs: consent.answeredAfterMs,
});
