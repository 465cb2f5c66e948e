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
  /** Calls of one authenticated caller that wait or run. The same limit holds for messages of the caller that are being received. */
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
  /** Idle connections are closed after this time. Load balancers close them after 60 s, so they never use a connection that is just closing. */
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

/** Limits the calls that run at a time, per caller and in total. The caller is undefined if callers are not authenticated. */
export function createConcurrencyLimiter(limits: HttpLimits) {
  const places = createPlaces(limits);
  const countQuestion = createQuestionCounter(limits);
  const countMessage = createCallerCounter(limits.callsOfCaller);
  const countCall = createCallerCounter(limits.callsOfCaller);

  return {
    get running() {
      return places.taken;
    },
    /**
     * Counts a message that is being received. Returns the function to call when it has arrived.
     * @throws HttpError if too many messages of the caller are being received
     */
    receive: (caller: string | undefined): (() => void) => countMessage(caller),
    /**
     * Waits for a place for a call.
     * @throws HttpError if the caller has too many calls, or if too many calls wait
     */
    async take(caller: string | undefined): Promise<Place> {
      let leaveCaller = countCall(caller);
      try {
        await places.take();
      } catch (error) {
        leaveCaller();
        throw error;
      }
      let hasPlace = true;
      const leave = () => {
        if (!hasPlace) return;
        hasPlace = false;
        leaveCaller();
        places.leave();
      };
      const takeAgain = async () => {
        await places.takeFirst();
        leaveCaller = countCall(caller, true);
        hasPlace = true;
      };
      return {
        leave,
        async waitOutside(work) {
          const endQuestion = countQuestion(caller ?? '');
          leave();
          try {
            return await work();
          } finally {
            endQuestion();
            await takeAgain();
          }
        },
      };
    },
  };
}

/** Counts per caller, up to `maximum` for each. Callers that are not authenticated are not counted. */
function createCallerCounter(maximum: number) {
  const enter = createCounter(maximum);
  /** @throws HttpError at the maximum, unless `mayExceed` is true */
  return (caller: string | undefined, mayExceed = false): (() => void) => {
    if (caller === undefined) return () => undefined;
    const leave = enter(caller, mayExceed);
    if (leave === undefined) throw busy();
    return leave;
  };
}

/** The places for running calls, and the queue for them. */
function createPlaces({ concurrentCalls, waitingCalls, waitMs }: HttpLimits) {
  /** For each waiting call, the function that gives it a place. */
  const queue: (() => void)[] = [];
  let taken = 0;
  const waitInQueue = () =>
    new Promise<void>((resolve, reject) => {
      const receivePlace = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        queue.splice(queue.indexOf(receivePlace), 1);
        reject(busy());
      }, waitMs);
      queue.push(receivePlace);
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
    /** Gives the place to the next call in the queue, or frees it. */
    leave(): void {
      const givePlaceToNext = queue.shift();
      if (givePlaceToNext === undefined) taken -= 1;
      else givePlaceToNext();
    },
  };
}

/** Counts open questions, per caller and in total. */
function createQuestionCounter({ questions, questionsOfCaller }: HttpLimits) {
  const enter = createCounter(questionsOfCaller);
  let openQuestions = 0;
  /**
   * Returns the function to call when the question is answered.
   * @throws Refusal if too many questions are open
   */
  return (caller: string): (() => void) => {
    if (openQuestions >= questions)
      throw new Refusal('TooManyQuestions', [say`${questions} questions of all callers wait`]);
    const leave = enter(caller);
    if (leave === undefined) throw new Refusal('TooManyQuestions', [say`${questionsOfCaller} of this caller wait`]);
    openQuestions += 1;
    return () => {
      openQuestions -= 1;
      leave();
    };
  };
}

/** Counts per key, up to `maximum` for each key. A key with the count 0 takes no memory. */
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
