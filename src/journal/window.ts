import { longestWindowMs, mayBeMade } from './budget.js';
import { abandonedMs, type DatedChange } from './conflict.js';
import type { Ending, Intent } from './entry.js';
import { type EndingLine, type IntentLine, type Line, parseEnding, parseIntent } from './line.js';

/** A change in the window. Most of them get an ending and are never looked at again, so it is altered in place, and little is kept. */
interface Held {
  readonly line: IntentLine;
  /** Its place among the intents. */
  readonly order: number;
  /** The times of its intent and of its last entry, in milliseconds, by the clock of the journal. */
  begun: number;
  lastTime: number;
  ending: Pick<EndingLine, 'outcome' | 'time' | 'text'> | undefined;
}

/**
 * The changes of a journal that the rules have to know: those without an outcome, and those of the last `longestWindowMs`. They are found by
 * digest, nonce and budget, so that a change costs the same however many there are.
 *
 * The clock of the journal never goes back: an entry counts as no earlier than the one before it, and now as no earlier than the
 * newest. When a server's clock was set back, more changes count as recent than are, never fewer. When it was set forward, what is known
 * keeps its age.
 */
export function createWindow() {
  /** By id, until their outcome is final: those without one, and those that are unknown or were declined. */
  const unsettled = new Map<string, Held>();
  const byDigest = createIndex();
  const byNonce = createIndex();
  const byBudget = createIndex();
  /** Endings of intents that are not in the window, until those are known that were left open before it. */
  let strangers: Set<string> | undefined = new Set();
  /** In the order of their endings, from `first` on. */
  let ended: Held[] = [];
  let first = 0;
  let notUnderstood: number[] = [];
  let newest = Number.NEGATIVE_INFINITY;
  let order = 0;
  /** The milliseconds by which the server's clock was set forward and not back, and the time before that, which tells earlier entries. */
  let ahead = 0;
  let aheadSince = Number.NEGATIVE_INFINITY;

  /** Finds a change by what its ending leaves of it, or by nothing. */
  const index = (held: Held, isHeld: boolean): void => {
    const { line, ending } = held;
    const isMade = isHeld && mayBeMade(ending);
    byDigest.put(line.digest, held, isMade);
    byNonce.put(line.nonce, held, isHeld && ending?.outcome !== 'not sent');
    byBudget.put(line.budget, held, isMade);
  };
  const hold = (held: Held): void => {
    unsettled.set(held.line.id, held);
    index(held, true);
    if (held.ending !== undefined) ended.push(held);
  };
  const forget = (held: Held): void => {
    if (unsettled.get(held.line.id) === held) unsettled.delete(held.line.id);
    index(held, false);
  };
  const end = (held: Held, { id, outcome, time, text }: EndingLine, lastTime: number): void => {
    held.ending = { outcome, time, text };
    held.lastTime = lastTime;
    if (isFinal(outcome)) unsettled.delete(id);
    if (!mayBeMade(held.ending)) index(held, true);
    ended.push(held);
  };
  const prune = (now: number): void => {
    const since = now - longestWindowMs;
    // Endings come in the order of the journal's clock.
    for (; first < ended.length; first += 1) {
      const held = ended[first];
      if (held === undefined || held.lastTime >= since) break;
      forget(held);
    }
    if (first <= ended.length / 2) return;
    ended = ended.slice(first);
    first = 0;
  };
  const time = (now: number): number => Math.max(now, newest);
  const advance = (written: number): number => {
    if (written > newest) newest = written;
    return newest <= aheadSince ? newest + ahead : newest;
  };
  /** The later of what both clocks say, so that neither of them makes a change seem older than it is. */
  const dated = (told: number, byJournal: number, now: number) => Math.max(told, now - (time(now) - byJournal));
  const change = ({ line, ending, lastTime }: Held, now: number): DatedChange => ({
    ...parseIntent(line),
    ending: ending && parseEnding({ id: line.id, ...ending }),
    endedAt: ending && dated(ending.time, lastTime, now),
  });
  const inOrder = (held: readonly Held[], now: number) =>
    [...held].sort((one, other) => one.order - other.order).map((each) => change(each, now));
  const withOutcome = (outcome: Ending['outcome'] | undefined, now: number) =>
    inOrder(
      [...unsettled.values()].filter(({ ending }) => ending?.outcome === outcome),
      now,
    );
  const requireUnderstood = (now: number): void => {
    notUnderstood = notUnderstood.filter((written) => written >= now - abandonedMs);
    if (notUnderstood.length > 0) throw new Error('it has a recent entry that this version does not understand');
  };
  /** The place of an intent, which only what was written before it can be in conflict with. */
  const placeOf = ({ id }: Intent): number => {
    const own = unsettled.get(id);
    if (own === undefined) throw new Error('the intent is not in the journal');
    return own.order;
  };
  const related = (digest: string, nonce: string | undefined, now: number, before = Number.POSITIVE_INFINITY) => {
    requireUnderstood(now);
    const found = [...new Set([...byDigest.get(digest), ...byNonce.get(nonce)])];
    return inOrder(
      found.filter(({ order: place }) => place < before),
      now,
    );
  };

  const spent = (key: string, now: number, before = Number.POSITIVE_INFINITY): number[] => {
    requireUnderstood(now);
    return byBudget
      .get(key)
      .filter(({ order: place }) => place < before)
      .map(({ line, begun }) => dated(line.time, begun, now));
  };

  const addIntent = (line: IntentLine): void => {
    order += 1;
    const lastTime = advance(line.time);
    // An id that is there twice counts at its last place: of two processes that write while the file is rotated, both may then
    // stop, but never both send.
    const known = unsettled.get(line.id);
    if (known !== undefined) forget(known);
    hold({ line, order, begun: lastTime, lastTime, ending: known?.ending });
  };
  const addEnding = (line: EndingLine): void => {
    const lastTime = advance(line.time);
    const held = unsettled.get(line.id);
    if (held === undefined) strangers?.add(line.id);
    // A known outcome does not become unknown when a process takes another to be gone.
    else if (held.ending === undefined || line.outcome !== 'unknown') end(held, line, lastTime);
  };

  return {
    /** Adds the next line; `now` is the server's time in milliseconds. */
    add: (line: Line, now: number): void => {
      // A time that cannot be read makes no change old.
      const dated = Number.isNaN(line.time) ? { ...line, time: now } : line;
      if (dated.kind === 'notUnderstood') notUnderstood.push(dated.time);
      else if (dated.kind === 'intent') addIntent(dated);
      else addEnding(dated);
      prune(now);
    },
    /** Forgets what no rule asks for any more. */
    prune,
    /** Does a part of the work by which changes are found sooner. */
    sortIn: (): void => {
      for (const each of [byDigest, byNonce, byBudget]) each.sortIn();
    },
    /** Adds the intents that were left open before all others, oldest first, without those whose ending is known by now. */
    addLeftOpen: (lines: readonly IntentLine[]): void => {
      for (const [index, line] of lines.entries())
        if (!unsettled.has(line.id) && !strangers?.has(line.id))
          hold({ line, order: index - lines.length, begun: line.time, lastTime: line.time, ending: undefined });
      strangers = undefined;
    },
    clear: (): void => {
      for (const each of [unsettled, byDigest, byNonce, byBudget]) each.clear();
      strangers = new Set();
      ended = [];
      first = 0;
      notUnderstood = [];
      newest = Number.NEGATIVE_INFINITY;
    },
    /**
     * Moves what is known with the server's clock, which was set by some milliseconds when it should have told `expected`. Back, it is
     * moved only as far as it was moved forward: nothing seems older than both clocks say.
     */
    setClock: (by: number, expected: number): void => {
      const moved = Math.max(by, -ahead);
      ahead += moved;
      if (by > 0) aheadSince = expected;
      for (const held of new Set([...unsettled.values(), ...ended.slice(first)])) {
        held.begun += moved;
        held.lastTime += moved;
      }
      notUnderstood = notUnderstood.map((written) => written + moved);
    },
    /** Milliseconds by which a server's clock is behind the newest entry; 0 if it is not. */
    behind: (now: number): number => time(now) - now,
    /**
     * The changes that may be in conflict with one of a digest, oldest first.
     * @throws if there is a recent one that is not understood: it may be in conflict with any
     */
    related: (digest: string, now: number): DatedChange[] => related(digest, undefined, now),
    /** The changes whose consent has a nonce, oldest first. */
    withNonce: (nonce: string, now: number): DatedChange[] => inOrder(byNonce.get(nonce), now),
    /**
     * The changes that may be in conflict with an intent and were written before it, oldest first.
     * @throws like `related`, and if the intent itself is not there: then nobody knows which ones are before it
     */
    before: (intent: Intent, now: number): DatedChange[] => related(intent.digest, intent.nonce, now, placeOf(intent)),
    /**
     * The times (milliseconds) of changes that count against a budget, by its key.
     * @throws like `related`
     */
    spent: (key: string, now: number): number[] => spent(key, now),
    /**
     * The times of those that were written before an intent of the budget.
     * @throws like `before`
     */
    spentBefore: (intent: Intent, now: number): number[] =>
      intent.budget === undefined ? [] : spent(intent.budget, now, placeOf(intent)),
    listOpen: (now: number): DatedChange[] => withOutcome(undefined, now),
    listDeclined: (now: number): DatedChange[] => withOutcome('declined', now),
  };
}

/** True if no other outcome can follow. A decision is taken back if another one was earlier. */
const isFinal = (outcome: Ending['outcome']): boolean => outcome !== 'unknown' && outcome !== 'declined';

/** So many entries are sorted into an index at once. */
const sortedAtOnce = 2_000;

/**
 * Changes by a key. Most keys have one, which then needs no set of its own. Sorting in a hundred thousand at once would be a quarter of
 * the first change's work: they wait in a list, which is searched, and are sorted in bit by bit.
 */
function createIndex() {
  const found = new Map<string, Held | Set<Held>>();
  let waiting: { readonly key: string; readonly held: Held; readonly isIn: boolean }[] = [];
  const add = (key: string, held: Held): void => {
    const known = found.get(key);
    if (known === undefined) found.set(key, held);
    else if (known instanceof Set) known.add(held);
    else if (known !== held) found.set(key, new Set([known, held]));
  };
  const remove = (key: string, held: Held): void => {
    const known = found.get(key);
    if (known instanceof Set) known.delete(held);
    if (known === held || (known instanceof Set && known.size === 0)) found.delete(key);
  };
  const sorted = (key: string): readonly Held[] => {
    const held = found.get(key);
    if (held instanceof Set) return [...held];
    return held === undefined ? [] : [held];
  };
  return {
    get: (key: string | undefined): readonly Held[] => {
      if (key === undefined) return [];
      const held = new Set(sorted(key));
      for (const change of waiting) if (change.key === key) held[change.isIn ? 'add' : 'delete'](change.held);
      return [...held];
    },
    /** Adds a change to those of a key, or removes it. */
    put: (key: string | undefined, held: Held, isIn: boolean): void => {
      if (key !== undefined) waiting.push({ key, held, isIn });
    },
    sortIn: (): void => {
      for (const { key, held, isIn } of waiting.splice(0, sortedAtOnce)) (isIn ? add : remove)(key, held);
    },
    clear: (): void => {
      found.clear();
      waiting = [];
    },
  };
}
