import { budgetState, spentTimes } from './budget.js';
import type { Entry, Intent, RecordedChange } from './entry.js';
import type { BeginOptions, BeginResult } from './journal.js';

/** Time in which a change that was accepted, or whose outcome is unknown, is not sent again without `allowRepeat`. */
export const duplicateWindowMs = 10 * 60 * 1000;

/** Longer than any call takes. A change that ended before this time conflicts with none. */
export const abandonedMs = 2 * 60 * 60 * 1000;

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
  changes: readonly RecordedChange[],
  digest: string,
  now: number,
): RecordedChange | undefined =>
  changes.findLast(({ digest: other, ending }) => {
    if (other !== digest) return false;
    // Its age does not matter: clocks jump, and recovery ends changes that their process left open.
    if (ending === undefined) return true;
    return ['accepted', 'unknown'].includes(ending.outcome) && Date.parse(ending.time) >= now - duplicateWindowMs;
  });

/** True if the consent with a nonce was used or refused. A change that was not sent did not use it. */
export const isNonceSpent = (changes: readonly RecordedChange[], nonce: string | undefined): boolean =>
  nonce !== undefined && changes.some((other) => other.nonce === nonce && other.ending?.outcome !== 'not sent');

/**
 * The changes before an intent.
 * @throws if the intent itself is not among them: then nobody knows which ones are before it
 */
export function writtenBefore(changes: readonly RecordedChange[], { id }: Intent): readonly RecordedChange[] {
  const own = changes.findIndex((change) => change.id === id);
  if (own < 0) throw new Error('the intent is not in the journal');
  return changes.slice(0, own);
}

/** The conflict of an intent with earlier changes. It may be sent if there is none. */
export function findConflict(
  earlier: readonly RecordedChange[],
  intent: Intent,
  { allowRepeat, budget }: BeginOptions,
): BeginResult {
  if (isNonceSpent(earlier, intent.nonce)) return { kind: 'consentUsed' };
  const now = Date.parse(intent.time);
  const duplicate = findDuplicate(earlier, intent.digest, now);
  if (duplicate !== undefined && allowRepeat !== true && duplicate.id !== allowRepeat)
    return { kind: 'duplicate', earlier: duplicate };
  if (budget === undefined) return { kind: 'begun' };
  const state = budgetState(spentTimes(earlier, intent.budget), budget, now);
  return state.left > 0 ? { kind: 'begun' } : { kind: 'budgetSpent', budget, ...state };
}
