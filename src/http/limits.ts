import type { Log, LogEvent } from '../util/log.js';
import { createQueue, QueueTimeout } from '../util/queue.js';
import type { OnFailedLogin } from './auth.js';
import { busy } from './http-helpers.js';

/** Limits of one process, in milliseconds and bytes. */
export const defaultHttpLimits = {
  /** Fits the largest call (a plan of 40,000 characters, or a key of 65,536), or a ticket that seals this call. */
  bodyBytes: 256 * 1024,
  bodiesBytes: 64 * 1024 * 1024,
  concurrentCalls: 64,
  /** Received, waiting and running. */
  callsOfCaller: 32,
  waitingCalls: 64,
  waitMs: 5000,
  connections: 1024,
  requests: 1024,
  metricsConnections: 64,
  /** Also for the first byte on a new connection. */
  headersMs: 10_000,
  requestMs: 20_000,
  /** More than the 60 s of load balancers, which then close connections first. */
  keepAliveMs: 65_000,
};

export type HttpLimits = Readonly<typeof defaultHttpLimits>;

export function createConcurrencyLimiter(limits: HttpLimits) {
  const places = createQueue(limits.concurrentCalls);
  const countCall = createCounter(limits.callsOfCaller);

  return {
    running: places.taken,
    /** Counts a call of a caller until the returned function is called. Callers without a name are not counted. @throws HttpError */
    count(caller: string | undefined): () => void {
      if (caller === undefined) return () => undefined;
      const leave = countCall(caller);
      if (leave === undefined) throw busy();
      return leave;
    },
    /** Waits for a place for a call. @throws HttpError if too many calls wait, or after `waitMs` */
    async take() {
      const isFull = places.taken() >= limits.concurrentCalls && places.waiting() >= limits.waitingCalls;
      if (isFull) throw busy();
      let leave = await places.enter(limits.waitMs).catch((error: unknown) => {
        throw error instanceof QueueTimeout ? busy() : error;
      });
      return {
        leave: () => leave(),
        /** Gives up the place while `work` waits for a person. */
        async waitOutside<Result>(work: () => Promise<Result>): Promise<Result> {
          leave();
          try {
            return await work();
          } finally {
            // A call that has run before continues even if the queue is full.
            leave = await places.enterFirst();
          }
        },
      };
    },
  };
}

export function createCounter(maximum: number) {
  const counts = new Map<string, number>();
  const count = (key: string) => counts.get(key) ?? 0;
  /** Returns the function that decrements the count. Undefined at the maximum. */
  return (key = ''): (() => void) | undefined => {
    if (count(key) >= maximum) return undefined;
    counts.set(key, count(key) + 1);
    return () => {
      const remaining = count(key) - 1;
      if (remaining > 0) counts.set(key, remaining);
      else counts.delete(key);
    };
  };
}

/** Limits the rate per key with token buckets, and remembers the last 10,000 keys. The function returns 0, or the seconds to wait. */
export function createRateLimiter(
  perSecond: number,
  now: () => Date,
  { burst = 2 * perSecond }: { readonly burst?: number } = {},
): (key?: string) => number {
  const buckets = new Map<string, { readonly tokens: number; readonly at: number }>();
  return (key = '') => {
    const at = now().getTime();
    const bucket = buckets.get(key) ?? { tokens: burst, at };
    const refilled = Math.min(burst, bucket.tokens + (Math.max(0, at - bucket.at) / 1000) * perSecond);
    const isEmpty = refilled < 1;

    // Keeps the map in the order of use.
    buckets.delete(key);
    buckets.set(key, { tokens: isEmpty ? refilled : refilled - 1, at });
    const [oldest] = buckets.keys();
    if (buckets.size > 10_000 && oldest !== undefined) buckets.delete(oldest);
    return isEmpty ? Math.ceil((1 - refilled) / perSecond) : 0;
  };
}

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
