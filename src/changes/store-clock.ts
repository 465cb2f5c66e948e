import { readFileSync } from 'node:fs';
import { uptime } from 'node:os';

/** The clocks of this system. */
export interface SystemClock {
  /** Identifies the time since the system started. Undefined if the system does not tell. */
  readonly boot: string | undefined;
  /** Milliseconds since the system started. */
  uptimeMs(): number;
  /** Milliseconds since 1970. */
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
    // In a container, the system may tell the time since the start of the container. The monotonic clock counts since the start of the system,
    // but not while the system sleeps.
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
 * Returns the present reading. The clock of the store follows the time since the system started, so setting the wall clock does not move it.
 * After a restart, and on systems without a boot ID, it follows the wall clock, but never back.
 */
export function readClock(last: ClockReading | undefined, clock: SystemClock): ClockReading {
  const present = { boot: clock.boot ?? null, uptime: clock.uptimeMs(), wall: clock.wallMs() };
  if (last === undefined) return { ...present, time: present.wall };
  const isSameBoot = last.boot !== null && last.boot === present.boot;
  const passed = isSameBoot ? present.uptime - last.uptime : present.wall - last.wall;
  return { ...present, time: last.time + Math.max(0, passed) };
}
