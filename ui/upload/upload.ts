import { partsKey } from '../../src/mcp/views/view-contract.js';
import { countOf, minimumPartSize, type Range, rangesOf, type UploadPart } from '../../src/tools/upload/part.js';
import { paceSentences } from '../../src/tools/upload/sentences.js';
import { humanBytes, humanDuration, listText } from '../../src/util/human.js';
import type { ToolResult } from '../host/host.js';
import type { FormatTime } from '../shared/appearance.js';
import { nameText } from '../shared/elements.js';
import { type Fields, fieldsOf, numberOf, readText, timeOf } from '../shared/read-fields.js';
import { readParts } from './read-parts.js';

/** The state of an upload at the time of one answer. Sizes are in bytes, and times in milliseconds since 1970. */
export interface Upload {
  /** Name of the account, if accounts have names. */
  readonly account: string | undefined;
  readonly bucket: string;
  readonly object: string;
  readonly uploadId: string;
  /** The summary of the tool's answer, which models also get. */
  readonly summary: string;
  readonly partCount: number;
  /** Undefined if the size of a part is unknown. */
  readonly totalBytes: number | undefined;
  readonly expectedParts: number | undefined;
  readonly expectedBytes: number | undefined;
  /** The stored parts, sorted by part number. Undefined if the answer does not list them. */
  readonly parts: readonly UploadPart[] | undefined;
  /** The highest part number that is stored or expected, up to `highestDrawn`. */
  readonly highestNumber: number;
  readonly percent: number | undefined;
  /** Speed and time left in the same sentences as in the tool's answer. */
  readonly pace: string;
  /** True if no part has arrived for a long time, so that no more parts are likely to come. */
  readonly stopped: boolean;
  readonly idleSeconds: number | undefined;
  readonly lastUploadedAt: number | undefined;
  /** The time of the answer, by the clock of the storage service. */
  readonly checkedAt: number | undefined;
}

/** Higher part numbers are not drawn. The documented API allows 10,000 parts, and other storage services may allow more. */
const highestDrawn = 100_000;

/** Reads a result of `list_parts` that is not an error. `args` are those of the call, and name the upload if the answer does not. */
export function readUpload({ structured, text, meta }: ToolResult, args: Fields): Upload {
  const answer = fieldsOf(structured.answer);

  // Without parts that can be read, the view shows only figures.
  const parts = readParts(meta[partsKey]);

  return {
    account: readText(structured.account),
    bucket: readText(answer.bucket) ?? readText(args.bucket) ?? '',
    object: readText(answer.object) ?? readText(args.object) ?? '',
    uploadId: readText(answer.uploadId) ?? readText(args.uploadId) ?? '',
    summary: readText(structured.summary) ?? text.split('\n')[0] ?? '',
    partCount: numberOf(answer.partCount) ?? parts?.length ?? 0,
    totalBytes: numberOf(answer.totalBytes),
    expectedParts: numberOf(answer.expectedParts),
    expectedBytes: numberOf(answer.expectedBytes),
    parts,
    highestNumber: Math.min(
      highestDrawn,
      Math.max(parts?.at(-1)?.partNumber ?? 0, numberOf(answer.expectedParts) ?? 0),
    ),
    percent: numberOf(answer.percent),
    // A single page of parts has no pace.
    pace: answer.view === 'parts' ? '' : paceIn(answer),
    stopped: answer.stopped === true,
    idleSeconds: numberOf(answer.idleSeconds),
    lastUploadedAt: timeOf(answer.lastUploadedAt),
    checkedAt: timeOf(answer.checkedAt),
  };
}

/** The tool's sentences about speed and time left. */
const paceIn = (answer: Fields): string =>
  paceSentences({
    partCount: numberOf(answer.partCount),
    idleSeconds: numberOf(answer.idleSeconds),
    sinceFirstSeconds: numberOf(answer.sinceFirstSeconds),
    timesContradict: answer.timesContradict === true,
    bytesPerSecond: numberOf(answer.bytesPerSecond),
    bytesPerSecondBefore: numberOf(answer.bytesPerSecondBefore),
    secondsLeft: rangeOfSeconds(answer.secondsLeft),
  }).join(' ');

function rangeOfSeconds(value: unknown) {
  const { from, to } = fieldsOf(value);
  return value === undefined ? undefined : { from: numberOf(from), to: numberOf(to) };
}

/** In this order: stored, stored since the last refresh, stored but too small, missing below a stored part, and still to come. */
export const partStates = ['there', 'new', 'small', 'missing', 'expected'] as const;
export type PartState = (typeof partStates)[number];

/** The states of the part numbers from 1 to `highestNumber`. The state of number 1 is at index 0. */
export function statesOf({ parts = [], highestNumber }: Upload, previous: Upload | undefined): PartState[] {
  const states = Array.from({ length: highestNumber }, (): PartState => 'expected');
  states.fill('missing', 0, Math.min(highestNumber, parts.at(-1)?.partNumber ?? 0));

  // If the previous parts are not known, no part counts as new.
  const previousNumbers = previous?.parts && new Set(previous.parts.map(({ partNumber }) => partNumber));
  for (const { partNumber, size } of parts) {
    if (partNumber < 1 || partNumber > highestNumber) continue;

    const isSmall = size < minimumPartSize && partNumber < highestNumber;
    const isNew = previousNumbers?.has(partNumber) === false;
    if (isSmall) states[partNumber - 1] = 'small';
    else states[partNumber - 1] = isNew ? 'new' : 'there';
  }
  return states;
}

export const isComplete = ({ percent }: Upload): boolean => percent !== undefined && percent >= 100;

/** Says how much has arrived, such as "12 of 16 parts · 96.0 MiB of 128 MiB · 75%". */
export function amountText(upload: Upload): string {
  const { partCount, totalBytes, expectedParts, expectedBytes } = upload;
  const ofParts = expectedParts === undefined ? '' : ` of ${expectedParts.toLocaleString('en')}`;
  const ofBytes = expectedBytes === undefined ? '' : ` of ${humanBytes(expectedBytes)}`;
  return [
    `${partCount.toLocaleString('en')}${ofParts} ${partCount === 1 && ofParts === '' ? 'part' : 'parts'}`,
    ...(totalBytes === undefined ? [] : [`${humanBytes(totalBytes)}${ofBytes}`]),
    ...shareTexts(upload),
  ].join(' · ');
}

/** The share of the bytes in percent, such as "75%". Empty if there is none to show. */
function shareTexts({ percent, partCount, expectedParts }: Upload): string[] {
  if (percent === undefined) return [];
  if (percent >= 1 || partCount === 0) return [`${percent}%`];
  // `percent` may be of the bytes. If the text shows at least 1% of the parts, "under 1%" would seem to contradict it.
  const showsMoreParts = expectedParts !== undefined && partCount >= 0.01 * expectedParts;
  return showsMoreParts ? [] : ['under 1%'];
}

/** States of part numbers that have to be sent: numbers that are missing, and parts that are too small. */
export const gapStates: readonly PartState[] = ['missing', 'small'];

/** Names the part numbers that have to be sent, or sent again. Empty if there are none. */
export function gapsText(states: readonly PartState[]): string {
  const sentenceAbout = (gapState: PartState, reason: string): string => {
    const numbers = states.flatMap((state, index) => (state === gapState ? [index + 1] : []));
    return numbers.length === 0 ? '' : `${reason}: ${rangesText(rangesOf(numbers))}.`;
  };
  const missing = sentenceAbout('missing', 'Missing');
  const tooSmall = sentenceAbout('small', 'To be sent again, because parts but the last need 5 MiB');
  return `${missing} ${tooSmall}`.trim();
}

/** The maximum number of ranges in a text. Of all further ranges, the text only says how many parts they have. */
const namedRanges = 12;

function rangesText(ranges: readonly Range[]): string {
  const shown = ranges.slice(0, namedRanges).map(({ from, to }) => (from === to ? `${from}` : `${from}–${to}`));
  const unnamedParts = countOf(ranges.slice(namedRanges));
  const all = unnamedParts === 0 ? shown : [...shown, `${unnamedParts.toLocaleString('en')} more`];
  return `${countOf(ranges) === 1 ? 'part' : 'parts'} ${listText(all)}`;
}

export function progressText(upload: Upload, formatTime: FormatTime): string {
  const { partCount, lastUploadedAt, idleSeconds, stopped, pace } = upload;
  if (partCount === 0) return 'No part has arrived yet.';
  if (isComplete(upload)) return 'All of it is there. The upload still has to be completed by its client.';
  if (stopped && lastUploadedAt !== undefined)
    return `No part since ${formatTime(lastUploadedAt)}: the upload has stood still for ${humanDuration(idleSeconds ?? 0)}.`;
  return pace === '' ? 'Parts are there.' : pace;
}

/** Describes a part, such as "Part 7 · 8 MiB · arrived …". `part` is undefined if it is not stored. */
export function partText(
  number: number,
  state: PartState | undefined,
  part: UploadPart | undefined,
  formatTime: FormatTime,
): string {
  const name = `Part ${number.toLocaleString('en')}`;
  if (part === undefined)
    return `${name} is ${state === 'missing' ? 'missing: in flight, failed, or left out by the client' : 'still to come'}.`;

  const { size, uploadedAt, etag } = part;
  const warning = state === 'small' ? ': too small, because parts but the last need 5 MiB' : '';
  const facts = [
    state === 'new' ? `${name}, new` : name,
    `${sizeText(size)}${warning}`,
    Number.isNaN(uploadedAt) ? 'time not known' : `arrived ${formatTime(uploadedAt)}`,
  ];
  if (etag !== undefined) facts.push(`ETag ${nameText(etag)}`);
  return facts.join(' · ');
}

const sizeText = (size: number): string =>
  size < 1024 ? humanBytes(size) : `${humanBytes(size)} (${size.toLocaleString('en')} bytes)`;
