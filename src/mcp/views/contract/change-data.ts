/** A text, or its pieces. A number is a time (milliseconds since 1970), which a view writes in its host's time zone. */
export type TimedText = string | readonly (string | number)[];

/**
 * Key in the `_meta` of a plan, with a `ProposedChange` for the change view. The number in the key is the version of the format, so that during an
 * upgrade, a view of another version shows only the text of the plan, without buttons.
 */
export const changeKey = 'cloudops/change.2';

/** The risks that a view highlights. */
export const riskNames = ['costs money', 'may cost money', 'no way back'] as const;
export type RiskName = (typeof riskNames)[number];

/** The name and value of a setting, in words. */
export interface NamedValue {
  readonly name: string;
  readonly value: string;
}

/** A table. The last `more` rows are left out of `rows`. */
export interface ShownTable {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly more: number;
}

/** A change that waits for a decision. All texts are plain text, not HTML. */
export interface ProposedChange {
  /** The change in one sentence. */
  readonly sentence: string;
  readonly risks: readonly RiskName[];
  /** True if the change goes to the built-in sandbox. */
  readonly isSandbox: boolean;
  /** Region, zone and account, each with the reason why it was chosen. */
  readonly where: readonly string[];
  /** Everything that will be created, changed or billed. Also long names in full, the present state and other arguments. */
  readonly effects: readonly TimedText[];
  readonly warnings: readonly TimedText[];
  /** Facts that were not checked: `that the backup exists`. */
  readonly notChecked: readonly string[];
  /** The cloud's values for arguments that were left out. */
  readonly defaults: readonly NamedValue[];
  /** The lists among the arguments, such as node pools. */
  readonly tables: readonly ShownTable[];
  /** The request as it will be sent, with secrets as fingerprints. */
  readonly request: string;
  /** When the plan was made, in ISO 8601. */
  readonly issuedAt?: string;
  /** When the plan expires, in ISO 8601. */
  readonly expiresAt: string;
  /** Label of the accepting button: `Create server "wiki" (costs money)`. */
  readonly accept: string;
  /** Label of the declining button: `Do nothing`. */
  readonly decline: string;
  /** Label of the field in which the person types the name of what is deleted: `To go ahead, type "wiki"`. */
  readonly typePrompt?: string;
  /** The action token for a click, which `decide_change` takes. Absent if this plan cannot be decided in the view. */
  readonly ticket?: string;
  /** True if the action token can also be used to make a new plan when this plan has expired. */
  readonly canPlanAgain: boolean;
  /** Other ways to decide, if the host does not forward clicks. One sentence each. */
  readonly otherWays: readonly string[];
}

/** The arguments of `decide_change`. `look` returns the state of the plan, and `again` makes a new plan. Neither sends the change. */
export interface ViewDecision {
  readonly ticket: string;
  readonly decision: (typeof decisions)[number];
  /** Why the person declines: one line of at most `longestReason` characters. */
  readonly reason?: string;
  /** The name that the person typed. */
  readonly name?: string;
}
export const decisions = ['accept', 'decline', 'look', 'again'] as const;

/** Key in the `_meta` of a result that ends a change, with a `ChangeOutcome`. The number is the version of the format. */
export const outcomeKey = 'cloudops/outcome.2';

/**
 * The outcome of a change:
 * - `accepted`, `rejected`: the cloud's answer.
 * - `partly`: the cloud did a part of the change.
 * - `unknown`: there is no answer, and the request may have arrived.
 * - `declined`: the person clicked "Do nothing". Nothing was sent.
 * - `withdrawn`: the caller of the plan took it back, or replaced it with a newer one.
 * - `expired`: the plan is no longer valid. This click sent nothing.
 * - `late`: another decision stands. This click changed nothing.
 * - `used`: the plan was decided, and its outcome is not known yet. This click sent nothing.
 * - `uncounted`: this click did not count, for example because a wrong name was typed. The plan still waits.
 * - `refused`: this click sent nothing, for another reason.
 */
export const outcomeKinds = [
  'accepted',
  'partly',
  'rejected',
  'unknown',
  'declined',
  'withdrawn',
  'expired',
  'late',
  'used',
  'uncounted',
  'refused',
] as const;
export type OutcomeKind = (typeof outcomeKinds)[number];

export interface ChangeOutcome {
  readonly kind: OutcomeKind;
  readonly sentence: TimedText;
  /** True if the change went to the built-in sandbox. */
  readonly isSandbox?: boolean;
  /** Region, zone and account, each with the reason why it was chosen, unless a plan in the same result shows them. */
  readonly where?: readonly string[];
  /** Warnings, notes and the consent, or the problems of a failure. */
  readonly details: readonly TimedText[];
  /** Request IDs by the name of their header or field. */
  readonly requestIds: Readonly<Record<string, string>>;
  readonly next?: TimedText;
  /** The time at which the request was sent, in ISO 8601. */
  readonly sentAt?: string;
  /** The code of the cloud's error, for its support. */
  readonly code?: string;
  /**
   * True if this is the outcome with which the plan ended, found by a look or a late click. No click can send anything any more. Absent for the
   * outcome of a click itself, and for a refused look.
   */
  readonly isOfPlan?: boolean;
  /** A sentence with the earlier decision on the plan, if there is one, and with the person and the time if they are known. */
  readonly earlier?: TimedText;
}
