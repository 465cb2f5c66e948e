import type { Connections } from './connections.js';
import { median } from './numbers.js';
import { countOf, gapsBetween, joinRanges, type Range, rangesOf } from './part.js';

/** The numbers of missing parts by reason, sorted. */
export interface MissingParts {
  readonly inFlight: readonly Range[];
  /** Parts that more than a round of later parts has overtaken. The client may leave numbers out, or these parts failed. */
  readonly passedOver: readonly Range[];
  readonly toCome: readonly Range[];
  /** Number of parts in flight, even if it is not known which. */
  readonly inFlightCount: number;
}

/** Missing parts whose numbers are known. */
type MissingNumbers = Omit<MissingParts, 'inFlightCount'>;

interface Numbering {
  /** Distinct numbers of the stored parts, sorted. */
  readonly numbers: readonly number[];
  /** Parts that the client uploads at a time. */
  readonly connectionCount: number;
  readonly order: Connections['order'];
  /** Number of missing parts; 0 if unknown. */
  readonly partsLeft: number;
  /** True if parts seem to be in flight. */
  readonly isActive: boolean;
}

/**
 * Sorts the missing parts by reason. A client that begins parts in the order of their numbers, or in the reverse order, has at most
 * `connectionCount` parts in flight: the gaps below the last stored part, and then the next parts. If there are more gaps, the order is
 * not known, and no part is named as in flight.
 */
export function missingPartsOf(numbering: Numbering): MissingParts {
  const { numbers, connectionCount, order, partsLeft, isActive } = numbering;
  const inFlightCount = isActive ? Math.min(connectionCount, partsLeft) : 0;
  const last = lastPartOf(numbering);
  const inOrder = order.ascending ? missingInOrder(numbering, { from: 1, to: last }) : undefined;
  if (inOrder !== undefined) return { ...inOrder, inFlightCount: Math.max(inFlightCount, countOf(inOrder.inFlight)) };
  const inReverse = order.descending ? missingInReverse(numbering, last) : undefined;
  if (inReverse !== undefined) return { ...inReverse, inFlightCount };
  return { inFlight: [], passedOver: [], toCome: gapsBetween(rangesOf(numbers), 1, last), inFlightCount };
}

/** The missing parts, if parts are begun in the reverse order. Negative numbers turn that order into the usual one. */
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

/**
 * The last part number of the upload, or the highest stored number if the number of missing parts is unknown. Clients may begin with
 * another number than 1, and count in larger steps.
 */
function lastPartOf({ numbers, connectionCount, partsLeft }: Numbering): number {
  const [first = 1] = numbers;
  const highest = numbers.at(-1) ?? 0;
  if (partsLeft === 0) return highest;
  const begin = isPassed(numbers.length, connectionCount) ? first : 1;
  return Math.max(highest, begin + stepOf(numbers) * (numbers.length + partsLeft - 1));
}

/** True if `laterParts` that arrived are enough to no longer expect a missing part. With a single connection, one part is enough. */
const isPassed = (laterParts: number, connectionCount: number) => laterParts >= 2 * connectionCount - 1;

/** The usual difference between consecutive part numbers. */
export const stepOf = (numbers: readonly number[]): number =>
  numbers.length < 3
    ? 1
    : Math.floor(median(numbers.slice(1).map((number, index) => number - (numbers[index] ?? number))));

/**
 * Divides the missing numbers between `lowest` and `highest` into those that were passed over and those that were begun. Returns undefined
 * if a gap is too wide for parts that are begun in the order of their numbers.
 */
function gapsBelow(highest: number, lowest: number, { numbers, connectionCount }: Numbering) {
  const step = stepOf(numbers);
  const passedOver: Range[] = [];
  const begun: number[] = [];
  let storedBelow = 0;
  for (const gap of gapsBetween(rangesOf(numbers), lowest, highest)) {
    while ((numbers[storedBelow] ?? highest) < gap.from) storedBelow += 1;
    const storedAbove = numbers.length - storedBelow;
    if (isPassed(storedAbove, connectionCount)) {
      passedOver.push(gap);
      continue;
    }
    const missingParts = (gap.to - gap.from + 1) / step;
    if (missingParts > connectionCount) return undefined;
    for (let number = gap.from; number <= gap.to; number += 1) {
      const isUsedByClient = (highest - number) % step === 0;
      if (isUsedByClient) begun.push(number);
      else passedOver.push({ from: number, to: number });
    }
  }
  return { passedOver, begun };
}

/**
 * The missing parts within `bounds`, if parts are begun in the order of their numbers. Connections that do not send a part of a gap send
 * the next parts. Returns undefined if there are more gaps than that order allows.
 */
function missingInOrder(numbering: Numbering, bounds: Range): MissingNumbers | undefined {
  const { numbers, connectionCount, partsLeft, isActive } = numbering;
  const step = stepOf(numbers);
  const highest = numbers.at(-1) ?? bounds.from - step;
  const gaps = gapsBelow(highest, bounds.from, numbering);
  if (gaps === undefined) return undefined;
  const { passedOver, begun } = gaps;
  if (begun.length > connectionCount || countOf(passedOver) > numbers.length) return undefined;

  const leftOutsideGaps = partsLeft - begun.length;
  const numbersAbove = Math.floor((bounds.to - highest) / step);
  const notBegun = Math.max(0, Math.min(leftOutsideGaps, numbersAbove));
  const retried = notBegun > 0 ? [] : retriedParts(passedOver, leftOutsideGaps);
  const freeConnections = Math.max(0, connectionCount - begun.length - retried.length);
  const nextCount = Math.min(notBegun, freeConnections);
  const next = Array.from({ length: nextCount }, (_, index) => highest + step * (index + 1));

  const open = rangesOf([...retried, ...begun, ...next]);
  const later = gapsBetween([], highest + step * nextCount + 1, bounds.to);
  return {
    inFlight: isActive ? open : [],
    passedOver: passedOver.filter(({ from }) => !retried.includes(from)),
    toCome: isActive ? later : joinRanges([...open, ...later]),
  };
}

/** Single parts that were passed over, if they are all that is left to send. */
function retriedParts(passedOver: readonly Range[], left: number): number[] {
  const single = passedOver.filter(({ from, to }) => from === to).map(({ from }) => from);
  return left > 0 && single.length === left ? single : [];
}
