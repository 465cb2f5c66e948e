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

/** Runs a change. Returns its outcome if there is consent, or else the plan, the state of a plan, or a question to the user. */
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
  // A click is the decision itself, so it replaces nothing and asks for no state.
  if (click !== undefined) {
    const clicked = await planChange(drafted, [], context, dependencies);
    return approveAndSend(step, clicked, undefined, context, dependencies);
  }

  // With a planId, this call may carry out its plan, so the replaced plan is withdrawn now, and otherwise only after a new plan is made.
  const hasPlanId = call.control.planId !== undefined;
  const replaced = await findReplaced(drafted, context, dependencies);
  if (replaced !== undefined && hasPlanId) await withdrawReplaced(replaced, drafted, context, dependencies);
  const status = await answerPlanStatus(step, drafted, context, dependencies);
  if (status?.kind === 'answer') return status.outcome;

  // A new question waits here until the caller's earlier questions are answered, because their answers may change its plan.
  const isNewQuestion = step.kind === 'ask' && elicitor?.resumedReply === undefined;
  using _turn = isNewQuestion
    ? await waitForPerson(context, () => dependencies.questions.enter(principal?.name))
    : undefined;
  const planned = await planChange(drafted, [status?.nonce, replaced?.nonce], context, dependencies);

  // The remarks of the journal may make the plan too long for a question, so the step is chosen again.
  const lastStep = step.kind === 'ask' ? consentStep(planned, context, dependencies) : step;
  if (replaced !== undefined && !hasPlanId && lastStep.kind !== 'refuse')
    await withdrawReplaced(replaced, drafted, context, dependencies);
  if (lastStep.kind !== 'plan') return await approveAndSend(lastStep, planned, status?.nonce, context, dependencies);
  const answer = await answerWithPlan(lastStep, planned, context, dependencies);
  return await sendToPage(answer, planned, context, dependencies);
}

/** Chooses the next step towards consent to a plan, from the facts about the account, the call and the client. */
function consentStep(
  { call: { account, control }, draft, question }: DraftedChange,
  { elicitor, hasView = false, agreed = false }: CallContext,
  { page, refusals }: CallDependencies,
): ConsentStep {
  const canBeAsked = question !== undefined && !refusals.isAnsweredByProgram(draft);
  const fitOfQuestion = canBeAsked ? 'fits' : 'unfit';
  return decideConsent({
    mode: account.confirm,
    planOnly: control.planOnly,
    hasPlanId: control.planId !== undefined,
    question: elicitor === undefined ? 'none' : fitOfQuestion,
    hasView,
    page: page?.kind ?? 'none',
    agreed,
  });
}

/** Gets consent and sends the change. If the call claimed a stored plan, the outcome is stored with the plan, also if it is an error. */
async function approveAndSend(
  step: ConsentStep,
  planned: PlannedChange,
  waitingNonce: string | undefined,
  context: CallContext,
  dependencies: CallDependencies,
): Promise<CallOutcome> {
  const claimedPlan = new ClaimedPlan(dependencies, planned.draft.tool);
  const approve = () => approveChange(step, planned, claimedPlan, waitingNonce, context, dependencies);
  const asksPerson = step.kind === 'ask' && context.click === undefined;
  try {
    const approval = await (asksPerson ? waitForPerson(context, approve) : approve());
    if (approval.kind === 'inputRequired') return approval;
    const outcome = await sendTracked({ ...planned, consent: approval }, context, dependencies);
    await claimedPlan.settle(outcome);
    return outcome;
  } catch (error) {
    await claimedPlan.settleError(error);
    throw error;
  }
}

/** Sends a change, for which a process that shuts down waits. Throws only before the first byte is sent. */
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
