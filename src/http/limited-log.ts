import type { Log, LogEvent } from '../util/log.js';
import type { OnFailedLogin } from './auth.js';
import { createRateLimiter } from './limits.js';

const loggedPerMinute = 5;
const loggedPerSecond = 5;

/** Logs refusals within limits per caller and in total. No limit per address, because behind a proxy, all callers share one. */
export function createLimitedLog(now: () => Date, log: Log, event: LogEvent) {
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
