import { ShownError } from '../util/log.js';
import { say, time, words } from '../util/safe-text.js';
import { type Budget, mayBeMade, stateOfBudget } from './budget.js';
import type { Entry, Intent, RecordedChange } from './entry.js';
import type { BeginOptions, BeginResult } from './journal.js';

/** Time after an accepted change, or one whose outcome is unknown, in which the same change needs `allowRepeat` (milliseconds). */
export const duplicateWindowMs = 10 * 60 * 1000;

/** A time that no call takes (milliseconds). A change that ended longer ago is in conflict with others only by its nonce. */
export const abandonedMs = 2 * 60 * 60 * 1000;

/**
 * Returns the time (milliseconds) until which a change of another version blocks every change, because its digest cannot be compared. It
 * blocks until its call must be over or, if it has ended, until it cannot be a duplicate any more. Its outcome does not matter, because
 * even a rejected change shows that a server of that version may still write.
 */
export const blocksUntil = (begun: number, ended: number | undefined): number =>
  Math.min(begun + abandonedMs, ended === undefined ? Number.POSITIVE_INFINITY : ended + duplicateWindowMs);

/** The journal has recent entries of another version, so no change may begin. */
export class OtherVersion extends ShownError {
  /** @param until when the entries stop being recent (milliseconds). Left out of the message if it is later than JavaScript's last date. */
  constructor(until: number) {
    const end = until < 8.64e15 ? say` until ${time(new Date(until).toISOString())}` : words('');
    super(
      say`it has recent entries of another version, in which the same change cannot be recognised: changes are refused${end}, and longer while a server of that version writes`,
    );
  }
}

/**
 * A change with the time of its ending (milliseconds). All changes have times by one clock, because the clocks of servers differ and are
 * set back: in a database by its clock, in a file by the journal's clock, converted to this server's clock.
 */
export type DatedChange = RecordedChange & { readonly endedAt?: number | undefined };

/**
 * Joins intents with their endings. An ending without its intent before it is left out. The changes are in the order of their intents,
 * because only the first of two equal changes may be sent.
 *
 * An intent is written again if another process rotated the file during the write. Some processes then see only the second copy, in the new
 * file, and all must agree on the order. So if an intent comes twice, its last place counts. At worst, neither of two equal changes A and B
 * is sent:
 * 1. The intents A and B are written. The process of B reads `A B` and does not send B, because A is first.
 * 2. A is written again. The process of A reads `A B A`, which counts as `B A`, and does not send A, because B is first now.
 */
export function changesOf(entries: readonly Entry[]): RecordedChange[] {
  const changes = new Map<string, RecordedChange>();
  for (const entry of entries) {
    if ('intent' in entry) {
      const { intent } = entry;
      const ending = changes.get(intent.id)?.ending;
      // `delete` makes `set` put the change at the end.
      changes.delete(intent.id);
      changes.set(intent.id, { ...intent, ending });
      continue;
    }

    const { ending } = entry;
    const change = changes.get(ending.id);
    if (change === undefined) continue;
    // `unknown` replaces no known outcome, because a process may write it for another process that only seemed to be gone.
    const keepsOutcome = change.ending !== undefined && ending.outcome === 'unknown';
    if (!keepsOutcome) changes.set(ending.id, { ...change, ending });
  }
  return [...changes.values()];
}

/** The last change with this digest that has no outcome yet, or was or may have been accepted within `duplicateWindowMs`. */
export const duplicateIn = (changes: readonly DatedChange[], digest: string, now: number): RecordedChange | undefined =>
  changes.findLast(({ digest: other, ending, endedAt }) => {
    if (other !== digest) return false;
    // A change without an outcome counts at any age, because clocks jump. Recovery ends it if its process is gone.
    if (ending === undefined) return true;
    return mayBeMade(ending) && (endedAt ?? Date.parse(ending.time)) >= now - duplicateWindowMs;
  });

/** The change for which the consent with this nonce was used or refused. A change that was `not sent` did not use its consent. */
export const changeWithNonce = (changes: readonly RecordedChange[], nonce: string): RecordedChange | undefined =>
  changes.find((other) => other.nonce === nonce && other.ending?.outcome !== 'not sent');

export const isNonceSpent = (changes: readonly RecordedChange[], nonce: string | undefined): boolean =>
  nonce !== undefined && changeWithNonce(changes, nonce) !== undefined;

/** Decides whether an intent may be sent (`begun`) or is in conflict with an earlier change. `now` is by the same clock as `endedAt`. */
export function findConflict(
  earlier: readonly DatedChange[],
  intent: Intent,
  allowRepeat: BeginOptions['allowRepeat'],
  now: number,
): BeginResult {
  if (isNonceSpent(earlier, intent.nonce)) return { kind: 'consentUsed' };
  const duplicate = duplicateIn(earlier, intent.digest, now);
  if (duplicate !== undefined && allowRepeat !== true && duplicate.id !== allowRepeat)
    return { kind: 'duplicate', earlier: duplicate };
  return { kind: 'begun' };
}

/** Decides whether a budget allows another change after changes at the times `spent`, which are by the same clock as `now`. */
export function findOverspending(spent: readonly number[], budget: Budget, now: number): BeginResult {
  const state = stateOfBudget(spent, budget, now);
  return state.left > 0 ? { kind: 'begun' } : { kind: 'budgetSpent', budget, ...state };
}
