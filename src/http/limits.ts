import { Refusal } from '../consent/refusal.js';
import { say } from '../util/safe-text.js';
import { busy } from './http-helpers.js';

/** Limits of one process. Times are in milliseconds, sizes in bytes. */
export const defaultHttpLimits = {
  /** Size limit of one body. The largest arguments fit: a plan of 40,000 characters and a service account key of 65,536, as JSON or in a sealed token. */
  bodyBytes: 256 * 1024,
  /** Sum of all bodies that are being received. */
  bodiesBytes: 64 * 1024 * 1024,
  concurrentCalls: 64,
  /** Calls of one authenticated caller that wait or run, and as many that are being received. Others always have room. */
  callsOfCaller: 32,
  /** Open questions to the user of one caller. */
  questionsOfCaller: 8,
  /** Open questions of all callers. Each holds a connection, and half the connections of one proxy stay free for the answers. */
  questions: 128,
  waitingCalls: 64,
  waitMs: 5000,
  connections: 1024,
  /** Connections, and also concurrent requests, of one IPv4 address or one /64 of IPv6. */
  connectionsOfAddress: 256,
  /** Connections for metrics, of all clients. */
  metricsConnections: 64,
  /** Time limit for the headers of a request, and for the first byte on a new connection. */
  headersMs: 10_000,
  requestMs: 20_000,
  /** Time after which idle connections are closed. Load balancers close them after a minute, so they never send into a closing connection. */
  keepAliveMs: 65_000,
};

export type HttpLimits = Readonly<typeof defaultHttpLimits>;

export type ConcurrencyLimiter = ReturnType<typeof createConcurrencyLimiter>;

/** The place of a running call. There are `concurrentCalls` places. */
interface Place {
  leave(): void;
  /**
   * Gives up the place during work that waits for a person. Afterwards, the call gets a place before all waiting calls.
   * @throws Refusal if too many questions are open
   */
  waitOutside<Result>(work: () => Promise<Result>): Promise<Result>;
}

export function createConcurrencyLimiter(limits: HttpLimits) {
  const places = createPlaces(limits);
  const askAs = createQuestionCounter(limits);
  const receiveAs = createCounter(limits.callsOfCaller);
  const enterAs = createCounter(limits.callsOfCaller);

  return {
    get running() {
      return places.taken;
    },
    /**
     * Counts a message that is being received. Returns the function to call when it has arrived.
     * @param caller undefined if callers are not authenticated
     * @throws HttpError if too many messages of the caller are being received
     */
    receive(caller: string | undefined): () => void {
      const arrived = caller === undefined ? () => undefined : receiveAs(caller);
      if (arrived === undefined) throw busy();
      return arrived;
    },
    /**
     * Waits for a place for a call.
     * @throws HttpError if the caller has too many calls, or if too many calls wait
     */
    async take(caller: string | undefined): Promise<Place> {
      let leaveCaller = caller === undefined ? () => undefined : enterAs(caller);
      if (leaveCaller === undefined) throw busy();
      await places.take().catch((error: unknown) => {
        leaveCaller?.();
        throw error;
      });
      let isTaken = true;
      const leave = () => {
        if (!isTaken) return;
        isTaken = false;
        leaveCaller?.();
        places.leave();
      };
      return {
        leave,
        async waitOutside(work) {
          const answered = askAs(caller ?? '');
          leave();
          try {
            return await work();
          } finally {
            answered();
            await places.takeFirst();
            if (caller !== undefined) leaveCaller = enterAs(caller, true);
            isTaken = true;
          }
        },
      };
    },
  };
}

/** The places for running calls, and the queue for them. */
function createPlaces({ concurrentCalls, waitingCalls, waitMs }: HttpLimits) {
  const queue: (() => void)[] = [];
  let taken = 0;
  const waitInQueue = () =>
    new Promise<void>((resolve, reject) => {
      const next = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        queue.splice(queue.indexOf(next), 1);
        reject(busy());
      }, waitMs);
      queue.push(next);
    });
  return {
    get taken() {
      return taken;
    },
    /** @throws HttpError if the queue is full, or after `waitMs` */
    async take(): Promise<void> {
      if (taken < concurrentCalls) taken += 1;
      else if (queue.length < waitingCalls) await waitInQueue();
      else throw busy();
    },
    /** Takes a place before all calls in the queue, and waits for it without a limit. */
    async takeFirst(): Promise<void> {
      if (taken < concurrentCalls) taken += 1;
      else await new Promise<void>((resolve) => queue.unshift(resolve));
    },
    /** Gives the place to the next call in the queue. */
    leave(): void {
      const next = queue.shift();
      if (next === undefined) taken -= 1;
      else next();
    },
  };
}

/** Counts open questions, per caller and in total. */
function createQuestionCounter({ questions, questionsOfCaller }: HttpLimits) {
  const askAs = createCounter(questionsOfCaller);
  let open = 0;
  /**
   * Returns the function to call when the question is answered.
   * @throws Refusal if too many questions are open
   */
  return (caller: string): (() => void) => {
    if (open >= questions) throw new Refusal('TooManyQuestions', [say`${questions} questions of all callers wait`]);
    const answered = askAs(caller);
    if (answered === undefined) throw new Refusal('TooManyQuestions', [say`${questionsOfCaller} of this caller wait`]);
    open += 1;
    return () => {
      open -= 1;
      answered();
    };
  };
}

/** Counts per key, up to `maximum` for each key. A key whose count is 0 takes no memory. */
export function createCounter(maximum: number) {
  const counts = new Map<string, number>();
  const count = (key: string) => counts.get(key) ?? 0;
  /**
   * Increments the count of a key. Returns the function that decrements it, or undefined at the maximum.
   * @param mayExceed true for a call that was counted before, and gets its place again in any case
   */
  return (key: string, mayExceed = false): (() => void) | undefined => {
    if (count(key) >= maximum && !mayExceed) return undefined;
    counts.set(key, count(key) + 1);
    return () => void (count(key) > 1 ? counts.set(key, count(key) - 1) : counts.delete(key));
  };
}

/** Number of keys in a rate limiter. The key that was idle for the longest time is dropped first. */
const rememberedKeys = 10_000;

/**
 * Limits the rate per key with token buckets, which are full at first. `burst` is the size of a bucket.
 * @returns a function that returns 0, or the number of seconds after which to try again
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
