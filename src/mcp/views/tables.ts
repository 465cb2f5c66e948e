import * as z from 'zod';
import type { PlanTable } from '../../calls/outcome.js';
import { plain } from '../../calls/result-text.js';
import { humanBytes } from '../../util/human.js';
import { lazy } from '../../util/objects.js';
import { quoted } from '../../util/safe-text.js';
import type { ShownTable, TimedText } from './contract/change-data.js';

/** Tables of views: times become numbers, which the view writes in the reader's zone, and sizes become readable. */

/** A table of a plan. */
export const planTable = (table: PlanTable): ShownTable => {
  const { title, columns, rows, more } = plain(table);
  return { title, columns, more, rows: rows.map((row) => row.map((cell, index) => cellOf(cell, columns[index]))) };
};

function cellOf(cell: string, column: string | undefined): TimedText {
  const [, isoTime = ''] = /^"(\d{4}-\d\d-\d\dT[\d:.]+Z)"$/.exec(cell) ?? [];
  if (isoTime !== '') return [Date.parse(isoTime)];
  return column === 'Size' && /^\d+$/.test(cell) ? humanBytes(Number(cell)) : cell;
}

const endedUpload = lazy(() =>
  z.object({
    bucket: z.string(),
    object: z.string(),
    size: z.number().optional(),
    initiated: z.iso.datetime().optional(),
    ending: z.enum(['done', 'gone', 'unverified', 'failed']),
    code: z.string().optional(),
  }),
);
type EndedUpload = z.output<ReturnType<typeof endedUpload>>;

const endings: Readonly<Record<EndedUpload['ending'], string>> = {
  done: 'Aborted',
  gone: 'Gone already',
  unverified: 'Aborted, but not seen to be gone',
  failed: 'Failed',
};

const mostRows = 1000;

/** The uploads that a change has aborted, each with its ending. Undefined for the answer to any other change. */
export function endedThings(answer: object | undefined): ShownTable | undefined {
  const shape = z.object({ uploads: z.array(endedUpload()).min(1), notListed: z.int().catch(0) });
  const { data } = shape.safeParse({ notListed: 0, ...answer });
  if (data === undefined) return undefined;
  const rows = data.uploads
    .slice(0, mostRows)
    .map(({ bucket, object, size, initiated, ending, code }): TimedText[] => [
      `${endings[ending]}${code === undefined ? '' : ` (${quoted(code, 100).text})`}`,
      quoted(object, 200).text,
      quoted(bucket, 63).text,
      size === undefined ? '' : humanBytes(size),
      initiated === undefined ? '' : [Date.parse(initiated)],
    ]);
  const more = data.notListed + data.uploads.length - rows.length;
  return { title: 'Uploads', columns: ['Ending', 'Object', 'Bucket', 'Size', 'Started'], rows, more };
}
