import type { Entry, Intent, RecordedChange } from './entry.js';
import type { BeginResult } from './journal.js';

/** For this long a change that was accepted, or whose outcome is not known, is not sent again unless that is asked for. */
export const duplicateWindowMs = 10 * 60 * 1000;

/** Longer than any call takes. No conflict with what has ended reaches further back. */
export const abandonedMs = 2 * 60 * 60 * 1000;

/** Changes by their id, in the order in which their intents were written. */
export type RecordedChanges = Map<string, RecordedChange>;

/**
 * Adds what was written next. An id that is there twice counts at its last place, so that of two processes that write
 * while the file is rotated both may stop, but never both send. The last ending counts, except that a process which takes
 * another to be gone does not make unknown what is known.
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
    // However old it seems: clocks jump, and recovery ends what no process is at any more.
    if (ending === undefined) return true;
    return ['accepted', 'unknown'].includes(ending.outcome) && Date.parse(ending.time) >= now - duplicateWindowMs;
  });

/** Whether the consent with a nonce was used or refused. What was not sent did not use it. */
export const isNonceSpent = (changes: readonly RecordedChange[], nonce: string | undefined): boolean =>
  nonce !== undefined && changes.some((other) => other.nonce === nonce && other.ending?.outcome !== 'not sent');

/**
 * What was written before an intent.
 * @throws if the intent itself is not there: then what is before it is not known
 */
export function writtenBefore(changes: readonly RecordedChange[], { id }: Intent): readonly RecordedChange[] {
  const own = changes.findIndex((change) => change.id === id);
  if (own < 0) throw new Error('the intent is not in the journal');
  return changes.slice(0, own);
}

/** Whether an intent may be sent, given all that was written before it. */
export function findConflict(earlier: readonly RecordedChange[], intent: Intent, allowRepeat: boolean): BeginResult {
  if (isNonceSpent(earlier, intent.nonce)) return { kind: 'consentUsed' };
  const duplicate = findDuplicate(earlier, intent.digest, Date.parse(intent.time));
  return duplicate === undefined || allowRepeat ? { kind: 'begun' } : { kind: 'duplicate', earlier: duplicate };
}
