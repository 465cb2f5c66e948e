import { type Fields, fieldsOf, textOf, textsOf, timeOf } from './read.js';

/** In `_meta` of a result that is a plan: what the change view shows and, for a click, the ticket. */
export const changeKey = 'cloudops/change';

/** A change that waits for a decision. All text is ready to be read; none of it is HTML. */
export interface ProposedChange {
  /** The whole decision in one sentence. */
  readonly sentence: string;
  /** Everything that will be created, changed or billed. */
  readonly effects: readonly string[];
  readonly warnings: readonly string[];
  /** The cloud's values for arguments that were left out. */
  readonly defaults: readonly string[];
  /** The request as it will be sent, with secrets as fingerprints. */
  readonly request: string;
  /** The end of the plan's life, in ISO 8601. */
  readonly expiresAt: string;
  /** The words on the two buttons: "Create server wiki", "Do nothing". */
  readonly accept: string;
  readonly decline: string;
  /** The ticket that a click has to bring. Absent where the decision is not made in the view. */
  readonly ticket?: string;
}

/** The arguments of the tool `decide_change`. */
export interface Decision {
  readonly ticket: string;
  readonly decision: 'accept' | 'decline';
}

/** In `_meta` of a result that ends a change: its outcome. */
export const outcomeKey = 'cloudops/outcome';

/**
 * The outcome of a change:
 * - `accepted`, `rejected`: the cloud's answer.
 * - `unknown`: the request may have arrived and no answer says so.
 * - `declined`: the person clicked "Do nothing". Nothing was sent.
 * - `expired`: the plan is no longer valid. This click sent nothing.
 * - `used`: an earlier click decided the plan. This one sent nothing.
 * - `refused`: for any other reason, this click sent nothing.
 */
export const outcomeKinds = ['accepted', 'rejected', 'unknown', 'declined', 'expired', 'used', 'refused'] as const;
export type OutcomeKind = (typeof outcomeKinds)[number];

export interface ChangeOutcome {
  readonly kind: OutcomeKind;
  readonly sentence: string;
  /** Particulars, one a line. */
  readonly details: readonly string[];
  /** By name of the header or field that they came in. */
  readonly requestIds: Readonly<Record<string, string>>;
  readonly next?: string;
}

/** Reads a proposed change from `_meta`; undefined if there is none, or none that could be decided on. */
export function readProposedChange(meta: unknown): ProposedChange | undefined {
  const change = fieldsOf(fieldsOf(meta)[changeKey]);
  const { sentence, expiresAt, accept, decline, ticket } = texts(change);
  if (sentence === undefined || accept === undefined || decline === undefined) return undefined;
  if (expiresAt === undefined || timeOf(expiresAt) === undefined) return undefined;
  return {
    sentence,
    effects: textsOf(change.effects),
    warnings: textsOf(change.warnings),
    defaults: textsOf(change.defaults),
    request: textOf(change.request) ?? '',
    expiresAt,
    accept,
    decline,
    ...(ticket !== undefined && { ticket }),
  };
}

/** Reads an outcome from `_meta`; undefined if there is none. */
export function readOutcome(meta: unknown): ChangeOutcome | undefined {
  const outcome = fieldsOf(fieldsOf(meta)[outcomeKey]);
  const kind = outcomeKinds.find((known) => known === outcome.kind);
  const { sentence, next } = texts(outcome);
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
  };
}

const texts = (fields: Fields): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, textOf(value)]));
