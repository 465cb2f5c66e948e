import type { Connections } from './connections.js';
import { median } from './numbers.js';
import { countOf, gapsBetween, joinRanges, type Range, rangesOf } from './part.js';

/** The numbers of the missing parts, grouped by the reason why they are missing. Each list is sorted. */
export interface MissingParts {
  readonly inFlight: readonly Range[];
  /** Parts that are no longer expected, because so many later parts have arrived (`isNoLongerExpected`). The client left them out, or they failed. */
  readonly passedOver: readonly Range[];
  readonly toCome: readonly Range[];
  /** Number of parts in flight. `inFlight` is empty if this number is known, but nothing shows which parts they are. */
  readonly inFlightCount: number;
}

type MissingNumbers = Omit<MissingParts, 'inFlightCount'>;

/** The stored parts by number, and how the client sends parts. */
interface Numbering {
  /** Distinct numbers of the stored parts, sorted. */
  readonly numbers: readonly number[];
  /** Number of parts that the client uploads at a time. */
  readonly connectionCount: number;
  readonly order: Connections['order'];
  /** Number of missing parts, exact or estimated; 0 if it is unknown. */
  readonly missingCount: number;
  /** True if parts seem to be in flight. */
  readonly isSending: boolean;
}

/**
 * Groups the missing parts by the reason why they are missing. If a client begins parts in the order of their numbers, its parts in flight
 * are the gaps below the highest stored part, and the next parts above it, together at most `connectionCount` parts. The reverse order is
 * tried too. If the gaps fit neither order, all missing parts count as still to come, because nothing shows which are in flight.
 */
export function missingPartsOf(numbering: Numbering): MissingParts {
  const { numbers, connectionCount, order, missingCount, isSending } = numbering;
  // The least number in flight: 0 if `missingCount` is unknown. The order of the parts may show more.
  const inFlightCount = isSending ? Math.min(connectionCount, missingCount) : 0;
  const last = lastPartOf(numbering);
  const inOrder = order.ascending ? missingInOrder(numbering, { from: 1, to: last }) : undefined;
  if (inOrder !== undefined) {
    return { ...inOrder, inFlightCount: Math.max(inFlightCount, countOf(inOrder.inFlight)) };
  }
  const inReverse = order.descending ? missingInReverse(numbering, last) : undefined;
  if (inReverse !== undefined) return { ...inReverse, inFlightCount };
  return { inFlight: [], passedOver: [], toCome: gapsBetween(rangesOf(numbers), 1, last), inFlightCount };
}

/** The missing parts, if the client begins with the highest number. Negated numbers turn this order into the usual one. */
function missingInReverse(numbering: Numbering, last: number): MissingNumbers | undefined {
  const negative = numbering.numbers.map((number) => -number).reverse();
  const missing = missingInOrder({ ...numbering, numbers: negative }, { from: -last, to: -1 });
  if (missing === undefined) return undefined;
  return {
    inFlight: negated(missing.inFlight),
    passedOver: negated(missing.passedOver),
    toCome: negated(missing.toCome),
  };
}

const negated = (ranges: readonly Range[]): Range[] =>
  ranges.map(({ from, to }) => ({ from: -to, to: -from })).reverse();

/** The number of the upload's last part, or of the highest stored part if nothing is missing or the number of missing parts is unknown. */
function lastPartOf({ numbers, connectionCount, missingCount }: Numbering): number {
  const [lowest = 1] = numbers;
  const highest = numbers.at(-1) ?? 0;
  if (missingCount === 0) return highest;
  // Without part 1 among many parts, the client began with another number.
  const firstNumber = isNoLongerExpected(numbers.length, connectionCount) ? lowest : 1;
  return Math.max(highest, firstNumber + stepOf(numbers) * (numbers.length + missingCount - 1));
}

/**
 * True if a missing part is no longer expected: each other connection has sent more than two of the `laterParts`, so the part would have
 * taken more than twice the usual time.
 */
const isNoLongerExpected = (laterParts: number, connectionCount: number) => laterParts > 2 * (connectionCount - 1);

/** The usual difference between consecutive part numbers, which is the median difference; 1 for fewer than three parts. */
export const stepOf = (numbers: readonly number[]): number =>
  numbers.length < 3
    ? 1
    : Math.floor(median(numbers.slice(1).map((number, index) => number - (numbers[index] ?? number))));

/**
 * Divides the gaps, which are the missing numbers between `lowest` and the stored part `highest`, into two lists: `begun`, which connections
 * may be sending, and `passedOver`, which are not expected, because they failed, or because the client does not use them. Returns undefined
 * if the gaps show that the client does not begin parts in the order of their numbers.
 */
function divideGaps(lowest: number, highest: number, { numbers, connectionCount }: Numbering) {
  // The distance between numbers that the client uses: 1, or 2 if it counts in twos.
  const step = stepOf(numbers);
  const passedOver: Range[] = [];
  const begun: number[] = [];
  let indexAbove = 0;
  for (const gap of gapsBetween(rangesOf(numbers), lowest, highest)) {
    // The part directly above the gap is stored. Gaps ascend, so the search for its index goes on where the last search ended.
    indexAbove = numbers.indexOf(gap.to + 1, indexAbove);
    const partsAbove = numbers.length - indexAbove;
    if (isNoLongerExpected(partsAbove, connectionCount)) {
      passedOver.push(gap);
      continue;
    }

    // All used numbers in this gap are still expected, so they must be in flight. But the connections send one part each, and these parts are
    // `step` apart, so a wider gap shows that parts are not begun in the order of their numbers.
    const gapWidth = gap.to - gap.from + 1;
    if (gapWidth > step * connectionCount) return undefined;

    for (let number = gap.from; number <= gap.to; number += 1) {
      // The client has used `highest`, so it uses the numbers that are whole steps below, and not the numbers in between.
      const isUsedByClient = (highest - number) % step === 0;
      if (isUsedByClient) begun.push(number);
      else passedOver.push({ from: number, to: number });
    }
  }
  // More begun parts than connections, or more numbers passed over than stored, show that parts are not begun in the order of their numbers.
  // A client that counts in threes or more ends here too, because the numbers in between, which it never uses, outnumber its parts.
  if (begun.length > connectionCount || countOf(passedOver) > numbers.length) return undefined;
  return { passedOver, begun };
}

/**
 * Groups the missing parts within `bounds`, if the client begins parts in the order of their numbers. Then its connections may be sending
 * three kinds of missing parts: those in gaps between stored parts (`begun`), the next parts above the highest stored part (`next`) and, if
 * none is missing there, failed parts again (`retried`). Returns undefined if the gaps contradict this order.
 *
 * Example: with four connections and the stored parts 1, 2, 4 and 5 of 9, part 3 is begun, and 6 to 8 are next, one on each of the other
 * connections. 9 comes later.
 * @param bounds from part 1 to the last part of the upload. If the client begins with the highest number, all numbers are negated, so that they
 * rise
 */
function missingInOrder(numbering: Numbering, bounds: Range): MissingNumbers | undefined {
  const { numbers, connectionCount, missingCount, isSending } = numbering;
  const step = stepOf(numbers);
  // Without stored parts, the next number, `highest + step`, is `bounds.from`.
  const highest = numbers.at(-1) ?? bounds.from - step;

  const gaps = divideGaps(bounds.from, highest, numbering);
  if (gaps === undefined) return undefined;
  const { begun, passedOver } = gaps;

  // The missing parts that are not in `begun` are above the highest stored part. If there are fewer numbers above it, the rest failed.
  const otherMissing = Math.max(0, missingCount - begun.length);
  const numbersAbove = Math.max(0, Math.floor((bounds.to - highest) / step));
  const missingAbove = Math.min(otherMissing, numbersAbove);

  const nextCount = Math.min(missingAbove, connectionCount - begun.length);
  const next = Array.from({ length: nextCount }, (_, index) => highest + step * (index + 1));
  // Nothing is stored above the next parts, so a single range has all later numbers, even if the client counts in twos.
  const firstLater = highest + step * nextCount + 1;
  const later = firstLater > bounds.to ? [] : [{ from: firstLater, to: bounds.to }];

  // If no part is missing above, the `otherMissing` parts have failed. The client sends them again when it has begun all others: part 3 if 1, 2
  // and 4 to 9 of 9 parts are stored.
  const retried = new Set(missingAbove === 0 ? failedParts(passedOver, otherMissing) : []);
  const notRetried = passedOver.filter((gap) => !retried.has(gap));

  const onConnections = [...retried, ...rangesOf(begun), ...rangesOf(next)].sort((a, b) => a.from - b.from);
  if (isSending) return { inFlight: joinRanges(onConnections), passedOver: notRetried, toCome: later };
  // If the client sends nothing, the parts that would be on its connections are still to come.
  return { inFlight: [], passedOver: notRetried, toCome: joinRanges([...onConnections, ...later]) };
}

/**
 * The failed parts among the gaps that were passed over, if `failedCount` shows which they are. The other gaps are numbers that the client
 * never uses. Parts fail singly, and unused numbers are mostly in a row. So if there are exactly `failedCount` gaps of one part, these parts
 * failed. Otherwise, nothing shows which parts failed.
 */
function failedParts(passedOver: readonly Range[], failedCount: number): readonly Range[] {
  const singleParts = passedOver.filter(({ from, to }) => from === to);
  return singleParts.length === failedCount ? singleParts : [];
}
