import { waitForPerson } from '../consent/elicitor.js';
import type { FoundPlan } from '../consent/plans.js';
import { Refusal } from '../consent/refusal.js';
import { type ConsentStep, decideConsent } from '../consent/required-consent.js';
import type { ConsentClaims } from '../consent/tokens.js';
import { getDecision } from './approve-change.js';
import { claimPlan, recordDecline, settlePlan } from './claim-plan.js';
import type { CallContext, CallDependencies, CallOutcome } from './context.js';
import { answerWithPlan } from './plan-answer.js';
import { draftChange, planChange } from './plan-change.js';
import { answerPlanStatus, findOwnPlan, lookAtPlan, mayReplace, type OwnPlan, sendToPage } from './plan-status.js';
import { findReplaced, withdrawReplaced } from './replace-plan.js';
import { sendChange } from './send-change.js';
import type { DraftedChange, PlannedChange, ResolvedChange } from './stages.js';

/** Runs a change. Returns its outcome if there is consent, or else the plan, the state of a plan, or a question to the user. */
export async function runChange(
  call: ResolvedChange,
  context: CallContext,
  dependencies: CallDependencies,
): Promise<CallOutcome> {
  const { click, look: claimsOfShownPlan, principal } = context;
  const drafted = draftChange(call, context, dependencies);
  // This call comes from a view, which asks for the state of the plan that it shows.
  if (claimsOfShownPlan !== undefined) return lookAtPlan(claimsOfShownPlan, drafted, context, dependencies);

  const step = consentStep(drafted, context, dependencies);
  dependencies.log('info', 'consent', { tool: call.operation.name, decision: step.kind, caller: principal?.name });
  // A click is the decision itself, so the call withdraws no other plan and does not tell the state of its own.
  if (click !== undefined) {
    const clickedChange = await planChange(drafted, [], context, dependencies);
    return approveAndSend(step, clickedChange, context, dependencies);
  }

  // The argument `replaces` names another waiting plan, which this call withdraws in favour of its own plan.
  const replaced = await findReplaced(drafted, context, dependencies);
  // The own plan is the plan of the call's planId, which an earlier call has made. `answerPlanStatus` may wait until the own plan ends, or end this
  // call, so the replaced plan is withdrawn first, unless the own plan was declined or has failed (`mayReplace`).
  const own = await findOwnPlan(step, drafted, context, dependencies);
  if (own !== undefined && mayReplace(own)) await withdrawReplaced(replaced, drafted, context, dependencies);
  const status = own && (await answerPlanStatus(own, step, drafted, context, dependencies));
  return status ?? planAndApprove(step, drafted, own, replaced, context, dependencies);
}

/**
 * Makes the plan of a change. Sends the change if there is consent, or else answers with the plan, its state, or a question to the user.
 * @param own the plan of the call's planId, if this call decides on it
 * @param replaced another plan, which this call withdraws
 */
async function planAndApprove(
  step: ConsentStep,
  drafted: DraftedChange,
  own: OwnPlan | undefined,
  replaced: FoundPlan | undefined,
  context: CallContext,
  dependencies: CallDependencies,
): Promise<CallOutcome> {
  const { elicitor, principal } = context;
  // A new question waits for its turn until the caller's earlier questions are answered, because their answers may change its plan.
  const isNewQuestion = step.kind === 'ask' && elicitor?.resumedReply === undefined;
  using _turn = isNewQuestion
    ? await waitForPerson(context, () => dependencies.questions.enter(principal?.name))
    : undefined;
  // The new plan names the caller's other waiting plans for the same thing, except the call's own plan and the replaced plan.
  const planned = await planChange(drafted, [own?.claims.nonce, replaced?.nonce], context, dependencies);

  // `planChange` adds remarks from the journal, and they may make the plan too long for a question. Then another step takes the place of `ask`.
  const finalStep = step.kind === 'ask' ? consentStep(planned, context, dependencies) : step;
  if (own === undefined) {
    // The replaced plan is withdrawn before the user is asked or the new plan is stored, so that the two never wait together. It waits on only if
    // `getDecision` refuses the call: by `refuse`, or by `status`, which a call without an own plan gets only with an invalid planId.
    const isRefused = finalStep.kind === 'refuse' || finalStep.kind === 'status';
    if (!isRefused) await withdrawReplaced(replaced, drafted, context, dependencies);
  } else if (finalStep.kind === 'status') {
    // The question no longer fits, so only a person can decide, and the call gets the state of its plan.
    const status = await answerPlanStatus(own, finalStep, drafted, context, dependencies);
    if (status !== undefined) return status;
  }
  if (finalStep.kind !== 'plan') return await approveAndSend(finalStep, planned, context, dependencies, own?.claims);
  const answer = await answerWithPlan(finalStep, planned, context, dependencies);
  return await sendToPage(answer, planned, context, dependencies);
}

/** Chooses the next step towards consent to a plan, from the facts about the account, the call and the client. */
function consentStep(
  { call: { account, control }, draft, question }: DraftedChange,
  { elicitor, hasView = false, agreed = false }: CallContext,
  { page, refusals }: CallDependencies,
): ConsentStep {
  // A plan that is too long has no question. A program that has answered in place of this client's user before would answer again.
  const canBeAsked = question !== undefined && !refusals.isAnsweredByProgram(draft);
  const questionIfAsking = canBeAsked ? 'fits' : 'unfit';
  return decideConsent({
    mode: account.confirm,
    planOnly: control.planOnly,
    hasPlanId: control.planId !== undefined,
    // Without an elicitor, the client cannot ask its user at all.
    question: elicitor === undefined ? 'none' : questionIfAsking,
    hasView,
    page: page?.kind ?? 'none',
    // Set by the option --yes of the command line.
    agreed,
  });
}

/**
 * Gets the decision on a change, claims the plan for it, and carries it out.
 * @param claims the content of the call's planId, if the call decides on its plan. A click brings its own claims
 * @throws Refusal if there is no consent, or if the plan was decided before
 */
async function approveAndSend(
  step: ConsentStep,
  planned: PlannedChange,
  context: CallContext,
  dependencies: CallDependencies,
  claims?: ConsentClaims,
): Promise<CallOutcome> {
  const { draft } = planned;
  const asksPerson = step.kind === 'ask' && context.click === undefined;
  const decideAndClaim = async () => {
    const decision = await getDecision(step, planned, claims, context, dependencies);
    if (decision.kind === 'inputRequired') return decision;
    // The nonce may be spent by an earlier refusal that the journal does not have yet.
    const { nonce } = decision.record;
    if (nonce !== undefined && dependencies.refusals.isSpent(nonce)) throw new Refusal('AlreadyDecided', []);
    const decidedAt = dependencies.now();
    const claimedNonce = await claimPlan(decision, draft.tool, dependencies);
    // Tells the decision page that the plan is claimed, so that the page itself stores neither a decision nor an outcome.
    context.click?.page?.onClaim();
    if (decision.kind === 'accepted')
      return { kind: 'claimed', decision: decision.record, decidedAt, claimedNonce } as const;
    throw await recordDecline(claimedNonce, decision, draft, dependencies);
  };
  // `waitForPerson` frees this call's place among the concurrent calls, and takes a place again after `decideAndClaim`. By then, the plan is claimed
  // or the refusal is in the journal, so that no later decision on the same change overtakes this one.
  const approval = await (asksPerson ? waitForPerson(context, decideAndClaim) : decideAndClaim());
  if (approval.kind !== 'claimed') return approval;

  // The journal refuses the consent if it has an earlier decision with the nonce.
  const { decision, decidedAt, claimedNonce } = approval;
  const send = () => sendChange({ ...planned, decision, decidedAt }, context, dependencies);
  return settlePlan(claimedNonce, draft.tool, send, dependencies);
}
