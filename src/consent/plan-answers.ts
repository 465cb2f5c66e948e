import type { EndedOutcome } from '../answers/outcome.js';
import { Refusal } from '../answers/refusal.js';
import { next } from '../tools/next.js';
import { type Consent, intentOf, type PendingEntry } from './pending.js';
import type { Plans } from './plans.js';
import type { Refusals } from './refusals.js';
import type { Standing } from './standing.js';

type Undecided = Exclude<Standing, { kind: 'ended' }>;

/** The answer to a call that asks what became of a plan on which nobody has decided, or which is being carried out. */
export function undecidedAnswer(
  name: string,
  planId: string,
  standing: Undecided,
  decideAt: string | undefined,
): EndedOutcome {
  const again = `Call ${name} again with the same arguments and this planId`;
  const isOpen = standing.kind === 'open';
  return {
    kind: 'succeeded',
    success: {
      summary: isOpen
        ? `Nobody has decided on this plan of ${name} yet.`
        : `Somebody has decided on this plan of ${name}. What came of it is not known yet.`,
      outcome: 'waiting',
      planId,
      ...(isOpen && { planExpires: new Date(standing.expiresAt).toISOString() }),
      ...(isOpen && standing.plan !== undefined && decideAt !== undefined && { decideAt }),
      next: isOpen
        ? next(
            'user',
            'decide',
            `${again} later to learn what became of it, or with withdraw: true if the user no longer wants it.`,
          )
        : next('agent', 'wait', `${again} later to learn what became of it.`),
      warnings: [],
      requestIds: {},
    },
  };
}

/**
 * Takes back a plan on which nobody has decided.
 * @throws Refusal if somebody has
 */
export async function withdrawPlan(
  name: string,
  nonce: string,
  change: { readonly entry: PendingEntry; readonly now: () => Date },
  { plans, refusals }: { readonly plans: Plans; readonly refusals: Refusals },
): Promise<EndedOutcome> {
  const consent: Consent = { kind: 'given', how: 'withdrawn', nonce };
  const claimed = await plans.claim(nonce);
  const recorded = claimed === 'taken' ? 'spent' : await refusals.decline(intentOf(change, consent));
  if (recorded === 'spent') throw new Refusal('AlreadyDecided', []);
  return {
    kind: 'succeeded',
    success: {
      summary: `The plan of ${name} is withdrawn; nothing was sent.`,
      outcome: 'withdrawn',
      next: next('nobody', 'none', 'Nobody can decide on it any more. The same change needs a new plan.'),
      warnings: [],
      requestIds: {},
    },
  };
}
