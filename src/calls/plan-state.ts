import { setTimeout as delay } from 'node:timers/promises';
import { reasonText } from '../changes/decline-reason.js';
import type { EndedOutcome, Failure, Success } from './outcome.js';
import type { PlanDecision } from '../consent/plan-decision.js';
import type { FoundPlan } from '../consent/plans.js';
import { declinedByAnother, Refusal, refusedChange } from './refusal.js';
import { type ConsentClaims, type ConsentTokens, InvalidToken, tokenLifetimeMs } from '../consent/tokens.js';
import type { Ending, RecordedChange } from '../journal/entry.js';
import { shownTime } from '../journal/journal.js';
import { forAgent, next } from '../tools/next.js';
import { sentences } from '../util/human.js';
import { type Log, reasonOf, shownReason } from '../util/log.js';
import { quoted, say, words } from '../util/safe-text.js';
import type { CallContext, CallDependencies } from './context.js';
import { type FollowedCall, stepAfterAccepted, stepIfUnknown } from '../changes/follow-change.js';
import type { DraftedChange } from './stages.js';

/** The state of a plan: waiting for a decision, under way (decided, but without an outcome yet), or ended. */
export type PlanState =
  | {
      readonly kind: 'waiting';
      /** True if the planId counts as consent in the modes that accept planIds. */
      readonly isRedeemable: boolean;
      readonly expiresAt: number;
      readonly isStored: boolean;
    }
  | {
      readonly kind: 'underWay';
      /** True if the plan was accepted longer ago than `beginMs`, but not than `knownMs`, and the journal still has no change of it. */
      readonly hasNotBegun?: boolean;
    }
  | {
      readonly kind: 'ended';
      readonly outcome: EndedOutcome;
      /** The person who decided. Undefined without sign-in. */
      readonly person?: string | undefined;
      /** Set if the outcome lacks the cloud's answer, but may get it in a moment. */
      readonly isSettling?: boolean;
    };

type PlanSources = Pick<CallDependencies, 'plans' | 'journal' | 'now'>;

/** The call that asks for the state of a plan. Its arguments name the change. */
export type AskingCall = Pick<DraftedChange, 'draft'> & { readonly call: FollowedCall };

/**
 * Finds the state of a plan by its `claims`, the content of its planId. Their nonce finds the stored plan, and the journal entry of the
 * change. The first of these facts decides:
 *
 * 1. The stored plan has an outcome, which is the outcome as the caller gets it.
 * 2. The journal entry has an ending, from which a shorter outcome is made.
 * 3. There is a journal entry, so the change is being sent.
 * 4. The stored plan has a decision.
 * 5. The plan waits until it expires or, if it was never stored, until the claims expire.
 * @throws Refusal if the plan belongs to another change, or has expired; the error if the plan or its change cannot be read
 */
export async function stateByClaims(
  claims: ConsentClaims,
  asking: AskingCall,
  { plans, journal, now }: PlanSources,
): Promise<PlanState> {
  // Plan, journal entry and call are about the same change if their requests have the same idempotency key. The journal calls it `digest`.
  const requestKey = asking.draft.digest;
  const plan = await plans.find(claims.nonce);
  if (plan !== undefined && plan.requestKey !== requestKey) throw ofAnotherChange();
  if (plan?.outcome !== undefined) return { kind: 'ended', outcome: plan.outcome, person: plan.decision?.person };

  const change = await journal.findByNonce(claims.nonce).catch((error: unknown) => {
    // The journal gets a change only after a decision on its plan. So it has no change of a waiting plan, and need not be readable.
    if (plan?.state === 'waiting') return undefined;
    throw error;
  });
  if (change !== undefined && change.digest !== requestKey) throw ofAnotherChange();

  const time = now().getTime();
  if (change?.ending !== undefined)
    return {
      kind: 'ended',
      outcome: outcomeInJournal(change, change.ending, asking.call),
      person: change.approver,
      // A moment after the ending is in the journal, the stored plan gets the outcome with the cloud's answer.
      isSettling: plan !== undefined && isFresh(change.ending, time),
    };
  if (change !== undefined) return { kind: 'underWay' };
  if (plan?.state === 'decided') return stateByDecision(plan, time);

  const tokenExpiresAt = claims.issuedAt + tokenLifetimeMs;
  // A stored plan may outlive its planId, because it may wait for hours.
  const expiresAt = plan?.expiresAt ?? tokenExpiresAt;
  if (time > expiresAt) throw new Refusal('PlanRefused', [say`the planId has expired`]);
  // The planId counts as consent for ten minutes only, and never if its use is `handle`, because it then only names the plan.
  const isRedeemable = claims.use === 'plan' && time <= tokenExpiresAt;
  return { kind: 'waiting', isRedeemable, expiresAt, isStored: plan !== undefined };
}

/** The state of a decided plan that has neither an outcome nor a journal entry. Usually, the plan was decided a moment ago. */
function stateByDecision({ tool, decision }: FoundPlan, time: number): PlanState {
  // The store may have lost the decision, but not that the plan is decided.
  if (decision === undefined) return { kind: 'underWay' };
  const ageMs = time - decision.at;
  if (decision.kind === 'accepted') return { kind: 'underWay', hasNotBegun: ageMs > beginMs && ageMs < knownMs };
  // Nothing is sent after a decision against a plan, even if the journal never gets the decision. The plan gets the refusal itself in a moment.
  const outcome = refusedChange(tool, refusalOf(decision));
  return { kind: 'ended', outcome, person: decision.person, isSettling: ageMs < settlingMs };
}

/**
 * Within this time (milliseconds), the change of an accepted plan gets into the journal, unless its server stops or loses the journal. Long enough
 * for a call that waits because of the limit of concurrent calls, and for servers whose clocks differ.
 */
const beginMs = 300_000;
/** A journal in a file knows the changes of one day. Within this time (milliseconds), it is sure to know a change that has begun. */
const knownMs = 20 * 60 * 60_000;

/** Logs an error in reading or changing the state of a plan, and returns the refusal for the caller. Returns a refusal unchanged. */
export function stateUnavailable(error: unknown, tool: string, log: Log, planId?: string): Refusal {
  if (error instanceof Refusal) return error;
  log('error', 'journal', { tool, error: reasonOf(error) });
  return new Refusal('StateUnavailable', [shownReason(error)], planId === undefined ? {} : { planId });
}

/** Within this time after a change's outcome is in the journal, the stored plan gets the outcome too, together with the cloud's answer. */
const settlingMs = 5000;
const isFresh = (ending: Ending, time: number) => time - Date.parse(ending.time) < settlingMs;

/**
 * Polls the state of a plan while it can change. Returns the last state after `statusWaitMs`, or when the client cancels or the server stops.
 * If the state cannot be read, the next poll tries again.
 * @param changeable the kinds of state that can change. An ended state can change while it is settling
 * @throws Refusal of any poll, or the error of the last poll
 */
export async function awaitEnd(
  claims: ConsentClaims,
  asking: AskingCall,
  changeable: readonly PlanState['kind'][],
  { signal, stop }: Pick<CallContext, 'signal' | 'stop'>,
  { statusWaitMs, ...sources }: PlanSources & Pick<CallDependencies, 'statusWaitMs'>,
): Promise<PlanState> {
  for (let waitedMs = 0; ; waitedMs += pollMs) {
    // A function, because the client may cancel, or the server stop, while the state is read.
    const isLastPoll = () => waitedMs >= statusWaitMs || signal.aborted || stop?.aborted === true;
    const state = await stateByClaims(claims, asking, sources).catch((error: unknown) => {
      if (error instanceof Refusal || isLastPoll()) throw error;
      return undefined;
    });
    if (state !== undefined) {
      const canChange = changeable.includes(state.kind) || isSettling(state);
      if (!canChange || isLastPoll()) return state;
    }
    await delay(pollMs);
  }
}

const pollMs = 500;

export const isSettling = (state: PlanState) => state.kind === 'ended' && state.isSettling === true;

const ofAnotherChange = () => new Refusal('PlanRefused', [say`the planId belongs to another change`]);

/** The refusal of a planId whose digest differs from the digest of the call. */
export const ofAnotherCall = () =>
  new Refusal('PlanRefused', [
    say`the planId belongs to another tool, or to other arguments, another endpoint or account, or the same change was sent since`,
  ]);

/** Returns the content of a planId; undefined if this server did not issue the planId for this caller. */
export function readClaims(planId: string, tokens: ConsentTokens): ConsentClaims | undefined {
  try {
    const claims = tokens.read(planId);
    return claims.use === 'question' ? undefined : claims;
  } catch (error) {
    if (error instanceof InvalidToken) return undefined;
    throw error;
  }
}

/** The problem of a planId for which `readClaims` returns undefined. */
export const notIssuedHere = say`this server did not issue the planId, or it was altered`;

/**
 * Makes the outcome of a change from its journal entry (`change` with `ending`). All texts of the entry are quoted, because another server may
 * have written them.
 * @param call the call that asks for the outcome, which has the same arguments as the change
 */
function outcomeInJournal(change: RecordedChange, ending: Ending, call: FollowedCall): EndedOutcome {
  const { tool, what, time } = change;
  const { outcome, status, code: recordedCode, requestIds = {} } = ending;
  const description = quoted(what, 500);
  const problems = recordedCode === undefined ? [] : [say`its code in the journal is ${quoted(recordedCode, 100)}`];
  const failed = (failure: Pick<Failure, 'summary' | 'code' | 'mayHaveHappened' | 'next'>): EndedOutcome => ({
    kind: 'failed',
    failure: { ...failure, problems, status, requestIds },
  });
  switch (outcome) {
    case 'accepted':
      return { kind: 'succeeded', success: acceptedEarlier(change, ending, call) };
    case 'declined':
      return refusedChange(tool, refusalIn(change));
    case 'rejected':
      return failed({
        summary: say`The cloud refused this: ${description}.`,
        // Every server writes the status of a rejected change. An entry without the status is valid too, and its code is then only `Http`.
        code: `Http${status ?? ''}`,
        mayHaveHappened: false,
        // Nobody has to do anything about the change. The agent only passes the result on.
        next: next('nobody', 'none', forAgent('Tell the user the code and the request IDs.')),
      });
    case 'unknown':
    // This case is only for the type. `findByNonce` finds no change that was `not sent`, because such a change has not used its nonce.
    case 'not sent':
      return failed({
        summary: say`Nobody knows whether this was carried out: ${description}.`,
        code: 'OutcomeUnknown',
        mayHaveHappened: true,
        next: stepIfUnknown(call, time),
      });
  }
}

/** The result of a change that the cloud accepted. It lacks the cloud's answer, which the journal does not keep. */
function acceptedEarlier({ what, time }: RecordedChange, ending: Ending, call: FollowedCall): Success {
  const { requestIds = {}, failed } = ending;
  const inPart = failed === undefined ? words('') : say`, but ${failed.count} of its entries failed`;
  const codes = (failed?.codes ?? []).map((code) => quoted(code, 100));
  return {
    summary: say`The cloud accepted this earlier${inPart}: ${quoted(what, 500)}.`,
    outcome: failed === undefined ? 'accepted' : 'partly',
    ...(failed !== undefined && { failed: { count: failed.count, codes, names: [] } }),
    sentAt: shownTime(time).text,
    next: stepAfterAccepted(call, forAgent('Tell the user the outcome and the request IDs.')),
    warnings: [say`The answer of the cloud was not kept.`],
    requestIds,
  };
}

/** Makes the refusal of a declined change from its journal entry. */
const refusalIn = ({ consent, approver, reason }: RecordedChange): Refusal =>
  consent === 'program'
    ? new Refusal('NobodyAsked')
    : refusalOf({ kind: consent === 'withdrawn' ? consent : 'declined', person: approver, reason });

/** Makes the refusal of a plan from the decision against it. */
function refusalOf({ kind, person, reason }: Pick<PlanDecision, 'kind' | 'person' | 'reason'>): Refusal {
  if (kind === 'withdrawn') return new Refusal('Withdrawn');
  const problems = sentences(say`this plan was declined`, reason !== undefined && reasonText(reason));
  return person === undefined ? new Refusal('Declined', problems) : declinedByAnother(problems);
}
