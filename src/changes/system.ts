import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname, uptime } from 'node:os';
import * as z from 'zod';
import { attempt, lazy } from '../util/objects.js';
import type { Transaction } from './sql.js';

/** This file has what the operating system tells of clocks and of the processes that share a store. */

/** A process that carries out the changes which it approved. */
export interface Process {
  /** Random, because containers may have the same host and process ID. */
  readonly id: string;
  /** The host, its start and its container. Only in the same space does a process ID name the same process. */
  readonly space: string;
  readonly pid: number;
  readonly started: string;
}

/** How long a lease proves that a process runs (milliseconds). */
export const leaseMs = 60_000;

export function thisProcess(): Process {
  const space = `${hostname()} ${bootId()} ${attempt(() => readlinkSync('/proc/self/ns/pid'), '')}`;
  return { id: randomUUID(), space, pid: process.pid, started: startOf(process.pid) ?? '' };
}

/** Empty on systems other than Linux. */
const bootId = (): string => attempt(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(), '');

/** In ticks since the start of the system. */
const startOf = (pid: number): string | undefined =>
  attempt(() => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[19], undefined);

export async function renewLease({ now, run }: Transaction, { id, space, pid, started }: Process): Promise<void> {
  await run(
    `insert into cloudops_processes (id, space, pid, started, lease) values (?, ?, ?, ?, ?)
     on conflict (id) do update set lease = excluded.lease`,
    ...[id, space, pid, started, now + leaseMs],
  );
}

const rowsSchema = lazy(() =>
  z.array(
    z.object({
      id: z.string(),
      space: z.string(),
      pid: z.coerce.number(),
      started: z.string(),
      lease: z.coerce.number(),
    }),
  ),
);

/** Returns the IDs of the processes that still run. In another space, or without the start of a process, the lease decides. */
export async function runningProcesses({ now, all }: Transaction, { id: self, space }: Process): Promise<Set<string>> {
  const rows = rowsSchema().parse(await all('select id, space, pid, started, lease from cloudops_processes'));
  const running = rows.filter((row) => {
    if (row.id === self) return true;
    const hasLease = row.lease > now;
    return row.space === space && row.started !== '' ? startOf(row.pid) === row.started : hasLease;
  });
  return new Set([self, ...running.map(({ id }) => id)]);
}

export interface SystemClock {
  /** Identifies the time since the system started. */
  readonly boot: string | undefined;
  /** Since the system started. */
  uptimeMs(): number;
  wallMs(): number;
}

/** The clocks at the last write to a file. `time` is that of the store. */
export interface ClockReading {
  readonly boot: string | null;
  readonly uptime: number;
  readonly wall: number;
  readonly time: number;
}

export function systemClock(now: () => Date): SystemClock {
  return {
    boot: bootId() || undefined,
    // In a container, `uptime` may be that of the container, and the monotonic clock stops while the system sleeps.
    uptimeMs: () => Math.floor(Math.max(uptime() * 1000, Number(process.hrtime.bigint() / 1_000_000n))),
    wallMs: () => now().getTime(),
  };
}

/**
 * Returns the present reading. The store's clock never goes back. It follows the time since the system started, and the
 * wall clock only after a restart or without a boot ID.
 */
export function readClock(last: ClockReading | undefined, clock: SystemClock): ClockReading {
  const present = { boot: clock.boot ?? null, uptime: clock.uptimeMs(), wall: clock.wallMs() };
  if (last === undefined) return { ...present, time: present.wall };
  const isSameBoot = last.boot !== null && last.boot === present.boot;
  const passed = isSameBoot ? present.uptime - last.uptime : present.wall - last.wall;
  return { ...present, time: last.time + Math.max(0, passed) };
}
