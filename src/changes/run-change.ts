import { waitForPerson } from './elicitor.js';
import type { FoundPlan } from '../consent/plans.js';
import { Refusal } from '../calls/refusal.js';
import { type ConsentStep, decideConsent } from './required-consent.js';
import type { ConsentClaims } from '../consent/tokens.js';
import { say } from '../util/safe-text.js';
import { type DecidingStep, getDecision } from './ask-user.js';
import { claimPlan, recordDecline, settlePlan } from '../calls/claim-plan.js';
import type { CallContext, CallDependencies, CallOutcome, Question } from '../calls/context.js';
import { answerWithPlan } from './plan-result.js';
import { draftChange, planChange } from './plan-change.js';
import { answerPlanStatus, findOwnPlan, lookAtPlan, mayReplace, type OwnPlan, sendToPage } from '../calls/plan-status.js';
import { findReplaced, withdrawReplaced } from '../calls/replace-plan.js';
import { sendChange } from './send-change.js';
import type { ApprovedChange, DraftedChange, PlannedChange, ResolvedChange } from '../calls/stages.js';

/** Runs a change. Returns its outcome if there is consent, or else the plan, the state of a plan, or a question to the user. */
export async function runChange(
  call: ResolvedChange,
  context: CallContext,
  dependencies: CallDependencies,
): Promise<CallOutcome> {
  const { click, lookAt: claimsOfShownPlan, principal } = context;
  const drafted = draftChange(call, context, dependencies);
  // This call comes from a view, which asks for the state of the plan that it shows.
  if (claimsOfShownPlan !== undefined) return lookAtPlan(claimsOfShownPlan, drafted, context, dependencies);

  const step = consentStep(drafted, context, dependencies);
  dependencies.log('info', 'consent', { tool: call.operation.name, decision: step.kind, caller: principal?.name });
  // A click decides on its plan, whatever `step` is. So the call neither withdraws another plan nor answers with the state of the clicked plan.
  if (click !== undefined) {
    const clickedChange = await planChange(drafted, context, dependencies);
    return approveAndSend({ kind: 'click', click }, clickedChange, context, dependencies);
  }

  // The argument `replaces` names another waiting plan, which this call withdraws in favour of its own plan.
  const replaced = await findReplaced(drafted, context, dependencies);
  // The own plan is the plan of the call's planId, which an earlier call has made.
  const own = await findOwnPlan(step, drafted, context, dependencies);
  if (own === undefined) return planAndApprove(step, drafted, { replaced }, context, dependencies);

  // The replaced plan is withdrawn first, because `answerPlanStatus` may wait until the own plan ends. If the own plan was declined or has failed,
  // the replaced plan stays, and `answerPlanStatus` ends this call.
  if (mayReplace(own)) await withdrawReplaced(replaced, drafted, context, dependencies);
  const status = await answerPlanStatus(own, step, drafted, context, dependencies);
  if (status !== undefined) return status;
  // The own plan waits for this call's decision. The replaced plan is withdrawn already.
  return planAndApprove(step, drafted, { own }, context, dependencies);
}

/** The earlier plans that matter to a call while it makes its plan. */
interface EarlierPlans {
  /** The plan of the call's planId, if this call decides on it. */
  readonly own?: OwnPlan;
  /** The plan that `replaces` names, if this call has still to withdraw it. */
  readonly replaced?: FoundPlan | undefined;
}

/** Makes the plan of a change. Sends the change if there is consent, or else answers with the plan, its state, or a question to the user. */
async function planAndApprove(
  step: ConsentStep,
  drafted: DraftedChange,
  { own, replaced }: EarlierPlans,
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
  const noncesToOmit = [own?.claims.nonce, replaced?.nonce];
  const planned = await planChange(drafted, context, dependencies, noncesToOmit);

  // The remarks that `planChange` adds may make the plan too long for a question. Then another step takes the place of `ask`.
  const finalStep = step.kind === 'ask' ? consentStep(planned, context, dependencies) : step;
  if (finalStep.kind === 'status') {
    // The question no longer fits, so this call cannot decide on the plan of its planId, and gets the plan's state.
    const status = own && (await answerPlanStatus(own, finalStep, drafted, context, dependencies));
    if (status !== undefined) return status;
    // The planId is invalid. `findOwnPlan` has ignored that, because a question needs no planId.
    throw new Refusal('PlanRefused', [say`only a person can decide on this plan`]);
  }

  // The replaced plan is withdrawn before the user is asked or the new plan is stored, so that the two never wait together. A call that is refused
  // withdraws nothing.
  if (finalStep.kind !== 'refuse') await withdrawReplaced(replaced, drafted, context, dependencies);
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
  const questionIfClientAsks = canBeAsked ? 'fits' : 'unfit';
  return decideConsent({
    mode: account.confirm,
    planOnly: control.planOnly,
    hasPlanId: control.planId !== undefined,
    question: elicitor === undefined ? 'none' : questionIfClientAsks,
    hasView,
    page: page?.kind ?? 'none',
    agreed,
  });
}

/**
 * Gets the decision on a change, claims the plan for it, and carries it out.
 * @param claims the content of the call's planId, if the call decides on its plan
 * @throws Refusal if there is no consent, or if the plan was decided before
 */
async function approveAndSend(
  step: DecidingStep,
  planned: PlannedChange,
  context: CallContext,
  dependencies: CallDependencies,
  claims?: ConsentClaims,
): Promise<CallOutcome> {
  // While a person is asked, this call frees its place among the concurrent calls (`waitForPerson`). The plan is claimed, or the refusal gets into
  // the journal, before this call waits for a new place. Otherwise a later decision on the same change could be stored during that wait.
  const approve = () => decideAndClaim(step, planned, context, dependencies, claims);
  const approval = await (step.kind === 'ask' ? waitForPerson(context, approve) : approve());
  if (approval.kind === 'inputRequired') return approval;

  const { decision, decidedAt, claimedNonce } = approval;
  const send = () => sendChange({ ...planned, decision, decidedAt }, context, dependencies);
  // Stores the outcome of `send` with the claimed plan, for later calls that ask for it.
  return settlePlan(claimedNonce, planned.draft.tool, send, dependencies);
}

/** The consent to a change, for which its plan is claimed. */
interface Approval extends Pick<ApprovedChange, 'decision' | 'decidedAt'> {
  readonly kind: 'approved';
  /** The result of `claimPlan`. */
  readonly claimedNonce: string | undefined;
}

/**
 * Gets the decision on a change, and claims the plan for it. Returns the question if the client has to ask the user first.
 * @throws Refusal after a decision against the change, which is then in the journal, or if the plan was decided before
 */
async function decideAndClaim(
  step: DecidingStep,
  planned: PlannedChange,
  context: CallContext,
  dependencies: CallDependencies,
  claims: ConsentClaims | undefined,
): Promise<Approval | Question> {
  const { draft } = planned;
  const decision = await getDecision(step, planned, claims, context, dependencies);
  if (decision.kind === 'inputRequired') return decision;

  // The nonce may be spent by an earlier refusal that the journal does not have yet.
  const { nonce } = decision.record;
  if (nonce !== undefined && dependencies.refusals.isSpent(nonce)) throw new Refusal('AlreadyDecided');
  const decidedAt = dependencies.now();
  const claimedNonce = await claimPlan(decision, draft.tool, dependencies);
  // Tells the decision page that the plan is claimed, so that the page itself stores neither a decision nor an outcome.
  context.click?.page?.onClaim();
  if (decision.kind === 'accepted') return { kind: 'approved', decision: decision.record, decidedAt, claimedNonce };
  throw await recordDecline(claimedNonce, decision, draft, dependencies);
}
