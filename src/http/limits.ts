import { busy } from './server.js';

/** What one process takes. Times in milliseconds, sizes in bytes. */
export const defaultHttpLimits = {
  bodyBytes: 1024 * 1024,
  /** All bodies that are being received, together. */
  bodiesBytes: 64 * 1024 * 1024,
  concurrentCalls: 64,
  /** Calls of one authenticated caller that are received, wait or run, so that there is always room for others. */
  callsOfCaller: 32,
  waitingCalls: 64,
  waitMs: 5000,
  connections: 1024,
  /** Of one client address, or of one /64 of IPv6; also how many requests of it are under way at a time. */
  connectionsOfAddress: 256,
  /** For metrics, of everybody. */
  metricsConnections: 64,
  /** For the headers of a request, or its first byte on a new connection. */
  headersMs: 10_000,
  requestMs: 20_000,
  /** Longer than the minute after which load balancers drop an idle connection, so that they never send into a closing one. */
  keepAliveMs: 65_000,
};

export type HttpLimits = Readonly<typeof defaultHttpLimits>;

/** Bounds how many calls run at a time, and how many wait for their turn. */
export type ConcurrencyLimiter = ReturnType<typeof createConcurrencyLimiter>;

export function createConcurrencyLimiter({ concurrentCalls, callsOfCaller, waitingCalls, waitMs }: HttpLimits) {
  const enterAs = createCounter(callsOfCaller);
  const waiting: (() => void)[] = [];
  let running = 0;

  /** Waits until a call that ends leaves its place. */
  const turn = () =>
    new Promise<void>((resolve, reject) => {
      const next = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(next), 1);
        reject(busy());
      }, waitMs);
      waiting.push(next);
    });
  const leave = () => {
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  };

  return {
    /** How many run. */
    get running() {
      return running;
    },
    /**
     * Counts a call of a caller, undefined where callers are not authenticated, from before its body is received. Answers with
     * what to call when it has ended.
     * @throws HttpError if the caller has too many
     */
    enter(caller: string | undefined): () => void {
      const leave = caller === undefined ? () => undefined : enterAs(caller);
      if (leave === undefined) throw busy();
      return leave;
    },
    /**
     * Resolves with what to call when the call has ended.
     * @throws HttpError if there is no room, not even to wait
     */
    async acquire(): Promise<() => void> {
      const isFull = running >= concurrentCalls;
      if (isFull && waiting.length >= waitingCalls) throw busy();
      if (isFull) await turn();
      else running += 1;
      let held = true;
      return () => {
        if (held) leave();
        held = false;
      };
    },
  };
}

/** Counts by key, up to a maximum for each. A key whose count is back at 0 takes no memory. */
export function createCounter(maximum: number) {
  const counts = new Map<string, number>();
  const count = (key: string) => counts.get(key) ?? 0;
  /** Counts one more, until what it answers with is called; undefined if there are as many as there may be. */
  return (key: string): (() => void) | undefined => {
    if (count(key) >= maximum) return undefined;
    counts.set(key, count(key) + 1);
    return () => void (count(key) > 1 ? counts.set(key, count(key) - 1) : counts.delete(key));
  };
}

/** Keys that are remembered at most; the one that was idle for longest is forgotten first. */
const rememberedKeys = 10_000;

/**
 * A token bucket for each key, full at first: `perSecond` a second, `burst` at once.
 * Answers with 0, or with the seconds after which to try again.
 */
export function createRateLimiter(perSecond: number, now: () => Date, burst = 2 * perSecond): (key: string) => number {
  const buckets = new Map<string, { readonly tokens: number; readonly at: number }>();
  return (key) => {
    const at = now().getTime();
    const bucket = buckets.get(key) ?? { tokens: burst, at };
    const tokens = Math.min(burst, bucket.tokens + (Math.max(0, at - bucket.at) / 1000) * perSecond);
    buckets.delete(key);
    buckets.set(key, { tokens: tokens < 1 ? tokens : tokens - 1, at });
    const [oldest] = buckets.keys();
    if (buckets.size > rememberedKeys && oldest !== undefined) buckets.delete(oldest);
    return tokens < 1 ? Math.ceil((1 - tokens) / perSecond) : 0;
  };
}
