import { humanBytes, humanDuration } from '../../src/util/human.js';
import { type PackablePart, partsKey, unpackParts } from '../contract/parts.js';
import { type Fields, numberOf, textOf, timeOf } from '../contract/read.js';
import type { ToolResult } from '../host/host.js';

/** What one look at an upload found. Sizes in bytes, times in milliseconds since 1970. */
export interface Upload {
  readonly bucket: string;
  readonly key: string;
  readonly uploadId: string;
  /** The tool's own words. */
  readonly summary: string;
  readonly partCount: number;
  readonly totalBytes: number;
  /** In order of their numbers; undefined where the answer did not bring them. */
  readonly parts: readonly PackablePart[] | undefined;
  /** Sizes are rounded to a multiple of this; 1 if they are exact. */
  readonly sizeUnit: number;
  /** Part numbers that the whole upload has, as far as can be told: the highest that is there or expected. */
  readonly numbers: number;
  readonly percent: number | undefined;
  readonly bytesPerSecond: number | undefined;
  readonly secondsLeft: number | undefined;
  readonly firstUploadedAt: number | undefined;
  readonly lastUploadedAt: number | undefined;
  /** The service's time when it answered. */
  readonly checkedAt: number | undefined;
}

/** Ten times as many as the API has. What an answer or an argument claims beyond that is not drawn. */
const maximumNumbers = 100_000;

/** Reads a result of `list_parts` that is not an error. */
export function readUpload({ structured, text, meta }: ToolResult, args: Fields): Upload {
  const { parts, sizeUnit } = partsOf(meta);
  return {
    bucket: textOf(structured.bucket) ?? textOf(args.bucket) ?? '',
    key: textOf(structured.object) ?? textOf(args.object) ?? '',
    uploadId: textOf(structured.uploadId) ?? textOf(args.uploadId) ?? '',
    summary: textOf(structured.summary) ?? text.split('\n')[0] ?? '',
    partCount: numberOf(structured.partCount) ?? parts?.length ?? 0,
    totalBytes: numberOf(structured.totalBytes) ?? 0,
    parts,
    sizeUnit,
    numbers: Math.min(maximumNumbers, Math.max(parts?.at(-1)?.partNumber ?? 0, expectedNumbers(args, parts))),
    percent: numberOf(structured.percent),
    bytesPerSecond: numberOf(structured.bytesPerSecond),
    secondsLeft: numberOf(structured.estimatedSecondsLeft),
    firstUploadedAt: timeOf(structured.firstUploadedAt),
    lastUploadedAt: timeOf(structured.lastUploadedAt),
    checkedAt: timeOf(structured.checkedAt),
  };
}

function partsOf(meta: Fields): Pick<Upload, 'parts' | 'sizeUnit'> {
  const packed = textOf(meta[partsKey]);
  try {
    if (packed !== undefined) return unpackParts(packed);
  } catch {
    // Of another version, or cut on the way: the summary has the figures.
  }
  return { parts: undefined, sizeUnit: 1 };
}

/** Without a number of parts, the size of the whole and of the first part says how many there will be. */
function expectedNumbers(args: Fields, parts: readonly PackablePart[] | undefined): number {
  const given = Number(args.expectedParts);
  if (Number.isSafeInteger(given)) return given;
  const bytes = Number(args.expectedBytes);
  const partSize = parts?.[0]?.size ?? 0;
  return Number.isSafeInteger(bytes) && partSize > 0 ? Math.ceil(bytes / partSize) : 0;
}

/** Smaller parts, other than the last, make services refuse to complete an upload. */
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
    const small = size < minimumPartSize && partNumber !== highest;
    states[partNumber - 1] = small ? 'small' : seen?.has(partNumber) === false ? 'new' : 'there';
  }
  return states;
}

/** Whether no part has come for so long that more can hardly be expected: by the rule of the tool's summary. */
export function hasStopped({ firstUploadedAt, lastUploadedAt, checkedAt, partCount, percent }: Upload): boolean {
  if (lastUploadedAt === undefined || checkedAt === undefined || percent === 100) return false;
  const usual = (lastUploadedAt - (firstUploadedAt ?? lastUploadedAt)) / Math.max(1, partCount - 1);
  return checkedAt - lastUploadedAt > Math.max(120_000, 5 * usual);
}

export const isComplete = ({ percent }: Upload): boolean => percent !== undefined && percent >= 100;

/** How much is there, of how much. */
export function amountText({ partCount, totalBytes, percent }: Upload, args: Fields): string {
  const of = (value: unknown, shown: (value: number) => string) =>
    Number.isSafeInteger(Number(value)) && value !== undefined ? ` of ${shown(Number(value))}` : '';
  return [
    `${partCount.toLocaleString('en')}${of(args.expectedParts, (parts) => parts.toLocaleString('en'))} parts`,
    `${humanBytes(totalBytes)}${of(args.expectedBytes, humanBytes)}`,
    ...(percent === undefined ? [] : [`${percent} %`]),
  ].join(' · ');
}

/** How it goes, in one sentence. */
export function progressText(upload: Upload, formatTime: (time: number) => string): string {
  const { partCount, lastUploadedAt, checkedAt, bytesPerSecond, secondsLeft } = upload;
  if (partCount === 0) return 'No part has arrived yet.';
  if (isComplete(upload)) return 'All of it is there. The upload still has to be completed by its client.';
  if (lastUploadedAt !== undefined && checkedAt !== undefined && hasStopped(upload))
    return `No part since ${formatTime(lastUploadedAt)}: the upload has stood still for ${humanDuration((checkedAt - lastUploadedAt) / 1000)}.`;
  return [
    ...(bytesPerSecond === undefined ? ['Parts are arriving.'] : [`${humanBytes(bytesPerSecond)} a second.`]),
    ...(secondsLeft === undefined ? [] : [`About ${humanDuration(secondsLeft)} left.`]),
  ].join(' ');
}
