import {
  type ChangeOutcome,
  type Decision,
  type ProposedChange,
  readOutcome,
  readProposedChange,
} from '../../src/mcp/views/contract/change-data.js';
import { readText, textInUtc } from '../../src/mcp/views/contract/read-fields.js';
import type { ToolResult } from '../host/host.js';

/** The state of a decision. A change that may have happened is never shown as one that did not. */
export type Stage =
  | { readonly kind: 'waiting' }
  /** The result needs no decision. */
  | { readonly kind: 'plain'; readonly text: string }
  | { readonly kind: 'open'; readonly change: ProposedChange; readonly note?: string }
  /** `note` says why a requested new plan could not be made. */
  | { readonly kind: 'expired'; readonly change: ProposedChange; readonly note?: string }
  | {
      readonly kind: 'sending';
      readonly change: ProposedChange;
      readonly decision: Extract<Decision['decision'], 'accept' | 'decline'>;
      readonly lost: boolean;
    }
  /** A new plan is being made in place of the expired plan. */
  | { readonly kind: 'planning'; readonly change: ProposedChange }
  /** A click to accept was sent, and no answer came. */
  | { readonly kind: 'lost'; readonly change: ProposedChange }
  | { readonly kind: 'ended'; readonly change?: ProposedChange | undefined; readonly outcome: ChangeOutcome };

/** The first stage, from the result of the call that opened the view. */
export function begin({ meta, structured, text }: ToolResult, now: number): Stage {
  const change = readProposedChange(meta);
  const outcome = readOutcome(meta);
  if (outcome !== undefined) return { kind: 'ended', change, outcome };
  if (change !== undefined) return expire({ kind: 'open', change }, now);
  return { kind: 'plain', text: readText(structured.summary) ?? text };
}

/** Closes an expired plan, unless a click is being sent. */
export function expire(stage: Stage, now: number): Stage {
  if (stage.kind !== 'open' || now < Date.parse(stage.change.expiresAt)) return stage;
  return { kind: 'expired', change: stage.change };
}

/** A plan younger than this (milliseconds) is shown for the first time. An older plan may be shown again, after a reload of the page. */
const freshMs = 15_000;

/** True if the plan may have been decided before this view showed it. */
export const mayBeDecided = (stage: Stage, now: number): boolean =>
  (stage.kind === 'open' || stage.kind === 'expired') &&
  stage.change.ticket !== undefined &&
  now - Date.parse(stage.change.issuedAt ?? '') > freshMs;

/** The stage of a plan after the server reported its state. */
export function stateReported(stage: Stage, result: ToolResult): Stage {
  const outcome = readOutcome(result.meta);
  const isWaiting = stage.kind === 'open' || stage.kind === 'expired';
  if (!isWaiting || outcome === undefined || outcome.kind === 'refused' || outcome.kind === 'expired') return stage;
  return { kind: 'ended', change: stage.change, outcome };
}

/** Starts a click. Ignored while another click is being sent. */
export function click(stage: Stage, decision: 'accept' | 'decline'): Stage {
  if (stage.kind === 'open' && stage.change.ticket !== undefined)
    return { kind: 'sending', change: stage.change, decision, lost: false };
  // A second click is safe because the server accepts the ticket only once.
  if (stage.kind === 'lost' && decision === 'accept')
    return { kind: 'sending', change: stage.change, decision, lost: true };
  return stage;
}

/** The expired plan that "Plan again" would replace. */
export function expiredPlan(stage: Stage): ProposedChange | undefined {
  const isExpired = stage.kind === 'expired' || (stage.kind === 'ended' && stage.outcome.kind === 'expired');
  const change = isExpired ? stage.change : undefined;
  return change?.ticket !== undefined && change.canPlanAgain ? change : undefined;
}

/** A click on "Plan again". */
export function planAgain(stage: Stage): Stage {
  const change = expiredPlan(stage);
  return change === undefined ? stage : { kind: 'planning', change };
}

/** The stage with the new plan, or with the reason why there is none. */
export function plannedAgain(stage: Stage, result: ToolResult | undefined, now: number): Stage {
  if (stage.kind !== 'planning') return stage;
  if (result === undefined) return { kind: 'expired', change: stage.change, note: 'No answer came. Nothing was sent.' };
  const change = readProposedChange(result.meta);
  if (change !== undefined) return expire({ kind: 'open', change }, now);
  const { sentence, details } = readOutcome(result.meta) ?? { sentence: 'There is no new plan.', details: [] };
  return { kind: 'expired', change: stage.change, note: [sentence, ...details].map(textInUtc).join(' ') };
}

/** The stage after the tool answered a click. */
export function answered(stage: Stage, result: ToolResult): Stage {
  const outcome = readOutcome(result.meta);
  // The answer to the first click arrived after the answer to the second click.
  const isDone = outcome?.kind === 'accepted' || outcome?.kind === 'partly';
  if (stage.kind === 'ended' && stage.outcome.kind === 'unknown' && isDone) return { ...stage, outcome };
  if (stage.kind !== 'sending' && stage.kind !== 'lost') return stage;
  const { change } = stage;
  if (outcome === undefined) return unanswered(stage);
  if (outcome.kind === 'misnamed' && stage.kind === 'sending' && !stage.lost)
    return { kind: 'open', change, note: 'That is not the name. Nothing was sent.' };
  const nothingSent = ['expired', 'refused', 'misnamed'].includes(outcome.kind);
  const earlierLost = stage.kind === 'lost' || stage.lost;
  return { kind: 'ended', change, outcome: nothingSent && earlierLost ? stillUnknown(outcome) : outcome };
}

/** Keeps the outcome unknown, because the answer to a second click does not say what the first click did. */
const stillUnknown = ({ sentence, details, requestIds }: ChangeOutcome): ChangeOutcome => ({
  kind: 'unknown',
  sentence: 'Your first click got no answer, so the change may have happened. Asking again sent nothing.',
  details: [sentence, ...details],
  requestIds,
  next: 'Look in the console, or in the journal (cloudops-mcp journal), before you ask for it again.',
});

/** The stage if no readable answer came. */
export function unanswered(stage: Stage): Stage {
  if (stage.kind !== 'sending') return stage;
  const { change, decision } = stage;
  if (decision === 'accept') return { kind: 'lost', change };
  return { kind: 'open', change, note: 'No answer came. Nothing is done without a click on the other button.' };
}

/** The stage if the host does not forward tool calls. Nothing was sent. */
export function notPassedOn(stage: Stage): Stage {
  if (stage.kind !== 'sending') return stage;
  const { change } = stage;
  if (stage.lost) return { kind: 'lost', change };
  // Without a ticket, the view shows no buttons.
  const { ticket: _, ...undecidable } = change;
  return { kind: 'open', change: undecidable, note: 'This chat did not pass your click on. Nothing was sent.' };
}
