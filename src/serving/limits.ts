import type { IncomingMessage } from 'node:http';
import { HttpError, unavailable } from './http-error.js';

/** What one process takes. Times in milliseconds, sizes in bytes. */
export interface HttpLimits {
  readonly bodyBytes: number;
  /** All bodies that are being received, together. */
  readonly bodiesBytes: number;
  readonly concurrentCalls: number;
  /** Calls that run or wait for one caller, where callers are told apart, so that there is always room for others. */
  readonly callsOfCaller: number;
  readonly waitingCalls: number;
  readonly waitMs: number;
  readonly connections: number;
  /** Of one client address, or of one /64 of IPv6. */
  readonly connectionsOfAddress: number;
  /** That one address has answered at once, in a minute. */
  readonly failedLogins: number;
  /** How much later further ones are answered. */
  readonly failedLoginMs: number;
  /** How many of an address wait for such an answer. */
  readonly delayedLogins: number;
  /** For the headers of a request, or its first byte on a new connection. */
  readonly headersMs: number;
  readonly requestMs: number;
  /** Longer than the minute after which load balancers drop an idle connection, so that they never send into a closing one. */
  readonly keepAliveMs: number;
}

export const defaultHttpLimits: HttpLimits = {
  bodyBytes: 1024 * 1024,
  bodiesBytes: 64 * 1024 * 1024,
  concurrentCalls: 64,
  callsOfCaller: 32,
  waitingCalls: 64,
  waitMs: 5000,
  connections: 1024,
  connectionsOfAddress: 256,
  failedLogins: 5,
  failedLoginMs: 1000,
  delayedLogins: 32,
  headersMs: 10_000,
  requestMs: 20_000,
  keepAliveMs: 65_000,
};

const busy = () => unavailable('busy', 'Too many calls are running.', 1);

/** Bounds how many calls run at a time, and how many wait for their turn. */
export interface ConcurrencyLimiter {
  /**
   * Resolves with what to call, once, when the call has ended.
   * @throws HttpError if there is no room, not even to wait
   */
  acquire(caller?: string): Promise<() => void>;
  /** How many run. */
  readonly running: number;
}

export function createConcurrencyLimiter(limits: HttpLimits): ConcurrencyLimiter {
  const { concurrentCalls, callsOfCaller, waitingCalls, waitMs } = limits;
  let running = 0;
  const waiting: (() => void)[] = [];
  const begin = () => {
    running += 1;
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      running -= 1;
      waiting.shift()?.();
    };
  };
  const slot = async (): Promise<() => void> => {
    if (running < concurrentCalls) return begin();
    if (waiting.length >= waitingCalls) throw busy();
    return new Promise((resolve, reject) => {
      const next = () => {
        clearTimeout(timer);
        resolve(begin());
      };
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(next), 1);
        reject(busy());
      }, waitMs);
      waiting.push(next);
    });
  };
  const callers = createCounter();
  return {
    get running() {
      return running;
    },
    async acquire(caller) {
      if (caller === undefined) return slot();
      if (callers.count(caller) >= callsOfCaller) throw busy();
      callers.add(caller);
      try {
        const release = await slot();
        return () => {
          release();
          callers.remove(caller);
        };
      } catch (error) {
        callers.remove(caller);
        throw error;
      }
    },
  };
}

/** Counts by key. A key whose count is back at 0 takes no memory. */
export function createCounter() {
  const counts = new Map<string, number>();
  const count = (key: string) => counts.get(key) ?? 0;
  return {
    count,
    add: (key: string) => void counts.set(key, count(key) + 1),
    remove: (key: string) => void (count(key) > 1 ? counts.set(key, count(key) - 1) : counts.delete(key)),
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

/**
 * Reads a request's body. Rejects if the client goes away.
 * @throws HttpError if it is too large, or if all bodies together are
 */
export type BodyReader = (request: IncomingMessage) => Promise<Buffer>;

export function createBodyReader({ bodyBytes, bodiesBytes }: HttpLimits): BodyReader {
  const tooLarge = () => new HttpError(413, 'body', `A request has ${bodyBytes} bytes at most.`);
  let held = 0;
  return async (request) => {
    if (Number(request.headers['content-length'] ?? 0) > bodyBytes) throw tooLarge();
    const chunks: Buffer[] = [];
    let size = 0;
    try {
      // The answer still has to be written to the same socket.
      for await (const chunk of request.iterator({ destroyOnReturn: false })) {
        size += chunk.length;
        held += chunk.length;
        if (size > bodyBytes) throw tooLarge();
        if (held > bodiesBytes) throw busy();
        chunks.push(chunk);
      }
      return Buffer.concat(chunks);
    } finally {
      held -= size;
    }
  };
}
