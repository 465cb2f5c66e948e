import * as z from 'zod';
import { resultSchemas } from '../calls/outcome.js';
import { lazy } from '../util/objects.js';
import { columnOf, openColumn, type Rows } from './rows.js';

/** This file has the SQL on the table of follows: how far accepted changes are in the cloud. It is a table beside that of changes, because ended changes stay as they are. */

/** `blind`: this server cannot read the progress. `late`: the change was not finished in time. */
const states = ['going', 'done', 'failed', 'late', 'blind'] as const;
export type FollowState = (typeof states)[number];

const seenSchema = lazy(() => z.object({ text: resultSchemas().text, value: z.string().optional() }));

/** What a read of the progress showed. */
export type Seen = z.output<ReturnType<typeof seenSchema>>;

export interface Followed {
  readonly state: FollowState;
  readonly seen?: Seen | undefined;
  /** Reads that were begun. */
  readonly reads: number;
  /** Since the follow began (milliseconds). */
  readonly ageMs: number;
  /** Set if the caller has to read now. No other process reads before this time of the store. */
  readonly lease?: number;
}

/** A read takes less time (milliseconds). */
const leaseMs = 30_000;

const rowSchema = lazy(() =>
  z.object({
    state: z.enum(states),
    began: z.coerce.number(),
    due: z.coerce.number(),
    reads: z.coerce.number(),
    seen: z.string().nullable(),
  }),
);

/** Returns how far a follow is, and if it has to begin, or its next read is due. */
export async function readFollow(rows: Rows, id: string): Promise<Followed & { readonly isDue: boolean }> {
  const [found] = await rows.all('select state, began, due, reads, seen from cloudops_follows where id = ?', id);
  if (found === undefined) return { state: 'going', reads: 0, ageMs: 0, isDue: true };
  const { state, began, due, reads, seen } = rowSchema().parse(found);
  const opened = seen === null ? undefined : seenSchema().safeParse(openColumn(seen, id, rows.keys)).data;
  const ageMs = Math.max(0, rows.now - began);
  return { state, reads, ageMs, seen: opened, isDue: state === 'going' && due <= rows.now };
}

/** Begins a follow, or takes its next read if the read is due. */
export async function takeFollow(rows: Rows, id: string, pauseMs: number, isBlind: boolean): Promise<Followed> {
  const { now, run } = rows;
  await run(
    `insert into cloudops_follows (id, state, began, due, reads) values (?, ?, ?, ?, 0) on conflict (id) do nothing`,
    ...[id, isBlind ? 'blind' : 'going', now, now + pauseMs],
  );
  const lease = now + leaseMs;
  // The condition decides which of several processes reads.
  const taken = await run(
    `update cloudops_follows set due = ?, reads = reads + 1 where id = ? and state = 'going' and due <= ?`,
    ...[lease, id, now],
  );
  return { ...(await readFollow(rows, id)), ...(taken === 1 && { lease }) };
}

export interface FollowStep extends Required<Pick<Followed, 'state' | 'seen' | 'lease'>> {
  /** Before the next read (milliseconds). */
  readonly pauseMs: number;
  readonly isPrivate: boolean | undefined;
}

/** Writes what a read showed, unless another process has taken over. */
export async function keepFollow(rows: Rows, id: string, step: FollowStep): Promise<void> {
  const { state, seen = null, lease, pauseMs, isPrivate } = step;
  await rows.run(
    `update cloudops_follows set state = ?, seen = ?, due = ? where id = ? and state = 'going' and due = ?`,
    ...[state, seen && columnOf(seen, isPrivate, id, rows.keys), rows.now + pauseMs, id, lease],
  );
}
