import type * as z from 'zod';
import { humanDuration, sentences } from '../../util/human.js';
import {
  bytes,
  counted,
  duration,
  join,
  listed,
  own,
  quoted,
  type SafeText,
  say,
  sentence,
  words,
} from '../../util/safe-text.js';
import type { Lenient } from '../define-operation.js';
import { countOf } from './part.js';
import type { summaryFields } from './summary.js';
import { longestKey } from './xml-record.js';

/** A summary as it is read back from an answer. Any field may be missing. */
export type Summary = Lenient<z.output<z.ZodObject<ReturnType<typeof summaryFields>>>>;

/** Describes a summary in sentences, the most urgent first. `upload` is the subject of sentences: `The upload of "video.mov"`. */
export function summarySentences(summary: Summary, upload: SafeText): SafeText {
  return join(
    [
      ...contradictionSentences(summary),
      ...stopSentences(summary),
      contentSentence(summary, upload),
      ...paceSentences(summary),
      ...missingSentences(summary),
      ...unusableSentences(summary),
    ],
    ' ',
  );
}

/** Describes the beginning of a list of parts that is longer than one call reads. `upload` is as in `summarySentences`. */
export function beginningSentences(summary: Summary, upload: SafeText): SafeText {
  const { partCount = 0, totalBytes, highestPart } = summary;
  return join(
    [
      say`${upload} has more parts than were read: the first ${partCount}, up to part ${highestPart ?? 0}, have ${sizeText(totalBytes)}.`,
      say`How far it is, and how fast it goes, is left out.`,
      ...unusableSentences(summary),
    ],
    ' ',
  );
}

/** A number of bytes; NaN if the service did not give the size of each part. */
const sizeText = (size = Number.NaN) => (size >= 0 ? bytes(size) : words('an unknown size'));

/** Says how many parts and bytes the upload has, and how much of the expected size that is. */
function contentSentence(summary: Summary, upload: SafeText): SafeText {
  const { partCount = 0, totalBytes, startedAt, checkedAt } = summary;
  if (partCount > 0) {
    return say`${upload} has ${counted(partCount, 'part')}, ${sizeText(totalBytes)}${progressText(summary)}.`;
  }
  const age = secondsBetween(startedAt, checkedAt);
  const since = age === undefined ? words('is open') : say`was started ${duration(age)} ago`;
  return say`${upload} ${since} and has no parts yet.`;
}

/** Seconds between two times in ISO 8601; undefined if either time cannot be read. */
function secondsBetween(from: string | undefined, to: string | undefined): number | undefined {
  const ms = Date.parse(to ?? '') - Date.parse(from ?? '');
  return Number.isNaN(ms) ? undefined : Math.max(0, ms / 1000);
}

/** Continues a sentence: `: 12.5% of the 3 parts expected`. Empty if nothing is expected. */
function progressText({ percent, percentWithInFlight, expectedBytes, expectedParts }: Summary): SafeText {
  if (percent === undefined) return words('');
  if (percent === 100) return words(': all that is expected');
  const expected = expectedBytes === undefined ? counted(expectedParts ?? 0, 'part') : bytes(expectedBytes);
  // How much of the parts in flight is sent is only a guess, so this range has no decimals.
  const share =
    percentWithInFlight === undefined
      ? say`${percent}%`
      : say`${Math.floor(percent)} to ${Math.ceil(percentWithInFlight)}%`;
  return say`: ${share} of the ${expected} expected`;
}

function contradictionSentences(summary: Summary): SafeText[] {
  const { highestPart = 0, totalBytes = 0, expectedParts, expectedBytes, percent } = summary;
  const contradictions: SafeText[] = [];
  if (percent === undefined && expectedParts !== undefined && highestPart > expectedParts)
    contradictions.push(say`expectedParts is ${expectedParts}, but part ${highestPart} is there.`);
  if (expectedBytes !== undefined && totalBytes > expectedBytes)
    contradictions.push(say`expectedBytes is ${expectedBytes}, but ${totalBytes} bytes are there.`);
  if (contradictions.length === 0) return [];
  return [...contradictions, say`Check that figure and the upload ID; progress is left out.`];
}

function stopSentences(summary: Summary): SafeText[] {
  const { stopped, idleSeconds = 0, bytesPerSecondBefore, secondsLeftIfResumed } = summary;
  if (!stopped) return [];
  const rate = bytesPerSecondBefore === undefined ? words('') : say`; it was going at ${bytes(bytesPerSecondBefore)}/s`;
  return sentences(
    say`The upload seems to have stopped ${duration(idleSeconds)} ago${rate}.`,
    secondsLeftIfResumed !== undefined &&
      say`Resumed at that rate, it would take about ${duration(secondsLeftIfResumed)} more.`,
  );
}

/** Writes times for a reader in a certain time zone. Times are given in ISO 8601. */
interface Clock {
  readonly timeOfDay: (time: string) => SafeText;
  /** Name of the reader's time zone at that time, because it may differ in summer: `CET` or `CEST`. */
  readonly zoneAt: (time: string) => SafeText;
}

/** The clock for readers whose time zone is unknown. */
const utc: Clock = { timeOfDay: (time) => own(time.slice(11, 16)), zoneAt: () => words('UTC') };

/** Describes the rate with its last change, or why there is no rate, and then the time left. */
export function paceSentences(summary: Summary, clock = utc): SafeText[] {
  const { partCount, stopped, percent, idleSeconds } = summary;
  if (percent === 100) return [say`It still has to be completed.`];
  if (partCount === 0 || stopped) return [];
  return sentences(
    rateSentence(summary, clock),
    idleSeconds !== undefined && say`Last part ${duration(idleSeconds)} ago.`,
    timeLeftSentence(summary, clock),
  );
}

/** If the ends of a range differ by a larger factor, the sentence explains both ends instead: "after a pause …, at a slower rate …". */
const widestRange = 4;

function timeLeftSentence(summary: Summary, clock: Clock): SafeText | false {
  const { estimatedSecondsLeft, secondsLeft, noRate, checkedAt } = summary;
  const from = secondsLeft?.from ?? estimatedSecondsLeft;
  const to = secondsLeft?.to ?? estimatedSecondsLeft;
  if (from === undefined || to === undefined) return false;
  if (to <= widestRange * from) {
    return say`About ${durationRange(from, to)} left${doneAbout(checkedAt, from, to, clock)}.`;
  }
  return noRate === 'late'
    ? say`After a pause about ${duration(from)} would be left, at a slower rate about ${duration(to)}.`
    : say`At the fastest recent rate about ${duration(from)} are left, at the slowest about ${duration(to)}.`;
}

/** A range of durations: `8 to 12 min`, `50 s to 2 min`, or `8 min` if both ends read the same. */
function durationRange(from: number, to: number): SafeText {
  const shortest = humanDuration(from);
  const longest = humanDuration(to);
  if (shortest === longest) return duration(from);
  // In `8 to 12 min`, the unit is not repeated. `1 h 30 min` to `2 h` has different units.
  const [number, ...units] = shortest.split(' ');
  const isSameUnit = units.join(' ') === longest.split(' ').slice(1).join(' ');
  return isSameUnit ? say`${Number(number)} to ${duration(to)}` : say`${duration(from)} to ${duration(to)}`;
}

/** The time of day at which an upload ends is said only if the end is more than `soonSeconds` and less than `daySeconds` away. */
const soonSeconds = 60;
const daySeconds = 86_400;

/** Continues a sentence with the time of the end: `, done about 12:10 to 12:15 UTC`. Empty if it is unknown, too soon or too late. */
function doneAbout(checkedAt: string | undefined, from: number, to: number, { timeOfDay, zoneAt }: Clock): SafeText {
  const now = Date.parse(checkedAt ?? '');
  if (Number.isNaN(now) || to <= soonSeconds || to >= daySeconds) return words('');
  const after = (seconds: number) => new Date(now + 1000 * seconds).toISOString();
  const earliest = timeOfDay(after(from));
  const latest = timeOfDay(after(to));
  const times = earliest.equals(latest) ? latest : say`${earliest} to ${latest}`;
  return say`, done about ${times} ${zoneAt(after(to))}`;
}

function rateSentence(summary: Summary, { timeOfDay, zoneAt }: Clock): SafeText | false {
  const { bytesPerSecond, bytesPerSecondBefore, rateSince } = summary;
  if (bytesPerSecond === undefined) return whyNoRate(summary);
  const rate = say`${bytes(bytesPerSecond)}/s`;
  if (bytesPerSecondBefore === undefined || rateSince === undefined) return say`Rate ${rate}.`;
  const change = words(bytesPerSecond < bytesPerSecondBefore ? 'Slower' : 'Faster');
  return say`${change} since ${timeOfDay(rateSince)} ${zoneAt(rateSince)}: ${rate} instead of ${bytes(bytesPerSecondBefore)}/s.`;
}

/** Says why there is no rate; false if the summary gives no reason. With `late`, negative seconds say for how long a part has been late. */
function whyNoRate({ noRate, rateInSeconds: seconds }: Summary): SafeText | false {
  const inTime = seconds === undefined || seconds <= 0 ? undefined : say`in about ${duration(seconds)}`;
  switch (noRate) {
    case 'begun':
      return say`The first parts are arriving: there will be a rate ${inTime ?? words('after a few more')}.`;
    case 'one round':
      return say`All parts so far may have been sent at once, so there is no rate until more come.`;
    case 'late':
      return seconds === undefined || seconds >= 0
        ? say`The next part is late: a pause, or a slower rate.`
        : say`The next part is ${duration(-seconds)} late: a pause, or a slower rate.`;
    default:
      return false;
  }
}

type Ranges = Summary['inFlight'];

/** Number of ranges that a sentence names. The others are `and others`. */
const maximumNamed = 5;

function missingSentences(summary: Summary): SafeText[] {
  const { inFlight, inFlightCount = 0, passedOver, toCome, percent, partCount = 0, highestPart } = summary;
  // If the upload is complete, the client has left the missing numbers out.
  if (percent === 100) return passedOver === undefined ? [] : [say`${partsAre(passedOver)} not used.`];

  const hasGaps = [inFlight, passedOver, toCome].some((ranges) => ranges !== undefined);
  return sentences(
    inFlightSentence(summary),
    passedOver !== undefined &&
      say`${partsAre(passedOver)} passed over: the client may leave numbers out, or ${words(isOne(passedOver) ? 'it' : 'they')} failed.`,
    toCome !== undefined && say`${partsAre(toCome)} still to come.`,
    partCount > 0 && inFlightCount === 0 && !hasGaps && say`No gaps up to part ${highestPart ?? 0}.`,
  );
}

function inFlightSentence({ inFlight, inFlightCount = 0, inFlightSeconds }: Summary): SafeText | false {
  if (inFlight !== undefined) {
    const time = inFlightSeconds === undefined ? words('') : say` for ${duration(inFlightSeconds)}`;
    return say`${partsAre(inFlight)} probably in flight${time}.`;
  }
  if (inFlightCount === 0) return false;
  return say`About ${counted(inFlightCount, 'part')} ${words(inFlightCount === 1 ? 'is' : 'are')} in flight; they arrive in no particular order.`;
}

/** The beginning of a sentence: `Part 5 is`, `Parts 5 and 11–12 are`. */
const partsAre = (ranges: Ranges) => say`${sentence(named(ranges))} ${words(isOne(ranges) ? 'is' : 'are')}`;

function unusableSentences({ tooSmallCount = 0, tooSmall, duplicates = [] }: Summary): SafeText[] {
  const problems: SafeText[] = [];
  if (tooSmallCount > 0) {
    const sizes = (tooSmall ?? []).map(({ partSize = 0 }) => partSize);
    const smallest = bytes(Math.min(...sizes));
    const remedy = words('by convention, all parts but the last need 5 MiB. Upload');
    problems.push(
      tooSmallCount === 1
        ? say`${sentence(named(tooSmall))} is too small (${smallest}): ${remedy} it again under the same number.`
        : say`${sentence(named(tooSmall))} are too small (the smallest has ${smallest}): ${remedy} them again under the same numbers.`,
    );
  }
  if (duplicates.length > 0) problems.push(say`The cloud listed ${named(duplicates)} twice.`);
  return problems;
}

const isOne = (ranges: Ranges) => countOf(completeRanges(ranges)) === 1;

const completeRanges = (ranges: Ranges) => (ranges ?? []).map(({ from = 0, to = from }) => ({ from, to }));

/** Names the parts in ranges: `part 5`, `parts 5 and 11–12`, `parts 1, 3, 5, 7, 9 and others`. */
function named(ranges: Ranges): SafeText {
  const numbers = completeRanges(ranges).map(({ from, to }) => (from === to ? say`${from}` : say`${from}–${to}`));
  const shown = numbers.length > maximumNamed ? [...numbers.slice(0, maximumNamed), words('others')] : numbers;
  return say`${words(isOne(ranges) ? 'part' : 'parts')} ${listed(shown)}`;
}

/** The fields of a page of parts that `pageSentences` describes. Any field may be missing. */
interface PageOfParts {
  readonly object?: string | undefined;
  readonly parts?:
    | readonly { readonly partNumber?: number | undefined; readonly size?: number | undefined }[]
    | undefined;
  readonly isTruncated?: boolean | undefined;
  readonly partNumberMarker?: number | undefined;
}

/** Describes a page of parts, and says if more follow. */
export function pageSentences({ object = '', parts = [], isTruncated, partNumberMarker = 0 }: PageOfParts): SafeText {
  const name = quoted(object, longestKey);
  if (parts.length === 0) {
    const which = partNumberMarker === 0 ? words('on this page') : say`with a number above ${partNumberMarker}`;
    return say`No parts of ${name} ${which}.${words(isTruncated ? ' More follow.' : '')}`;
  }

  const size = sizeText(parts.reduce((sum, { size = Number.NaN }) => sum + size, 0));
  const more = words(isTruncated ? 'More follow.' : 'No parts follow these.');
  const numbers = parts.flatMap(({ partNumber }) => partNumber ?? []);
  const [first = 0] = numbers;
  if (parts.length === 1) return say`One part of ${name} on this page: ${first}, ${size}. ${more}`;
  return say`${parts.length} parts of ${name} on this page: ${first}–${numbers.at(-1) ?? 0}, ${size}. ${more}`;
}

/** Says how to find upload IDs if the tool that lists them is not offered. */
export const uploadIdsElsewhere = words('If no tool lists upload IDs, they are in the log of the uploader.');
