import { setTimeout as delay } from 'node:timers/promises';
import { reasonText } from '../consent/decline-reason.js';
import type { EndedOutcome, Failure, Success } from '../consent/outcome.js';
import type { FoundPlan } from '../consent/plans.js';
import { declinedByAnother, Refusal, refusalFailure } from '../consent/refusal.js';
import { type ConsentClaims, type ConsentTokens, InvalidToken, tokenLifetimeMs } from '../consent/tokens.js';
import type { Ending, RecordedChange } from '../journal/entry.js';
import { shownTime } from '../journal/journal.js';
import { forAgent, next } from '../tools/next.js';
import { sentences } from '../util/human.js';
import { type Log, reasonOf, shownReason } from '../util/log.js';
import { quoted, say, words } from '../util/safe-text.js';
import type { CallDependencies } from './context.js';
import { type FollowedCall, stepAfterAccepted, stepIfUnknown } from './follow-change.js';
import type { DraftedChange } from './plan-change.js';

/** The state of a plan. */
export type PlanState =
  /** The plan is undecided. `plan` is set if it waits in the store. */
  | {
      readonly kind: 'open';
      readonly nonce: string;
      /** Set if the planId may carry out the plan in modes that allow it. */
      readonly isRedeemable: boolean;
      readonly expiresAt: number;
      readonly plan?: FoundPlan;
    }
  /** A person has agreed, and the change is being sent. */
  | { readonly kind: 'underWay' }
  /** `person` decided, and had signed in. `isSettling` is set if the cloud's answer may reach the stored plan in a moment. */
  | {
      readonly kind: 'ended';
      readonly outcome: EndedOutcome;
      readonly person?: string | undefined;
      readonly isSettling?: boolean;
    };

type PlanSources = Pick<CallDependencies, 'plans' | 'journal' | 'now'>;

/** The change of a call that asks for the state of a plan. */
export type AskedChange = Pick<DraftedChange, 'draft' | 'verificationHint'> & { readonly call: FollowedCall };

/** A planId, and the call that came with it. */
export interface PlanLookup {
  readonly planId: string;
  readonly asked: AskedChange;
  /** Makes the digest of the consent that the call needs. */
  readonly digestOfCall: () => Promise<string>;
}

/**
 * Finds the state of a planId's plan.
 * @throws Refusal if this server did not issue the planId for this caller and this change, or if the plan has expired
 */
export async function findPlanState(
  { planId, asked, digestOfCall }: PlanLookup,
  sources: PlanSources & { readonly tokens: ConsentTokens },
): Promise<PlanState> {
  const claims = readClaims(planId, sources.tokens);
  const state = await findStateOfPlan(claims, asked, sources);
  // If neither the store nor the journal knows the plan, only the digest tells which call it is for.
  const isUnknown = state.kind === 'open' && state.plan === undefined;
  if (isUnknown && claims.digest !== (await digestOfCall())) throw ofAnotherCall();
  return state;
}

/**
 * Finds the state of the plan that claims name.
 * @throws Refusal if the plan belongs to another change, or has expired; the error if the plan or its change cannot be read
 */
export async function findStateOfPlan(
  claims: ConsentClaims,
  asked: AskedChange,
  { plans, journal, now }: PlanSources,
): Promise<PlanState> {
  const plan = await plans.find(claims.nonce);
  if (plan !== undefined && plan.requestKey !== asked.draft.digest) throw ofAnotherChange();
  if (plan?.outcome !== undefined) return { kind: 'ended', outcome: plan.outcome, person: plan.decision?.person };
  const change = await journal.findByNonce(claims.nonce).catch((error: unknown) => {
    // A person who decides on a stored plan claims it first, so a waiting plan has no change.
    if (plan?.state === 'waiting') return undefined;
    throw error;
  });
  if (change !== undefined && change.digest !== asked.draft.digest) throw ofAnotherChange();
  const time = now().getTime();
  if (change?.ending !== undefined)
    return {
      kind: 'ended',
      outcome: outcomeInJournal(change, asked),
      person: change.approver,
      isSettling: plan !== undefined && isFresh(change.ending, time),
    };
  if (change !== undefined || plan?.state === 'decided') return { kind: 'underWay' };
  const tokenExpiresAt = claims.issuedAt + tokenLifetimeMs;
  const expiresAt = plan?.expiresAt ?? tokenExpiresAt;
  if (time > expiresAt) throw new Refusal('PlanRefused', [say`the planId has expired`]);
  const isRedeemable = claims.use === 'plan' && time <= tokenExpiresAt;
  return { kind: 'open', nonce: claims.nonce, isRedeemable, expiresAt, ...(plan !== undefined && { plan }) };
}

/**
 * Logs why the state of a plan cannot be read or changed. Returns the refusal for the caller, which says nothing about the outcome of the
 * plan. An error that is a refusal already is returned unchanged.
 */
export function stateUnavailable(error: unknown, tool: string, log: Log, planId?: string): Refusal {
  if (error instanceof Refusal) return error;
  log('error', 'journal', { tool, error: reasonOf(error) });
  return new Refusal('StateUnavailable', [shownReason(error)], planId === undefined ? {} : { planId });
}

/** The journal gets an ending first. The stored plan gets it, with the cloud's answer, within this time. */
const settlingMs = 5000;
const isFresh = (ending: Ending, time: number) => time - Date.parse(ending.time) < settlingMs;

/**
 * Polls the state of a plan until it ends, `waitMs` have passed, or `isOver`.
 * @param find finds the state. A poll that fails is repeated, unless it is refused
 * @param waitsWhile the kinds of state to wait for the end of
 * @throws Refusal, or the error of the last poll
 */
export async function awaitEnd(
  find: () => Promise<PlanState>,
  waitsWhile: readonly PlanState['kind'][],
  waitMs: number,
  isOver: () => boolean,
): Promise<PlanState> {
  for (let waitedMs = 0; ; waitedMs += pollMs) {
    const isLastPoll = () => waitedMs >= waitMs || isOver();
    const state = await find().catch((error: unknown) => {
      if (error instanceof Refusal || isLastPoll()) throw error;
      return undefined;
    });
    if (state !== undefined) {
      const canChange = waitsWhile.includes(state.kind) || isSettling(state);
      if (!canChange || isLastPoll()) return state;
    }
    await delay(pollMs);
  }
}

const pollMs = 500;

export const isSettling = (state: PlanState) => state.kind === 'ended' && state.isSettling === true;

const ofAnotherChange = () => new Refusal('PlanRefused', [say`the planId belongs to another change`]);

/** The refusal of a planId whose digest is not the digest of the call. */
export const ofAnotherCall = () =>
  new Refusal('PlanRefused', [
    say`the planId belongs to another tool, or to other arguments, another endpoint or account, or the same change was sent since`,
  ]);

/** @throws Refusal if this server did not issue the planId for this caller */
export function readClaims(planId: string, tokens: ConsentTokens): ConsentClaims {
  try {
    const claims = tokens.read(planId);
    if (claims.use !== 'question') return claims;
  } catch (error) {
    if (!(error instanceof InvalidToken)) throw error;
  }
  throw new Refusal('PlanRefused', [say`this server did not issue the planId, or it was altered`]);
}

/** The outcome of a change from its journal entry, which another server may have written, and from the call that asks for it. */
function outcomeInJournal(change: RecordedChange, { call, verificationHint }: AskedChange): EndedOutcome {
  const { tool, what, time, ending } = change;
  const { outcome, status, code, requestIds = {} } = ending ?? { outcome: 'unknown' };
  const deed = quoted(what, 500);
  const problems = code === undefined ? [] : [say`its code in the journal is ${quoted(code, 100)}`];
  const failed = (failure: Pick<Failure, 'summary' | 'code' | 'mayHaveHappened' | 'next'>): EndedOutcome => ({
    kind: 'failed',
    failure: { ...failure, problems, status, requestIds },
  });
  switch (outcome) {
    case 'accepted':
      return { kind: 'succeeded', success: acceptedEarlier(change, call) };
    case 'declined':
      return { kind: 'failed', failure: refusalFailure(tool, refusalIn(change), true) };
    case 'rejected':
      return failed({
        summary: say`The cloud refused this: ${deed}.`,
        code: `Http${status ?? ''}`,
        mayHaveHappened: false,
        next: next('nobody', 'none', forAgent('Tell the user the code and the request IDs.')),
      });
    default:
      return failed({
        summary: say`Nobody knows whether this was carried out: ${deed}.`,
        code: 'OutcomeUnknown',
        mayHaveHappened: true,
        next: stepIfUnknown(call, verificationHint, time),
      });
  }
}

/** The result of a change that the cloud accepted. It lacks the cloud's answer, which the journal does not keep. */
function acceptedEarlier({ what, time, ending }: RecordedChange, call: FollowedCall): Success {
  const { requestIds = {}, failed } = ending ?? {};
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

/** The refusal of a declined change. */
function refusalIn({ consent, approver, reason }: RecordedChange): Refusal {
  if (consent === 'withdrawn') return new Refusal('Withdrawn', []);
  if (consent === 'program') return new Refusal('NobodyAsked', []);
  const problems = sentences(say`this plan was declined`, reason !== undefined && reasonText(reason));
  return approver === undefined ? new Refusal('Declined', problems) : declinedByAnother(problems);
}
