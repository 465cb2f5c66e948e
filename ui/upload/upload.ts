import { partsKey, unpackParts } from '../../src/mcp/views/contract/parts.js';
import { type Fields, fieldsOf, numberOf, textOf, timeOf } from '../../src/mcp/views/contract/read.js';
import type { UploadPart } from '../../src/tools/upload/part.js';
import { humanBytes, humanDuration } from '../../src/util/human.js';
import type { ToolResult } from '../host/host.js';
import type { FormatTime } from '../shared/appearance.js';

/** What one look at an upload found. Sizes in bytes, times in milliseconds since 1970. */
export interface Upload {
  /** Name of the account, where accounts have names. */
  readonly account: string | undefined;
  readonly bucket: string;
  readonly object: string;
  readonly uploadId: string;
  /** The tool's own words. */
  readonly summary: string;
  readonly partCount: number;
  readonly totalBytes: number;
  readonly expectedParts: number | undefined;
  readonly expectedBytes: number | undefined;
  /** In order of their numbers; undefined where the answer did not bring them. */
  readonly parts: readonly UploadPart[] | undefined;
  /** Sizes are rounded to a multiple of this; 1 if they are exact. */
  readonly unit: number;
  /** Part numbers that the whole upload has, as far as can be told: up to the highest that is there or to come. */
  readonly numbers: number;
  readonly percent: number | undefined;
  readonly bytesPerSecond: number | undefined;
  readonly secondsLeft: number | undefined;
  /** It has stood still for longer than its parts usually took. */
  readonly stopped: boolean;
  readonly idleSeconds: number | undefined;
  readonly lastUploadedAt: number | undefined;
  /** The service's time when it answered. */
  readonly checkedAt: number | undefined;
}

/** Ten times as many as the API has. What an answer claims beyond that is not drawn. */
const maximumNumbers = 100_000;

/** Reads a result of `list_parts` that is not an error. */
export async function readUpload({ structured, text, meta }: ToolResult, args: Fields): Promise<Upload> {
  const answer = fieldsOf(structured.answer);
  // What cannot be unpacked is of another version, or was cut on the way: the summary has the figures.
  const { parts, unit = 1 } = (await unpackParts(textOf(meta[partsKey]) ?? '')) ?? {};
  const last = Math.max(parts?.at(-1)?.partNumber ?? 0, numberOf(fieldsOf(answer.toCome).to) ?? 0);
  return {
    account: textOf(structured.account),
    bucket: textOf(answer.bucket) ?? textOf(args.bucket) ?? '',
    object: textOf(answer.object) ?? textOf(args.object) ?? '',
    uploadId: textOf(answer.uploadId) ?? textOf(args.uploadId) ?? '',
    summary: textOf(structured.summary) ?? text.split('\n')[0] ?? '',
    partCount: numberOf(answer.partCount) ?? parts?.length ?? 0,
    totalBytes: numberOf(answer.totalBytes) ?? 0,
    expectedParts: numberOf(answer.expectedParts),
    expectedBytes: numberOf(answer.expectedBytes),
    parts,
    unit,
    numbers: Math.min(maximumNumbers, last),
    percent: numberOf(answer.percent),
    bytesPerSecond: numberOf(answer.bytesPerSecond),
    secondsLeft: numberOf(answer.estimatedSecondsLeft),
    stopped: answer.stopped === true,
    idleSeconds: numberOf(answer.idleSeconds),
    lastUploadedAt: timeOf(answer.lastUploadedAt),
    checkedAt: timeOf(answer.checkedAt),
  };
}

/** Smaller parts, other than the last, make services refuse to complete an upload: as the tool's summary has it. */
const minimumPartSize = 5 * 1024 * 1024;

export const partStates = ['there', 'new', 'small', 'missing', 'expected'] as const;

/** There, there since the last look, there but too small, not there though a higher number is, and still to come. */
export type PartState = (typeof partStates)[number];

/** The state of every part number from 1 to `numbers`, at index number - 1. */
export function statesOf({ parts = [], numbers }: Upload, before: Upload | undefined): PartState[] {
  const highest = parts.at(-1)?.partNumber ?? 0;
  const states = Array.from({ length: numbers }, (_, index): PartState => (index < highest ? 'missing' : 'expected'));
  const seen = before?.parts === undefined ? undefined : new Set(before.parts.map(({ partNumber }) => partNumber));
  for (const { partNumber, size } of parts) {
    if (partNumber < 1 || partNumber > numbers) continue;
    const small = size < minimumPartSize && partNumber < numbers;
    states[partNumber - 1] = small ? 'small' : seen?.has(partNumber) === false ? 'new' : 'there';
  }
  return states;
}

export const isComplete = ({ percent }: Upload): boolean => percent !== undefined && percent >= 100;

/** How much is there, of how much. */
export function amountText({ partCount, totalBytes, expectedParts, expectedBytes, percent }: Upload): string {
  const ofParts = expectedParts === undefined ? '' : ` of ${expectedParts.toLocaleString('en')}`;
  const ofBytes = expectedBytes === undefined ? '' : ` of ${humanBytes(expectedBytes)}`;
  return [
    `${partCount.toLocaleString('en')}${ofParts} ${partCount === 1 && ofParts === '' ? 'part' : 'parts'}`,
    `${humanBytes(totalBytes)}${ofBytes}`,
    ...(percent === undefined ? [] : [`${percent}%`]),
  ].join(' · ');
}

/** How it goes, in one sentence. */
export function progressText(upload: Upload, formatTime: FormatTime): string {
  const { partCount, lastUploadedAt, idleSeconds, stopped, bytesPerSecond, secondsLeft } = upload;
  if (partCount === 0) return 'No part has arrived yet.';
  if (isComplete(upload)) return 'All of it is there. The upload still has to be completed by its client.';
  if (stopped && lastUploadedAt !== undefined)
    return `No part since ${formatTime(lastUploadedAt)}: the upload has stood still for ${humanDuration(idleSeconds ?? 0)}.`;
  const left = secondsLeft === undefined ? '' : ` About ${humanDuration(secondsLeft)} left.`;
  if (bytesPerSecond !== undefined) return `${humanBytes(bytesPerSecond)} a second.${left}`;
  return idleSeconds === undefined
    ? 'Parts are there.'
    : `The last part arrived ${humanDuration(idleSeconds)} before this answer.`;
}
