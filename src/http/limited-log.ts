import type { Log, LogEvent } from '../util/log.js';
import type { OnFailedLogin } from './auth.js';
import { createRateLimiter } from './limits.js';

/** Maximum number of logged refusals of one caller in a minute. */
const loggedPerMinute = 5;
/** Maximum number of logged refusals in a second. */
const loggedPerSecond = 5;

/**
 * Creates a function that logs failed logins or other refusals, with address and reason, within limits per caller and in total. `unlogged` in an
 * entry is the number of entries left out since the last entry. There is no limit per address, because behind a proxy all come from one address.
 */
export function createLimitedLog(now: () => Date, log: Log, event: LogEvent) {
  // Both functions return 0 if an entry may be logged now, and then also count the entry.
  const secondsUntilLogOfCaller = createRateLimiter(loggedPerMinute / 60, now, { burst: loggedPerMinute });
  const secondsUntilAnyLog = createRateLimiter(loggedPerSecond, now);
  let unlogged = 0;
  return (
    { socket: { remoteAddress = 'unknown' } }: Parameters<OnFailedLogin>[0],
    reason: string,
    facts: { readonly status?: number; readonly caller?: string | undefined } = {},
  ): void => {
    const { caller } = facts;
    if ((caller !== undefined && secondsUntilLogOfCaller(caller) > 0) || secondsUntilAnyLog() > 0) {
      unlogged += 1;
      return;
    }
    log('warn', event, { address: remoteAddress, reason, ...facts, ...(unlogged > 0 && { unlogged }) });
    unlogged = 0;
  };
}
