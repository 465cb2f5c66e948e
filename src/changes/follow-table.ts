import * as z from 'zod';
import { resultSchemas } from '../calls/outcome.js';
import { lazy, parseJson } from '../util/objects.js';
import { columnOf, openColumn, type Rows } from './rows.js';

/** This file has the SQL on the columns that say how far an accepted change is in the cloud. An ended change stays as it is otherwise. */

/** `blind`: this server cannot read the progress. `late`: the change was not finished in time. */
const states = ['going', 'done', 'failed', 'late', 'blind'] as const;
export type FollowState = (typeof states)[number];

const seenSchema = lazy(() => z.object({ text: resultSchemas().text, value: z.string().optional() }));

/** What a read of the progress showed. */
export type Seen = z.output<ReturnType<typeof seenSchema>>;

const followSchema = lazy(() =>
  z.object({
    state: z.enum(states),
    /** By the clock of the store (milliseconds). */
    began: z.number(),
    /** Reads that were begun. */
    reads: z.number(),
    /** As a column of its own, because it may be sealed. */
    seen: z.string().optional(),
  }),
);
type Follow = z.output<ReturnType<typeof followSchema>>;

const columnsSchema = lazy(() => z.array(z.object({ follow: z.string().nullable(), follow_due: z.coerce.number() })));

export interface Followed extends Pick<Follow, 'state' | 'reads'> {
  readonly seen?: Seen | undefined;
  /** Since the follow began (milliseconds). */
  readonly ageMs: number;
  /** True if the follow has to begin, or its next read is due. */
  readonly isDue: boolean;
  /** Set if the caller has to read now. No other process reads before this time of the store. */
  readonly lease?: number;
}

/** A read takes less time (milliseconds). */
const leaseMs = 30_000;

async function select(rows: Rows, id: string, lock = '') {
  const { all, now, keys } = rows;
  const sql = `select follow, follow_due from cloudops_changes where id = ?${lock}`;
  const [found] = columnsSchema().parse(await all(sql, id));
  const isNew = found === undefined || found.follow === null;
  const follow: Follow = isNew
    ? { state: 'going', began: now, reads: 0 }
    : followSchema().parse(parseJson(found.follow ?? ''));
  const due = isNew ? undefined : found.follow_due;
  const { state, reads, began, seen } = follow;
  const opened = seen === undefined ? undefined : seenSchema().safeParse(openColumn(seen, id, keys)).data;
  const isDue = state === 'going' && (due === undefined || due <= now);
  const followed: Followed = { state, reads, ageMs: Math.max(0, now - began), seen: opened, isDue };
  return { follow, due, followed };
}

const update = ({ run }: Rows, id: string, follow: Follow, due: number): Promise<number> =>
  run('update cloudops_changes set follow = ?, follow_due = ? where id = ?', JSON.stringify(follow), due, id);

export const readFollow = async (rows: Rows, id: string): Promise<Followed> => (await select(rows, id)).followed;

/** Begins a follow, or takes its next read if the read is due. */
export async function takeFollow(rows: Rows, id: string, pauseMs: number, isBlind: boolean): Promise<Followed> {
  const { now, forUpdate } = rows;
  const { follow, due, followed } = await select(rows, id, forUpdate);
  if (due === undefined) {
    const state = isBlind ? 'blind' : 'going';
    await update(rows, id, { ...follow, state }, now + pauseMs);
    return { ...followed, state };
  }
  if (!followed.isDue) return followed;
  const [lease, reads] = [now + leaseMs, follow.reads + 1];
  await update(rows, id, { ...follow, reads }, lease);
  return { ...followed, reads, lease };
}

export interface FollowStep extends Required<Pick<Followed, 'state' | 'seen' | 'lease'>> {
  /** Before the next read (milliseconds). */
  readonly pauseMs: number;
  readonly isPrivate: boolean | undefined;
}

/** Writes what a read showed, unless another process has taken over. */
export async function keepFollow(rows: Rows, id: string, step: FollowStep): Promise<void> {
  const { state, seen, lease, pauseMs, isPrivate } = step;
  const { follow, due } = await select(rows, id, rows.forUpdate);
  if (due !== lease || follow.state !== 'going') return;
  const column = seen && columnOf(seen, isPrivate, id, rows.keys);
  await update(rows, id, { ...follow, state, seen: column }, rows.now + pauseMs);
}
