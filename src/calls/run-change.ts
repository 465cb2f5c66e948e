import { waitForPerson } from '../consent/elicitor.js';
import type { EndedOutcome } from '../consent/outcome.js';
import { type ConsentStep, decideConsent } from '../consent/required-consent.js';
import { approveChange, ClaimedPlan } from './approve-change.js';
import { withNotes } from './conclude-change.js';
import type { CallContext, CallDependencies, CallOutcome } from './context.js';
import { answerWithPlan } from './plan-answer.js';
import { type DraftedChange, draftChange, planChange } from './plan-change.js';
import { answerPlanStatus, lookAtPlan, sendToPage } from './plan-status.js';
import { visibleCaller } from './policy.js';
import { findReplaced, withdrawReplaced } from './replace-plan.js';
import { clientOptions } from './resolve-call.js';
import { sendChange } from './send-change.js';
import type { ApprovedChange, PlannedChange, ResolvedChange } from './stages.js';

/** Runs an operation that is not a read: plan, approve, send, conclude. */
export async function runChange(
  call: ResolvedChange,
  context: CallContext,
  dependencies: CallDependencies,
): Promise<CallOutcome> {
  const { elicitor, click, look, principal } = context;
  const drafted = draftChange(call, context, dependencies);
  if (look !== undefined) return lookAtPlan(look, drafted, context, dependencies);

  const step = consentStep(drafted, context, dependencies);
  dependencies.log('info', 'consent', { tool: call.operation.name, decision: step.kind, caller: principal?.name });
  if (click !== undefined) {
    const clicked = await planChange(drafted, [], context, dependencies);
    return approveAndSend(step, clicked, undefined, context, dependencies);
  }
  const hasPlanId = call.control.planId !== undefined;
  const replaced = await findReplaced(drafted, context, dependencies);
  if (replaced !== undefined && hasPlanId) await withdrawReplaced(replaced, drafted, context, dependencies);
  const status = await answerPlanStatus(step, drafted, context, dependencies);
  if (status?.kind === 'answer') return status.outcome;

  // A new question waits for the caller's earlier questions here, so that its plan takes account of their answers.
  const isNewQuestion = step.kind === 'ask' && elicitor?.resumedReply === undefined;
  using _turn = isNewQuestion
    ? await waitForPerson(context, () => dependencies.questions.enter(principal?.name))
    : undefined;
  const planned = await planChange(drafted, [status?.nonce, replaced?.nonce], context, dependencies);
  // With the journal's remarks, one screen may be too small for the question.
  const lastStep = step.kind === 'ask' ? consentStep(planned, context, dependencies) : step;
  if (replaced !== undefined && !hasPlanId && lastStep.kind !== 'refuse')
    await withdrawReplaced(replaced, drafted, context, dependencies);
  if (lastStep.kind !== 'plan') return await approveAndSend(lastStep, planned, status?.nonce, context, dependencies);
  const answer = await answerWithPlan(lastStep, planned, context, dependencies);
  return await sendToPage(answer, planned, context, dependencies);
}

/** The next step towards consent for a plan. */
function consentStep(
  { call: { account, control }, draft, question }: DraftedChange,
  { elicitor, hasView = false, agreed = false }: CallContext,
  { page, refusals }: CallDependencies,
): ConsentStep {
  const canBeAsked = question !== undefined && !refusals.isAnsweredByProgram(draft);
  const questionOfClient = canBeAsked ? 'fits' : 'unfit';
  return decideConsent({
    mode: account.confirm,
    planOnly: control.planOnly,
    hasPlanId: control.planId !== undefined,
    question: elicitor === undefined ? 'none' : questionOfClient,
    hasView,
    page: page?.kind ?? 'none',
    agreed,
  });
}

/** Gets consent, sends the change, and stores the outcome with the plan if the plan waited for a person. */
async function approveAndSend(
  step: ConsentStep,
  planned: PlannedChange,
  waitingNonce: string | undefined,
  context: CallContext,
  dependencies: CallDependencies,
): Promise<CallOutcome> {
  const claimedPlan = new ClaimedPlan(dependencies, planned.draft.tool);
  const approve = () => approveChange(step, planned, claimedPlan, waitingNonce, context, dependencies);
  const asks = step.kind === 'ask' && context.click === undefined;
  try {
    const consent = await (asks ? waitForPerson(context, approve) : approve());
    if (consent.kind === 'inputRequired') return consent;
    const outcome = await sendTracked({ ...planned, consent }, context, dependencies);
    await claimedPlan.settle(outcome);
    return outcome;
  } catch (error) {
    await claimedPlan.settleError(error);
    throw error;
  }
}

/**
 * Sends a change that the end of the process waits for.
 * @throws before the first byte, and nothing after it
 */
async function sendTracked(
  approved: ApprovedChange,
  context: CallContext,
  dependencies: CallDependencies,
): Promise<EndedOutcome> {
  const { call, draft } = approved;
  const { inFlight, openClient, pendingNotices } = dependencies;
  const outcome = await inFlight.track(context.signal, async (signal) => {
    using client = openClient(call.endpoint, clientOptions(call, context, signal));
    return await sendChange(approved, client, visibleCaller(context.principal), dependencies);
  });
  return withNotes(outcome, await pendingNotices(draft.caller).catch(() => []));
}
