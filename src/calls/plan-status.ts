import { addressOf } from '../changes/decision-page.js';
import { type Guide, unlessStopped, type Visit, waitForPerson } from '../changes/elicitor.js';
import type { EndedOutcome, Success } from './outcome.js';
import { decisionLines } from '../changes/question.js';
import { Refusal } from './refusal.js';
import { type ConsentStep, whoDecides } from '../changes/required-consent.js';
import type { ConsentClaims } from '../consent/tokens.js';
import { next } from '../tools/next.js';
import { errorName } from '../util/log.js';
import { forReader, join, own, quoted, type SafeText, say, words } from '../util/safe-text.js';
import { shortestReadMs } from '../changes/ask-user.js';
import { claimPlan, type Decline, recordDecline } from './claim-plan.js';
import { withNotes } from '../changes/conclude-change.js';
import type { CallContext, CallDependencies, CallOutcome, Click } from './context.js';
import { checkRepetition, findRepetition } from '../changes/plan-change.js';
import {
  type AskingCall,
  awaitEnd,
  isSettling,
  notIssuedHere,
  ofAnotherCall,
  type PlanState,
  readClaims,
  stateByClaims,
  stateUnavailable,
} from './plan-state.js';
import { visibleCaller } from './policy.js';
import type { DecisionRecord, DraftedChange, IntentDraft, PlannedChange, ResolvedChange } from './stages.js';

type WaitingState = Extract<PlanState, { kind: 'waiting' }>;
type UnderWayState = Extract<PlanState, { kind: 'underWay' }>;
type UnendedState = Exclude<PlanState, { kind: 'ended' }>;

/** The plan of a call's planId. */
export interface OwnPlan {
  readonly planId: string;
  /** The content of the planId. */
  readonly claims: ConsentClaims;
  /** The state when the call began. */
  readonly state: PlanState;
}

/**
 * Finds the plan of a call's planId.
 * @param step the next step towards consent, which `decideConsent` has chosen for the call
 * @returns undefined if the call has no planId, or an invalid planId that it does not need
 * @throws Refusal if the call needs a planId, and its planId is invalid
 */
export async function findOwnPlan(
  step: ConsentStep,
  drafted: DraftedChange,
  context: CallContext,
  dependencies: CallDependencies,
): Promise<OwnPlan | undefined> {
  const { withdraw, planId: givenPlanId } = drafted.call.control;
  const { guide, tokens } = context;
  // A call that ended with the request to open the page (`sendToPage`) is repeated with the user's reply and without a planId. The planId is
  // issued again from the claims of the reply, because the answer to the agent contains it.
  const pageReply = guide?.resumedReply;
  const planId = pageReply === undefined ? givenPlanId : tokens.issue(pageReply.claims);
  if (planId === undefined) {
    if (withdraw) throw new Refusal('PlanRefused', [say`withdraw needs the planId of the plan`]);
    return undefined;
  }

  const claims = readClaims(planId, tokens);
  const planOrRefusal =
    claims === undefined
      ? new Refusal('PlanRefused', [notIssuedHere])
      : await readOwnPlan(planId, claims, step, drafted, context, dependencies).catch(returnPlanRefusal);
  if (!(planOrRefusal instanceof Refusal)) return planOrRefusal;

  const refusal = planOrRefusal;
  const isNeeded =
    withdraw || pageReply !== undefined || needsValidPlanId(step, { isIssuedHere: claims !== undefined });
  // The call goes on as if it had no planId.
  if (!isNeeded) return undefined;
  // The usual advice after `PlanRefused` is to call without planId for a new plan. With `given`, such a call would send the change at once.
  const wouldSend = step.kind === 'given' && !withdraw;
  throw wouldSend ? new Refusal('PlanRefused', refusal.problems, { next: callWithoutPlanId }) : refusal;
}

/** Returns an error that is the refusal of an invalid planId. @throws any other error */
function returnPlanRefusal(error: unknown): Refusal {
  if (error instanceof Refusal && error.code === 'PlanRefused') return error;
  throw error;
}

/** True if an invalid planId makes a call fail at this step towards consent. */
function needsValidPlanId(step: ConsentStep, { isIssuedHere }: { readonly isIssuedHere: boolean }): boolean {
  // The planId is the consent, or names the plan whose state is asked for.
  if (step.kind === 'redeem' || step.kind === 'status') return true;
  // A person who agreed with --yes agreed to the plan that the planId names.
  if (isAgreedByOption(step)) return true;
  // With `off`, nobody sees the change before it is sent, so a planId of this server has to belong to it.
  return step.kind === 'given' && isIssuedHere;
}

/** Reads the plan of a genuine planId. @throws Refusal if it is not the plan of this call, or if its state cannot be read */
async function readOwnPlan(
  planId: string,
  claims: ConsentClaims,
  step: ConsentStep,
  drafted: DraftedChange,
  context: CallContext,
  dependencies: CallDependencies,
): Promise<OwnPlan> {
  const { withdraw } = drafted.call.control;
  const own = { planId, claims, state: await findState(planId, claims, drafted, dependencies) };
  const isPlanIdConsent = step.kind === 'redeem' && !withdraw;
  if (!needsSameDigest(own.state, { isPlanIdConsent })) return own;

  const { duplicate, consentDigest } = await findRepetition(drafted, context, dependencies);
  if (claims.digest === consentDigest) return own;
  // The digest also differs if the plan was made with `allowRepeat`, and this call has none. Then the refusal names the repetition.
  if (!withdraw) checkRepetition(duplicate, drafted.call, context);
  throw ofAnotherCall();
}

/** True if plan and call need the same consent digest to belong together. False if the same request is enough, which `findState` has compared. */
function needsSameDigest(state: PlanState, { isPlanIdConsent }: { readonly isPlanIdConsent: boolean }): boolean {
  // The plan is decided, so the call only gets its outcome.
  if (state.kind !== 'waiting') return false;
  // Nothing but the claims of the planId is known of this plan. They have a digest and no request.
  if (!state.isStored) return true;
  return isPlanIdConsent && state.isRedeemable;
}

/** True if a plan may take the place of another. False if it was declined, has failed, or was accepted and never sent (`hasNotBegun`). */
export const mayReplace = ({ state }: OwnPlan): boolean =>
  state.kind === 'ended' ? state.outcome.kind === 'succeeded' : !(state.kind === 'underWay' && state.hasNotBegun);

/**
 * Answers a call with a planId: tells the state of the plan, or withdraws the plan.
 * @param step the next step towards consent
 * @returns undefined if the plan waits for a decision that this call makes
 * @throws Refusal if the user declined to open the page, or if the plan to withdraw was decided already
 */
export async function answerPlanStatus(
  own: OwnPlan,
  step: ConsentStep,
  drafted: DraftedChange,
  context: CallContext,
  dependencies: CallDependencies,
): Promise<EndedOutcome | undefined> {
  // The user's reply to the request to open the page, if this call brings it.
  const pageReply = context.guide?.resumedReply;
  const mustWait = shouldWait(own.state, step, drafted.call.control, pageReply, dependencies);
  const state = mustWait ? await waitForEnd(own, drafted, context, dependencies) : own.state;
  switch (state.kind) {
    case 'ended':
      return withPerson(state, context);
    case 'underWay':
      return unendedAnswer(drafted.draft.tool, own.planId, state);
    case 'waiting':
      return answerWaiting(own, state, step, drafted, pageReply, dependencies);
  }
}

/** Answers a call whose plan waits for a decision: see `answerPlanStatus`. */
async function answerWaiting(
  { planId, claims: { nonce } }: OwnPlan,
  state: WaitingState,
  step: ConsentStep,
  { call, draft }: DraftedChange,
  pageReply: Guide['resumedReply'],
  dependencies: CallDependencies,
): Promise<EndedOutcome | undefined> {
  const { page, now } = dependencies;
  if (pageReply !== undefined && isDeclinedByPerson(pageReply.visit, pageReply.claims.issuedAt, now()))
    throw await recordDeclinedVisit(nonce, draft, dependencies);
  if (call.control.withdraw) return withdrawPlan(nonce, draft, dependencies);
  // A call with a reply about the page leaves the decision to the person there.
  if (pageReply === undefined && canDecide(step, state, dependencies)) return undefined;

  const { confirm } = call.account;
  const whom = whoDecides(confirm, page?.kind ?? 'none');
  // With `off`, nobody decides on plans any more, so another call with the planId would learn nothing.
  const waitsFor =
    confirm === 'off' ? { whom, agentStep: callWithoutPlanIdText } : { whom, decideAt: addressOf(nonce, page) };
  return unendedAnswer(draft.tool, planId, state, waitsFor);
}

/** True if a call should wait until its plan has ended. False if it gets the present state. */
function shouldWait(
  state: PlanState,
  step: ConsentStep,
  { withdraw, planOnly }: ResolvedChange['control'],
  pageReply: Guide['resumedReply'],
  dependencies: CallDependencies,
): boolean {
  // The outcome of an ended plan may still get the cloud's answer.
  if (state.kind === 'ended') return isSettling(state);
  // A user who has opened the page decides there. A user who has not may never decide.
  if (pageReply !== undefined) return pageReply.visit === 'opened';
  // With `planOnly`, the caller only wants to know how the plan stands.
  if (withdraw || planOnly) return false;
  // The call asks how the plan ends.
  if (step.kind === 'status') return true;
  // The person at the command line has decided with --yes.
  if (isAgreedByOption(step)) return false;
  // Any other call wants to decide too, but leaves that to a person on the page.
  return waitsOnPage(state, dependencies);
}

/** True if a call decides on its waiting plan by a question to the user, its planId, or --yes. False with `off`, because nobody decides then. */
function canDecide(step: ConsentStep, state: WaitingState, dependencies: CallDependencies): boolean {
  if (step.kind === 'ask') return !waitsOnPage(state, dependencies);
  if (step.kind === 'redeem') return state.isRedeemable;
  return isAgreedByOption(step);
}

/** True if the person at the command line has agreed with --yes. */
const isAgreedByOption = (step: ConsentStep) => step.kind === 'given' && step.how === 'option';

/** Adds a note with the person who decided, if the caller may see the changes of others. */
const withPerson = ({ outcome, person }: Extract<PlanState, { kind: 'ended' }>, { principal }: CallContext) =>
  person === undefined || visibleCaller(principal) !== undefined
    ? outcome
    : withNotes(outcome, [say`${quoted(person, 100)} decided on this plan.`]);

/** True for a plan that waits on the page with a sign-in. A person decides there, even if the client has become able to ask since. */
const waitsOnPage = (state: PlanState, { page }: CallDependencies) =>
  state.kind === 'waiting' && state.isStored && page?.kind === 'signIn';

/** True if the user declined to open the page. A reply that came so early that a program sent it does not count, and the plan still waits. */
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

  // `answerWithPlan` has just issued the planId.
  const claims = tokens.read(planId);
  const { nonce } = claims;
  const message = join([...decisionLines(plan, call, dependencies.questionLimits), aboutPage], '\n');
  const askedAt = dependencies.now().getTime();
  const visit = await visitPage(message, pageUrl, guide, draft.tool, context, dependencies);
  if (visit === 'later') {
    // The client will repeat this call with the user's reply and these claims, and `answerPlanStatus` will continue. A reply about the page is never
    // consent, so the use is `handle`.
    const claimsOfReply = { use: 'handle', digest: consentDigest, nonce } as const;
    return { kind: 'inputRequired', message, answer: { address: pageUrl }, claims: claimsOfReply };
  }
  if (isDeclinedByPerson(visit, askedAt, dependencies.now()))
    throw await recordDeclinedVisit(nonce, draft, dependencies);
  if (visit !== 'opened') return outcome;
  const state = await awaitDecisionOnPage(planId, claims, planned, context, dependencies);
  return state?.kind === 'ended' ? withPerson(state, context) : outcome;
}

/** Waits until a person has decided on the page and the plan has ended. Returns the last state, or undefined if the state cannot be read. */
async function awaitDecisionOnPage(
  planId: string,
  claims: ConsentClaims,
  asking: AskingCall,
  context: CallContext,
  dependencies: CallDependencies,
): Promise<PlanState | undefined> {
  try {
    const state = await findState(planId, claims, asking, dependencies);
    return await waitForEnd({ planId, claims, state }, asking, context, dependencies);
  } catch (error) {
    if (error instanceof Refusal && error.code === 'StateUnavailable') return undefined;
    throw error;
  }
}

/**
 * Asks the user to open the page. An error, or a refusal such as `Stopping`, counts as `cancelled`. The agent then gives the user the link.
 */
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
    // A refusal is expected, on shutdown or if too many calls wait for people, so it is not logged.
    if (!(error instanceof Refusal)) log('error', 'unexpected', { tool, error: errorName(error) });
    return 'cancelled';
  }
}

const aboutPage = say`You decide on a page, where you sign in. Opening it decides nothing.`;

/** Finds the present state of a plan. @throws Refusal if the plan has expired or is for another change, or if the state cannot be read */
const findState = (planId: string, claims: ConsentClaims, asking: AskingCall, dependencies: CallDependencies) =>
  stateByClaims(claims, asking, dependencies).catch((error: unknown) => {
    throw stateUnavailable(error, asking.draft.tool, dependencies.log, planId);
  });

/**
 * Waits until a plan has ended, up to `statusWaitMs`. Does not wait if too many calls wait for people already.
 * @returns the last state that was found
 * @throws Refusal if the state cannot be read
 */
async function waitForEnd(
  { planId, claims, state: firstState }: OwnPlan,
  asking: AskingCall,
  context: CallContext,
  dependencies: CallDependencies,
): Promise<PlanState> {
  if (dependencies.statusWaitMs === 0) return firstState;
  const wait = () => awaitEnd(claims, asking, ['waiting', 'underWay'], context, dependencies);
  return waitForPerson(context, wait).catch((error: unknown) => {
    if (error instanceof Refusal && error.code === 'TooManyQuestions') return firstState;
    throw stateUnavailable(error, asking.draft.tool, dependencies.log, planId);
  });
}

/**
 * Tells the state of a plan to the view that shows it.
 * @throws Refusal if the plan has expired without a decision, or its state cannot be read
 */
export async function lookAtPlan(
  claims: Click['claims'],
  asking: AskingCall,
  context: CallContext,
  dependencies: CallDependencies,
): Promise<EndedOutcome> {
  const { tool } = asking.draft;
  const claimsOfPlan = { use: 'handle', ...claims } as const;
  const state = await awaitEnd(claimsOfPlan, asking, ['underWay'], context, dependencies).catch((error: unknown) => {
    throw stateUnavailable(error, tool, dependencies.log);
  });
  return state.kind === 'ended' ? { ...state.outcome, isOfPlan: true } : unendedAnswer(tool, undefined, state);
}

/** The person who has to decide on a waiting plan, and the address of the plan on the page, if the caller may know it. */
interface WaitsFor {
  readonly whom: SafeText;
  readonly decideAt?: string | undefined;
  /** What the agent can do, if a later call with the planId would learn nothing new. */
  readonly agentStep?: SafeText;
}

const planOption = forReader({ agent: 'planOnly: true', person: 'planOnly: true', operator: '--plan' });
const callWithoutPlanIdText = say`Without planId, a call with ${planOption} shows a plan. Without both, the same call sends the change at once.`;
/** The step after a refused planId, if the same call without planId would be sent without asking anybody. */
const callWithoutPlanId = next('agent', 'call', callWithoutPlanIdText);
const askAgain = words('Call again later with the same arguments and this planId.');

/** The answer about a plan that waits for a decision, or is decided but has no outcome yet. */
export function unendedAnswer(
  tool: string,
  planId: string | undefined,
  state: UnendedState,
  waitsFor: WaitsFor = { whom: words('a decision') },
): EndedOutcome {
  const success =
    state.kind === 'waiting' ? waitingAnswer(tool, planId, state, waitsFor) : underWayAnswer(tool, planId, state);
  return { kind: 'succeeded', success };
}

/** The answer about a plan that waits. `planId` is undefined if a view asks, which shows nothing of this answer. */
const waitingAnswer = (
  tool: string,
  planId: string | undefined,
  { expiresAt, isStored }: WaitingState,
  { whom, decideAt, agentStep = askAgain }: WaitsFor,
): Success => ({
  summary: say`This plan of ${own(tool)} still waits for ${whom}.`,
  outcome: 'waiting',
  ...(planId !== undefined && { planId }),
  planExpires: new Date(expiresAt).toISOString(),
  ...(isStored && decideAt !== undefined && { decideAt }),
  next: next('user', 'decide', say`${agentStep} To take the plan back, add withdraw: true.`),
  warnings: [],
  requestIds: {},
});

/** The answer about a plan that is decided, but has no outcome yet. */
const underWayAnswer = (tool: string, planId: string | undefined, { hasNotBegun = false }: UnderWayState): Success => ({
  summary: hasNotBegun
    ? say`Somebody accepted this plan of ${own(tool)}, but the journal has no change of it, so no server has begun to send it.`
    : say`Somebody has decided on this plan of ${own(tool)}. The outcome is not known yet.`,
  outcome: 'waiting',
  ...(planId !== undefined && { planId }),
  next: hasNotBegun
    ? next(
        'agent',
        'call',
        say`The server that should send the change may have stopped. Call with ${planOption} and without planId to get a new plan.`,
      )
    : next('agent', 'wait', askAgain),
  warnings: [],
  requestIds: {},
});

type Recording = Pick<CallDependencies, 'plans' | 'refusals' | 'now' | 'log'>;

/** Withdraws a waiting plan. @throws Refusal if the plan was decided already */
export async function withdrawPlan(nonce: string, draft: IntentDraft, recording: Recording): Promise<EndedOutcome> {
  await endPlan('withdrawn', { consent: 'withdrawn', nonce }, new Refusal('Withdrawn'), draft, recording);
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

/** Ends a waiting plan, because the user declined to open its page. Returns the refusal, with which the call ends. */
export function recordDeclinedVisit(nonce: string, draft: IntentDraft, recording: Recording): Promise<Refusal> {
  const refusal = new Refusal('Declined', [say`the user declined to open the page`]);
  return endPlan('declined', { consent: 'asked', nonce }, refusal, draft, recording);
}

/**
 * Ends a waiting plan without sending anything. Returns the refusal, which is the outcome of the plan.
 * @throws Refusal if the plan was decided already
 */
async function endPlan(
  kind: Decline['kind'],
  record: DecisionRecord,
  refusal: Refusal,
  draft: IntentDraft,
  recording: Recording,
): Promise<Refusal> {
  const decline = { kind, record, refusal };
  const claimedNonce = await claimPlan(decline, draft.tool, recording);
  return recordDecline(claimedNonce, decline, draft, recording);
}
