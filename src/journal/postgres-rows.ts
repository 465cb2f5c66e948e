import * as z from 'zod';
import { lazy } from '../util/objects.js';
import { endingSchema, intentSchema, type RecordedChange } from './entry.js';
import type { ReadOptions } from './journal.js';
import type { Transaction } from './postgres-database.js';

const rowSchema = lazy(() =>
  z
    .object({ intent: intentSchema(), ending: endingSchema().nullable(), ended: z.date().nullable().optional() })
    .transform(({ intent, ending, ended }) => ({
      ...intent,
      ending: ending ?? undefined,
      ...(ended && { endedAt: ended.getTime() }),
    })),
);

/**
 * Parses rows as changes.
 * @throws if a change is of a newer version and cannot be read
 */
export const changesIn = (rows: readonly unknown[]) => z.array(rowSchema()).parse(rows);

/** Parses rows as changes. Skips changes of newer versions that cannot be read. */
export const understoodIn = (rows: readonly unknown[]): RecordedChange[] =>
  rows.map((row) => rowSchema().safeParse(row).data).filter((change) => change !== undefined);

/** Rows per query. */
const pageSize = 1_000;

/**
 * How far each pass over a followed journal goes back before the newest change (milliseconds). A row has the time at which its transaction
 * began, but can be read only after the commit, so earlier passes may have missed it.
 */
const overlapMs = 60_000;

/** The number of a row and the time of its last write, as PostgreSQL returns them. */
const positionSchema = lazy(() => z.object({ number: z.coerce.bigint(), written: z.number() }));

type Run = <Result>(work: (transaction: Transaction) => Promise<Result>) => Promise<Result>;

/**
 * Yields changes that began between `since` and `until`, and that were written since `writtenSince` or are unfinished. With each change
 * comes the time of its last write (milliseconds) by the database's clock.
 */
async function* selectWritten(run: Run, { since = 0, until }: ReadOptions, writtenSince: number) {
  const begunFrom = new Date(since);
  const begunBefore = until === undefined ? null : new Date(until);
  const writtenFrom = new Date(writtenSince);
  let lastNumber = 0n;

  for (;;) {
    const { rows } = await run(({ client }) =>
      client.query(
        `select number, intent, ending, extract(epoch from greatest(time, ended))::float8 * 1000 as written
         from cloudops_mutations
         where number > $1 and time >= $2 and ($3::timestamptz is null or time < $3)
           and (time >= $4 or ended >= $4 or outcome is null)
         order by number limit ${pageSize}`,
        [lastNumber.toString(), begunFrom, begunBefore, writtenFrom],
      ),
    );

    for (const row of rows) {
      const { number, written } = positionSchema().parse(row);
      lastNumber = number;
      // A change of a newer version may not be readable. It is skipped.
      const { data: change } = rowSchema().safeParse(row);
      if (change !== undefined) yield { change, written };
    }
    if (rows.length < pageSize) return;
  }
}

/**
 * Streams all changes of a journal, as `Journal.read` describes: a change when it has an outcome, again if the outcome changes, and
 * unfinished changes last. `options.follow` waits and resolves with true for another pass over the table, or with false to stop. Without
 * `follow`, there is one pass.
 */
export async function* readRows(run: Run, options: ReadOptions): AsyncGenerator<RecordedChange> {
  const unfinished = new Map<string, RecordedChange>();
  /** Time and outcome of each ending in the previous pass, by id, because the next pass reads the latest of them again. */
  let previousEndings = new Map<string, string>();
  /** The time of the newest write that was read (milliseconds). At 0, the first pass reads everything. */
  let newest = 0;

  do {
    const endings = new Map<string, string>();
    // Goes back by `overlapMs`, because a row that was committed late has an earlier time than rows that were read already.
    for await (const { change, written } of selectWritten(run, options, newest - overlapMs)) {
      newest = Math.max(newest, written);
      const { id, ending } = change;
      if (ending === undefined) {
        unfinished.set(id, change);
        continue;
      }
      unfinished.delete(id);
      const timeAndOutcome = `${ending.time} ${ending.outcome}`;
      endings.set(id, timeAndOutcome);
      if (previousEndings.get(id) !== timeAndOutcome) yield change;
    }
    previousEndings = endings;
  } while (await options.follow?.());
  yield* unfinished.values();
}
