import { next } from '../tools/next.js';
import { own, type Shown, said, say, words } from '../util/safe-text.js';
import type { ConsentWay, EndedOutcome } from './outcome.js';
import { type Consent, journalIntent, type PendingChange } from './pending.js';
import type { PlanState } from './plan-state.js';
import type { Plans } from './plans.js';
import { Refusal, refusalFailure } from './refusal.js';
import type { Refusals } from './refusals.js';

type Undecided = Exclude<PlanState, { kind: 'ended' }>;

/** Whoever has to decide, and where, if that can be told. */
interface WaitsFor {
  readonly whom: Shown;
  readonly decideAt?: string | undefined;
}

/** The answer to a call that asks what became of a plan on which nobody has decided, or which is being carried out. */
export function undecidedAnswer(
  name: string,
  planId: string | undefined,
  standing: Undecided,
  { whom, decideAt }: WaitsFor = { whom: words('nobody') },
): EndedOutcome {
  const again = said(say`Call ${own(name)} again with the same arguments and this planId`);
  const isOpen = standing.kind === 'open';
  return {
    kind: 'succeeded',
    success: {
      summary: isOpen
        ? say`Nobody has decided on this plan of ${own(name)} yet: it waits for ${said(whom)}.`
        : say`Somebody has decided on this plan of ${own(name)}. The outcome is not known yet.`,
      outcome: 'waiting',
      ...(planId !== undefined && { planId }),
      ...(isOpen && { planExpires: new Date(standing.expiresAt).toISOString() }),
      ...(isOpen && standing.plan !== undefined && decideAt !== undefined && { decideAt }),
      next: isOpen
        ? next(
            'user',
            'decide',
            say`${again} later to learn what became of it, or with withdraw: true if the user no longer wants it.`,
          )
        : next('agent', 'wait', say`${again} later to learn what became of it.`),
      warnings: [],
      requestIds: {},
    },
  };
}

interface Recording {
  readonly plans: Plans;
  readonly refusals: Refusals;
}
type Ending = Pick<PendingChange, 'entry' | 'now'>;

/**
 * Takes back a plan on which nobody has decided.
 * @throws Refusal if somebody has
 */
export async function withdrawPlan(
  name: string,
  nonce: string,
  change: Ending,
  recording: Recording,
): Promise<EndedOutcome> {
  const refusal = await end(nonce, 'withdrawn', new Refusal('Withdrawn', []), change, recording);
  if (refusal.code !== 'Withdrawn') throw refusal;
  return {
    kind: 'succeeded',
    success: {
      summary: say`The plan of ${own(name)} is withdrawn; nothing was sent.`,
      outcome: 'withdrawn',
      next: next('nobody', 'none', 'Nobody can decide on it any more. The same change needs a new plan.'),
      warnings: [],
      requestIds: {},
    },
  };
}

/** Records that the user did not want to open the page with a plan. Resolves with what to tell of it. */
export const declinePlan = (nonce: string, change: Ending, recording: Recording): Promise<Refusal> =>
  end(nonce, 'asked', new Refusal('Declined', [say`the user declined to open the page`]), change, recording);

/** Ends a plan without anything sent. The result is the reason, or that somebody decided before. */
async function end(
  nonce: string,
  how: ConsentWay,
  reason: Refusal,
  { entry, now }: Ending,
  { plans, refusals }: Recording,
): Promise<Refusal> {
  const claimed = await plans.claim(nonce);
  const consent: Consent = { kind: 'given', how, nonce };
  const recorded = claimed === 'taken' ? 'spent' : await refusals.decline(journalIntent({ entry, now }, consent));
  if (recorded === 'spent') return new Refusal('AlreadyDecided', []);
  if (claimed === 'claimed') {
    const outcome = { kind: 'failed', failure: refusalFailure(entry.tool, reason, true) } as const;
    await plans.settle(nonce, { outcome }).catch(() => undefined);
  }
  return reason;
}
