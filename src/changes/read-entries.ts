import * as z from 'zod';
import { lazy } from '../util/objects.js';
import type { JournalEntry, ReadOptions } from './change.js';
import { callerCondition, entryColumns, entryOf } from './rows.js';
import type { Engine } from './sql.js';

const pageSize = 500;

/** How far each pass goes back (milliseconds), because a row can be read only after its commit. */
const overlapMs = 60_000;

const positionSchema = lazy(() => z.object({ id: z.string(), state: z.string(), changed: z.coerce.number() }));
type Position = z.output<ReturnType<typeof positionSchema>>;

/** Streams the journal in the order of the last writes. Leaves out rows that cannot be read. */
export async function* readEntries(
  scan: Engine['scan'],
  { since = 0, until = Number.MAX_SAFE_INTEGER, follow, ...of }: ReadOptions,
): AsyncGenerator<JournalEntry> {
  const [ofCaller, callers] = callerCondition(of);
  /** The rows of the last `overlapMs`, oldest first. */
  const recent = new Map<string, Position>();
  let newest = 0;
  do {
    let position = { changed: newest - overlapMs, id: '' };
    for (;;) {
      const { rows, now } = await scan(async (transaction) => ({
        now: transaction.now,
        rows: await transaction.all(
          `select ${entryColumns} from cloudops_changes
           where (changed > ? or changed = ? and id > ?) and state <> 'waiting' and at >= ? and at < ?${ofCaller}
           order by changed, id limit ${pageSize}`,
          ...[position.changed, position.changed, position.id, since, until, ...callers],
        ),
      }));
      for (const row of rows) {
        const read = positionSchema().parse(row);
        position = read;
        newest = Math.max(newest, read.changed);
        const isNew = recent.get(read.id)?.state !== read.state;
        remember(recent, read, newest - overlapMs);
        if (isNew) yield* entryIn(row, now);
      }
      if (rows.length < pageSize) break;
    }
  } while (await follow?.());
}

function remember(recent: Map<string, Position>, read: Position, since: number): void {
  recent.delete(read.id);
  recent.set(read.id, read);
  for (const { id, changed } of recent.values()) {
    if (changed >= since) break;
    recent.delete(id);
  }
}

function* entryIn(row: unknown, now: number): Generator<JournalEntry> {
  try {
    yield entryOf(row, now);
  } catch (error) {
    if (!(error instanceof z.ZodError)) throw error;
  }
}
