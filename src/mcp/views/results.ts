import type { Failure } from '../../answers/failure.js';
import type { EndedOutcome } from '../../answers/outcome.js';
import { requestLines } from '../../answers/plan.js';
import type { Ticket, Tickets } from '../../consent/tickets.js';
import { tokenLifetimeMs } from '../../consent/tokens.js';
import { textForPerson } from '../../tools/next.js';
import { sentences } from '../../util/human.js';
import { quote, spellOut } from '../../util/quote.js';
import { type ChangeOutcome, changeKey, type OutcomeKind, outcomeKey, type ProposedChange } from './contract/change.js';
import { partsKey } from './contract/parts.js';
import { packParts } from './pack-parts.js';

/** The `_meta` of a result, which views get and models don't. */
export function viewMeta(
  outcome: EndedOutcome,
  call: Pick<Ticket, 'tool' | 'args'>,
  tickets: Pick<Tickets, 'seal'>,
): Record<string, unknown> {
  if (outcome.kind === 'succeeded' && outcome.view?.kind === 'parts') {
    const packed = packParts(outcome.view.parts);
    return packed === undefined ? {} : { [partsKey]: packed };
  }
  const proposed = proposedChange(outcome, call, tickets);
  if (proposed !== undefined) return { [changeKey]: proposed };
  const ended = outcomeOf(outcome);
  return ended === undefined ? {} : { [outcomeKey]: ended };
}

/** A plan that a person can decide on. */
function proposedChange(
  outcome: EndedOutcome,
  { tool, args }: Pick<Ticket, 'tool' | 'args'>,
  tickets: Pick<Tickets, 'seal'>,
): ProposedChange | undefined {
  if (outcome.kind === 'failed' || outcome.success.plan === undefined || outcome.view?.kind !== 'plan')
    return undefined;
  const { plan } = outcome.success;
  const { accept, issuedAt, expiresAt = issuedAt + tokenLifetimeMs, claims } = outcome.view;
  // A click is the decision itself: what steers the call towards another one stays behind.
  const { planOnly: _, planId: __, withdraw: ___, ...rest } = args;
  return {
    sentence: spellOut(plan.summary),
    effects: [...sentences(plan.found ?? false), ...plan.consequences, `Where: ${plan.where.join(', ')}.`].map(
      spellOut,
    ),
    warnings: [...plan.warnings, ...plan.notChecked.map((what) => `Not checked: ${what}.`)].map(spellOut),
    defaults: plan.defaults.map(({ name, value }) => spellOut(`${name}: ${value}`)),
    request: requestLines(plan).join('\n'),
    expiresAt: new Date(expiresAt).toISOString(),
    accept: spellOut(accept),
    decline: 'Do nothing',
    ...(claims !== undefined && { ticket: tickets.seal({ tool, args: rest, claims: { ...claims, issuedAt } }) }),
  };
}

/** The outcome of a change for people; undefined for a call that changes nothing. */
function outcomeOf(outcome: EndedOutcome): ChangeOutcome | undefined {
  if (outcome.kind === 'failed') return outcomeOfFailure(outcome.failure);
  const { success, view } = outcome;
  if (success.outcome !== 'accepted') return undefined;
  const { summary, requestIds, warnings, notes = [], consent } = success;
  return {
    kind: 'accepted',
    sentence: spellOut(summary),
    details: sentences(...warnings, ...notes, consent !== undefined && `Consent: ${consent}.`).map(spellOut),
    requestIds,
    ...(view?.kind === 'ended' && view.continues && { next: 'It continues in the cloud. Follow it in the console.' }),
  };
}

function outcomeOfFailure(failure: Failure): ChangeOutcome | undefined {
  const { summary, code, problems = [], serviceSays, mayHaveHappened, requestIds, next, notes = [] } = failure;
  if (mayHaveHappened === undefined) return undefined;
  const kind = kindOf(failure);
  // For those who know that they did not agree.
  if (kind === 'declined')
    return { kind, sentence: 'Nothing was sent: you did not agree to it.', details: [], requestIds };
  return {
    kind,
    sentence: spellOut(summary),
    details: sentences(
      ...problems,
      serviceSays?.message !== undefined && `The service says: ${quote(serviceSays.message, 500)}`,
      ...notes,
      `Code: ${code}`,
    ).map(spellOut),
    requestIds,
    // Otherwise it says what a model should do.
    ...(kind === 'rejected' && { next: spellOut(textForPerson(next.text)) }),
    ...(kind === 'unknown' && { next: afterUnknown }),
  };
}

const afterUnknown =
  'Wait ten minutes, then look in the console whether it happened. If it did not and you still want it, ask for it again.';

const kinds: Readonly<Record<string, OutcomeKind>> = {
  AlreadyDecided: 'used',
  Repeated: 'used',
  Declined: 'declined',
  TicketExpired: 'expired',
};

function kindOf({ code, status, mayHaveHappened }: Failure): OutcomeKind {
  if (mayHaveHappened === true) return 'unknown';
  // With a status, the code is the service's own.
  return status === undefined ? (kinds[code] ?? 'refused') : 'rejected';
}
