import { busy } from './server.js';

/** Limits of one process. Times in milliseconds, sizes in bytes. */
export const defaultHttpLimits = {
  bodyBytes: 1024 * 1024,
  /** Sum of all bodies that are being received. */
  bodiesBytes: 64 * 1024 * 1024,
  concurrentCalls: 64,
  /** Calls of one authenticated caller that are received, wait or run, so that there is always room for others. */
  callsOfCaller: 32,
  waitingCalls: 64,
  waitMs: 5000,
  connections: 1024,
  /** Connections of one client address or one /64 of IPv6; also its requests at the same time. */
  connectionsOfAddress: 256,
  /** Connections for metrics, of all clients together. */
  metricsConnections: 64,
  /** Time until the headers of a request, and until its first byte on a new connection. */
  headersMs: 10_000,
  requestMs: 20_000,
  /** Longer than the minute after which load balancers drop an idle connection, so that they never send into a closing one. */
  keepAliveMs: 65_000,
};

export type HttpLimits = Readonly<typeof defaultHttpLimits>;

/** Limits the calls that run at the same time, and those that wait for their turn. */
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
    get running() {
      return running;
    },
    /**
     * Counts a call of a caller, undefined where callers are not authenticated, before its body is received. Returns the function
     * to call when it has ended.
     * @throws HttpError if the caller has too many
     */
    enter(caller: string | undefined): () => void {
      const leave = caller === undefined ? () => undefined : enterAs(caller);
      if (leave === undefined) throw busy();
      return leave;
    },
    /**
     * Waits for a place. Resolves with the function that frees it.
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

/** Counts by key, up to a maximum for each. A key whose count is 0 takes no memory. */
export function createCounter(maximum: number) {
  const counts = new Map<string, number>();
  const count = (key: string) => counts.get(key) ?? 0;
  /** Adds one to a count. Returns the function that takes it away again, or undefined at the maximum. */
  return (key: string): (() => void) | undefined => {
    if (count(key) >= maximum) return undefined;
    counts.set(key, count(key) + 1);
    return () => void (count(key) > 1 ? counts.set(key, count(key) - 1) : counts.delete(key));
  };
}

/** The most keys to remember. The one that was idle for longest is forgotten first. */
const rememberedKeys = 10_000;

/**
 * A token bucket for each key, full at first: `perSecond` a second, `burst` at once.
 * Returns 0, or the seconds after which to try again.
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
