import {
  type ChangeOutcome,
  type Decision,
  type ProposedChange,
  readOutcome,
  readProposedChange,
} from '../../src/mcp/views/contract/change-data.js';
import { readText } from '../../src/mcp/views/contract/read-fields.js';
import type { ToolResult } from '../host/host.js';

/** The state of a decision. A change that may have happened is never shown as one that did not. */
export type Stage =
  | { readonly kind: 'waiting' }
  /** The call came to something that nobody has to decide on. */
  | { readonly kind: 'plain'; readonly text: string }
  | { readonly kind: 'open'; readonly change: ProposedChange; readonly note?: string }
  /** `note` says why there is no new plan, where one was asked for. */
  | { readonly kind: 'expired'; readonly change: ProposedChange; readonly note?: string }
  | {
      readonly kind: 'sending';
      readonly change: ProposedChange;
      readonly decision: Extract<Decision['decision'], 'accept' | 'decline'>;
      readonly lost: boolean;
    }
  /** A new plan is being made in place of one that has expired. */
  | { readonly kind: 'planning'; readonly change: ProposedChange }
  /** A click to accept went out, and no answer came. */
  | { readonly kind: 'lost'; readonly change: ProposedChange }
  | { readonly kind: 'ended'; readonly change?: ProposedChange | undefined; readonly outcome: ChangeOutcome };

/** The state that follows from the result of the view's own call. */
export function begin({ meta, structured, text }: ToolResult, now: number): Stage {
  const change = readProposedChange(meta);
  const outcome = readOutcome(meta);
  if (outcome !== undefined) return { kind: 'ended', change, outcome };
  if (change !== undefined) return expire({ kind: 'open', change }, now);
  return { kind: 'plain', text: readText(structured.summary) ?? text };
}

/** A plan that nobody has clicked on closes when its time is over. A click that is under way does not. */
export function expire(stage: Stage, now: number): Stage {
  if (stage.kind !== 'open' || now < Date.parse(stage.change.expiresAt)) return stage;
  return { kind: 'expired', change: stage.change };
}

/** A fresh plan has not been decided on: this one may be shown once more, after a reload (milliseconds). */
const freshMs = 15_000;

/** True for a plan that may have been decided on before it was shown here. */
export const mayBeDecided = (stage: Stage, now: number): boolean =>
  (stage.kind === 'open' || stage.kind === 'expired') &&
  stage.change.ticket !== undefined &&
  now - Date.parse(stage.change.issuedAt ?? '') > freshMs;

/** The stage of a plan once the server has said where it stands. */
export function looked(stage: Stage, result: ToolResult): Stage {
  const outcome = readOutcome(result.meta);
  const isWaiting = stage.kind === 'open' || stage.kind === 'expired';
  if (!isWaiting || outcome === undefined || outcome.kind === 'refused' || outcome.kind === 'expired') return stage;
  // Nobody has clicked here, so there is nothing to say of this click.
  const { isEarlier: _, ...first } = outcome;
  return { kind: 'ended', change: stage.change, outcome: first };
}

/** A click, if one is possible: one that is under way stops the next. */
export function click(stage: Stage, decision: 'accept' | 'decline'): Stage {
  if (stage.kind === 'open' && stage.change.ticket !== undefined)
    return { kind: 'sending', change: stage.change, decision, lost: false };
  // The ticket works once, so asking again cannot make it happen twice.
  if (stage.kind === 'lost' && decision === 'accept')
    return { kind: 'sending', change: stage.change, decision, lost: true };
  return stage;
}

/** The plan that can be made anew at a stage. */
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

/** The new plan, or the reason why there is none. */
export function plannedAgain(stage: Stage, result: ToolResult | undefined, now: number): Stage {
  if (stage.kind !== 'planning') return stage;
  if (result === undefined) return { kind: 'expired', change: stage.change, note: 'No answer came. Nothing was sent.' };
  const change = readProposedChange(result.meta);
  if (change !== undefined) return expire({ kind: 'open', change }, now);
  const { sentence, details } = readOutcome(result.meta) ?? { sentence: 'There is no new plan.', details: [] };
  return { kind: 'expired', change: stage.change, note: [sentence, ...details].join(' ') };
}

/** The tool answered a click. */
export function answered(stage: Stage, result: ToolResult): Stage {
  const outcome = readOutcome(result.meta);
  // The answer to the first click, after that to the second.
  if (stage.kind === 'ended' && stage.outcome.kind === 'unknown' && outcome?.kind === 'accepted')
    return { ...stage, outcome };
  if (stage.kind !== 'sending' && stage.kind !== 'lost') return stage;
  const { change } = stage;
  if (outcome === undefined) return unanswered(stage);
  const nothingSent = outcome.kind === 'expired' || outcome.kind === 'refused';
  const earlierLost = stage.kind === 'lost' || stage.lost;
  return { kind: 'ended', change, outcome: nothingSent && earlierLost ? stillUnknown(outcome) : outcome };
}

/** The answer to a second click says nothing of the first. */
const stillUnknown = ({ sentence, details, requestIds }: ChangeOutcome): ChangeOutcome => ({
  kind: 'unknown',
  sentence: 'Your first click got no answer, so the change may have happened. Asking again sent nothing.',
  details: [sentence, ...details],
  requestIds,
  next: 'Look in the console, or in the journal (cloudops-mcp journal), before you ask for it again.',
});

/** No answer came, or none that can be read. */
export function unanswered(stage: Stage): Stage {
  if (stage.kind !== 'sending') return stage;
  const { change, decision } = stage;
  if (decision === 'accept') return { kind: 'lost', change };
  return { kind: 'open', change, note: 'No answer came. Nothing is done without a click on the other button.' };
}

/** The host does not pass clicks on, so nothing left this view. */
export function notPassedOn(stage: Stage): Stage {
  if (stage.kind !== 'sending') return stage;
  const { change } = stage;
  if (stage.lost) return { kind: 'lost', change };
  // Without a ticket, nothing can be clicked here.
  const { ticket: _, ...undecidable } = change;
  return { kind: 'open', change: undecidable, note: 'This chat did not pass your click on. Nothing was sent.' };
}
