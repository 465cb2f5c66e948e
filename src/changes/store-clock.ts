import { readFileSync } from 'node:fs';
import { uptime } from 'node:os';

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
    boot: bootId(),
    // In a container, `uptime` may be that of the container, and the monotonic clock stops while the system sleeps.
    uptimeMs: () => Math.floor(Math.max(uptime() * 1000, Number(process.hrtime.bigint() / 1_000_000n))),
    wallMs: () => now().getTime(),
  };
}

function bootId(): string | undefined {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return undefined;
  }
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
