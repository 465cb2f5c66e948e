import type { CallOutcome, Failure } from './outcome.js';
import { isRefusal } from './refusal.js';

/** Returns the outcome of a call in a word. `outcome` is undefined if the call threw an error. */
export function outcomeLabel(outcome: CallOutcome | undefined): string {
  if (outcome === undefined) return 'failed';
  if (outcome.kind === 'inputRequired') return 'asked';
  return outcome.kind === 'succeeded' ? (outcome.success.outcome ?? 'ok') : failureKind(outcome.failure);
}

function failureKind({ code, status, mayHaveHappened }: Failure): string {
  if (mayHaveHappened === true) return 'unknown';
  if (status !== undefined) return 'rejected';
  if (code === 'JournalUnavailable' || code === 'StateUnavailable') return 'journal_unavailable';
  if (isRefusal(code)) return 'refused';
  return mayHaveHappened === false ? 'not_sent' : 'failed';
}
