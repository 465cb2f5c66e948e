import * as z from 'zod';
import type { PlanTable } from '../../calls/outcome.js';
import { humanBytes } from '../../util/human.js';
import { lazy } from '../../util/objects.js';
import { quoted, type SafeText, say, words } from '../../util/safe-text.js';
import type { ShownTable, TimedText } from './contract/change-data.js';

/** Tables of views: times become numbers, which the view writes in the reader's zone, and sizes become readable. */

/** A table of a plan. */
export const planTable = (
  { title, columns, rows, more }: PlanTable,
  write: (text: SafeText) => string,
): ShownTable => ({
  title: write(title),
  columns: columns.map(write),
  more,
  rows: rows.map((row) => row.map((cell, index) => cellOf(write(cell), columns[index]?.text))),
});

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

const endings: Readonly<Record<EndedUpload['ending'], SafeText>> = {
  done: words('Aborted'),
  gone: words('Gone already'),
  unverified: words('Aborted, but not seen to be gone'),
  failed: words('Failed'),
};
const columns = [words('Ending'), words('Object'), words('Bucket'), words('Size'), words('Started')];

const mostRows = 1000;

/** The uploads that a change has aborted, each with its ending. Undefined for the answer to any other change. */
export function endedThings(answer: object | undefined, write: (text: SafeText) => string): ShownTable | undefined {
  const shape = z.object({ uploads: z.array(endedUpload()).min(1), notListed: z.int().catch(0) });
  const { data } = shape.safeParse({ notListed: 0, ...answer });
  if (data === undefined) return undefined;
  const rows = data.uploads
    .slice(0, mostRows)
    .map(({ bucket, object, size, initiated, ending, code }): TimedText[] => [
      write(code === undefined ? endings[ending] : say`${endings[ending]} (${quoted(code, 100)})`),
      quoted(object, 200).text,
      quoted(bucket, 63).text,
      size === undefined ? '' : humanBytes(size),
      initiated === undefined ? '' : [Date.parse(initiated)],
    ]);
  const more = data.notListed + data.uploads.length - rows.length;
  return { title: write(words('Uploads')), columns: columns.map(write), rows, more };
}
