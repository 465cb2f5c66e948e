import { type Budget, budgetState, mayBeMade } from './budget.js';
import type { Entry, Intent, RecordedChange } from './entry.js';
import type { BeginOptions, BeginResult } from './journal.js';

/** Time in which a change that was accepted, or whose outcome is unknown, is not sent again without `allowRepeat`. */
export const duplicateWindowMs = 10 * 60 * 1000;

/** Longer than any call takes. A change that ended before this time conflicts with none. */
export const abandonedMs = 2 * 60 * 60 * 1000;

/** A change with the time of its ending by the clock of the journal, in milliseconds. Clocks of servers differ, and are set back. */
export type DatedChange = RecordedChange & { readonly endedAt?: number | undefined };

/** Changes by their id, in the order in which their intents were written. */
export type RecordedChanges = Map<string, RecordedChange>;

/**
 * Adds the next entry. An id that is there twice counts at its last place: of two processes that write while the file is rotated, both
 * may then stop, but never both send. The last ending counts, but a known outcome does not become unknown when a process takes another
 * to be gone.
 */
export function addEntry(changes: RecordedChanges, entry: Entry): void {
  if ('intent' in entry) {
    const { id } = entry.intent;
    const { ending } = changes.get(id) ?? {};
    changes.delete(id);
    changes.set(id, { ...entry.intent, ending });
    return;
  }
  const { ending } = entry;
  const change = changes.get(ending.id);
  if (change === undefined) return;
  if (change.ending !== undefined && ending.outcome === 'unknown') return;
  changes.set(ending.id, { ...change, ending });
}

export function changesOf(entries: readonly Entry[]): RecordedChange[] {
  const changes: RecordedChanges = new Map();
  for (const entry of entries) addEntry(changes, entry);
  return [...changes.values()];
}

/** The last change with a digest that was, or may have been, accepted not long ago, or that has no outcome yet. */
export const findDuplicate = (
  changes: readonly DatedChange[],
  digest: string,
  now: number,
): RecordedChange | undefined =>
  changes.findLast(({ digest: other, ending, endedAt }) => {
    if (other !== digest) return false;
    // Its age does not matter: clocks jump, and recovery ends changes that their process left open.
    if (ending === undefined) return true;
    return mayBeMade(ending) && (endedAt ?? Date.parse(ending.time)) >= now - duplicateWindowMs;
  });

/** The change that used the consent with a nonce, or was refused with it. A change that was not sent did not use it. */
export const findByNonce = (changes: readonly RecordedChange[], nonce: string): RecordedChange | undefined =>
  changes.find((other) => other.nonce === nonce && other.ending?.outcome !== 'not sent');

/** True if the consent with a nonce was used or refused. */
export const isNonceSpent = (changes: readonly RecordedChange[], nonce: string | undefined): boolean =>
  nonce !== undefined && findByNonce(changes, nonce) !== undefined;

/** The conflict of an intent with earlier changes, at a time by the clock of the journal. It may be sent if there is none. */
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

/** The conflict of an intent with its budget, which was spent at these times, by the clock of the journal too. */
export function findOverspending(spent: readonly number[], budget: Budget, now: number): BeginResult {
  const state = budgetState(spent, budget, now);
  return state.left > 0 ? { kind: 'begun' } : { kind: 'budgetSpent', budget, ...state };
}
