import {
  type Fields,
  fieldsOf,
  numberOf,
  readText,
  readTimedText,
  type TimedText,
  textsOf,
  timedTextsOf,
  timeOf,
} from './read-fields.js';

/**
 * Key in the `_meta` of a plan, with a `ProposedChange` for the change view. The number in the key is the version of the format, so that during an
 * upgrade, a view of another version shows only the text of the plan, without buttons.
 */
export const changeKey = 'cloudops/change.2';

/** The risks that a view highlights. */
const riskNames = ['costs money', 'no way back'] as const;
export type RiskName = (typeof riskNames)[number];

/** The name and value of a setting, in words. */
interface NamedValue {
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

/** A short title for each outcome. */
export const outcomeTitles = {
  accepted: 'Accepted',
  partly: 'Done in part',
  rejected: 'Refused by the cloud',
  unknown: 'The outcome is not known',
  declined: 'Nothing was done',
  withdrawn: 'The plan was withdrawn',
  expired: 'The plan has expired',
  late: 'Too late',
  used: 'Decided before',
  uncounted: 'The click did not count',
  refused: 'Not sent',
} as const satisfies Readonly<Record<OutcomeKind, string>>;

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

/** Reads a proposed change from `_meta`. Returns undefined if the change is missing or not complete enough for a decision. */
export function readProposedChange(meta: unknown): ProposedChange | undefined {
  const change = fieldsOf(fieldsOf(meta)[changeKey]);
  const { sentence, issuedAt, expiresAt, accept, decline, ticket, typePrompt } = textFields(change);
  // A person needs these fields to decide. Without a ticket, the view shows the plan without buttons.
  if (sentence === undefined || accept === undefined || decline === undefined) return undefined;
  if (expiresAt === undefined || timeOf(expiresAt) === undefined) return undefined;

  return {
    sentence,
    risks: riskNames.filter((risk) => textsOf(change.risks).includes(risk)),
    isSandbox: change.isSandbox === true,
    where: textsOf(change.where),
    effects: timedTextsOf(change.effects),
    warnings: timedTextsOf(change.warnings),
    notChecked: textsOf(change.notChecked),
    defaults: namedValues(change.defaults),
    tables: tablesIn(change.tables),
    request: readText(change.request) ?? '',
    expiresAt,
    accept,
    decline,
    canPlanAgain: change.canPlanAgain === true,
    otherWays: textsOf(change.otherWays),
    ...(issuedAt !== undefined && { issuedAt }),
    ...(ticket !== undefined && { ticket }),
    ...(typePrompt !== undefined && { typePrompt }),
  };
}

const tablesIn = (values: unknown): ShownTable[] =>
  (Array.isArray(values) ? values : []).map(fieldsOf).map(({ title, columns, rows, more }) => ({
    title: readText(title) ?? '',
    columns: textsOf(columns),
    rows: (Array.isArray(rows) ? rows : []).map(textsOf),
    more: numberOf(more) ?? 0,
  }));

const namedValues = (values: unknown): NamedValue[] =>
  (Array.isArray(values) ? values : []).flatMap((setting) => {
    const { name, value } = textFields(fieldsOf(setting));
    return name === undefined || value === undefined ? [] : [{ name, value }];
  });

/** Reads the outcome of a change from `_meta`. Returns undefined if the outcome is missing or has no kind or sentence. */
export function readOutcome(meta: unknown): ChangeOutcome | undefined {
  const outcome = fieldsOf(fieldsOf(meta)[outcomeKey]);
  const kind = outcomeKinds.find((candidate) => candidate === outcome.kind);
  const sentence = readTimedText(outcome.sentence);
  if (kind === undefined || sentence === undefined) return undefined;

  const next = readTimedText(outcome.next);
  const earlier = readTimedText(outcome.earlier);
  const { sentAt, code } = textFields(outcome);
  const requestIds = Object.entries(fieldsOf(outcome.requestIds)).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );

  return {
    kind,
    sentence,
    details: timedTextsOf(outcome.details),
    requestIds: Object.fromEntries(requestIds),
    ...(outcome.isSandbox === true && { isSandbox: true }),
    ...(Array.isArray(outcome.where) && { where: textsOf(outcome.where) }),
    ...(next !== undefined && { next }),
    ...(sentAt !== undefined && { sentAt }),
    ...(code !== undefined && { code }),
    ...(outcome.isOfPlan === true && { isOfPlan: true }),
    ...(earlier !== undefined && { earlier }),
  };
}

/** Reads all fields of an object as texts. Other values count as absent. */
const textFields = (fields: Fields): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, readText(value)]));
