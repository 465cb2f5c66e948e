import { median } from './connections.js';

/** One part's time for its size: how long a connection was busy with it. */
export interface Effort {
  readonly ms: number;
  /** Bytes. */
  readonly size: number;
  readonly endedAt: number;
  /** The part is still being sent: it will have taken longer. */
  readonly isOpen?: boolean;
}

/** Milliseconds that one connection takes for a byte. */
export type Slowness = number;

/** The slowness of the last efforts, or the reason why that is not clear. `between` holds the faster one first. */
export type Present =
  | { readonly kind: 'known'; readonly slowness: Slowness; readonly between?: readonly [Slowness, Slowness] }
  | { readonly kind: 'unclear'; readonly why: 'slow round' | 'late'; readonly between: readonly [Slowness, Slowness] };

/** Rates that differ by less are one rate with some noise. */
const sameFactor = 1.25;
/** A pause and a slower rate that differ by less lead to about the same time left. */
export const clearFactor = 1.7;
/** A round that took so many times as long as those before is either a pause or a slower rate, and they differ too much to choose. */
const lateFactor = 2;
/** Rates rarely fall that far from one round to the next: a round that took so many times as long was held up by a pause. */
const pauseFactor = 4.5;
/** Differences of so many times the usual one are not noise. */
const noiseFactor = 4;
/** Of fewer efforts, a change of the rate cannot be told from noise. */
const fewest = 5;
/** A change is looked for among so many of the last efforts, or among four rounds. */
const recentEfforts = 60;
/** Efforts shorter than this are mostly rounding. */
const shortestMs = 50;

const slow = ({ ms, size }: Effort): Slowness => ms / size;
const logOf = ({ ms, size }: Effort) => Math.log(Math.max(shortestMs, ms) / size);

/** The usual slowness of efforts. Those that were held up by a pause do not count. */
export function slownessOf(efforts: readonly Effort[]): Slowness {
  const complete = efforts.filter(({ isOpen }) => isOpen !== true);
  const counted = complete.length > 0 ? complete : efforts;
  const { middle, noise } = spreadOf(counted);
  const limit = middle + Math.max(Math.log(clearFactor), noiseFactor * noise);
  const usual = counted.filter((effort) => logOf(effort) <= limit);
  const sum = (of: (effort: Effort) => number) => usual.reduce((total, effort) => total + of(effort), 0);
  return sum(({ ms }) => ms) / sum(({ size }) => size);
}

/** The middle of the logarithms of efforts, and the middle one of the differences from it. */
function spreadOf(efforts: readonly Effort[]) {
  const logs = efforts.map(logOf);
  const middle = median(logs);
  return { middle, noise: median(logs.map((log) => Math.abs(log - middle))) };
}

/** The last efforts that are at one rate, and those at another one before them. */
export function lastSegment(all: readonly Effort[], connections: number) {
  let efforts = all.slice(-Math.max(recentEfforts, 4 * connections));
  let before: readonly Effort[] | undefined;
  for (;;) {
    const split = lastChange(efforts, connections);
    if (split === undefined) return { efforts, before };
    before = efforts.slice(0, split);
    efforts = efforts.slice(split);
  }
}

/** The index at which two rates explain efforts best, and clearly better than one. */
function lastChange(efforts: readonly Effort[], connections: number): number | undefined {
  const logs = efforts.map(logOf);
  const whole = aroundMiddle(logs);
  let [best, gained]: [number | undefined, number] = [undefined, 0];
  for (let split = Math.min(3, connections); split < logs.length; split += 1) {
    const [earlier, later] = [aroundMiddle(logs.slice(0, split)), aroundMiddle(logs.slice(split))];
    const gain = whole.differences - earlier.differences - later.differences;
    const noise = (earlier.differences + later.differences) / logs.length;
    if (gain <= gained || !isChange(logs.slice(split), earlier.middle, later.middle, noise, connections)) continue;
    [best, gained] = [split, gain];
  }
  return best;
}

function aroundMiddle(logs: readonly number[]) {
  const middle = median(logs);
  return { middle, differences: logs.reduce((sum, log) => sum + Math.abs(log - middle), 0) };
}

/**
 * Whether later efforts are at another rate: the smaller the difference, the more of them it takes. Slower ones have to be more than a
 * round if the difference is large: one slow round is a pause as well as a slower rate.
 */
function isChange(later: readonly number[], from: number, to: number, noise: number, connections: number): boolean {
  const difference = Math.abs(to - from);
  const count = later.filter((log) => 2 * Math.abs(log - to) < difference).length;
  const rounds = Math.max(1, later.length / connections);
  const clear = Math.max(Math.sqrt(3) * Math.log(sameFactor), noiseFactor * noise) / Math.sqrt(rounds);
  if (difference < clear) return false;
  if (difference < Math.log(clearFactor)) return count >= Math.max(connections, fewest);
  return count >= (to > from ? Math.floor(1.5 * connections) + 1 : Math.max(connections, 3));
}

/** The slowness of the last efforts of one segment: those of its last round may already tell of a change. */
export function presentOf(efforts: readonly Effort[], connections: number): Present {
  return (
    slowRound(efforts, connections) ??
    changedRound(efforts, connections) ?? { kind: 'known', slowness: slownessOf(efforts) }
  );
}

/** Undefined unless more than half of the last round took much longer than those before. */
function slowRound(efforts: readonly Effort[], connections: number): Present | undefined {
  const before = efforts.slice(0, -connections);
  if (before.length === 0) return undefined;
  const usual = slownessOf(before);
  const held = efforts.slice(1 + efforts.findLastIndex((effort) => slow(effort) <= lateFactor * usual));
  if (2 * held.length <= connections) return undefined;
  const isPause =
    held.length <= connections && held.every((effort) => !effort.isOpen && slow(effort) > pauseFactor * usual);
  if (isPause) return { kind: 'known', slowness: usual };
  const why = held.every(({ isOpen }) => isOpen) ? 'late' : 'slow round';
  return { kind: 'unclear', why, between: [usual, slownessOf(held)] };
}

/** Undefined unless all efforts of the last round differ from those before in the same direction. */
function changedRound(efforts: readonly Effort[], connections: number): Present | undefined {
  const round = Math.max(fewest, connections);
  const [before, last] = [efforts.slice(0, -round), efforts.slice(-round)];
  if (before.length < round) return undefined;
  const { middle, noise } = spreadOf(before);
  const limit = Math.max(Math.log(sameFactor), 3 * noise);
  const isSlower = last.every((effort) => logOf(effort) > middle + limit);
  const isFaster = last.every((effort) => logOf(effort) < middle - limit);
  if (!isSlower && !isFaster) return undefined;
  const [usual, slowness] = [slownessOf(before), slownessOf(last)];
  if (isFaster && connections >= fewest - 1) return { kind: 'known', slowness };
  return {
    kind: 'known',
    slowness: Math.sqrt(usual * slowness),
    between: [Math.min(usual, slowness), Math.max(usual, slowness)],
  };
}
