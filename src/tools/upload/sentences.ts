import type * as z from 'zod';
import { humanDuration, sentences } from '../../util/human.js';
import {
  bytes,
  counted,
  duration,
  join,
  listed,
  own,
  type SafeText,
  say,
  sentence,
  words,
} from '../../util/safe-text.js';
import type { Lenient } from '../define-operation.js';
import { countOf } from './ranges.js';
import type { summaryFields } from './summary.js';

/** A summary that was read back from an answer. Any field may be missing. */
export type Summary = Lenient<z.output<z.ZodObject<ReturnType<typeof summaryFields>>>>;

/** Describes a summary in sentences, the most urgent first. `upload` names the upload, as in `The upload of "…"`. */
export function summarySentences(summary: Summary, upload: SafeText): SafeText {
  return join(
    [
      ...contradictions(summary),
      ...stop(summary),
      whole(summary, upload),
      ...paceSentences(summary),
      ...absent(summary),
      ...unusable(summary),
    ],
    ' ',
  );
}

/** Describes the first parts of an upload whose list is longer than one call reads. */
export function beginningSentences(summary: Summary, upload: SafeText): SafeText {
  const { partCount = 0, totalBytes = 0, highestPart } = summary;
  return join(
    [
      say`${upload} has more parts than were read: the first ${partCount}, up to part ${highestPart ?? 0}, have ${bytes(totalBytes)}.`,
      say`How far it is, and how fast it goes, is left out.`,
      ...unusable(summary),
    ],
    ' ',
  );
}

function whole(summary: Summary, upload: SafeText): SafeText {
  const { partCount = 0, totalBytes = 0, startedAt, checkedAt } = summary;
  if (partCount > 0) return say`${upload} has ${counted(partCount, 'part')}, ${bytes(totalBytes)}${doneOf(summary)}.`;
  const age = secondsBetween(startedAt, checkedAt);
  const since = age === undefined ? words('is open') : say`was started ${duration(age)} ago`;
  return say`${upload} ${since} and has no parts yet.`;
}

/** Seconds between two times; undefined if either time cannot be read. */
function secondsBetween(from: string | undefined, to: string | undefined): number | undefined {
  const ms = Date.parse(to ?? '') - Date.parse(from ?? '');
  return Number.isNaN(ms) ? undefined : Math.max(0, ms / 1000);
}

function doneOf({ percent, percentWithInFlight: atMost, expectedBytes, expectedParts }: Summary): SafeText {
  if (percent === undefined) return words('');
  const expected = expectedBytes === undefined ? counted(expectedParts ?? 0, 'part') : bytes(expectedBytes);
  if (percent === 100) return words(': all that is expected');
  // The share of the parts in flight is not known to a tenth.
  const share = atMost === undefined ? say`${percent}%` : say`${Math.floor(percent)} to ${Math.ceil(atMost)}%`;
  return say`: ${share} of the ${expected} expected`;
}

function contradictions(summary: Summary): SafeText[] {
  const { highestPart = 0, totalBytes = 0, expectedParts, expectedBytes, percent } = summary;
  const found: SafeText[] = [];
  if (percent === undefined && expectedParts !== undefined && highestPart > expectedParts)
    found.push(say`expectedParts is ${expectedParts}, but part ${highestPart} is there.`);
  if (expectedBytes !== undefined && totalBytes > expectedBytes)
    found.push(say`expectedBytes is ${expectedBytes}, but ${totalBytes} bytes are there.`);
  return found.length === 0 ? [] : [...found, say`Check that figure and the upload ID; progress is left out.`];
}

function stop({
  stopped,
  idleSeconds = 0,
  bytesPerSecondBefore: before,
  secondsLeftIfResumed: left,
}: Summary): SafeText[] {
  if (!stopped) return [];
  const ago = say`The upload seems to have stopped ${duration(idleSeconds)} ago`;
  return sentences(
    before === undefined ? say`${ago}.` : say`${ago}; it was going at ${bytes(before)}/s.`,
    left !== undefined && say`Resumed at that rate, it would take about ${duration(left)} more.`,
  );
}

/** Writes times for the reader. Times are in ISO 8601. */
export interface Clock {
  readonly timeOfDay: (time: string) => SafeText;
  /** The time zone that applies at a time. */
  readonly zoneAt: (time: string) => SafeText;
}

/** For readers in unknown time zones. */
const utc: Clock = { timeOfDay: (time) => own(time.slice(11, 16)), zoneAt: () => words('UTC') };

/** Describes the rate, a change of speed, and the time left, or why there is no rate. */
export function paceSentences(summary: Summary, clock = utc): SafeText[] {
  const { partCount, stopped, percent, idleSeconds } = summary;
  if (percent === 100) return [say`It still has to be completed.`];
  if (partCount === 0 || stopped) return [];
  return sentences(
    rate(summary, clock),
    idleSeconds !== undefined && say`Last part ${duration(idleSeconds)} ago.`,
    timeLeft(summary, clock),
  );
}

/** A range whose ends differ by a larger factor says too little. */
const widestRange = 4;

function timeLeft(
  { estimatedSecondsLeft: point, secondsLeft = {}, noRate, checkedAt }: Summary,
  clock: Clock,
): SafeText | false {
  const { from = point, to = point } = secondsLeft;
  if (from === undefined || to === undefined) return false;
  if (to > widestRange * from)
    return noRate === 'late'
      ? say`After a pause about ${duration(from)} would be left, at a slower rate about ${duration(to)}.`
      : say`At the fastest recent rate about ${duration(from)} are left, at the slowest about ${duration(to)}.`;
  return say`About ${durationRange(from, to)} left${doneAbout(checkedAt, from, to, clock)}.`;
}

/** `8 to 12 min`, `50 s to 2 min`, or one duration if both ends are the same in words. */
function durationRange(from: number, to: number): SafeText {
  const [first, last] = [humanDuration(from), humanDuration(to)];
  if (first === last) return say`${duration(from)}`;
  const [count, ...units] = first.split(' ');
  return units.join(' ') === last.split(' ').slice(1).join(' ')
    ? say`${Number(count)} to ${duration(to)}`
    : say`${duration(from)} to ${duration(to)}`;
}

/** Times of day are told for ends in more than a minute and less than a day. */
const [soonSeconds, daySeconds] = [60, 86_400];

function doneAbout(checkedAt: string | undefined, from: number, to: number, { timeOfDay, zoneAt }: Clock): SafeText {
  const now = Date.parse(checkedAt ?? '');
  if (Number.isNaN(now) || to <= soonSeconds || to >= daySeconds) return words('');
  const after = (seconds: number) => new Date(now + 1000 * seconds).toISOString();
  const [first, last] = [timeOfDay(after(from)), timeOfDay(after(to))];
  const times = first.equals(last) ? last : say`${first} to ${last}`;
  return say`, done about ${times} ${zoneAt(after(to))}`;
}

function rate(
  { bytesPerSecond, bytesPerSecondBefore: before, rateSince, ...rest }: Summary,
  { timeOfDay, zoneAt }: Clock,
): SafeText | false {
  if (bytesPerSecond === undefined) return whyNoRate(rest);
  const now = say`${bytes(bytesPerSecond)}/s`;
  if (before === undefined || rateSince === undefined) return say`Rate ${now}.`;
  const change = words(bytesPerSecond < before ? 'Slower' : 'Faster');
  return say`${change} since ${timeOfDay(rateSince)} ${zoneAt(rateSince)}: ${now} instead of ${bytes(before)}/s.`;
}

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

/** Number of ranges that a sentence names. */
const maximumNamed = 5;

function absent(summary: Summary): SafeText[] {
  const {
    inFlight,
    inFlightCount = 0,
    inFlightSeconds,
    passedOver,
    toCome,
    percent,
    partCount = 0,
    highestPart,
  } = summary;
  if (percent === 100)
    return passedOver === undefined ? [] : [say`${capital(passedOver)} ${are(passedOver)} not used.`];
  const long = inFlightSeconds === undefined ? words('') : say` for ${duration(inFlightSeconds)}`;
  const isWhole = partCount > 0 && [inFlight, passedOver, toCome].every((ranges) => ranges === undefined);
  return sentences(
    inFlight !== undefined && say`${capital(inFlight)} ${are(inFlight)} probably in flight${long}.`,
    inFlight === undefined &&
      inFlightCount > 0 &&
      say`About ${counted(inFlightCount, 'part')} ${words(inFlightCount === 1 ? 'is' : 'are')} in flight; they come in no order.`,
    passedOver !== undefined &&
      say`${capital(passedOver)} ${are(passedOver)} passed over: the client may leave numbers out, or ${words(isOne(passedOver) ? 'it' : 'they')} failed.`,
    toCome !== undefined && say`${capital(toCome)} ${are(toCome)} still to come.`,
    isWhole && inFlightCount === 0 && say`No gaps up to part ${highestPart ?? 0}.`,
  );
}

const are = (ranges: Ranges) => words(isOne(ranges) ? 'is' : 'are');

const capital = (ranges: Ranges) => sentence(named(ranges));

function unusable({ tooSmallCount = 0, tooSmall, duplicates = [] }: Summary): SafeText[] {
  const found: SafeText[] = [];
  if (tooSmallCount > 0) {
    const sizes = (tooSmall ?? []).map(({ partSize = 0 }) => partSize);
    const smallest = bytes(Math.min(...sizes));
    const remedy = words('by convention, all parts but the last need 5 MiB. Upload');
    found.push(
      tooSmallCount === 1
        ? say`${capital(tooSmall)} is too small (${smallest}): ${remedy} it again under the same number.`
        : say`${capital(tooSmall)} are too small (the smallest has ${smallest}): ${remedy} them again under the same numbers.`,
    );
  }
  if (duplicates.length > 0) found.push(say`The cloud listed ${named(duplicates)} twice.`);
  return found;
}

const isOne = (ranges: Ranges) => countOf(known(ranges)) === 1;

const known = (ranges: Ranges) => (ranges ?? []).map(({ from = 0, to = from }) => ({ from, to }));

/** `part 5`, `parts 5 and 11–12`, `parts 1, 3, 5, 7, 9 and others`. */
function named(ranges: Ranges): SafeText {
  const all = known(ranges).map(({ from, to }) => (from === to ? say`${from}` : say`${from}–${to}`));
  const shown = all.length > maximumNamed ? [...all.slice(0, maximumNamed), words('others')] : all;
  return say`${words(isOne(ranges) ? 'part' : 'parts')} ${listed(shown)}`;
}

/** Says how to find upload IDs if no tool lists them. */
export const uploadIdsElsewhere = words('Upload IDs cannot be listed here: they are in the log of the uploader.');
