import { addressOf } from '../consent/decision-page.js';
import { type Guide, unlessStopped, type Visit, waitForPerson } from '../consent/elicitor.js';
import type { EndedOutcome, Success } from '../consent/outcome.js';
import { decisionLines } from '../consent/question.js';
import { Refusal, refusalFailure } from '../consent/refusal.js';
import { type ConsentStep, whoDecides } from '../consent/required-consent.js';
import { next } from '../tools/next.js';
import { errorName } from '../util/log.js';
import { join, own, quoted, type SafeText, say, words } from '../util/safe-text.js';
import { shortestReadMs } from './approve-change.js';
import { withNotes } from './conclude-change.js';
import type { CallContext, CallDependencies, CallOutcome, Click } from './context.js';
import { findRepetition, intentOf } from './plan-change.js';
import {
  type AskingCall,
  awaitEnd,
  isSettling,
  type PlanLookup,
  type PlanState,
  stateByClaims,
  stateByPlanId,
  stateUnavailable,
} from './plan-state.js';
import { visibleCaller } from './policy.js';
import type { DraftedChange, IntentDraft, PlannedChange } from './stages.js';

type WaitingState = Extract<PlanState, { kind: 'waiting' }>;
type UnendedState = Exclude<PlanState, { kind: 'ended' }>;

/** The plan of a call's planId, and its state when the call began. */
export interface OwnPlan {
  readonly planId: string;
  readonly lookup: PlanLookup;
  readonly state: PlanState;
}

/** The result for a call with a planId: an answer that ends the call, or the nonce of the waiting plan that the call can decide on. */
type PlanStatus =
  | { readonly kind: 'answer'; readonly outcome: EndedOutcome; readonly nonce?: undefined }
  | { readonly kind: 'canDecide'; readonly nonce: string };

/**
 * Finds the plan of a call's planId.
 * @param step the next step towards consent, which `decideConsent` has chosen for the call
 * @returns undefined if the call has no planId, or has an invalid planId and does not need one
 * @throws Refusal if the call needs a planId, and its planId is invalid
 */
export async function findOwnPlan(
  step: ConsentStep,
  drafted: DraftedChange,
  context: CallContext,
  dependencies: CallDependencies,
): Promise<OwnPlan | undefined> {
  const { withdraw } = drafted.call.control;
  // `guide` sends the client's user to the page of a plan (see `sendToPage`). The user's reply is set if this call brings it.
  const pageReply = context.guide?.resumedReply;
  const planId = planIdOf(drafted, pageReply, context);
  if (planId === undefined) {
    if (withdraw) throw new Refusal('PlanRefused', [say`withdraw needs the planId of the plan`]);
    return undefined;
  }
  const needsPlanId = withdraw || step.kind === 'redeem' || step.kind === 'status' || pageReply !== undefined;

  // If the plan is neither stored nor in the journal, this digest is compared with the one in the planId. Made only then, because it is slow.
  const digestOfCall = async () => (await findRepetition(drafted, context, dependencies)).consentDigest;
  const lookup = { planId, asking: drafted, digestOfCall };
  try {
    return { planId, lookup, state: await findState(lookup, context, dependencies) };
  } catch (error) {
    const isInvalidPlanId = error instanceof Refusal && error.code === 'PlanRefused';
    // The call goes on as if it had no planId.
    if (isInvalidPlanId && !needsPlanId) return undefined;
    throw error;
  }
}

/** True if a plan may take the place of another: it waits, or has carried out its change or is about to. False if it was declined or has failed. */
export const mayReplace = ({ state }: OwnPlan): boolean => state.kind !== 'ended' || state.outcome.kind === 'succeeded';

/**
 * Answers a call with a planId: tells the state of the plan, or withdraws the plan. If the plan waits for a decision that this call can make,
 * returns the nonce of the plan, and the call goes on.
 * @param step the next step towards consent
 */
export async function answerPlanStatus(
  { planId, lookup, state: firstState }: OwnPlan,
  step: ConsentStep,
  drafted: DraftedChange,
  context: CallContext,
  dependencies: CallDependencies,
): Promise<PlanStatus> {
  const { withdraw } = drafted.call.control;
  const pageReply = context.guide?.resumedReply;
  const wantsToWait = (state: UnendedState) => waitsForEnd(state, step, withdraw, pageReply, dependencies);
  const state = await waitForDecision(lookup, firstState, wantsToWait, context, dependencies);

  switch (state.kind) {
    case 'waiting':
      return answerWaitingPlan(state, planId, step, drafted, pageReply, dependencies);
    case 'underWay':
      return { kind: 'answer', outcome: unendedAnswer(drafted.draft.tool, planId, state) };
    case 'ended':
      return { kind: 'answer', outcome: withPerson(state, context) };
  }
}

/**
 * The planId of a call. A call that ended with the request to open the page (`sendToPage`) is repeated with the user's reply and without a
 * planId. The claims of the reply name the plan, so its planId is made from them.
 */
const planIdOf = ({ call }: DraftedChange, pageReply: Guide['resumedReply'], { tokens }: CallContext) =>
  pageReply === undefined ? call.control.planId : tokens.issue(pageReply.claims);

/** True if a call waits until the plan is decided and has an outcome. False if the call only gets the present state. */
function waitsForEnd(
  state: UnendedState,
  step: ConsentStep,
  withdraw: boolean,
  pageReply: Guide['resumedReply'],
  dependencies: CallDependencies,
): boolean {
  // A user who has opened the page decides there. A user who has not may never decide.
  if (pageReply !== undefined) return pageReply.visit === 'opened';
  if (withdraw) return false;
  // With `status`, the call asks how the plan ends. With any other step, it wants to decide, but waits if a person decides on the page.
  return step.kind === 'status' || waitsOnPage(state, dependencies);
}

/** Adds a note with the person who decided, if the caller may see the changes of others. */
const withPerson = ({ outcome, person }: Extract<PlanState, { kind: 'ended' }>, { principal }: CallContext) =>
  person === undefined || visibleCaller(principal) !== undefined
    ? outcome
    : withNotes(outcome, [say`${quoted(person, 100)} decided on this plan.`]);

/**
 * Answers a call about a waiting plan: declines or withdraws the plan, lets the call decide on it, or tells for whom the plan waits.
 * @param pageReply the user's reply to the request to open the page, if this call carries the reply
 */
async function answerWaitingPlan(
  state: WaitingState,
  planId: string,
  step: ConsentStep,
  { call, draft }: DraftedChange,
  pageReply: Guide['resumedReply'],
  dependencies: CallDependencies,
): Promise<PlanStatus> {
  const { nonce, isRedeemable } = state;
  const { page, now } = dependencies;
  if (pageReply !== undefined && isDeclinedByPerson(pageReply.visit, pageReply.claims.issuedAt, now()))
    throw await refusalAfterDecline(nonce, draft, dependencies);
  if (call.control.withdraw) return { kind: 'answer', outcome: await withdrawPlan(nonce, draft, dependencies) };

  // The call decides by a question to the user (`ask`), or by its planId (`redeem`). A consent from a setting or an option (`given`) decides
  // on no plan, because the plan would still wait after the change. A call with a reply about the page leaves the decision to the person there.
  const canAsk = step.kind === 'ask' && !waitsOnPage(state, dependencies);
  const canRedeem = step.kind === 'redeem' && isRedeemable;
  if (pageReply === undefined && (canAsk || canRedeem)) return { kind: 'canDecide', nonce };

  const whom = whoDecides(call.account.confirm, page?.kind ?? 'none');
  const waitsFor = { whom, decideAt: addressOf(nonce, page) };
  return { kind: 'answer', outcome: unendedAnswer(draft.tool, planId, state, waitsFor) };
}

/** True for a plan that waits on the page with a sign-in. A person decides there, even if the client has become able to ask since. */
const waitsOnPage = (state: PlanState, { page }: CallDependencies) =>
  state.kind === 'waiting' && state.plan !== undefined && page?.kind === 'signIn';

/** True if the user declined to open the page. False if that came so early that a program answered, so the plan still waits for a person. */
const isDeclinedByPerson = (visit: Visit, askedAt: number, time: Date) =>
  visit === 'declined' && time.getTime() - askedAt >= shortestReadMs;

/**
 * Sends the user to the page with the plan, if the client can, and waits for the decision there. Opening the page is never consent.
 * @param outcome the answer with the plan, which is returned if there is no decision
 * @throws Refusal if the user declines to open the page
 */
export async function sendToPage(
  outcome: EndedOutcome,
  planned: PlannedChange,
  context: CallContext,
  dependencies: CallDependencies,
): Promise<CallOutcome> {
  const { guide, tokens } = context;
  const { call, plan, draft, consentDigest } = planned;
  // With `approval`, a person other than the user decides.
  if (outcome.kind === 'failed' || guide === undefined || call.account.confirm === 'approval') return outcome;
  const { decideAt: pageUrl, planId } = outcome.success;
  if (pageUrl === undefined || planId === undefined) return outcome;

  // The nonce of the plan is only in the planId that `answerWithPlan` has just issued.
  const { nonce } = tokens.read(planId);
  const claims = { use: 'handle', digest: consentDigest, nonce } as const;
  const message = join([...decisionLines(plan, call, dependencies.questionLimits), aboutPage], '\n');
  const askedAt = dependencies.now().getTime();
  const visit = await visitPage(message, pageUrl, guide, draft.tool, context, dependencies);
  // The client repeats this call with the user's reply and these claims, and `answerPlanStatus` continues.
  if (visit === 'later') return { kind: 'inputRequired', message, answer: { address: pageUrl }, claims };
  if (isDeclinedByPerson(visit, askedAt, dependencies.now()))
    throw await refusalAfterDecline(nonce, draft, dependencies);
  if (visit !== 'opened') return outcome;

  const lookup = { planId, asking: planned, digestOfCall: async () => consentDigest };
  const wantsToWait = () => true;
  const waitOnPage = async () => {
    const firstState = await findState(lookup, context, dependencies);
    return waitForDecision(lookup, firstState, wantsToWait, context, dependencies);
  };
  const state = await waitOnPage().catch((error: unknown) => {
    // If the state cannot be read, `outcome`, the answer with the plan, is still right.
    if (error instanceof Refusal && error.code === 'StateUnavailable') return undefined;
    throw error;
  });
  // Without the note of `withPerson`, because the person who decided is usually the user, who has just opened the page.
  return state?.kind === 'ended' ? state.outcome : outcome;
}

/** Asks the user to open the page. An error counts as `cancelled`, because the user can still be told to open the page. */
async function visitPage(
  message: SafeText,
  pageUrl: string,
  guide: Guide,
  tool: string,
  context: CallContext,
  { log }: CallDependencies,
): Promise<Visit | 'later'> {
  const send = () => unlessStopped(context.stop, (signal) => guide.send(message, pageUrl, signal));
  try {
    return await waitForPerson(context, send);
  } catch (error) {
    if (!(error instanceof Refusal)) log('error', 'unexpected', { tool, error: errorName(error) });
    return 'cancelled';
  }
}

const aboutPage = say`You decide on a page, where you sign in. Opening it decides nothing.`;

/**
 * Finds the present state of a plan.
 * @throws Refusal if the planId is not valid, or the state cannot be read
 */
const findState = (lookup: PlanLookup, { tokens }: CallContext, dependencies: CallDependencies): Promise<PlanState> =>
  stateByPlanId(lookup, { ...dependencies, tokens }).catch((error: unknown) => {
    throw stateUnavailable(error, lookup.asking.draft.tool, dependencies.log, lookup.planId);
  });

/**
 * Waits up to `statusWaitMs` while the state of a plan can change, if the call wants to wait.
 * @param wantsToWait tells from the first state whether the call waits until the plan has ended. Not asked about an ended plan
 * @returns the last state that was found
 * @throws Refusal if the state cannot be read
 */
async function waitForDecision(
  lookup: PlanLookup,
  firstState: PlanState,
  wantsToWait: (firstState: UnendedState) => boolean,
  context: CallContext,
  dependencies: CallDependencies,
): Promise<PlanState> {
  const { signal, stop } = context;
  const { statusWaitMs } = dependencies;
  // An ended plan is settling while its outcome may still get the cloud's answer.
  const mustWait = firstState.kind === 'ended' ? isSettling(firstState) : wantsToWait(firstState);
  if (statusWaitMs === 0 || !mustWait) return firstState;

  const find = () => stateByPlanId(lookup, { ...dependencies, tokens: context.tokens });
  const isOver = () => signal.aborted || stop?.aborted === true;
  const waitForEnd = () => awaitEnd(find, ['waiting', 'underWay'], statusWaitMs, isOver);
  return waitForPerson(context, waitForEnd).catch((error: unknown) => {
    // If too many calls wait for people already, this call returns the first state without waiting.
    if (error instanceof Refusal && error.code === 'TooManyQuestions') return firstState;
    throw stateUnavailable(error, lookup.asking.draft.tool, dependencies.log, lookup.planId);
  });
}

/**
 * Tells the state of a plan to the view that shows it.
 * @throws Refusal if the plan has expired without a decision, or its state cannot be read
 */
export async function lookAtPlan(
  claims: Click['claims'],
  asking: AskingCall,
  { signal, stop }: CallContext,
  dependencies: CallDependencies,
): Promise<EndedOutcome> {
  const find = () => stateByClaims({ use: 'handle', ...claims }, asking, dependencies);
  const isOver = () => signal.aborted || stop?.aborted === true;
  const state = await awaitEnd(find, ['underWay'], dependencies.statusWaitMs, isOver).catch((error: unknown) => {
    throw stateUnavailable(error, asking.draft.tool, dependencies.log);
  });
  return state.kind === 'ended' ? state.outcome : unendedAnswer(asking.draft.tool, undefined, state);
}

/** The person who has to decide on a waiting plan, and the address of the plan on the page, if the caller may know it. */
interface WaitsFor {
  readonly whom: SafeText;
  readonly decideAt?: string | undefined;
}

/** The answer about a plan that waits for a decision, or is decided but has no outcome yet. */
export function unendedAnswer(
  tool: string,
  planId: string | undefined,
  state: UnendedState,
  waitsFor: WaitsFor = { whom: words('a decision') },
): EndedOutcome {
  const success =
    state.kind === 'waiting' ? waitingAnswer(tool, planId, state, waitsFor) : underWayAnswer(tool, planId);
  return { kind: 'succeeded', success };
}

const waitingAnswer = (
  tool: string,
  planId: string | undefined,
  { expiresAt, plan }: WaitingState,
  { whom, decideAt }: WaitsFor,
): Success => ({
  summary: say`This plan of ${own(tool)} still waits for ${whom}.`,
  outcome: 'waiting',
  ...(planId !== undefined && { planId }),
  planExpires: new Date(expiresAt).toISOString(),
  ...(plan !== undefined && decideAt !== undefined && { decideAt }),
  next: next(
    'user',
    'decide',
    'Call again later with the same arguments and this planId. To take the plan back, add withdraw: true.',
  ),
  warnings: [],
  requestIds: {},
});

/** The answer about a plan that is decided, but has no outcome yet. */
const underWayAnswer = (tool: string, planId: string | undefined): Success => ({
  summary: say`Somebody has decided on this plan of ${own(tool)}. The outcome is not known yet.`,
  outcome: 'waiting',
  ...(planId !== undefined && { planId }),
  next: next('agent', 'wait', 'Call again later with the same arguments and this planId.'),
  warnings: [],
  requestIds: {},
});

type Recording = Pick<CallDependencies, 'plans' | 'refusals' | 'now' | 'log'>;

/** Withdraws a waiting plan. Throws a refusal if the plan was decided already. */
export async function withdrawPlan(nonce: string, draft: IntentDraft, recording: Recording): Promise<EndedOutcome> {
  const refusal = await endPlan('withdrawn', nonce, new Refusal('Withdrawn', []), draft, recording);
  if (refusal.code !== 'Withdrawn') throw refusal;
  return {
    kind: 'succeeded',
    success: {
      summary: say`The plan of ${own(draft.tool)} is withdrawn; nothing was sent.`,
      outcome: 'withdrawn',
      next: next('nobody', 'none', 'Nobody can decide on it any more. The same change needs a new plan.'),
      warnings: [],
      requestIds: {},
    },
  };
}

/** Ends a waiting plan, because the user declined to open its page. Returns the refusal for the caller. */
export const refusalAfterDecline = (nonce: string, draft: IntentDraft, recording: Recording): Promise<Refusal> =>
  endPlan('declined', nonce, new Refusal('Declined', [say`the user declined to open the page`]), draft, recording);

/**
 * Ends a waiting plan without sending anything. Writes the decision into the journal, and stores the outcome with the plan.
 * @param kind the decision: the caller withdraws the plan, or the user declines to open its page
 * @param refusal the outcome of the plan
 * @returns `refusal` if this call has ended the plan, or `AlreadyDecided` if another decision came first
 */
async function endPlan(
  kind: 'withdrawn' | 'declined',
  nonce: string,
  refusal: Refusal,
  draft: IntentDraft,
  { plans, refusals, now, log }: Recording,
): Promise<Refusal> {
  const claimed = await plans.claim(nonce, { kind, at: now().getTime() }).catch((error: unknown) => {
    throw stateUnavailable(error, draft.tool, log);
  });
  if (claimed === 'taken') return new Refusal('AlreadyDecided', []);

  // The journal calls a user's decision `asked`, because the user was asked to open the page.
  const howDecided = kind === 'withdrawn' ? 'withdrawn' : 'asked';
  // The journal gets the decision, even on a plan that is not stored (`unknown`), so that no planId with this nonce counts later. If the
  // journal cannot be written now (`unwritten`), the decision counts all the same, and is written later.
  const recorded = await refusals.decline(intentOf(draft, { how: howDecided, nonce }, now()));
  // The journal has an earlier decision with this nonce, which says how the plan has ended. So the plan gets no outcome here.
  if (recorded === 'spent') return new Refusal('AlreadyDecided', []);

  if (claimed === 'claimed') {
    const isChange = true;
    await plans.settle(nonce, { kind: 'failed', failure: refusalFailure(draft.tool, refusal, isChange) });
  }
  return refusal;
}
