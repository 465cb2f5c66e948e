import type { ChangeOutcome, OutcomeKind, ProposedChange } from '../../src/mcp/views/view-contract.js';
import type { ToolResult } from '../host/host.js';
import { readText } from '../shared/read-fields.js';
import { readOutcome, readProposedChange } from './read-change.js';

/** The stage of a decision. No stage says "nothing was sent" about a change that may have happened. */
export type Stage =
  | { readonly kind: 'waiting' }
  /** The result has neither a plan nor an outcome, so the view shows its text. */
  | { readonly kind: 'plain'; readonly text: string }
  | { readonly kind: 'open'; readonly change: ProposedChange; readonly note?: string }
  | { readonly kind: 'expired'; readonly change: ProposedChange }
  | SendingStage
  | LostStage
  | EndedStage;

interface SendingStage {
  readonly kind: 'sending';
  readonly change: ProposedChange;
  readonly decision: 'accept' | 'decline';
  /** True for a click on "Ask again": an earlier click to accept got no answer, so the change may have happened. */
  readonly earlierAcceptLost: boolean;
}

/** A click to accept was sent, and no answer came. The change may have happened. */
interface LostStage {
  readonly kind: 'lost';
  readonly change: ProposedChange;
}

interface EndedStage {
  readonly kind: 'ended';
  readonly change?: ProposedChange | undefined;
  readonly outcome: ChangeOutcome;
}

/** The plan that a stage shows. */
export const changeOf = (stage: Stage): ProposedChange | undefined => ('change' in stage ? stage.change : undefined);

/** The first stage after `waiting`, from the result of the call that opened the view. */
export function begin({ meta, structured, text }: ToolResult, now: number): Stage {
  const change = readProposedChange(meta);
  const outcome = readOutcome(meta);
  if (outcome !== undefined) return { kind: 'ended', change, outcome };
  if (change !== undefined) return expire({ kind: 'open', change }, now);
  return { kind: 'plain', text: readText(structured.summary) ?? text };
}

/** Closes an open plan after its expiry. Any other stage stays, because a click that was sent gets its own answer. */
export function expire(stage: Stage, now: number): Stage {
  if (stage.kind !== 'open' || now < Date.parse(stage.change.expiresAt)) return stage;
  return { kind: 'expired', change: stage.change };
}

/** A plan that is older than this (milliseconds) may be shown again after a reload of the host's page, and may have been decided before. */
const freshMs = 15_000;

/** True if the plan may have been decided before this view showed it. */
export const mayBeDecided = (stage: Stage, now: number): boolean =>
  (stage.kind === 'open' || stage.kind === 'expired') &&
  stage.change.ticket !== undefined &&
  now - Date.parse(stage.change.issuedAt ?? '') > freshMs;

/** True while news of the plan may come without a click here. */
export function awaitsNews(stage: Stage): boolean {
  if (changeOf(stage)?.ticket === undefined) return false;
  if (stage.kind === 'ended') return ['used', 'unknown'].includes(stage.outcome.kind);
  return stage.kind === 'open' || stage.kind === 'sending' || stage.kind === 'lost';
}

/** The stage after cloudops-mcp answered the question for the state of the plan. */
export function stateReported(stage: Stage, result: ToolResult): Stage {
  if (stage.kind === 'lost' || stage.kind === 'ended') return planSeen(stage, result);
  const outcome = readOutcome(result.meta);
  const isUndecided = stage.kind === 'open' || stage.kind === 'expired';
  if (!isUndecided || outcome === undefined) return stage;
  if (isOnlyOfCall(outcome)) return stage;
  return { kind: 'ended', change: stage.change, outcome };
}

/**
 * The stage after the page around the view has looked at the state of the plan, while the view shows it. The answer to a click that is under way
 * comes from the click.
 */
export function planSeen(stage: Stage, result: ToolResult): Stage {
  const outcome = readOutcome(result.meta);
  if (stage.kind === 'open' && outcome?.kind === 'expired') return { kind: 'expired', change: stage.change };
  // The plan still waits, and other plans for the same thing may have come or gone.
  const change = readProposedChange(result.meta);
  if (stage.kind === 'open' && outcome === undefined && change !== undefined) return { ...stage, change };
  return outcome?.isOfPlan === true && stage.kind !== 'sending' ? answered(stage, result) : stage;
}

/**
 * True for an outcome that says nothing about the plan, because only the answered call was refused. `expired` counts too, because the view
 * sees by its own clock when a plan expires.
 */
const isOnlyOfCall = ({ kind, isOfPlan }: ChangeOutcome): boolean =>
  kind === 'uncounted' || (isOfPlan !== true && kindsOfCall.includes(kind));

const kindsOfCall: readonly OutcomeKind[] = ['refused', 'expired', 'withdrawn', 'late'];

/** The stage while a click is sent. Undefined if a click is not possible, for example during another click. */
export function sendingStage(stage: Stage, decision: 'accept' | 'decline'): SendingStage | undefined {
  if (stage.kind === 'open' && stage.change.ticket !== undefined)
    return { kind: 'sending', change: stage.change, decision, earlierAcceptLost: false };
  // "Ask again" is safe because cloudops-mcp accepts a ticket only once.
  if (stage.kind === 'lost' && decision === 'accept')
    return { kind: 'sending', change: stage.change, decision, earlierAcceptLost: true };
  return undefined;
}

const sentencesOf = ({ sentence, details }: Pick<ChangeOutcome, 'sentence' | 'details'>): string =>
  [sentence, ...details].join(' ');

/**
 * The stage after the tool answered a click to accept or to decline. After "Ask again", the answers to several clicks may arrive, in any order.
 * Returns the same stage if it ignores the answer.
 */
export function answered(stage: Stage, result: ToolResult): Stage {
  const outcome = readOutcome(result.meta);
  switch (stage.kind) {
    // A click waits for this answer. At `lost`, the answer is late. A result without a readable outcome counts as no answer.
    case 'sending':
    case 'lost':
      return outcome === undefined ? unanswered(stage) : lastClickAnswered(stage, outcome);
    // A click to decline leaves the plan open if no answer comes in time. The late answer then reports the state of the plan.
    case 'open':
    case 'expired':
      return stateReported(stage, result);
    case 'ended':
      return withLateAnswer(stage, outcome);
    default:
      return stage;
  }
}

/** The end of a decision after a late answer. The answer to the first click may come last, but knows more than the answer to "Ask again". */
function withLateAnswer(stage: EndedStage, outcome: ChangeOutcome | undefined): EndedStage {
  const isOutcomeUnknown = ['unknown', 'used'].includes(stage.outcome.kind);
  const isKnownNow = outcome?.isOfPlan === true || outcome?.kind === 'accepted' || outcome?.kind === 'partly';
  return isOutcomeUnknown && isKnownNow ? { ...stage, outcome } : stage;
}

/** The stage after the answer to the last click. */
function lastClickAnswered(stage: SendingStage | LostStage, outcome: ChangeOutcome): Stage {
  const { change } = stage;
  // `lost` does not record how many clicks got no answer. To be safe, even a single click counts as several.
  const mayHaveOtherClick = stage.kind === 'lost' || stage.earlierAcceptLost;
  // Another click may have started the change, so the decision ends as unknown, even after a wrong name.
  if (isOnlyOfCall(outcome) && mayHaveOtherClick) return { kind: 'ended', change, outcome: stillUnknown(outcome) };

  // If no other click may have started the change, a click that did not count leaves the plan open.
  if (outcome.kind === 'uncounted') return { kind: 'open', change, note: sentencesOf(outcome) };
  return { kind: 'ended', change, outcome };
}

/** True if the answer shows that nobody can decide on the plan: it was carried out or declined, or the outcome is the plan's own (`isOfPlan`). */
export function settlesPlan({ meta }: ToolResult): boolean {
  const { kind, isOfPlan = false } = readOutcome(meta) ?? {};
  return isOfPlan || kind === 'accepted' || kind === 'partly' || kind === 'declined';
}

/** The unknown outcome after a click that did not start the change: an earlier click, which got no answer, may have started it. */
const stillUnknown = ({ sentence, details, requestIds }: ChangeOutcome): ChangeOutcome => ({
  kind: 'unknown',
  sentence: clickLost,
  details: [sentence, ...details],
  requestIds,
  next: whereToLook,
});

/** Says that the first click got no answer in time. Fits a late answer to that click, and an answer to "Ask again" alone. */
const clickLost =
  'Your first click got no answer in time, so the change may have happened. The click that was answered sent nothing.';

const whereToLook = 'Look in the console, or in the journal (cloudops-mcp journal), before you ask for it again.';

/** The text for the model about the answer that ended a decision. */
export function textForModel({ outcome }: EndedStage, answer: ToolResult): string {
  // The text of an answer is about one click. If that click did not start the change, an earlier click may have started it.
  if (readOutcome(answer.meta)?.kind === outcome.kind) return answer.text;
  return `${clickLost.replace(/^Your/, () => `The user's`)} ${whereToLook}`;
}

/** The stage if a click got no readable answer. */
export function unanswered(stage: Stage): Stage {
  if (stage.kind !== 'sending') return stage;
  const { change, decision } = stage;
  // Only a click to accept can have started the change.
  if (decision === 'accept') return { kind: 'lost', change };
  return { kind: 'open', change, note: 'No answer came. Nothing is done without a click on the other button.' };
}

/** The stage if the host refused to forward a click, so that this click did not start the change. */
export function notPassedOn(stage: Stage): Stage {
  if (stage.kind !== 'sending') return stage;
  const { change } = stage;
  if (stage.earlierAcceptLost) return { kind: 'lost', change };
  // Without the ticket, the view shows the other ways to decide in place of the buttons.
  return {
    kind: 'open',
    change: { ...change, ticket: undefined },
    note: 'This chat did not pass your click on. Nothing was sent.',
  };
}
