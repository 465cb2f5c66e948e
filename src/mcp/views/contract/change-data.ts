import { type Fields, fieldsOf, readText, textsOf, timeOf } from './read-fields.js';

/** In `_meta` of a result that is a plan: what the change view shows and, for a click, the ticket. */
export const changeKey = 'cloudops/change';

/** The reasons to think twice that a plan is marked with. */
export const riskNames = ['costs money', 'no way back'] as const;
export type RiskName = (typeof riskNames)[number];

/** A field in words, and its value. */
export interface NamedValue {
  readonly name: string;
  readonly value: string;
}

/** A change that waits for a decision. All text is ready to be read; none of it is HTML. Times in it are in ISO 8601, UTC. */
export interface ProposedChange {
  /** The whole decision in one sentence. */
  readonly sentence: string;
  readonly risks: readonly RiskName[];
  /** True if it goes to the built-in sandbox. */
  readonly isSandbox: boolean;
  /** Region, zone and account, each with where it comes from. */
  readonly where: readonly string[];
  /** Everything that will be created, changed or billed. */
  readonly effects: readonly string[];
  readonly warnings: readonly string[];
  /** Facts that nobody has checked: `that the backup exists`. */
  readonly notChecked: readonly string[];
  /** The cloud's values for arguments that were left out. */
  readonly defaults: readonly NamedValue[];
  /** The request as it will be sent, with secrets as fingerprints. */
  readonly request: string;
  /** The beginning and the end of the plan's life, in ISO 8601. */
  readonly issuedAt?: string;
  readonly expiresAt: string;
  /** The words on the two buttons: `Create server "wiki" (costs money)`, "Do nothing". */
  readonly accept: string;
  readonly decline: string;
  /** The ticket that a click has to bring. Absent where the decision is not made in the view. */
  readonly ticket?: string;
  /** True if the ticket also gives the plan anew, once it has expired. */
  readonly canPlanAgain: boolean;
  /** The ways to decide where clicks are not passed on, one sentence each. */
  readonly otherWays: readonly string[];
}

/**
 * The arguments of the tool `decide_change`. Beside the two decisions, `look` tells what became of the plan, and `again` makes a new
 * one of the same change: neither sends anything.
 */
export interface Decision {
  readonly ticket: string;
  readonly decision: (typeof decisions)[number];
}
export const decisions = ['accept', 'decline', 'look', 'again'] as const;

/** In `_meta` of a result that ends a change: its outcome. */
export const outcomeKey = 'cloudops/outcome';

/**
 * The outcome of a change:
 * - `accepted`, `rejected`: the cloud's answer.
 * - `unknown`: the request may have arrived and no answer says so.
 * - `declined`: the person clicked "Do nothing". Nothing was sent.
 * - `expired`: the plan is no longer valid. This click sent nothing.
 * - `used`: an earlier click decided the plan, and its outcome is not known here. This one sent nothing.
 * - `refused`: for any other reason, this click sent nothing.
 */
export const outcomeKinds = ['accepted', 'rejected', 'unknown', 'declined', 'expired', 'used', 'refused'] as const;
export type OutcomeKind = (typeof outcomeKinds)[number];

/** Each of them in two or three words. */
export const outcomeTitles = {
  accepted: 'Accepted',
  rejected: 'Refused by the cloud',
  unknown: 'The outcome is not known',
  declined: 'Nothing was done',
  expired: 'The plan has expired',
  used: 'Decided before',
  refused: 'Not sent',
} as const satisfies Readonly<Record<OutcomeKind, string>>;

export interface ChangeOutcome {
  readonly kind: OutcomeKind;
  readonly sentence: string;
  /** Particulars, one a line. */
  readonly details: readonly string[];
  /** By name of the header or field that they came in. */
  readonly requestIds: Readonly<Record<string, string>>;
  readonly next?: string;
  /** The time at which it was sent, in ISO 8601. */
  readonly sentAt?: string;
  /** The code of a failure, for whoever is asked about it. */
  readonly code?: string;
  /** True if an earlier click decided, and this is what came of it. */
  readonly isEarlier?: boolean;
}

/** Reads a proposed change from `_meta`; undefined if there is none, or none that could be decided on. */
export function readProposedChange(meta: unknown): ProposedChange | undefined {
  const change = fieldsOf(fieldsOf(meta)[changeKey]);
  const { sentence, issuedAt, expiresAt, accept, decline, ticket } = texts(change);
  if (sentence === undefined || accept === undefined || decline === undefined) return undefined;
  if (expiresAt === undefined || timeOf(expiresAt) === undefined) return undefined;
  return {
    sentence,
    risks: riskNames.filter((risk) => textsOf(change.risks).includes(risk)),
    isSandbox: change.isSandbox === true,
    where: textsOf(change.where),
    effects: textsOf(change.effects),
    warnings: textsOf(change.warnings),
    notChecked: textsOf(change.notChecked),
    defaults: namedValues(change.defaults),
    request: readText(change.request) ?? '',
    expiresAt,
    accept,
    decline,
    canPlanAgain: change.canPlanAgain === true,
    otherWays: textsOf(change.otherWays),
    ...(issuedAt !== undefined && { issuedAt }),
    ...(ticket !== undefined && { ticket }),
  };
}

const namedValues = (values: unknown): NamedValue[] =>
  (Array.isArray(values) ? values : []).flatMap((one) => {
    const { name, value } = texts(fieldsOf(one));
    return name === undefined || value === undefined ? [] : [{ name, value }];
  });

/** Reads an outcome from `_meta`; undefined if there is none. */
export function readOutcome(meta: unknown): ChangeOutcome | undefined {
  const outcome = fieldsOf(fieldsOf(meta)[outcomeKey]);
  const kind = outcomeKinds.find((known) => known === outcome.kind);
  const { sentence, next, sentAt, code } = texts(outcome);
  if (kind === undefined || sentence === undefined) return undefined;
  const requestIds = texts(fieldsOf(outcome.requestIds));
  return {
    kind,
    sentence,
    details: textsOf(outcome.details),
    requestIds: Object.fromEntries(
      Object.entries(requestIds).flatMap(([name, id]) => (id === undefined ? [] : [[name, id]])),
    ),
    ...(next !== undefined && { next }),
    ...(sentAt !== undefined && { sentAt }),
    ...(code !== undefined && { code }),
    ...(outcome.isEarlier === true && { isEarlier: true }),
  };
}

const texts = (fields: Fields): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, readText(value)]));
