import { setTimeout as delay } from 'node:timers/promises';
import type { Ending, RecordedChange } from '../journal/entry.js';
import { type Journal, shownTime } from '../journal/journal.js';
import { next } from '../tools/next.js';
import { quoted, say } from '../util/safe-text.js';
import type { EndedOutcome, Failure } from './outcome.js';
import type { PendingEntry } from './pending.js';
import type { FoundPlan, Plans } from './plans.js';
import { Refusal, refusalFailure } from './refusal.js';
import { type ConsentClaims, type ConsentTokens, InvalidToken, tokenLifetimeMs } from './tokens.js';

/** The state of the plan that a planId stands for. */
export type PlanState =
  /** Nobody has decided yet. `plan` is there if it waits in the store. */
  | {
      readonly kind: 'open';
      readonly nonce: string;
      /** Set if the planId may carry the plan out, where the mode allows that. */
      readonly isRedeemable: boolean;
      readonly expiresAt: number;
      readonly plan?: FoundPlan;
    }
  /** Somebody has agreed, and the change is on its way. */
  | { readonly kind: 'underWay' }
  /** `isSettling` is set if the plan may get the answer of the cloud in a moment. */
  | { readonly kind: 'ended'; readonly outcome: EndedOutcome; readonly isSettling?: boolean };

/** Whatever can tell of plans. */
export interface PlanSources {
  readonly tokens: ConsentTokens;
  readonly plans: Plans;
  readonly journal: Journal;
  readonly now: () => Date;
}

/**
 * Finds where the plan of a planId stands.
 * @throws Refusal if the planId is not one of this server's for this caller and this change, or if its plan has expired
 */
export async function findPlanState(planId: string, entry: PendingEntry, sources: PlanSources): Promise<PlanState> {
  return findStateOfPlan(readClaims(planId, sources.tokens), entry, sources);
}

/**
 * The same for the plan of a ticket.
 * @throws Refusal if the plan is one of another change, or has expired
 */
export async function findStateOfPlan(
  claims: ConsentClaims,
  entry: PendingEntry,
  { plans, journal, now }: Omit<PlanSources, 'tokens'>,
): Promise<PlanState> {
  const plan = await plans.find(claims.nonce);
  if (plan !== undefined && plan.requestKey !== entry.digest) throw ofAnotherChange();
  if (plan?.outcome !== undefined) return { kind: 'ended', outcome: plan.outcome };
  const change = await journal.findByNonce(claims.nonce).catch(() => undefined);
  if (change !== undefined && change.digest !== entry.digest) throw ofAnotherChange();
  const time = now().getTime();
  if (change?.ending !== undefined)
    return { kind: 'ended', outcome: endOf(change), isSettling: plan !== undefined && isFresh(change.ending, time) };
  if (change !== undefined || plan?.state === 'decided') return { kind: 'underWay' };
  const tokenExpiresAt = claims.issuedAt + tokenLifetimeMs;
  const expiresAt = plan?.expiresAt ?? tokenExpiresAt;
  if (time > expiresAt) throw new Refusal('PlanRefused', [say`the planId has expired`]);
  const isRedeemable = claims.use === 'plan' && time <= tokenExpiresAt;
  return { kind: 'open', nonce: claims.nonce, isRedeemable, expiresAt, ...(plan !== undefined && { plan }) };
}

/** The journal knows the end first. The plan gets it, with the cloud's answer, within this time, unless its server ends. */
const settlingMs = 5000;
const isFresh = (ending: Ending, time: number) => time - Date.parse(ending.time) < settlingMs;

/**
 * Waits for the end of a plan, but not for longer than a client waits for an answer, nor when nobody wants to know any more.
 * @param find `standingOf` the plan; what it throws ends the wait
 * @param waitsWhile the kinds that may still become another
 */
export async function awaitEnd(
  find: () => Promise<PlanState>,
  waitsWhile: readonly PlanState['kind'][],
  waitMs: number,
  isOver: () => boolean,
): Promise<PlanState> {
  let waited = 0;
  for (;;) {
    const standing = await find();
    const isOpen = waitsWhile.includes(standing.kind) || isSettling(standing);
    if (!isOpen || waited >= waitMs || isOver()) return standing;
    await delay(pollMs);
    waited += pollMs;
  }
}

const pollMs = 500;

export const isSettling = (standing: PlanState) => standing.kind === 'ended' && standing.isSettling === true;

const ofAnotherChange = () => new Refusal('PlanRefused', [say`the planId belongs to another change`]);

function readClaims(planId: string, tokens: ConsentTokens): ConsentClaims {
  try {
    const claims = tokens.read(planId);
    if (claims.use !== 'question') return claims;
  } catch (error) {
    if (!(error instanceof InvalidToken)) throw error;
  }
  throw new Refusal('PlanRefused', [say`this server did not issue the planId, or it was altered`]);
}

/** The end of a change as the journal has it, which others than this server may have written. */
function endOf({ tool, what, time, consent, ending }: RecordedChange): EndedOutcome {
  const { outcome, status, code, requestIds = {} } = ending ?? { outcome: 'unknown' };
  const deed = quoted(what, 500);
  const problems = code === undefined ? [] : [say`its code in the journal is ${quoted(code, 100)}`];
  const failed = (failure: Pick<Failure, 'summary' | 'code' | 'mayHaveHappened' | 'next'>): EndedOutcome => ({
    kind: 'failed',
    failure: { ...failure, problems, status, requestIds },
  });
  switch (outcome) {
    case 'accepted':
      return {
        kind: 'succeeded',
        success: {
          summary: say`The cloud accepted this earlier: ${deed}.`,
          outcome: 'accepted',
          sentAt: shownTime(time).text,
          next: next(
            'user',
            'check',
            'Tell the user the outcome and the request IDs. Only the console shows its progress: do not call again to check.',
          ),
          warnings: [say`The answer of the cloud was not kept.`],
          requestIds,
        },
      };
    case 'declined':
      return {
        kind: 'failed',
        failure: refusalFailure(
          tool,
          consent === 'withdrawn'
            ? new Refusal('Withdrawn', [])
            : new Refusal('Declined', [say`this plan was declined`]),
          true,
        ),
      };
    case 'rejected':
      return failed({
        summary: say`The cloud refused this: ${deed}.`,
        code: `Http${status ?? ''}`,
        mayHaveHappened: false,
        next: next('nobody', 'none', 'Tell the user the code and the request IDs.'),
      });
    default:
      return failed({
        summary: say`Nobody knows whether this was carried out: ${deed}.`,
        code: 'OutcomeUnknown',
        mayHaveHappened: true,
        next: next(
          'user',
          'check',
          say`Do not repeat it. It was sent at ${shownTime(time)}. Wait ten minutes, then have the user look in the console.`,
        ),
      });
  }
}
