import { longestWindowMs, mayBeMade } from './budget.js';
import { abandonedMs, type DatedChange } from './conflict.js';
import type { Intent } from './entry.js';
import { type EndingLine, endingOf, type IntentLine, intentOf, type Line } from './line.js';

/** A change in the window. */
interface Held {
  readonly line: IntentLine;
  /** Its place among the intents. */
  readonly order: number;
  /** The times of its intent and of its last entry, in milliseconds, by the clock of the journal. */
  readonly begun: number;
  readonly lastTime: number;
  readonly ending: EndingLine | undefined;
}

/**
 * The changes of a journal that the rules have to know: those without an outcome, and those of the last `longestWindowMs`. They are found by
 * digest, nonce and budget, so that a change costs the same however many there are.
 *
 * The clock of the journal never goes back: an entry counts as no earlier than the one before it, and now as no earlier than the
 * newest. When a server's clock was set back, more changes count as recent than are, never fewer.
 */
export function createWindow() {
  const changes = new Map<string, Held>();
  const open = new Map<string, Held>();
  const declined = new Map<string, Held>();
  const byDigest = new Map<string, readonly string[]>();
  const byNonce = new Map<string, readonly string[]>();
  /** Those that count against a budget: so many that only a Set finds one of them soon. */
  const byBudget = new Map<string, Set<string>>();
  /** Endings of intents that are not in the window, until those are known that were left open before it. */
  let strangers: Set<string> | undefined = new Set();
  /** Ids in the order of their endings, from `first` on. */
  let ended: string[] = [];
  let first = 0;
  let notUnderstood: number[] = [];
  let newest = Number.NEGATIVE_INFINITY;
  let order = 0;

  const hold = (held: Held): void => {
    const { id, digest, nonce, budget } = held.line;
    const { ending } = held;
    const isMade = mayBeMade(ending);
    changes.set(id, held);
    keep(open, id, ending === undefined ? held : undefined);
    keep(declined, id, ending?.outcome === 'declined' ? held : undefined);
    mark(byDigest, digest, id, isMade);
    if (nonce !== undefined) mark(byNonce, nonce, id, ending?.outcome !== 'not sent');
    if (budget !== undefined) markMany(byBudget, budget, id, isMade);
    if (ending !== undefined) ended.push(id);
  };
  const forget = ({ line: { id, digest, nonce, budget } }: Held): void => {
    for (const map of [changes, open, declined]) map.delete(id);
    mark(byDigest, digest, id, false);
    if (nonce !== undefined) mark(byNonce, nonce, id, false);
    if (budget !== undefined) markMany(byBudget, budget, id, false);
  };
  const prune = (now: number): void => {
    const since = now - longestWindowMs;
    // Endings come in the order of the journal's clock.
    for (; first < ended.length; first += 1) {
      const held = changes.get(ended[first] ?? '');
      if (held !== undefined && held.lastTime >= since) break;
      if (held?.ending !== undefined) forget(held);
    }
    if (first <= ended.length / 2) return;
    ended = ended.slice(first);
    first = 0;
  };
  const time = (now: number): number => Math.max(now, newest);
  const advance = (written: number): number => {
    if (written > newest) newest = written;
    return newest;
  };
  /** The later of what both clocks say, so that neither of them makes a change seem older than it is. */
  const dated = (told: number, byJournal: number, now: number) => Math.max(told, now - (time(now) - byJournal));
  const change = (held: Held, now: number): DatedChange[] => {
    const { line, ending, lastTime } = held;
    const intent = intentOf(line);
    if (intent === undefined) {
      forget(held);
      return [];
    }
    const endedAt = ending && dated(ending.time, lastTime, now);
    return [{ ...intent, ending: ending && endingOf(ending), endedAt }];
  };
  const inOrder = (held: Iterable<Held>, now: number) =>
    [...held].sort((one, other) => one.order - other.order).flatMap((each) => change(each, now));
  const requireUnderstood = (now: number): void => {
    notUnderstood = notUnderstood.filter((written) => written >= now - abandonedMs);
    if (notUnderstood.length > 0) throw new Error('it has a recent entry that this version does not understand');
  };
  /** The place of an intent, which only what was written before it can be in conflict with. */
  const placeOf = ({ id }: Intent): number => {
    const own = changes.get(id);
    if (own === undefined) throw new Error('the intent is not in the journal');
    return own.order;
  };
  const related = (digest: string, nonce: string | undefined, now: number, before = Number.POSITIVE_INFINITY) => {
    requireUnderstood(now);
    const ids = new Set([...(byDigest.get(digest) ?? []), ...((nonce && byNonce.get(nonce)) || [])]);
    const found = [...ids].flatMap((id) => changes.get(id) ?? []);
    return inOrder(
      found.filter(({ order: place }) => place < before),
      now,
    );
  };

  const spent = (key: string, now: number, before = Number.POSITIVE_INFINITY): number[] => {
    requireUnderstood(now);
    return [...(byBudget.get(key) ?? [])]
      .flatMap((id) => changes.get(id) ?? [])
      .filter(({ order: place }) => place < before)
      .map(({ line, begun }) => dated(line.time, begun, now));
  };

  return {
    /** Adds the next line; `now` is the server's time in milliseconds. */
    add: (line: Line, now: number): void => {
      if (line.kind === 'notUnderstood') notUnderstood.push(line.time);
      else if (line.kind === 'intent') {
        order += 1;
        const lastTime = advance(line.time);
        // An id that is there twice counts at its last place: of two processes that write while the file is rotated, both may then
        // stop, but never both send.
        hold({ line, order, begun: lastTime, lastTime, ending: changes.get(line.id)?.ending });
      } else {
        const lastTime = advance(line.time);
        const held = changes.get(line.id);
        if (held === undefined) strangers?.add(line.id);
        // A known outcome does not become unknown when a process takes another to be gone.
        else if (held.ending === undefined || line.outcome !== 'unknown') hold({ ...held, lastTime, ending: line });
      }
      prune(now);
    },
    /** Forgets what no rule asks for any more. */
    prune,
    /** Adds the intents that were left open before all others, oldest first, without those whose ending is known by now. */
    addLeftOpen: (lines: readonly IntentLine[]): void => {
      for (const [index, line] of lines.entries())
        if (!changes.has(line.id) && !strangers?.has(line.id))
          hold({ line, order: index - lines.length, begun: line.time, lastTime: line.time, ending: undefined });
      strangers = undefined;
    },
    clear: (): void => {
      for (const map of [changes, open, declined, byDigest, byNonce, byBudget]) map.clear();
      strangers = new Set();
      ended = [];
      first = 0;
      notUnderstood = [];
      newest = Number.NEGATIVE_INFINITY;
    },
    /** How far a server's clock is behind the newest entry, in milliseconds; 0 if it is not. */
    behind: (now: number): number => time(now) - now,
    /**
     * The changes that may be in conflict with one of a digest, oldest first.
     * @throws if there is a recent one that is not understood: it may be in conflict with any
     */
    related: (digest: string, now: number): DatedChange[] => related(digest, undefined, now),
    /** The changes whose consent has a nonce, oldest first. */
    withNonce: (nonce: string, now: number): DatedChange[] =>
      inOrder(
        (byNonce.get(nonce) ?? []).flatMap((id) => changes.get(id) ?? []),
        now,
      ),
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
    listOpen: (now: number): DatedChange[] => inOrder(open.values(), now),
    listDeclined: (now: number): DatedChange[] => inOrder(declined.values(), now),
  };
}

function keep(map: Map<string, Held>, id: string, held: Held | undefined): void {
  if (held === undefined) map.delete(id);
  else map.set(id, held);
}

/** Adds an id to those of a key, or removes it. Most keys have one: an array takes a fifth of the memory of a Set. */
function mark(ids: Map<string, readonly string[]>, key: string, id: string, isIn: boolean): void {
  const known = ids.get(key);
  if (isIn && known === undefined) ids.set(key, [id]);
  else if (isIn && known !== undefined && !known.includes(id)) ids.set(key, [...known, id]);
  else if (!isIn && known?.includes(id) === true) {
    if (known.length === 1) ids.delete(key);
    else
      ids.set(
        key,
        known.filter((each) => each !== id),
      );
  }
}

/** Adds an id to those of a key, or removes it, where a key has many. */
function markMany(ids: Map<string, Set<string>>, key: string, id: string, isIn: boolean): void {
  const known = ids.get(key);
  if (!isIn) known?.delete(id);
  else if (known === undefined) ids.set(key, new Set([id]));
  else known.add(id);
  if (known?.size === 0) ids.delete(key);
}
