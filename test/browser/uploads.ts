import { createHash } from 'node:crypto';
import type { CallToolResult } from '@modelcontextprotocol/client';
import { partColumns } from '../../src/mcp/views/results.js';
import { partsKey } from '../../src/mcp/views/view-contract.js';
import type { UploadPart } from '../../src/tools/upload/part.js';
import { summarise } from '../../src/tools/upload/summary.js';

export const mebibyte = 1024 * 1024;
export const start = Date.parse('2026-11-20T12:00:00Z');

/** Parts of 8 MiB, two seconds apart, with these numbers. */
export const partsOf = (
  numbers: readonly number[],
  part: (number: number) => Partial<UploadPart> = () => ({}),
): UploadPart[] =>
  numbers.map((partNumber) => ({
    partNumber,
    size: 8 * mebibyte,
    uploadedAt: start + 2000 * partNumber,
    etag: partNumber.toString(16).padStart(32, '0'),
    ...part(partNumber),
  }));

export const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

/** An upload of 400 parts, four at a time, of which some have been lost on the way and one is too small. */
const lost = [77, 78, 79, 142, 203];
export const partsOfFourHundred = partsOf(
  upTo(236).filter((number) => !lost.includes(number)),
  (number) => ({
    uploadedAt: Date.parse('2026-11-20T12:00:00Z') + 8000 * Math.floor(number / 4) + 40_000 * Math.sin(number / 40),
    etag: createHash('md5').update(`part ${number}`).digest('hex'),
    ...(number === 18 && { size: mebibyte }),
  }),
).map((part) => ({ ...part, uploadedAt: Math.round(part.uploadedAt / 1000) * 1000 }));
export const expected = { expectedParts: 400, expectedBytes: 400 * 8 * mebibyte };

export interface Named {
  readonly bucket?: string;
  readonly object?: string;
  /** Where accounts have names. */
  readonly account?: string;
}

/** What `list_parts` answers in its view "summary", when it is asked so many seconds after the last part came. */
export function uploadResult(
  parts: readonly UploadPart[],
  expectation: { expectedParts?: number; expectedBytes?: number } = {},
  { bucket = 'demo-bucket', object = 'backups/database.dump', account }: Named = {},
  idleSeconds = 3,
): CallToolResult {
  const last = Math.max(start, ...parts.map(({ uploadedAt }) => uploadedAt));
  const answeredAt = new Date(last + idleSeconds * 1000).toISOString();
  const figures = summarise(parts, expectation, { answeredAt, receivedAt: answeredAt });
  const summary = `The upload has ${parts.length} parts.`;
  return {
    content: [{ type: 'text', text: summary }],
    structuredContent: {
      summary,
      answer: { view: 'summary', bucket, object, uploadId: 'demo-upload', ...figures },
      ...(account !== undefined && { account }),
    },
    _meta: { [partsKey]: partColumns(parts) },
  };
}
