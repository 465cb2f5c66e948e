import type { EndedOutcome } from '../calls/outcome.js';
import { Refusal } from '../calls/refusal.js';
import { next } from '../tools/next.js';
import { own, say } from '../util/safe-text.js';
import type { Change } from './change.js';
import type { ChangeRun } from './change-context.js';
import {
  awaitEnd,
  decideForCall,
  type LateClick,
  lateClick,
  lateOutcome,
  outcomeOfState,
  toldOutcome,
} from './change-state.js';
import {
  type Click,
  type DecisionResult,
  decide,
  decisionOfClick,
  refusalOfClick,
  refusalOfConfirmation,
} from './decide.js';
import { findChange } from './find-change.js';
import { againstConfirming } from './refusals.js';

/** This file has what can be done with a change by its ID. */

type Result = EndedOutcome | Refusal;

/** Reads a change of the caller, and waits for its end. Auditors read all changes. */
export async function getChange(id: string, run: ChangeRun): Promise<Result> {
  const change = await findChange(id, run, { mayBeOfOthers: true });
  if (change instanceof Refusal) return change;
  return outcomeOfState(await awaitEnd(change, run), run);
}

export async function withdrawChange(id: string, run: ChangeRun): Promise<Result> {
  const change = await findChange(id, run);
  if (change instanceof Refusal) return change;
  const decided = await decide(change, { kind: 'withdrawn', way: 'withdrawn' }, run);
  if (decided.kind === 'refused') return decided;
  // A repeated call finds what the first has withdrawn.
  const isWithdrawn = decided.kind === 'decided' || decided.change.state === 'withdrawn';
  return isWithdrawn ? withdrawnOutcome(change) : lateOutcome(decided.change, 'withdrawn', run);
}

const withdrawnOutcome = (change: Change): EndedOutcome =>
  toldOutcome(change, {
    summary: say`The plan of ${own(change.tool)} is withdrawn; nothing was sent.`,
    outcome: 'withdrawn',
    next: next('nobody', 'none', 'Nobody can decide on it any more. The same change needs a new plan.'),
  });

/**
 * Carries out a waiting change after the user said yes to the agent.
 * @param thing the name that the plan shows, because a general permission is no consent to any change
 */
export async function confirmChange(
  { id, thing }: { readonly id: string; readonly thing: string },
  run: ChangeRun,
): Promise<Result> {
  const change = await findChange(id, run);
  if (change instanceof Refusal) return change;
  if (change.state !== 'waiting') return lateOutcome(change, 'confirmed', run);
  const refusal = refusalOfConfirmation(change, thing, run.client) ?? (await againstConfirming(change.requestKey, run));
  if (refusal !== undefined) return refusal;
  return decideForCall(change, { kind: 'approved', way: 'confirmed' }, run);
}

/** The outcome of a change for a view or a page. */
export async function stateForView(change: Change, run: ChangeRun): Promise<EndedOutcome> {
  const last = change.state === 'waiting' ? change : await awaitEnd(change, run);
  return outcomeOfState(last, run);
}

/** Decides on a change by a person's click. Whether the person may see the change is checked before. */
export async function clickOnChange(change: Change, click: Click, run: ChangeRun): Promise<ClickResult> {
  const decision = decisionOfClick(change, click);
  if (change.state !== 'waiting') return lateClick(change, decision);
  if (change.isExpired) return new Refusal('PlanExpired');
  const refusal = refusalOfClick(change, click);
  if (refusal !== undefined) return refusal;
  const decided = await decide(change, decision, run);
  return decided.kind === 'late' ? lateClick(decided.change, decision) : decided;
}

export type ClickResult = Exclude<DecisionResult, { kind: 'late' }> | LateClick;
