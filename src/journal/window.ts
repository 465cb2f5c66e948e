import { longestWindowMs, mayBeMade } from './budget.js';
import { abandonedMs, blocksUntil, type DatedChange, OtherVersion } from './conflict.js';
import type { Ending, Intent } from './entry.js';
import { type EndingLine, type IntentLine, type Line, parseEnding, parseIntent } from './line.js';

/** A change in the window. Its fields change when an ending arrives or this server's clock is set. */
interface WindowChange {
  readonly intent: IntentLine;
  /** The position of the intent among all intents. */
  readonly position: number;
  /** The time of the intent, in milliseconds by the journal's clock. */
  begun: number;
  /** The time of the ending, or of the intent if there is no ending, in milliseconds by the journal's clock. */
  lastTime: number;
  ending: EndingLine | undefined;
}

/** Greater than the position of any intent. */
const afterAll = Number.POSITIVE_INFINITY;

/**
 * The changes of a journal that new changes may be in conflict with: changes without an outcome, and changes of the last
 * `longestWindowMs`. All times are milliseconds, and a parameter `now` is the time by this server's clock.
 */
export class JournalWindow {
  readonly #clock = new JournalClock();
  /** By id: changes that another ending may follow, because they have no ending yet, or one that does not settle them (see `settles`). */
  readonly #unsettled = new Map<string, WindowChange>();
  /** Changes that were made or may have been made. */
  readonly #byDigest: Index = new Map();
  readonly #byBudget: Index = new Map();
  /** Changes whose consent was used or refused. */
  readonly #byNonce: Index = new Map();
  /** Changes of earlier versions that may block every change. */
  readonly #older = new Set<WindowChange>();
  /** Ids of endings whose intents were not in `#unsettled`. Only `addUnfinished` needs them, so they are undefined after it. */
  #orphanEndings: Set<string> | undefined = new Set();
  /** Changes with an ending, in the order of their endings. A change that had two endings is there twice. */
  #ended: WindowChange[] = [];
  #timesNotUnderstood: number[] = [];
  #intentCount = 0;

  /** Adds the next line of the file. */
  add(line: Line, now: number): void {
    // A change with an invalid time counts as new, so that it still blocks others.
    const dated = Number.isNaN(line.time) ? { ...line, time: now } : line;
    if (dated.kind === 'notUnderstood') this.#timesNotUnderstood.push(dated.time);
    else if (dated.kind === 'intent') this.#addIntent(dated);
    else this.#addEnding(dated);
  }

  /**
   * Adds an intent. If its id is in the window already, the last position counts, as in `changesOf`. An intent that was written again from
   * memory keeps its first position, and a change that was made stays as it is once it is settled.
   */
  #addIntent(intent: IntentLine): void {
    this.#intentCount += 1;
    const time = this.#clock.advance(intent.time);
    const earlier = this.#unsettled.get(intent.id);
    const isSettled = earlier === undefined && this.#isMade(intent);
    if (isSettled || (earlier !== undefined && intent.isRestored)) return;
    if (earlier !== undefined) this.#forget(earlier);
    const ending = earlier?.ending;
    const change = { intent, position: this.#intentCount, begun: time, lastTime: time, ending };
    this.#unsettled.set(intent.id, change);
    this.#updateIndexes(change);
    if (ending !== undefined) this.#ended.push(change);
  }

  /** True if the change with the id of an intent was or may have been made. */
  #isMade({ id, digest }: IntentLine): boolean {
    return [...changesWith(this.#byDigest, digest)].some(({ intent }) => intent.id === id);
  }

  /** Adds an ending. Most endings settle their change: no other ending follows. All advance the clock, even if they change nothing. */
  #addEnding(ending: EndingLine): void {
    const time = this.#clock.advance(ending.time);
    const change = this.#unsettled.get(ending.id);
    if (change === undefined) {
      // The change is settled already, or its intent is older than the window. `addUnfinished`, which adds older intents, skips the intents
      // whose endings are in `#orphanEndings`.
      this.#orphanEndings?.add(ending.id);
      return;
    }
    // `unknown` replaces no known outcome, because a process writes it for another process that only seems to be gone.
    if (change.ending !== undefined && ending.outcome === 'unknown') return;

    change.ending = ending;
    change.lastTime = time;
    if (settles(ending.outcome)) this.#unsettled.delete(ending.id);
    this.#updateIndexes(change);
    // After a second ending, the change is in `#ended` twice, both times with the later time. So `prune`, which stops at the first recent
    // change, may keep some older changes a little longer, which does no harm.
    this.#ended.push(change);
  }

  /** Adds the intents, oldest first, that had no ending in the files before the window. Some have their ending in the window. */
  addUnfinished(intents: readonly IntentLine[]): void {
    for (const [index, intent] of intents.entries()) {
      if (this.#unsettled.has(intent.id) || this.#orphanEndings?.has(intent.id)) continue;
      // Negative, because these intents are older than all others.
      const position = index - intents.length;
      const change = { intent, position, begun: intent.time, lastTime: intent.time, ending: undefined };
      this.#unsettled.set(intent.id, change);
      this.#updateIndexes(change);
    }
    this.#orphanEndings = undefined;
  }

  /** Adds a change to the indexes in which it belongs, and removes it from the others. */
  #updateIndexes(change: WindowChange): void {
    const { intent, ending } = change;
    const isMade = mayBeMade(ending);
    setIndexed(this.#byDigest, intent.digest, change, isMade);
    setIndexed(this.#byBudget, intent.budget, change, isMade);
    setIndexed(this.#byNonce, intent.nonce, change, ending?.outcome !== 'not sent');
    if (intent.isOlder) this.#older.add(change);
  }

  #forget(change: WindowChange): void {
    const { id, digest, budget, nonce } = change.intent;
    if (this.#unsettled.get(id) === change) this.#unsettled.delete(id);
    setIndexed(this.#byDigest, digest, change, false);
    setIndexed(this.#byBudget, budget, change, false);
    setIndexed(this.#byNonce, nonce, change, false);
    this.#older.delete(change);
  }

  /** Forgets the changes that ended before the longest window. */
  prune(now: number): void {
    // The oldest endings come first, except those of changes with two endings: see `#addEnding`.
    const firstKept = this.#ended.findIndex(({ lastTime }) => lastTime >= now - longestWindowMs);
    const forgotten = this.#ended.splice(0, firstKept === -1 ? this.#ended.length : firstKept);
    for (const change of forgotten) this.#forget(change);
  }

  clear(): void {
    for (const index of [this.#unsettled, this.#byDigest, this.#byNonce, this.#byBudget, this.#older]) index.clear();
    this.#orphanEndings = new Set();
    this.#ended = [];
    this.#timesNotUnderstood = [];
    this.#clock.clear();
  }

  /** The entries of the changes, in the order in which they were written. */
  entries(): readonly (IntentLine | EndingLine)[] {
    const entries = this.#changes().flatMap(({ intent, position, begun, ending, lastTime }) => [
      { line: intent, position, time: begun },
      ...(ending === undefined ? [] : [{ line: ending, position, time: lastTime }]),
    ]);
    return entries.sort((a, b) => a.time - b.time || a.position - b.position).map(({ line }) => line);
  }

  #changes(): WindowChange[] {
    return [...new Set([...this.#unsettled.values(), ...this.#ended])];
  }

  /** Moves all times after this server's clock was set by `byMs`. `expected` is the time that it would show if it had not been set. */
  setClock(byMs: number, expected: number): void {
    const movedMs = this.#clock.set(byMs, expected);
    for (const change of this.#changes()) {
      change.begun += movedMs;
      change.lastTime += movedMs;
    }
    this.#timesNotUnderstood = this.#timesNotUnderstood.map((time) => time + movedMs);
  }

  /** This server's clock minus the journal's clock, at most 0. */
  offsetMs(now: number): number {
    return this.#clock.offsetMs(now);
  }

  /** @throws if the journal has recent entries of another version, because they may be in conflict with any change */
  requireOwnVersion(now: number): void {
    this.#timesNotUnderstood = this.#timesNotUnderstood.filter((time) => time >= now - abandonedMs);
    let until = 0;
    for (const time of this.#timesNotUnderstood) until = Math.max(until, time + abandonedMs);
    for (const change of this.#older) {
      const endedAt = this.#endedAt(change, now);
      const blockedUntil = blocksUntil(this.#begunAt(change, now), endedAt);
      if (blockedUntil < now) this.#older.delete(change);
      until = Math.max(until, blockedUntil);
    }
    if (until >= now) throw new OtherVersion(until);
  }

  #begunAt({ intent, begun }: WindowChange, now: number): number {
    return this.#clock.latest(intent.time, begun, now);
  }

  #endedAt({ ending, lastTime }: WindowChange, now: number): number | undefined {
    return ending && this.#clock.latest(ending.time, lastTime, now);
  }

  /**
   * The place of an intent among all intents of the file.
   * @throws if the intent is not in the window
   */
  positionOf({ id }: Pick<Intent, 'id'>): number {
    const change = this.#unsettled.get(id);
    if (change === undefined) throw new Error('the intent is not in the journal');
    return change.position;
  }

  /**
   * The changes that may be in conflict with a change at `position`, oldest first: earlier changes with its digest or its nonce.
   * @throws like `requireOwnVersion`
   */
  related({ digest, nonce }: Pick<Intent, 'digest' | 'nonce'>, now: number, position = afterAll): DatedChange[] {
    this.requireOwnVersion(now);
    const related = new Set([...changesWith(this.#byDigest, digest), ...changesWith(this.#byNonce, nonce)]);
    return this.#inOrder(
      [...related].filter((change) => change.position < position),
      now,
    );
  }

  /** The changes whose consent has this nonce, oldest first. */
  withNonce(nonce: string, now: number): DatedChange[] {
    return this.#inOrder(changesWith(this.#byNonce, nonce), now);
  }

  /**
   * The times of the changes before `position` that count against the budget with this key.
   * @throws like `requireOwnVersion`
   */
  spent(budgetKey: string | undefined, now: number, position = afterAll): number[] {
    this.requireOwnVersion(now);
    const earlier = [...changesWith(this.#byBudget, budgetKey)].filter((change) => change.position < position);
    return earlier.map((change) => this.#begunAt(change, now));
  }

  isUnfinished(id: string): boolean {
    const change = this.#unsettled.get(id);
    return change !== undefined && change.ending === undefined;
  }

  listUnfinished(now: number): DatedChange[] {
    return this.#withOutcome(undefined, now);
  }

  listDeclined(now: number): DatedChange[] {
    return this.#withOutcome('declined', now);
  }

  /** @param outcome an outcome that does not settle a change; undefined for unfinished changes */
  #withOutcome(outcome: 'declined' | undefined, now: number): DatedChange[] {
    const changes = [...this.#unsettled.values()].filter(({ ending }) => ending?.outcome === outcome);
    return this.#inOrder(changes, now);
  }

  /** Changes with all their fields, oldest first. */
  #inOrder(changes: Iterable<WindowChange>, now: number): DatedChange[] {
    const ordered = [...changes].sort((a, b) => a.position - b.position);
    return ordered.map((change) => ({
      ...parseIntent(change.intent),
      ending: change.ending && parseEnding(change.ending),
      endedAt: this.#endedAt(change, now),
    }));
  }
}

/**
 * True if an ending with this outcome settles its change, so that no other ending follows. A known outcome can replace `unknown`. A `declined`
 * change can become `not sent`, if its nonce was spent before.
 */
const settles = (outcome: Ending['outcome']): boolean => outcome !== 'unknown' && outcome !== 'declined';

/** Changes by their digest, nonce or budget. */
type Index = Map<string, Set<WindowChange>>;

const changesWith = (index: Index, key: string | undefined): Iterable<WindowChange> =>
  (key === undefined ? undefined : index.get(key)) ?? [];

/** Adds a change to an index, or removes it. A change without a key, for example without a nonce, stays out of the index. */
function setIndexed(index: Index, key: string | undefined, change: WindowChange, isIndexed: boolean): void {
  if (key === undefined) return;
  const changes = index.get(key) ?? new Set();
  if (isIndexed) changes.add(change);
  else changes.delete(change);
  if (changes.size === 0) index.delete(key);
  else index.set(key, changes);
}

/**
 * The journal's clock, which shows the latest time of all entries. It does not go back for a later entry with an earlier time, so after a
 * server's clock was set back, too many changes count as recent, never too few. If this server's clock is set forward, the times
 * of earlier changes are moved forward as far, so that changes keep their age.
 */
class JournalClock {
  #newest = Number.NEGATIVE_INFINITY;
  /** How far this server's clock was set forward, minus how far it was set back afterwards. */
  #aheadMs = 0;
  /** The time that this server's clock would have shown when it was last set forward. Entries with an earlier time were written before. */
  #aheadSince = Number.NEGATIVE_INFINITY;

  clear(): void {
    this.#newest = Number.NEGATIVE_INFINITY;
  }

  /** This server's clock minus the journal's clock, at most 0. */
  offsetMs(now: number): number {
    return Math.min(0, now - this.#newest);
  }

  /** Returns the journal's time for the next entry. `written` is the time by the clock of its server. */
  advance(written: number): number {
    this.#newest = Math.max(this.#newest, written);
    // If this server's clock was set forward after the entry, its time moves along, so that its age stays the same.
    return this.#newest <= this.#aheadSince ? this.#newest + this.#aheadMs : this.#newest;
  }

  /**
   * Returns the later of two times of an entry, so that no entry seems too old: `written` by its server's clock, and `byJournal`, converted
   * to this server's clock.
   */
  latest(written: number, byJournal: number, now: number): number {
    return Math.max(written, byJournal + this.offsetMs(now));
  }

  /** Returns how far the times of changes have to move. They never move back further than they were moved forward. */
  set(byMs: number, expected: number): number {
    const movedMs = Math.max(byMs, -this.#aheadMs);
    this.#aheadMs += movedMs;
    if (byMs > 0) this.#aheadSince = expected;
    return movedMs;
  }
}
