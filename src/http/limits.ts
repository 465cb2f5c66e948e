import { Refusal } from '../consent/refusal.js';
import { say } from '../util/safe-text.js';
import { busy } from './http-helpers.js';

/** Limits of one process. Times in milliseconds, sizes in bytes. */
export const defaultHttpLimits = {
  /** A plan of 40,000 characters and a service account key of 65,536, written as JSON or sealed in a ticket, have less. */
  bodyBytes: 256 * 1024,
  /** Sum of all bodies that are being received. */
  bodiesBytes: 64 * 1024 * 1024,
  /** A body that is larger takes a turn of the event loop for itself: with thousands of values, it is work for milliseconds. */
  quickBytes: 8 * 1024,
  concurrentCalls: 64,
  /** Calls of one authenticated caller that are received, wait or run, so that there is always room for others. */
  callsOfCaller: 32,
  /** Questions to the user of one caller that are open or wait for their turn. */
  questionsOfCaller: 8,
  /** Such questions of all callers. Each holds a connection: of those of one proxy, half stay free for the answers. */
  questions: 128,
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

/** The place of a call among those that run. */
export interface Place {
  leave(): void;
  /**
   * Does work that waits for a person, without the place. The call has it again when the work is done, before all that wait for one.
   * @throws Refusal if too many calls do so already
   */
  waitOutside<Result>(work: () => Promise<Result>): Promise<Result>;
}

export function createConcurrencyLimiter({
  concurrentCalls,
  callsOfCaller,
  questionsOfCaller,
  questions,
  waitingCalls,
  waitMs,
}: HttpLimits) {
  const receiveOf = createCounter(callsOfCaller);
  const enterAs = createCounter(callsOfCaller);
  const askAs = createCounter(questionsOfCaller);
  const waiting: (() => void)[] = [];
  let running = 0;
  let asking = 0;

  /** Counts a question of a caller. Returns the function to call when it has been answered. */
  const ask = (caller: string): (() => void) => {
    if (asking >= questions) throw new Refusal('TooManyQuestions', [say`${questions} questions of all callers wait`]);
    const answered = askAs(caller);
    if (answered === undefined) throw new Refusal('TooManyQuestions', [say`${questionsOfCaller} of this caller wait`]);
    asking += 1;
    return () => {
      asking -= 1;
      answered();
    };
  };

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
  const acquire = async (): Promise<void> => {
    const isFull = running >= concurrentCalls;
    if (isFull && waiting.length >= waitingCalls) throw busy();
    if (isFull) await turn();
    else running += 1;
  };
  const acquireAgain = async (): Promise<void> => {
    if (running >= concurrentCalls) await new Promise<void>((resolve) => waiting.unshift(resolve));
    else running += 1;
  };
  const release = () => {
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  };

  return {
    get running() {
      return running;
    },
    /**
     * Counts a message of a caller, undefined where callers are not authenticated, while it is received. Returns the function to call
     * when it has arrived.
     * @throws HttpError if the caller sends too many at once
     */
    receive(caller: string | undefined): () => void {
      const arrived = caller === undefined ? () => undefined : receiveOf(caller);
      if (arrived === undefined) throw busy();
      return arrived;
    },
    /**
     * Waits for a place for a call of a caller.
     * @throws HttpError if the caller has too many, or if there is no room, not even to wait
     */
    async take(caller: string | undefined): Promise<Place> {
      let leaveCaller = caller === undefined ? () => undefined : enterAs(caller);
      if (leaveCaller === undefined) throw busy();
      await acquire().catch((error: unknown) => {
        leaveCaller?.();
        throw error;
      });
      let held = true;
      const leave = () => {
        if (!held) return;
        held = false;
        leaveCaller?.();
        release();
      };
      return {
        leave,
        async waitOutside(work) {
          const answered = ask(caller ?? '');
          leave();
          try {
            return await work();
          } finally {
            answered();
            await acquireAgain();
            if (caller !== undefined) leaveCaller = enterAs(caller, true);
            held = true;
          }
        },
      };
    },
  };
}

/** Counts by key, up to a maximum for each. A key whose count is 0 takes no memory. */
export function createCounter(maximum: number) {
  const counts = new Map<string, number>();
  const count = (key: string) => counts.get(key) ?? 0;
  /**
   * Adds one to a count. Returns the function that takes it away again, or undefined at the maximum, which one that comes back may
   * exceed.
   */
  return (key: string, isBack = false): (() => void) | undefined => {
    if (count(key) >= maximum && !isBack) return undefined;
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
