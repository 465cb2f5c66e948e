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
 * The changes in rows.
 * @throws if a change is of a newer version and cannot be read
 */
export const changesIn = (rows: readonly unknown[]) => z.array(rowSchema()).parse(rows);

/** The changes in rows, without changes of newer versions that cannot be read. */
export const understoodIn = (rows: readonly unknown[]): RecordedChange[] =>
  rows.flatMap((row) => rowSchema().safeParse(row).data ?? []);

/** Changes to read at once. */
const pageSize = 1_000;

/** While a journal is followed, the changes of the last minute (milliseconds) are read again, because a commit may come late. */
const overlapMs = 60_000;

const placeSchema = lazy(() => z.object({ number: z.coerce.bigint(), written: z.number() }));

type Run = <Result>(work: (transaction: Transaction) => Promise<Result>) => Promise<Result>;

/** A change, and the time of its last write (milliseconds) by the database's clock. */
interface Written {
  readonly change: RecordedChange;
  readonly written: number;
}

/**
 * The changes that began between `since` and `until`, and were written after `writtenAfter` or are unfinished, page by page. Times are
 * milliseconds.
 */
async function* writtenSince(
  run: Run,
  { since = 0, until }: ReadOptions,
  writtenAfter: number,
): AsyncGenerator<Written> {
  const range = [new Date(since), until === undefined ? null : new Date(until), new Date(writtenAfter)];
  let lastNumber = 0n;
  for (;;) {
    const { rows } = await run(({ client }) =>
      client.query(
        `select number, intent, ending, extract(epoch from greatest(time, ended))::float8 * 1000 as written
         from cloudops_mutations
         where number > $1 and time >= $2 and ($3::timestamptz is null or time < $3)
           and (time >= $4 or ended >= $4 or outcome is null)
         order by number limit ${pageSize}`,
        [lastNumber.toString(), ...range],
      ),
    );
    for (const row of rows) {
      const { number, written } = placeSchema().parse(row);
      lastNumber = number;
      for (const change of understoodIn([row])) yield { change, written };
    }
    if (rows.length < pageSize) return;
  }
}

/** Reads all of a journal, as `Journal.read` describes. */
export async function* readRows(run: Run, options: ReadOptions): AsyncGenerator<RecordedChange> {
  const unfinished = new Map<string, RecordedChange>();
  /** The endings of the last read by id, because the next read may find them again. */
  let lastEndings = new Map<string, string>();
  let newest = 0;
  do {
    const endings = new Map<string, string>();
    for await (const { change, written } of writtenSince(run, options, newest - overlapMs)) {
      newest = Math.max(newest, written);
      const { id, ending } = change;
      if (ending === undefined) {
        unfinished.set(id, change);
        continue;
      }
      unfinished.delete(id);
      const timeAndOutcome = `${ending.time} ${ending.outcome}`;
      endings.set(id, timeAndOutcome);
      if (lastEndings.get(id) !== timeAndOutcome) yield change;
    }
    lastEndings = endings;
  } while (await options.follow?.());
  yield* unfinished.values();
}
