import type * as z from 'zod';
import { sentences } from '../../util/human.js';
import {
  bytes,
  counted,
  duration,
  forReader,
  join,
  listed,
  quoted,
  type SafeText,
  say,
  words,
} from '../../util/safe-text.js';
import type { Lenient } from '../define-operation.js';
import { callAgain, type Next, next as nextStep } from '../next.js';
import { longestKey } from './read-list.js';
import type { summaryFields } from './summary.js';

/** This file describes an upload in sentences, and the next step. */

/** A summary as it is read back from an answer. */
export type Summary = Lenient<z.output<z.ZodObject<ReturnType<typeof summaryFields>>>>;

/** Describes a summary, the most urgent first. `upload` is the subject. */
export const summarySentences = (summary: Summary, upload: SafeText): SafeText =>
  join([contentSentence(summary, upload), ...paceSentences(summary), ...missingSentences(summary)], ' ');

export function beginningSentences(summary: Summary, upload: SafeText, isLonger: boolean): SafeText {
  const { partCount = 0, totalBytes, highestPart } = summary;
  const more = words(isLonger ? 'has more parts than were read' : 'may have more parts than were read');
  const known =
    partCount === 0
      ? words('none was read')
      : say`the first ${partCount}, up to part ${highestPart ?? 0}, have ${sizeText(totalBytes)}`;
  return say`${upload} ${more}: ${known}. How far it is, and how fast it goes, is left out.`;
}

/** NaN if the service did not give all sizes. */
const sizeText = (size = Number.NaN) => (size >= 0 ? bytes(size) : words('an unknown size'));

function contentSentence(summary: Summary, upload: SafeText): SafeText {
  const { partCount = 0, totalBytes, ageHours, isListed } = summary;
  if (partCount > 0)
    return say`${upload} has ${counted(partCount, 'part')}, ${sizeText(totalBytes)}${progressText(summary)}.`;
  if (isListed === undefined)
    return say`${upload} has no parts; whether it is open could not be checked in the list of uploads.`;
  if (!isListed)
    return say`${upload} has no parts and is not listed among the open uploads: it was probably completed or aborted.`;
  const since = ageHours === undefined ? words('is listed as open') : say`was started ${hoursAgo(ageHours)}`;
  return say`${upload} ${since} and has no parts yet.`;
}

/** Continues a sentence: `: 12.5% of the 3 parts expected`. */
function progressText({ percent, hasMore, expectedBytes, expectedParts }: Summary): SafeText {
  if (percent === 100) return words(': all that is expected');
  const expected = expectedBytes === undefined ? counted(expectedParts ?? 0, 'part') : bytes(expectedBytes);
  if (percent !== undefined) return say`: ${percent}% of the ${expected} expected`;
  return words(hasMore === true ? ', more than expected: check that figure and the upload ID' : '');
}

/** Describes rate, age and time left, or says why they are left out. */
export function paceSentences(summary: Summary): SafeText[] {
  const { partCount, stopped, percent, idleSeconds, secondsLeft, sinceFirstSeconds: age, timesContradict } = summary;
  if (timesContradict)
    return [
      say`The times in the list, of the answer and of this machine differ by more than 15 minutes, so no age, rate or end is given.`,
    ];
  if (percent === 100) return [say`It still has to be completed.`];
  if (partCount === 0) return [];
  if (idleSeconds === undefined) return [say`The answer has no usable times, so no age, rate or end is given.`];
  if (stopped) return [say`It seems to have stopped ${duration(idleSeconds)} ago.`];
  const first = age === undefined || partCount === 1 ? words('') : say`, the first one ${duration(age)} ago`;
  return sentences(
    rateSentence(summary),
    say`The last part came ${duration(idleSeconds)} ago${first}.`,
    secondsLeft !== undefined &&
      say`About ${duration(secondsLeft.from ?? 0)} to ${duration(secondsLeft.to ?? 0)} left.`,
  );
}

function rateSentence({ bytesPerSecond, bytesPerSecondBefore }: Summary): SafeText | false {
  if (bytesPerSecond === undefined) return false;
  const before =
    bytesPerSecondBefore === undefined ? words('') : say`, slower lately: ${bytes(bytesPerSecondBefore)}/s before`;
  return say`Rate ${bytes(bytesPerSecond)}/s over the last parts${before}.`;
}

/** A time by its age: `3 h ago`. */
export const hoursAgo = (hours: number): SafeText =>
  hours === 0 ? words('less than an hour ago') : say`${duration(hours * 3600)} ago`;

function missingSentences(summary: Summary): SafeText[] {
  const { missing, percent, partCount, highestPart, stopped, tooSmallCount = 0 } = summary;
  if (partCount === 0) return [];
  const again = counted(tooSmallCount, 'part');
  const small =
    tooSmallCount === 0 ? [] : [say`To be sent again, because all parts but the last need 5 MiB: ${again}.`];
  const why = words(stopped ? 'failed, or left out by the client' : 'in flight, failed, or left out by the client');
  // If the upload is complete, the client has left the missing numbers out.
  if (percent === 100) return missing === undefined ? [] : [say`Numbers not used: ${named(missing)}.`];
  if (missing === undefined) return [say`No gaps up to part ${highestPart ?? 0}.`, ...small];
  return [say`Parts missing: ${named(missing)} (${why}).`, ...small];
}

/** `5 and 11–12`, or `1, 3, 5, 7, 9 and others`. */
function named(ranges: Summary['missing'] = []): SafeText {
  const numbers = ranges.map(({ from = 0, to = from }) => (from === to ? say`${from}` : say`${from}–${to}`));
  return listed(numbers.length > 5 ? [...numbers.slice(0, 5), words('others')] : numbers);
}

export function pageSentences(page: {
  readonly object?: string | undefined;
  readonly parts?: readonly { readonly size?: number | undefined }[] | undefined;
  readonly isTruncated?: boolean | undefined;
  readonly partNumberMarker?: number | undefined;
}): SafeText {
  const { object = '', parts = [], isTruncated, partNumberMarker = 0 } = page;
  const size = sizeText(parts.reduce((sum, { size = Number.NaN }) => sum + size, 0));
  const after = partNumberMarker === 0 ? words('') : say` after number ${partNumberMarker}`;
  const more = words(isTruncated === undefined ? 'More may follow.' : isTruncated ? 'More follow.' : 'No more follow.');
  return say`${counted(parts.length, 'part')} of ${quoted(object, longestKey)} on this page${after}, ${size}. ${more}`;
}

export function nextOfUpload(
  { partCount = 0, percent, stopped, secondsLeft, isListed }: Summary,
  canAbort: boolean,
): Next {
  // The client still has to send the request that makes the parts an object.
  if (percent === 100) {
    const tell = forReader({ agent: 'Tell the user that the', person: 'The' });
    return nextStep('user', 'check', say`${tell} client that uploads has to complete it: no tool here does.`);
  }
  const findOutWhether = forReader({ agent: 'Ask the user whether', person: 'Check whether' });
  if (isListed === false)
    return nextStep(
      'user',
      'ask',
      say`${findOutWhether} the upload was completed: then the object exists. Otherwise check bucket, object and uploadId.`,
    );
  if (partCount === 0)
    return nextStep(
      'user',
      'ask',
      say`${findOutWhether} the client that uploads has begun to send parts, and what its log says.`,
    );
  if (stopped === true) {
    const abortAdvice = forReader({
      agent: 'if they want the upload gone, call abort_multipart_upload',
      person: 'abort_multipart_upload deletes the upload',
    });
    const howToAbort = canAbort ? abortAdvice : words('the person who runs this server can abort the upload');
    return nextStep(
      'user',
      'ask',
      say`${findOutWhether} the client that uploads still runs. If it does, its log says why it waits. If not, it can be started again with the same upload ID; ${howToAbort}.`,
    );
  }
  // A tenth of the time left, but 30 s to 10 min.
  const wait = Math.min(Math.max(Math.round((secondsLeft?.from ?? 0) / 10), 30), 600);
  const toFollow = forReader({ agent: 'If the user wants to', person: 'To' });
  return nextStep(
    'agent',
    'wait',
    say`${toFollow} follow it, ${callAgain} with the same arguments in about ${wait} s.`,
  );
}
