import type { EndedOutcome } from '../answers/outcome.js';
import { Refusal, refusalFailure } from '../answers/refusal.js';
import type { ConsentStep } from '../consent/decision.js';
import { addressOf } from '../consent/page.js';
import type { PendingChange, PendingEntry, Steering } from '../consent/pending.js';
import { undecidedAnswer, withdrawPlan } from '../consent/plan-answers.js';
import { awaitDecision, type Standing, standingOf } from '../consent/standing.js';
import type { CallContext, CallDependencies, CallOutcome } from './context.js';

type Told =
  | { readonly kind: 'answer'; readonly outcome: EndedOutcome }
  | { readonly kind: 'open'; readonly nonce: string };

/**
 * Tells what became of the plan that a call brings the planId of, or takes the plan back. The result is `open` if the call goes on with it.
 * @throws Refusal if the planId is not valid
 */
export async function tell(
  step: ConsentStep,
  entry: PendingEntry,
  { planId, withdraw }: Steering,
  context: CallContext,
  dependencies: CallDependencies,
): Promise<Told | undefined> {
  const { tool } = entry;
  const { page, statusWaitMs, now } = dependencies;
  if (planId === undefined) {
    if (withdraw) throw new Refusal('PlanRefused', ['withdraw needs the planId of the plan']);
    return undefined;
  }
  // Whoever is asked, or need not be, needs no planId: one that says nothing is left alone.
  const isNeeded = withdraw || step.kind === 'redeem' || step.kind === 'status';
  const waitMs = step.kind === 'status' && !withdraw ? statusWaitMs : 0;
  const standing = await waitForDecision(planId, entry, waitMs, context, dependencies).catch((error) => {
    if (isNeeded || !(error instanceof Refusal)) throw error;
  });
  if (standing === undefined) return undefined;
  if (standing.kind === 'ended') return { kind: 'answer', outcome: standing.outcome };
  if (standing.kind === 'underWay')
    return { kind: 'answer', outcome: undecidedAnswer(tool, planId, standing, undefined) };
  const { nonce, isRedeemable } = standing;
  if (withdraw) return { kind: 'answer', outcome: await withdrawPlan(tool, nonce, { entry, now }, dependencies) };
  if (step.kind === 'ask' || (step.kind === 'redeem' && isRedeemable)) return { kind: 'open', nonce };
  return { kind: 'answer', outcome: undecidedAnswer(tool, planId, standing, addressOf(nonce, page)) };
}

/** Where a plan stands, once somebody has decided on it or the time is up. A call that waits gives its place back; where too many do, it does not wait. */
async function waitForDecision(
  planId: string,
  entry: PendingEntry,
  waitMs: number,
  { signal, stop, tokens, wait = (work) => work() }: CallContext,
  dependencies: CallDependencies,
): Promise<Standing> {
  const sources = { ...dependencies, tokens };
  const now = await standingOf(planId, entry, sources);
  if (now.kind === 'ended' || waitMs === 0) return now;
  const over = stop === undefined ? signal : AbortSignal.any([signal, stop]);
  return wait(() => awaitDecision(planId, entry, sources, waitMs, over)).catch((error: unknown) => {
    if (error instanceof Refusal && error.code === 'TooManyQuestions') return now;
    throw error;
  });
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
    if (error instanceof Refusal) await settle({ kind: 'failed', failure: refusalFailure(tool, error, true) });
    throw error;
  }
}
