import { addressOf } from '../consent/decision-page.js';
import { type Guide, unlessStopped, type Visit } from '../consent/elicitor.js';
import { shortestReadMs } from '../consent/obtain.js';
import type { EndedOutcome } from '../consent/outcome.js';
import type { ControlArguments, PendingChange, PendingEntry } from '../consent/pending.js';
import { awaitEnd, findPlanState, findStateOfPlan, isSettling, type PlanState } from '../consent/plan-state.js';
import { decisionLines } from '../consent/question.js';
import { Refusal, refusalFailure } from '../consent/refusal.js';
import { type ConsentMode, type ConsentStep, whoDecides } from '../consent/required-consent.js';
import type { Click } from '../consent/types.js';
import { declinePlan, undecidedAnswer, withdrawPlan } from '../consent/undecided-plan.js';
import { join, say } from '../util/safe-text.js';
import type { CallContext, CallDependencies, CallOutcome } from './context.js';

type Deciding = CallDependencies & { readonly confirm: ConsentMode };

type Told =
  | { readonly kind: 'answer'; readonly outcome: EndedOutcome }
  | { readonly kind: 'open'; readonly nonce: string };

/**
 * Tells what became of the plan that a call brings the planId of, or takes the plan back. The result is `open` if the call goes on with it.
 * @throws Refusal if the planId is not valid
 */
export async function answerPlanStatus(
  step: ConsentStep,
  entry: PendingEntry,
  { planId: given, withdraw }: ControlArguments,
  context: CallContext,
  dependencies: Deciding,
): Promise<Told | undefined> {
  const { resumedReply } = context.guide ?? {};
  const planId = resumedReply === undefined ? given : context.tokens.issue(resumedReply.claims);
  if (planId === undefined) {
    if (withdraw) throw new Refusal('PlanRefused', [say`withdraw needs the planId of the plan`]);
    return undefined;
  }
  // Whoever is asked, or need not be, needs no planId: one that says nothing is left alone.
  const onlyLooks = step.kind === 'status' || resumedReply !== undefined;
  const isNeeded = withdraw || step.kind === 'redeem' || onlyLooks;
  const waits = (found: PlanState) =>
    resumedReply === undefined
      ? !withdraw && (step.kind === 'status' || isOnPage(found, dependencies))
      : resumedReply.visit === 'opened';
  const standing = await waitForDecision(planId, entry, waits, context, dependencies).catch((error: unknown) => {
    if (isNeeded || !(error instanceof Refusal)) throw error;
    return undefined;
  });
  if (standing === undefined) return undefined;
  if (standing.kind === 'ended') return { kind: 'answer', outcome: standing.outcome };
  if (standing.kind === 'underWay') return { kind: 'answer', outcome: undecidedAnswer(entry.tool, planId, standing) };
  return tellOfOpen({ planId, standing, withdraw }, step, entry, resumedReply, dependencies);
}

type Open = Extract<PlanState, { kind: 'open' }>;

/** Goes on with a plan on which nobody has decided, ends it, or tells that it waits. */
async function tellOfOpen(
  { planId, standing, withdraw }: { readonly planId: string; readonly standing: Open; readonly withdraw: boolean },
  step: ConsentStep,
  entry: PendingEntry,
  brought: Guide['resumedReply'],
  dependencies: Deciding,
): Promise<Told> {
  const { tool } = entry;
  const { confirm, page, now } = dependencies;
  const { nonce, isRedeemable } = standing;
  if (brought !== undefined && isRefusal(brought.visit, now().getTime() - brought.claims.issuedAt))
    throw await declinePlan(nonce, { entry, now }, dependencies);
  if (withdraw) return { kind: 'answer', outcome: await withdrawPlan(tool, nonce, { entry, now }, dependencies) };
  const waitsFor = { whom: whoDecides(confirm, page?.kind ?? 'none'), decideAt: addressOf(nonce, page) };
  const asks = step.kind === 'ask' && !isOnPage(standing, dependencies);
  const goesOn = asks || (step.kind === 'redeem' && isRedeemable);
  if (goesOn && brought === undefined) return { kind: 'open', nonce };
  return { kind: 'answer', outcome: undecidedAnswer(tool, planId, standing, waitsFor) };
}

/** True for a plan that waits where people sign in: it is decided there, whatever the client could ask by now. */
const isOnPage = (standing: PlanState, { page }: Deciding) =>
  standing.kind === 'open' && standing.plan !== undefined && page?.kind === 'signIn';

/** False for a refusal that comes so soon that a program gave it: then the plan goes on waiting for a person. */
const isRefusal = (visit: Visit, afterMs: number) => visit === 'declined' && afterMs >= shortestReadMs;

/**
 * Sends the user to the page where a plan waits for them, if the client can. What it says of that is never consent.
 * @throws Refusal if they do not want to go there
 */
export async function sendToPage(
  outcome: EndedOutcome,
  { call, plan, entry, now }: Pick<PendingChange, 'call' | 'plan' | 'entry' | 'now'>,
  confirm: ConsentMode,
  context: CallContext,
  dependencies: CallDependencies,
): Promise<CallOutcome> {
  const { guide, tokens, stop, wait = (work) => work() } = context;
  // With approval, it is somebody else who decides.
  if (outcome.kind === 'failed' || guide === undefined || confirm === 'approval') return outcome;
  const { decideAt: address, planId } = outcome.success;
  if (address === undefined || planId === undefined) return outcome;
  const { digest, nonce } = tokens.read(planId);
  const message = join([...decisionLines(plan, call), onPage], '\n');
  const askedAt = now().getTime();
  // The plan waits there, whether or not anybody is asked to open the page.
  const visit = await wait(() => unlessStopped(stop, () => guide.send(message, address))).catch((error: unknown) => {
    if (error instanceof Refusal) return 'cancelled' as const;
    throw error;
  });
  if (visit === 'later')
    return { kind: 'inputRequired', message, answer: { address }, claims: { use: 'handle', digest, nonce } };
  if (isRefusal(visit, now().getTime() - askedAt)) throw await declinePlan(nonce, { entry, now }, dependencies);
  if (visit !== 'opened') return outcome;
  const standing = await waitForDecision(planId, entry, () => true, context, dependencies);
  return standing.kind === 'ended' ? standing.outcome : outcome;
}

const onPage = say`You decide on a page, where you sign in. Opening it decides nothing.`;

/** Where a plan stands; if it `waits`, once somebody has decided on it or the time is up. A call that waits gives its place back; where too many do, it does not wait. */
async function waitForDecision(
  planId: string,
  entry: PendingEntry,
  waits: (found: PlanState) => boolean,
  { signal, stop, tokens, wait = (work) => work() }: CallContext,
  dependencies: CallDependencies,
): Promise<PlanState> {
  const { statusWaitMs } = dependencies;
  const sources = { ...dependencies, tokens };
  const find = () => findPlanState(planId, entry, sources);
  const standing = await find();
  const isOpen = standing.kind === 'ended' ? isSettling(standing) : waits(standing);
  if (statusWaitMs === 0 || !isOpen) return standing;
  const isOver = () => signal.aborted || stop?.aborted === true;
  return wait(() => awaitEnd(find, ['open', 'underWay'], statusWaitMs, isOver)).catch((error: unknown) => {
    if (error instanceof Refusal && error.code === 'TooManyQuestions') return standing;
    throw error;
  });
}

/**
 * Tells what became of the plan of a ticket, for the view that shows it.
 * @throws Refusal if nobody has decided on it and it has expired
 */
export async function lookAt(
  claims: Click['claims'],
  entry: PendingEntry,
  { signal, stop }: CallContext,
  dependencies: CallDependencies,
): Promise<EndedOutcome> {
  const find = () => findStateOfPlan({ use: 'handle', ...claims }, entry, dependencies);
  const isOver = () => signal.aborted || stop?.aborted === true;
  const standing = await awaitEnd(find, ['underWay'], dependencies.statusWaitMs, isOver);
  return standing.kind === 'ended' ? standing.outcome : undecidedAnswer(entry.tool, undefined, standing);
}

/** Does work that may take a plan out of those that wait, and keeps with the plan what became of it. */
export async function settlingPlan(
  tool: string,
  plans: CallDependencies['plans'],
  work: (claim: PendingChange['claim']) => Promise<CallOutcome>,
): Promise<CallOutcome> {
  let claimed: string | undefined;
  const claim = async (nonce: string) => {
    const result = await plans.claim(nonce);
    if (result === 'taken') throw new Refusal('AlreadyDecided', []);
    if (result === 'claimed') claimed = nonce;
  };
  const settle = async (outcome: CallOutcome) => {
    if (claimed === undefined || outcome.kind === 'inputRequired') return;
    await plans.settle(claimed, { outcome }).catch(() => undefined);
  };
  try {
    const outcome = await work(claim);
    await settle(outcome);
    return outcome;
  } catch (error) {
    // Its outcome is with the call of whoever decided.
    if (error instanceof Refusal && error.code !== 'AlreadyDecided')
      await settle({ kind: 'failed', failure: refusalFailure(tool, error, true) });
    throw error;
  }
}
