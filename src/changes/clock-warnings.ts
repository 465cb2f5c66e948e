import type { Log } from '../util/log.js';
import { type SafeText, say, words } from '../util/safe-text.js';

/** In milliseconds. */
const warnAboveMs = 1_000;

/** Returns a warning if the clocks differ. `offsetMs` is this server's clock minus the journal's (milliseconds). */
export function clockWarnings(offsetMs: number): readonly SafeText[] {
  if (Math.abs(offsetMs) <= warnAboveMs) return [];
  const seconds = Math.round(Math.abs(offsetMs) / 1000);
  return [
    say`the clock of this server is ${seconds} s ${words(offsetMs < 0 ? 'behind' : 'ahead of')} that of the journal`,
  ];
}

/** Returns a function that logs each difference between the clocks once. */
export function createClockWarning(log: Log) {
  let isLogged = false;
  return (offsetMs: number): void => {
    const [warning] = clockWarnings(offsetMs);
    if (warning !== undefined && !isLogged) log('warn', 'clock', { problem: warning });
    isLogged = warning !== undefined;
  };
}
