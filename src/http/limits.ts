import { Refusal } from '../calls/refusal.js';
import { createQueue, QueueTimeout } from '../util/queue.js';
import { say } from '../util/safe-text.js';
import { busy } from './http-helpers.js';

/** Limits of one server process. Times are in milliseconds, and sizes in bytes. The other limits count things that exist at the same time. */
export const defaultHttpLimits = {
  /** Size limit of a body. Fits the largest call (a plan of 40,000 characters, or a key of 65,536), or a ticket that seals this call. */
  bodyBytes: 256 * 1024,
  /** Total size of all bodies that are being received. */
  bodiesBytes: 64 * 1024 * 1024,
  concurrentCalls: 64,
  /** Calls of one authenticated caller, both waiting and running. Also the limit for the caller's messages that are being received. */
  callsOfCaller: 32,
  /** Calls of one caller that wait for a person. */
  questionsOfCaller: 8,
  /** Calls of all callers that wait for a person. Each holds a connection, so most of `connections` stay free. */
  questions: 128,
  waitingCalls: 64,
  /** The longest time that a call waits for one of the `concurrentCalls` places. */
  waitMs: 5000,
  connections: 1024,
  /** Requests for /mcp and /decisions at the same time, of all clients. */
  requests: 1024,
  /** Connections of all clients to the server for metrics. */
  metricsConnections: 64,
  /** Time limit for the headers of a request, and for the first byte on a new connection. */
  headersMs: 10_000,
  /** Time limit for receiving a whole request. */
  requestMs: 20_000,
  /** Idle connections are closed after this time. Load balancers close theirs after 60 s, so they never use a connection that we are closing. */
  keepAliveMs: 65_000,
};

export type HttpLimits = Readonly<typeof defaultHttpLimits>;

export type ConcurrencyLimiter = ReturnType<typeof createConcurrencyLimiter>;

/** One of the `concurrentCalls` places. A call needs a place to run. */
interface Place {
  /** Called once, when the call has ended. */
  leave(): void;
  /**
   * Runs `work`, which waits for a person, and gives up the place meanwhile. Afterwards, the call gets the next free place.
   * @throws Refusal if too many questions are open
   */
  waitOutside<Result>(work: () => Promise<Result>): Promise<Result>;
}

/**
 * Limits the number of running calls, open questions and messages that are being received: calls and questions per caller and in total,
 * messages per caller only. A caller who is not authenticated is undefined.
 */
export function createConcurrencyLimiter(limits: HttpLimits) {
  const places = createQueue(limits.concurrentCalls);
  const countCall = createCallerCounter(limits.callsOfCaller);
  const countQuestion = createCounter(limits.questions);
  const countQuestionOfCaller = createCounter(limits.questionsOfCaller);

  /** @throws HttpError if too many calls wait, or after `waitMs` */
  const enterInTime = async (): Promise<() => void> => {
    const isFull = places.taken() >= limits.concurrentCalls && places.waiting() >= limits.waitingCalls;
    if (isFull) throw busy();
    return places.enter(limits.waitMs).catch((error: unknown) => {
      throw error instanceof QueueTimeout ? busy() : error;
    });
  };

  /** Counts a question. Returns the function to call when the question is answered. @throws Refusal if too many questions are open */
  const beginQuestion = (caller: string | undefined): (() => void) => {
    const endOfCaller = countQuestionOfCaller(caller);
    if (endOfCaller === undefined)
      throw new Refusal('TooManyQuestions', [say`${limits.questionsOfCaller} of this caller wait`]);
    const end = countQuestion();
    if (end === undefined) {
      endOfCaller();
      throw new Refusal('TooManyQuestions', [say`${limits.questions} questions of all callers wait`]);
    }
    return () => {
      end();
      endOfCaller();
    };
  };

  return {
    /** Number of running calls. */
    running: places.taken,
    /**
     * Counts a message that is being received. Messages have the same limit as calls, because each call begins as a message, but their own count.
     * Returns the function to call when the message has arrived.
     * @throws HttpError if too many messages of the caller are being received
     */
    receive: createCallerCounter(limits.callsOfCaller),
    /** Waits for a place for a call. @throws HttpError if the caller has too many calls, if too many calls wait, or after `waitMs` */
    async take(caller: string | undefined): Promise<Place> {
      // A call is also counted while it waits for a place.
      let uncountCall = countCall(caller);
      let leavePlace = await enterInTime().catch((error: unknown) => {
        uncountCall();
        throw error;
      });
      // `waitOutside` also calls this function, but takes a place again before it ends, so no place is given up twice.
      const leave = () => {
        uncountCall();
        leavePlace();
      };

      return {
        leave,
        async waitOutside(work) {
          // Called before `leave`, because if there are too many questions, the call must keep its place.
          const endQuestion = beginQuestion(caller);
          leave();
          try {
            return await work();
          } finally {
            endQuestion();
            // A call that has run before continues even if the queue is full or the caller has too many calls.
            leavePlace = await places.enterFirst();
            uncountCall = countCall(caller, { mayExceed: true });
          }
        },
      };
    },
  };
}

/**
 * Counts calls or messages per caller, up to `maximum` for each. Callers who are not authenticated (undefined) are not counted, because they
 * cannot be told apart.
 */
function createCallerCounter(maximum: number) {
  const enter = createCounter(maximum);
  /** Counts a call or message. Returns the function that takes it off the count. @throws HttpError at the maximum, unless `mayExceed` is true */
  return (caller: string | undefined, options: CountOptions = {}): (() => void) => {
    if (caller === undefined) return () => undefined;
    const leave = enter(caller, options);
    if (leave === undefined) throw busy();
    return leave;
  };
}

interface CountOptions {
  /** True to count even at the maximum. */
  readonly mayExceed?: boolean;
}

/** Counts things per key, such as calls per caller, up to `maximum` for each key. A key whose count is 0 again takes no memory. */
export function createCounter(maximum: number) {
  const counts = new Map<string, number>();
  const count = (key: string) => counts.get(key) ?? 0;
  /** Increments a count. Returns the function that decrements it. At the maximum, returns undefined, unless `mayExceed` is true. */
  return (key = '', { mayExceed = false }: CountOptions = {}): (() => void) | undefined => {
    if (count(key) >= maximum && !mayExceed) return undefined;
    counts.set(key, count(key) + 1);
    return () => {
      const remaining = count(key) - 1;
      if (remaining > 0) counts.set(key, remaining);
      else counts.delete(key);
    };
  };
}

/** Maximum number of keys that a rate limiter remembers. The least recently used key is forgotten first. */
const rememberedKeys = 10_000;

/**
 * Limits the rate per key with token buckets, which are full at first. `burst` is the size of a bucket.
 * @returns a function that returns 0 and removes one token from the bucket of a key. If the bucket is empty, it returns the number of
 *   seconds after which to try again
 */
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

    // Deleted first, so that the map is in the order of use.
    buckets.delete(key);
    buckets.set(key, { tokens: isEmpty ? refilled : refilled - 1, at });
    const [oldest] = buckets.keys();
    if (buckets.size > rememberedKeys && oldest !== undefined) buckets.delete(oldest);
    return isEmpty ? Math.ceil((1 - refilled) / perSecond) : 0;
  };
}
