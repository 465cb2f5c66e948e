import type * as z from 'zod';
import { counted, humanBytes, humanDuration, listed, sentences } from '../../util/human.js';
import type { Lenient } from '../define-operation.js';
import { countOf, type summaryFields } from './summary.js';

/** A summary as its reader may find it: any field may be missing. */
export type Summary = Lenient<z.output<z.ZodObject<ReturnType<typeof summaryFields>>>>;

/** What a summary means, in sentences, the most urgent first. `upload` names it: `The upload of "…"`. */
export function summarySentences(summary: Summary, upload: string): string {
  const { partCount = 0, totalBytes = 0 } = summary;
  const whole =
    partCount === 0
      ? `${upload} is open and has no parts yet.`
      : `${upload} has ${counted(partCount, 'part')}, ${humanBytes(totalBytes)}${doneOf(summary)}.`;
  return [
    ...contradictions(summary),
    ...stop(summary),
    whole,
    ...pace(summary),
    ...absent(summary),
    ...unusable(summary),
  ].join(' ');
}

function doneOf({ percent, expectedBytes, expectedParts }: Summary): string {
  if (percent === undefined) return '';
  const expected = expectedBytes === undefined ? counted(expectedParts ?? 0, 'part') : humanBytes(expectedBytes);
  return percent === 100 ? ': all that is expected' : `: ${percent}% of the ${expected} expected`;
}

function contradictions({ highestPart = 0, totalBytes = 0, expectedParts, expectedBytes }: Summary): string[] {
  const found = [];
  if (expectedParts !== undefined && highestPart > expectedParts)
    found.push(`expectedParts is ${expectedParts}, but part ${highestPart} is there.`);
  if (expectedBytes !== undefined && totalBytes > expectedBytes)
    found.push(`expectedBytes is ${expectedBytes}, but ${totalBytes} bytes are there.`);
  return found.length === 0 ? [] : [...found, 'Check that figure and the upload ID; progress is left out.'];
}

function stop({
  stopped,
  idleSeconds = 0,
  bytesPerSecondBeforeStop: before,
  secondsLeftIfResumed: left,
}: Summary): string[] {
  if (!stopped) return [];
  const ago = `The upload seems to have stopped ${humanDuration(idleSeconds)} ago`;
  return sentences(
    before === undefined ? `${ago}.` : `${ago}; it was going at ${humanBytes(before)}/s.`,
    left !== undefined && `Resumed at that rate, it would take about ${humanDuration(left)} more.`,
  );
}

function pace({
  partCount,
  stopped,
  percent,
  bytesPerSecond,
  idleSeconds,
  estimatedSecondsLeft: left,
}: Summary): string[] {
  if (percent === 100) return ['It still has to be completed.'];
  if (partCount === 0 || stopped) return [];
  return sentences(
    bytesPerSecond !== undefined && `Rate ${humanBytes(bytesPerSecond)}/s.`,
    idleSeconds !== undefined && `Last part ${humanDuration(idleSeconds)} ago.`,
    left !== undefined && `About ${humanDuration(left)} left.`,
    bytesPerSecond === undefined && 'There is no steady rate to go by.',
  );
}

type Ranges = Summary['missing'];

/** How many ranges a sentence names. */
const maximumNamed = 5;

function absent({
  highestPart,
  missingCount = 0,
  missing,
  toCome,
  stopped,
  percent,
  partCount = 0,
}: Summary): string[] {
  const later =
    toCome === undefined ? [] : [`${sentenceCase(named([toCome]))} ${isOne([toCome]) ? 'is' : 'are'} still to come.`];
  if (missingCount === 0) return partCount === 0 ? later : [`No gaps up to part ${highestPart}.`, ...later];
  const are = missingCount === 1 ? 'is' : 'are';
  const which = sentenceCase(named(missing));
  if (percent === 100) return [`${which} ${are} not there, though all expected bytes are.`];
  const perhaps = missingCount === 1 ? 'it may be in flight' : 'they may be in flight';
  return [`${which} ${are} missing${stopped ? '' : `; ${perhaps}`}.`, ...later];
}

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
  if (duplicates.length > 0) found.push(`The service listed ${named(duplicates)} twice.`);
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

const sentenceCase = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
