import type * as z from 'zod';
import { counted, humanBytes, humanDuration, listed, sentenceCase, sentences } from '../../util/human.js';
import type { Lenient } from '../define-operation.js';
import { countOf } from './ranges.js';
import type { summaryFields } from './summary.js';

/** A summary read back from an answer: any field may be missing. */
export type Summary = Lenient<z.output<z.ZodObject<ReturnType<typeof summaryFields>>>>;

/** What a summary means, in sentences, the most urgent first. `upload` names it: `The upload of "…"`. */
export function summarySentences(summary: Summary, upload: string): string {
  return [
    ...contradictions(summary),
    ...stop(summary),
    whole(summary, upload),
    ...paceSentences(summary),
    ...absent(summary),
    ...unusable(summary),
  ].join(' ');
}

/** What the first parts of an upload are, where its list is longer than one call reads. */
export function beginningSentences(summary: Summary, upload: string): string {
  const { partCount = 0, totalBytes = 0, highestPart } = summary;
  return [
    `${upload} has more parts than were read: the first ${partCount}, up to part ${highestPart ?? 0}, have ${humanBytes(totalBytes)}.`,
    'How far it is, and how fast it goes, is left out.',
    ...unusable(summary),
  ].join(' ');
}

function whole(summary: Summary, upload: string): string {
  const { partCount = 0, totalBytes = 0, startedAt, checkedAt } = summary;
  if (partCount > 0) return `${upload} has ${counted(partCount, 'part')}, ${humanBytes(totalBytes)}${doneOf(summary)}.`;
  const age = secondsBetween(startedAt, checkedAt);
  const since = age === undefined ? 'is open' : `was started ${humanDuration(age)} ago`;
  return `${upload} ${since} and has no parts yet.`;
}

/** Seconds from one time to a later one; undefined if one cannot be read. */
function secondsBetween(from: string | undefined, to: string | undefined): number | undefined {
  const ms = Date.parse(to ?? '') - Date.parse(from ?? '');
  return Number.isNaN(ms) ? undefined : Math.max(0, ms / 1000);
}

function doneOf({ percent, percentWithInFlight: atMost, expectedBytes, expectedParts }: Summary): string {
  if (percent === undefined) return '';
  const expected = expectedBytes === undefined ? counted(expectedParts ?? 0, 'part') : humanBytes(expectedBytes);
  if (percent === 100) return ': all that is expected';
  // With what is in flight, nobody can tell it to a tenth.
  const share = atMost === undefined ? `${percent}%` : `${Math.floor(percent)} to ${Math.ceil(atMost)}%`;
  return `: ${share} of the ${expected} expected`;
}

function contradictions(summary: Summary): string[] {
  const { highestPart = 0, totalBytes = 0, expectedParts, expectedBytes, percent } = summary;
  const found = [];
  if (percent === undefined && expectedParts !== undefined && highestPart > expectedParts)
    found.push(`expectedParts is ${expectedParts}, but part ${highestPart} is there.`);
  if (expectedBytes !== undefined && totalBytes > expectedBytes)
    found.push(`expectedBytes is ${expectedBytes}, but ${totalBytes} bytes are there.`);
  return found.length === 0 ? [] : [...found, 'Check that figure and the upload ID; progress is left out.'];
}

function stop({
  stopped,
  idleSeconds = 0,
  bytesPerSecondBefore: before,
  secondsLeftIfResumed: left,
}: Summary): string[] {
  if (!stopped) return [];
  const ago = `The upload seems to have stopped ${humanDuration(idleSeconds)} ago`;
  return sentences(
    before === undefined ? `${ago}.` : `${ago}; it was going at ${humanBytes(before)}/s.`,
    left !== undefined && `Resumed at that rate, it would take about ${humanDuration(left)} more.`,
  );
}

/** A time of day for those who may be anywhere. */
const inUtc = (time: string) => `${time.slice(11, 16)} UTC`;

/**
 * How it goes: the rate, what changed about it, and the time that is left, or why there is none.
 * @param timeOfDay writes a time in ISO 8601
 */
export function paceSentences(summary: Summary, timeOfDay = inUtc): string[] {
  const { partCount, stopped, percent, idleSeconds, estimatedSecondsLeft: left, secondsLeftBetween } = summary;
  if (percent === 100) return ['It still has to be completed.'];
  if (partCount === 0 || stopped) return [];
  const [least, most] = secondsLeftBetween ?? [];
  const range = least === undefined || most === undefined ? '' : `${humanDuration(least)} to ${humanDuration(most)}`;
  return sentences(
    rate(summary, timeOfDay),
    idleSeconds !== undefined && `Last part ${humanDuration(idleSeconds)} ago.`,
    left === undefined
      ? range !== '' && `Between ${range.replace(' to ', ' and ')} left.`
      : `About ${humanDuration(left)} left${range === '' ? '' : ` (${range})`}.`,
  );
}

function rate(
  { bytesPerSecond, bytesPerSecondBefore: before, rateSince, ...rest }: Summary,
  timeOfDay: (time: string) => string,
): string | false {
  if (bytesPerSecond === undefined) return whyNoRate(rest);
  const now = `${humanBytes(bytesPerSecond)}/s`;
  if (before === undefined || rateSince === undefined) return `Rate ${now}.`;
  const change = bytesPerSecond < before ? 'Slower' : 'Faster';
  return `${change} since ${timeOfDay(rateSince)}: ${now} instead of ${humanBytes(before)}/s.`;
}

function whyNoRate({ noRate, rateInSeconds: seconds }: Summary): string | false {
  const inTime = seconds === undefined || seconds <= 0 ? undefined : `in about ${humanDuration(seconds)}`;
  switch (noRate) {
    case 'begun':
      return `The first parts are arriving: there will be a rate ${inTime ?? 'after a few more'}.`;
    case 'one round':
      return 'All parts so far may have been sent at once, so there is no rate until more come.';
    case 'slow round':
      return `The last parts took much longer than those before: a pause, or a slower rate. The next ones will tell, ${inTime ?? 'which are due'}.`;
    case 'late':
      return seconds === undefined || seconds >= 0
        ? 'The next part is late: a pause, or a slower rate.'
        : `The next part is ${humanDuration(-seconds)} late: a pause, or a slower rate.`;
    default:
      return false;
  }
}

type Ranges = Summary['inFlight'];

/** How many ranges a sentence names. */
const maximumNamed = 5;

function absent(summary: Summary): string[] {
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
    return passedOver === undefined ? [] : [`${sentenceCase(named(passedOver))} ${are(passedOver)} not used.`];
  const long = inFlightSeconds === undefined ? '' : ` for ${humanDuration(inFlightSeconds)}`;
  const isWhole = partCount > 0 && [inFlight, passedOver, toCome].every((ranges) => ranges === undefined);
  return sentences(
    inFlight !== undefined && `${sentenceCase(named(inFlight))} ${are(inFlight)} probably in flight${long}.`,
    inFlight === undefined &&
      inFlightCount > 0 &&
      `About ${counted(inFlightCount, 'part')} ${inFlightCount === 1 ? 'is' : 'are'} in flight; they come in no order.`,
    passedOver !== undefined &&
      `${sentenceCase(named(passedOver))} ${are(passedOver)} passed over: the client may number so, or ${isOne(passedOver) ? 'it' : 'they'} failed.`,
    toCome !== undefined && `${sentenceCase(named(toCome))} ${are(toCome)} still to come.`,
    isWhole && inFlightCount === 0 && `No gaps up to part ${highestPart}.`,
  );
}

const are = (ranges: Ranges) => (isOne(ranges) ? 'is' : 'are');

function unusable({ tooSmallCount = 0, tooSmall, duplicates = [] }: Summary): string[] {
  const found = [];
  if (tooSmallCount > 0) {
    const sizes = (tooSmall ?? []).map(({ partSize = 0 }) => partSize);
    const smallest = humanBytes(Math.min(...sizes));
    const remedy = 'by convention, all parts but the last need 5 MiB. Upload';
    found.push(
      tooSmallCount === 1
        ? `${sentenceCase(named(tooSmall))} is too small (${smallest}): ${remedy} it again under the same number.`
        : `${sentenceCase(named(tooSmall))} are too small (the smallest has ${smallest}): ${remedy} them again under the same numbers.`,
    );
  }
  if (duplicates.length > 0) found.push(`The cloud listed ${named(duplicates)} twice.`);
  return found;
}

const isOne = (ranges: Ranges) => countOf(known(ranges)) === 1;

const known = (ranges: Ranges) => (ranges ?? []).map(({ from = 0, to = from }) => ({ from, to }));

/** `part 5`, `parts 5 and 11–12`, `parts 1, 3, 5, 7, 9 and others`. */
function named(ranges: Ranges): string {
  const all = known(ranges).map(({ from, to }) => (from === to ? `${from}` : `${from}–${to}`));
  const shown = all.length > maximumNamed ? [...all.slice(0, maximumNamed), 'others'] : all;
  return `${isOne(ranges) ? 'part' : 'parts'} ${listed(shown)}`;
}

/** The way to upload IDs where no tool lists them. */
export const uploadIdsElsewhere =
  'Upload IDs cannot be listed here: they are in the log of the uploader, and `aws s3api list-multipart-uploads` lists them.';
