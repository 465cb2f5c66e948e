import { longestWindowMs, mayBeMade } from './budget.js';
import { abandonedMs, blocksUntil, type DatedChange, OtherVersion } from './conflict.js';
import type { Ending, Intent } from './entry.js';
import { type EndingLine, type IntentLine, type Line, parseEnding, parseIntent } from './line.js';

/** A change in the window. It is altered in place. */
interface WindowChange {
  readonly intent: IntentLine;
  /** The position of the intent among all intents. */
  readonly order: number;
  /** When the intent and the last entry of the change were written, in milliseconds by the clock of the journal. */
  begun: number;
  lastTime: number;
  ending: EndingLine | undefined;
}

/**
 * The changes of a journal that the rules have to know: changes without an outcome, and changes of the last `longestWindowMs`.
 * Times of the server and of entries are milliseconds.
 */
export function createWindow() {
  const clock = createJournalClock();
  /** By id: changes that are unfinished, unknown or declined. The outcomes of all other changes are final. */
  const unsettled = new Map<string, WindowChange>();
  const byDigest: Index = new Map();
  const byNonce: Index = new Map();
  const byBudget: Index = new Map();
  /** Changes of earlier versions that may block every change. */
  const older = new Set<WindowChange>();
  /** Ids of endings whose intents are not in the window. Undefined once the unfinished changes from before the window were added. */
  let orphanEndings: Set<string> | undefined = new Set();
  /** In the order of their endings. */
  let ended: WindowChange[] = [];
  let timesNotUnderstood: number[] = [];
  let intents = 0;

  /** Updates the three indexes for one change, which is in the window or was forgotten. */
  const index = (change: WindowChange, isInWindow: boolean): void => {
    const { intent, ending } = change;
    const isMade = isInWindow && mayBeMade(ending);
    const usesConsent = isInWindow && ending?.outcome !== 'not sent';
    updateIndex(byDigest, intent.digest, change, isMade);
    updateIndex(byBudget, intent.budget, change, isMade);
    updateIndex(byNonce, intent.nonce, change, usesConsent);
    if (isInWindow && intent.isOlder) older.add(change);
    else older.delete(change);
  };
  const forget = (change: WindowChange): void => {
    const { id } = change.intent;
    if (unsettled.get(id) === change) unsettled.delete(id);
    index(change, false);
  };
  /** The change with the id of an intent, if it was or may have been made. */
  const made = ({ id, digest }: IntentLine) => [...indexed(byDigest, digest)].find((change) => change.intent.id === id);
  const addIntent = (intent: IntentLine): void => {
    intents += 1;
    const time = clock.advance(intent.time);
    // An id that is there twice counts at its last position. If two processes write while the file is rotated, both may then
    // stop, but they never both send. An intent that was restored keeps its first position.
    const earlier = unsettled.get(intent.id) ?? made(intent);
    if (earlier !== undefined && (intent.isRestored || !unsettled.has(intent.id))) return;
    if (earlier !== undefined) forget(earlier);
    const change = { intent, order: intents, begun: time, lastTime: time, ending: earlier?.ending };
    unsettled.set(intent.id, change);
    index(change, true);
    if (change.ending !== undefined) ended.push(change);
  };
  const addEnding = (ending: EndingLine): void => {
    const time = clock.advance(ending.time);
    const change = unsettled.get(ending.id);
    if (change === undefined) {
      orphanEndings?.add(ending.id);
      return;
    }
    // A process that takes another process to be gone writes `unknown`. That does not replace a known outcome.
    if (change.ending !== undefined && ending.outcome === 'unknown') return;
    change.ending = ending;
    change.lastTime = time;
    if (isFinal(ending.outcome)) unsettled.delete(ending.id);
    index(change, true);
    ended.push(change);
  };

  const recordedChange = ({ intent, ending, lastTime }: WindowChange, now: number): DatedChange => ({
    ...parseIntent(intent),
    ending: ending && parseEnding(ending),
    endedAt: ending && clock.latest(ending.time, lastTime, now),
  });
  const inOrder = (changes: Iterable<WindowChange>, now: number): DatedChange[] =>
    [...changes].sort((a, b) => a.order - b.order).map((change) => recordedChange(change, now));
  const withOutcome = (outcome: Ending['outcome'] | undefined, now: number): DatedChange[] =>
    inOrder(
      [...unsettled.values()].filter(({ ending }) => ending?.outcome === outcome),
      now,
    );
  const olderBlocksUntil = ({ intent, begun, ending, lastTime }: WindowChange, now: number): number =>
    blocksUntil(clock.latest(intent.time, begun, now), ending && clock.latest(ending.time, lastTime, now));
  /** @throws if the journal has recent entries of another version, because they may be in conflict with any change */
  const requireComparable = (now: number): void => {
    timesNotUnderstood = timesNotUnderstood.filter((time) => time >= now - abandonedMs);
    let until = timesNotUnderstood.reduce((latest, time) => Math.max(latest, time + abandonedMs), 0);
    for (const change of older) {
      const blocked = olderBlocksUntil(change, now);
      if (blocked < now) older.delete(change);
      until = Math.max(until, blocked);
    }
    if (until >= now) throw new OtherVersion(until);
  };
  /** The position of an intent. Only changes with an earlier position can be in conflict with it. */
  const orderOf = ({ id }: Intent): number => {
    const change = unsettled.get(id);
    if (change === undefined) throw new Error('the intent is not in the journal');
    return change.order;
  };
  const relatedBefore = (order: number, digest: string, nonce: string | undefined, now: number): DatedChange[] => {
    requireComparable(now);
    const related = new Set([...indexed(byDigest, digest), ...indexed(byNonce, nonce)]);
    return inOrder(
      [...related].filter((change) => change.order < order),
      now,
    );
  };
  const spentBefore = (order: number, budget: string | undefined, now: number): number[] => {
    requireComparable(now);
    return [...indexed(byBudget, budget)]
      .filter((change) => change.order < order)
      .map(({ intent, begun }) => clock.latest(intent.time, begun, now));
  };

  return {
    /** Adds the next line, at the server's time `now`. */
    add: (line: Line, now: number): void => {
      // An invalid time makes no change old.
      const dated = Number.isNaN(line.time) ? { ...line, time: now } : line;
      if (dated.kind === 'notUnderstood') timesNotUnderstood.push(dated.time);
      else if (dated.kind === 'intent') addIntent(dated);
      else addEnding(dated);
    },
    /** Forgets the changes that ended before the longest window. */
    prune: (now: number): void => {
      // The clock of the journal never goes back, so these come first.
      const kept = ended.findIndex(({ lastTime }) => lastTime >= now - longestWindowMs);
      for (const change of ended.splice(0, kept === -1 ? ended.length : kept)) forget(change);
    },
    /** Adds the intents, oldest first, that were unfinished before the window. Some may have their ending in the window. */
    addUnfinished: (lines: readonly IntentLine[]): void => {
      for (const [place, intent] of lines.entries()) {
        if (unsettled.has(intent.id) || orphanEndings?.has(intent.id)) continue;
        const order = place - lines.length;
        const change = { intent, order, begun: intent.time, lastTime: intent.time, ending: undefined };
        unsettled.set(intent.id, change);
        index(change, true);
      }
      orphanEndings = undefined;
    },
    /** The entries of the changes, in the order in which they were written. */
    entries: (): readonly (IntentLine | EndingLine)[] =>
      [...new Set([...unsettled.values(), ...ended])]
        .flatMap(({ intent, order, begun, ending, lastTime }) => [
          { line: intent, order, time: begun },
          ...(ending === undefined ? [] : [{ line: ending, order, time: lastTime }]),
        ])
        .sort((a, b) => a.time - b.time || a.order - b.order)
        .map(({ line }) => line),
    clear: (): void => {
      for (const index of [unsettled, byDigest, byNonce, byBudget, older]) index.clear();
      orphanEndings = new Set();
      ended = [];
      timesNotUnderstood = [];
      clock.clear();
    },
    /** Moves all times with the server's clock, which was set by `byMs` when it should have shown `expected`. */
    setClock: (byMs: number, expected: number): void => {
      const movedMs = clock.set(byMs, expected);
      for (const change of new Set([...unsettled.values(), ...ended])) {
        change.begun += movedMs;
        change.lastTime += movedMs;
      }
      timesNotUnderstood = timesNotUnderstood.map((time) => time + movedMs);
    },
    clockSkew: clock.skew,
    requireComparable,
    /**
     * The changes that may be in conflict with a change of this digest, oldest first.
     * @throws like `requireComparable`
     */
    related: (digest: string, now: number): DatedChange[] => relatedBefore(anyOrder, digest, undefined, now),
    /** The changes whose consent has this nonce, oldest first. */
    withNonce: (nonce: string, now: number): DatedChange[] => inOrder(indexed(byNonce, nonce), now),
    /**
     * The changes that may be in conflict with an intent and were written before it, oldest first.
     * @throws like `related`, and if the intent is not in the window, because then its position is unknown
     */
    before: (intent: Intent, now: number): DatedChange[] =>
      relatedBefore(orderOf(intent), intent.digest, intent.nonce, now),
    /**
     * The times of the changes that count against the budget with this key.
     * @throws like `related`
     */
    spent: (budget: string, now: number): number[] => spentBefore(anyOrder, budget, now),
    /**
     * The times of the changes that count against the budget of an intent and were written before it.
     * @throws like `before`
     */
    spentBefore: (intent: Intent, now: number): number[] =>
      intent.budget === undefined ? [] : spentBefore(orderOf(intent), intent.budget, now),
    listUnfinished: (now: number): DatedChange[] => withOutcome(undefined, now),
    listDeclined: (now: number): DatedChange[] => withOutcome('declined', now),
  };
}

/** No intent has this position, so all come before it. */
const anyOrder = Number.POSITIVE_INFINITY;

/** True if no other outcome can follow. A declined change can still become `not sent`, if its nonce was spent before. */
const isFinal = (outcome: Ending['outcome']): boolean => outcome !== 'unknown' && outcome !== 'declined';

/** Changes by a key. */
type Index = Map<string, Set<WindowChange>>;

const indexed = (index: Index, key: string | undefined): Iterable<WindowChange> =>
  (key === undefined ? undefined : index.get(key)) ?? [];

function updateIndex(index: Index, key: string | undefined, change: WindowChange, isIndexed: boolean): void {
  if (key === undefined) return;
  const changes = index.get(key);
  if (!isIndexed) {
    changes?.delete(change);
    if (changes?.size === 0) index.delete(key);
  } else if (changes === undefined) index.set(key, new Set([change]));
  else changes.add(change);
}

/**
 * The clock of the journal, which never goes back. An entry counts as no earlier than the entry before it, and the present as no
 * earlier than the newest entry. After a server's clock was set back, too many changes count as recent, never too few. After it was set
 * forward, all changes keep their age.
 */
function createJournalClock() {
  let newest = Number.NEGATIVE_INFINITY;
  /** How far the server's clock was set forward and not back since. */
  let aheadMs = 0;
  /** The time when it was set forward. Entries with an earlier time were written before. */
  let aheadSince = Number.NEGATIVE_INFINITY;

  /** How far a server's clock is behind the newest entry. */
  const skew = (now: number): number => Math.max(0, newest - now);
  return {
    skew,
    clear: (): void => {
      newest = Number.NEGATIVE_INFINITY;
    },
    /** The time of the next entry, which was written at `written` by the clock of its server. */
    advance: (written: number): number => {
      newest = Math.max(newest, written);
      return newest <= aheadSince ? newest + aheadMs : newest;
    },
    /** The later of the times that both clocks give for an entry, so that neither clock makes it seem too old. */
    latest: (written: number, byJournal: number, now: number): number => Math.max(written, byJournal - skew(now)),
    /** Returns how far times have to be moved. They never move back by more than they were moved forward. */
    set: (byMs: number, expected: number): number => {
      const movedMs = Math.max(byMs, -aheadMs);
      aheadMs += movedMs;
      if (byMs > 0) aheadSince = expected;
      return movedMs;
    },
  };
}
