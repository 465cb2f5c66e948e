import { decisionText } from '../consent/plan-decision.js';
import type { FoundPlan } from '../consent/plans.js';
import { Refusal } from '../consent/refusal.js';
import { forAgent, next } from '../tools/next.js';
import { escapeInvisible } from '../util/quote.js';
import { say, words } from '../util/safe-text.js';
import type { CallContext, CallDependencies } from './context.js';
import { readClaims, stateUnavailable } from './plan-state.js';
import { withdrawPlan } from './plan-status.js';
import { visibleCaller } from './policy.js';
import type { DraftedChange } from './stages.js';

/**
 * Finds the waiting plan that the argument `replaces` names, so that it can be withdrawn. Returns undefined if there is none to withdraw,
 * because the argument is absent, the call only shows or withdraws its own plan, or the other plan is withdrawn already.
 * @throws Refusal if the plan is not found, is for another tool or account, or was accepted or declined meanwhile
 */
export async function findReplaced(
  { call: { args, control }, draft }: DraftedChange,
  context: CallContext,
  { plans, log }: CallDependencies,
): Promise<FoundPlan | undefined> {
  const { replaces, planOnly, withdraw } = control;
  // A call with `planOnly` or `withdraw` does not carry out its own plan, so the other plan has to stay.
  if (replaces === undefined || planOnly || withdraw) return undefined;

  const { nonce } = readClaims(replaces, context.tokens);
  const plan = await plans.find(nonce).catch((error: unknown) => {
    throw stateUnavailable(error, draft.tool, log, replaces);
  });
  if (plan === undefined || plan.tool !== draft.tool || plan.args.account !== args.account)
    throw new Refusal('PlanRefused', [
      say`replaces: this is no plan of the same tool and account that waits for a person`,
    ]);

  if (plan.state === 'waiting') return plan;
  // A repeated call finds the plan that its first attempt has withdrawn.
  if (plan.decision?.kind === 'withdrawn') return undefined;
  throw decidedMeanwhile(plan, context);
}

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
