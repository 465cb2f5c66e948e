import { decisionText } from '../consent/plan-decision.js';
import type { FoundPlan } from '../consent/plans.js';
import { Refusal } from './refusal.js';
import { forAgent, next } from '../tools/next.js';
import { escapeInvisible } from '../util/quote.js';
import { type SafeText, say, words } from '../util/safe-text.js';
import type { CallContext, CallDependencies } from './context.js';
import { notIssuedHere, readClaims, stateUnavailable } from './plan-state.js';
import { withdrawPlan } from './plan-status.js';
import { visibleCaller } from './policy.js';
import type { DraftedChange } from './stages.js';

/**
 * Finds the waiting plan that the argument `replaces` names, so that it can be withdrawn. Returns undefined if the argument is absent, or if
 * the other plan is withdrawn already.
 * @throws Refusal if the call only shows or withdraws its own plan, or if the other plan is not found, is for another tool or account, or was
 *   accepted or declined meanwhile
 */
export async function findReplaced(
  { call: { args, control }, draft }: DraftedChange,
  context: CallContext,
  { plans, log }: CallDependencies,
): Promise<FoundPlan | undefined> {
  const { replaces, planOnly, withdraw } = control;
  if (replaces === undefined) return undefined;
  // A call with `planOnly` or `withdraw` does not carry out its own plan, so the other plan has to stay.
  if (planOnly || withdraw)
    throw notReplaced(
      say`replaces: does nothing together with ${words(withdraw ? 'withdraw' : 'planOnly')}`,
      words('Call without one of the two. No plan was withdrawn.'),
    );

  const claims = readClaims(replaces, context.tokens);
  if (claims === undefined)
    throw notReplaced(
      say`replaces: ${notIssuedHere}`,
      words('Call with the planId of the other plan exactly as it was given, or without replaces.'),
    );
  const plan = await plans.find(claims.nonce).catch((error: unknown) => {
    throw stateUnavailable(error, draft.tool, log, replaces);
  });
  // A plan that only a call with its planId carries out is not stored, so it is not found.
  if (plan === undefined || plan.tool !== draft.tool || plan.args.account !== args.account)
    throw notReplaced(
      say`replaces: this is no plan of the same tool and account that waits for a person`,
      words(
        'Call without replaces. A plan that waits for nobody is sent only with its planId, so do not use that planId. To take it back, call with its arguments, its planId and withdraw: true.',
      ),
    );

  if (plan.state === 'waiting') return plan;
  // A repeated call finds the plan that its first attempt has withdrawn.
  if (plan.decision?.kind === 'withdrawn') return undefined;
  throw decidedMeanwhile(plan, context);
}

/**
 * The refusal of a call whose `replaces` names no plan that can be replaced. It has its own next step, because the usual step of `PlanRefused` is
 * about the call's own planId.
 */
const notReplaced = (problem: SafeText, step: SafeText): Refusal =>
  new Refusal('PlanRefused', [problem], { next: next('agent', 'call', step) });

/** Withdraws the plan that a call replaces, if there is one. Throws a refusal if that plan was decided meanwhile. */
export async function withdrawReplaced(
  plan: FoundPlan | undefined,
  { draft }: DraftedChange,
  context: CallContext,
  dependencies: CallDependencies,
): Promise<void> {
  if (plan === undefined) return;
  // The journal entry of the withdrawal describes the withdrawn plan, and takes caller and client from this call.
  const entry = {
    ...draft,
    id: dependencies.newId(),
    what: escapeInvisible(plan.plan.summary.text),
    target: `${plan.plan.method} ${plan.plan.url}`,
    digest: plan.requestKey,
  };
  await withdrawPlan(plan.nonce, entry, dependencies).catch(async (error: unknown) => {
    if (!(error instanceof Refusal) || error.code !== 'AlreadyDecided') throw error;
    // The plan is read again only for the message, which names the decision.
    const decided = await dependencies.plans.find(plan.nonce).catch(() => undefined);
    throw decidedMeanwhile(decided ?? plan, context);
  });
}

/** The refusal of a call whose `replaces` names a plan that was accepted or declined meanwhile. */
function decidedMeanwhile({ decision }: FoundPlan, { principal }: CallContext): Refusal {
  const person = visibleCaller(principal) === undefined ? decision?.person : undefined;
  const how = decision === undefined ? words('somebody decided on it') : decisionText({ ...decision, person });
  return new Refusal('AlreadyDecided', [], {
    reason: say`the plan that it replaces was decided meanwhile: ${how}`,
    next: next(
      'user',
      'ask',
      say`${forAgent('Tell the user. To learn the outcome, call with the arguments and the planId of the other plan. ')}Call without replaces only if both changes are wanted.`,
    ),
  });
}
