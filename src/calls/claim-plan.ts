import { reasonText } from '../changes/decline-reason.js';
import type { EndedOutcome } from './outcome.js';
import type { PlanDecision } from '../consent/plan-decision.js';
import { Refusal, refusedChange } from './refusal.js';
import { words } from '../util/safe-text.js';
import type { CallDependencies } from './context.js';
import { stateUnavailable } from './plan-state.js';
import type { DecisionRecord, IntentDraft } from './stages.js';

/** A decision on a change. The record of an acceptance has no nonce if nobody was shown a plan, for example in the mode `off`. */
export type ChangeDecision = { readonly kind: 'accepted'; readonly record: DecisionRecord } | Decline;

/** A decision against a change. */
export interface Decline {
  /** `declined` by a person, or `withdrawn` by the caller or by a program that answered in place of the user. */
  readonly kind: 'declined' | 'withdrawn';
  readonly record: DecisionRecord;
  /** The error with which the call ends. */
  readonly refusal: Refusal;
  /** Set if the person only closed the question. A planId of the same change then stays valid. */
  readonly isDismissed?: boolean;
}

/**
 * Claims a plan for a decision, so that no other decision on it counts.
 * @returns the nonce of the claimed plan. Undefined for a plan that is not stored: the journal alone makes sure that its nonce counts once
 * @throws Refusal if another decision came first, or if the plans cannot be written
 */
export async function claimPlan(
  { kind, record }: { readonly kind: PlanDecision['kind']; readonly record: DecisionRecord },
  tool: string,
  { plans, now, log }: Pick<CallDependencies, 'plans' | 'now' | 'log'>,
): Promise<string | undefined> {
  const { nonce, approver: person, reason } = record;
  if (nonce === undefined) return undefined;
  const claimed = await plans.claim(nonce, { kind, person, at: now().getTime(), reason }).catch((error: unknown) => {
    throw stateUnavailable(error, tool, log);
  });
  if (claimed === 'taken') throw new Refusal('AlreadyDecided');
  return claimed === 'claimed' ? nonce : undefined;
}

/**
 * Runs `work`, which carries out an accepted plan, and stores the outcome or the refusal of `work` with the plan.
 * @param claimedNonce the result of `claimPlan`. If undefined, there is no stored plan, and nothing is stored
 * @throws the error of `work`
 */
export async function settlePlan(
  claimedNonce: string | undefined,
  tool: string,
  work: () => Promise<EndedOutcome>,
  { plans }: Pick<CallDependencies, 'plans'>,
): Promise<EndedOutcome> {
  if (claimedNonce === undefined) return work();
  try {
    const outcome = await work();
    await plans.settle(claimedNonce, outcome);
    return outcome;
  } catch (error) {
    // Two errors are not the outcome of the plan. After `AlreadyDecided`, the outcome comes from an earlier decision, which only the journal has. A
    // fault of this server says nothing about the outcome.
    if (error instanceof Refusal && error.code !== 'AlreadyDecided')
      await plans.settle(claimedNonce, refusedChange(tool, error));
    throw error;
  }
}

/**
 * Writes a decision against a change into the journal, and stores its refusal with the plan.
 * @param claimedNonce the result of `claimPlan`
 * @returns the refusal, with which the call ends
 * @throws Refusal `AlreadyDecided` if the journal has an earlier decision with the same nonce
 */
export async function recordDecline(
  claimedNonce: string | undefined,
  { kind, record, refusal, isDismissed }: Decline,
  draft: IntentDraft,
  { refusals, plans, now }: Pick<CallDependencies, 'refusals' | 'plans' | 'now'>,
): Promise<Refusal> {
  const recorded = await refusals.decline({ ...draft, time: now().toISOString(), ...record }, isDismissed);
  if (recorded === 'spent') throw new Refusal('AlreadyDecided');
  const problems = [...refusal.problems];
  if (record.reason !== undefined) problems.push(reasonText(record.reason));
  if (recorded === 'unwritten' && kind === 'declined') problems.push(unwrittenNote);
  const recordedRefusal = new Refusal(refusal.code, problems, refusal.more);
  if (claimedNonce !== undefined) await plans.settle(claimedNonce, refusedChange(draft.tool, recordedRefusal));
  return recordedRefusal;
}

const unwrittenNote = words(
  'the refusal is not in the journal yet; it counts in this server all the same, and is written as soon as that is possible',
);
