import { ShownError } from '../util/log.js';
import { say, time, words } from '../util/safe-text.js';
import { type Budget, budgetState, mayBeMade } from './budget.js';
import type { Entry, Intent, RecordedChange } from './entry.js';
import type { BeginOptions, BeginResult } from './journal.js';

/** After a change was accepted or its outcome is unknown, the same change is not sent within this time without `allowRepeat`. */
export const duplicateWindowMs = 10 * 60 * 1000;

/** Longer than any call takes. A change that ended this long ago is in conflict with no other. */
export const abandonedMs = 2 * 60 * 60 * 1000;

/**
 * When a change of another version, whose digest cannot be compared, stops blocking every change (milliseconds). Any outcome blocks,
 * because it shows that a server of that version was still writing.
 */
export const blocksUntil = (begun: number, ended: number | undefined): number =>
  Math.min(begun + abandonedMs, ended === undefined ? Number.POSITIVE_INFINITY : ended + duplicateWindowMs);

/** The journal has recent entries of another version, so no change may begin. */
export class OtherVersion extends ShownError {
  /** @param until when the entries stop being recent (milliseconds). Left out of the message if it is no date. */
  constructor(until: number) {
    const end = until < 8.64e15 ? say` until ${time(new Date(until).toISOString())}` : words('');
    super(
      say`it has recent entries of another version, in which the same change cannot be recognised: changes are refused${end}, and longer while a server of that version writes`,
    );
  }
}

/** A change with the time of its ending (milliseconds) by the clock of the journal, because the clocks of servers differ and are set back. */
export type DatedChange = RecordedChange & { readonly endedAt?: number | undefined };

/**
 * Joins entries to changes, in the order of their intents. An id that is there twice counts at its last position. If two processes write
 * while the file is rotated, both may then stop, but they never both send. The last ending counts, except that `unknown`, which a process
 * writes if it takes another process to be gone, does not replace a known outcome.
 */
export function changesOf(entries: readonly Entry[]): RecordedChange[] {
  const changes = new Map<string, RecordedChange>();
  for (const entry of entries) {
    const id = 'intent' in entry ? entry.intent.id : entry.ending.id;
    const change = changes.get(id);
    if ('intent' in entry) {
      changes.delete(id);
      changes.set(id, { ...entry.intent, ending: change?.ending });
    } else if (change !== undefined && (change.ending === undefined || entry.ending.outcome !== 'unknown'))
      changes.set(id, { ...change, ending: entry.ending });
  }
  return [...changes.values()];
}

/** The last change with a digest, if it was or may have been accepted recently or has no outcome yet. */
export const findDuplicate = (
  changes: readonly DatedChange[],
  digest: string,
  now: number,
): RecordedChange | undefined =>
  changes.findLast(({ digest: other, ending, endedAt }) => {
    if (other !== digest) return false;
    // At any age, because clocks jump. Recovery ends the changes of processes that are gone.
    if (ending === undefined) return true;
    return mayBeMade(ending) && (endedAt ?? Date.parse(ending.time)) >= now - duplicateWindowMs;
  });

/** The change for which the consent with a nonce was used or refused. A change that was not sent did not use its consent. */
export const findByNonce = (changes: readonly RecordedChange[], nonce: string): RecordedChange | undefined =>
  changes.find((other) => other.nonce === nonce && other.ending?.outcome !== 'not sent');

export const isNonceSpent = (changes: readonly RecordedChange[], nonce: string | undefined): boolean =>
  nonce !== undefined && findByNonce(changes, nonce) !== undefined;

/** Compares an intent with earlier changes, at a time by the clock of the journal. Without a conflict, it may be sent. */
export function findConflict(
  earlier: readonly DatedChange[],
  intent: Intent,
  { allowRepeat }: Pick<BeginOptions, 'allowRepeat'>,
  now = Date.parse(intent.time),
): BeginResult {
  if (isNonceSpent(earlier, intent.nonce)) return { kind: 'consentUsed' };
  const duplicate = findDuplicate(earlier, intent.digest, now);
  if (duplicate !== undefined && allowRepeat !== true && duplicate.id !== allowRepeat)
    return { kind: 'duplicate', earlier: duplicate };
  return { kind: 'begun' };
}

/** Compares an intent with its budget, which was spent at these times. All times are by the clock of the journal. */
export function findOverspending(spent: readonly number[], budget: Budget, now: number): BeginResult {
  const state = budgetState(spent, budget, now);
  return state.left > 0 ? { kind: 'begun' } : { kind: 'budgetSpent', budget, ...state };
}
