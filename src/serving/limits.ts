import type { IncomingMessage } from 'node:http';

/** What one process bears. Times in milliseconds, sizes in bytes. */
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
  headersMs: 10_000,
  requestMs: 20_000,
  keepAliveMs: 65_000,
};

/** Lets so many in at a time. */
export interface Gate {
  /** Resolves with what to call, once, on leaving, or with undefined if there is no room, not even to wait. */
  enter(caller?: string): Promise<(() => void) | undefined>;
  /** How many are inside. */
  readonly size: number;
}

export function createGate({ concurrentCalls, callsOfCaller, waitingCalls, waitMs }: HttpLimits): Gate {
  let inside = 0;
  const waiting: (() => void)[] = [];
  const admit = () => {
    inside += 1;
    let left = false;
    return () => {
      if (left) return;
      left = true;
      inside -= 1;
      waiting.shift()?.();
    };
  };
  const place = async (): Promise<(() => void) | undefined> => {
    if (inside < concurrentCalls) return admit();
    if (waiting.length >= waitingCalls) return undefined;
    return new Promise((resolve) => {
      const next = () => {
        clearTimeout(timer);
        resolve(admit());
      };
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(next), 1);
        resolve(undefined);
      }, waitMs);
      waiting.push(next);
    });
  };
  const byCaller = new Map<string, number>();
  const forget = (caller: string) => {
    const count = (byCaller.get(caller) ?? 1) - 1;
    if (count === 0) byCaller.delete(caller);
    else byCaller.set(caller, count);
  };
  return {
    get size() {
      return inside;
    },
    async enter(caller) {
      if (caller === undefined) return place();
      const count = byCaller.get(caller) ?? 0;
      if (count >= callsOfCaller) return undefined;
      byCaller.set(caller, count + 1);
      const leave = await place();
      if (leave === undefined) {
        forget(caller);
        return undefined;
      }
      return () => {
        leave();
        forget(caller);
      };
    },
  };
}

/** Names that are remembered at most; the one that was quiet for longest is forgotten first. */
const rememberedCallers = 10_000;

/**
 * A token bucket for each caller, full at first: `perSecond` calls a second, twice that at once.
 * Answers with 0, or with the seconds after which to try again.
 */
export function createRateLimiter(perSecond: number, now: () => Date): (caller: string) => number {
  const buckets = new Map<string, { readonly tokens: number; readonly at: number }>();
  const capacity = 2 * perSecond;
  return (caller) => {
    const at = now().getTime();
    const bucket = buckets.get(caller) ?? { tokens: capacity, at };
    const tokens = Math.min(capacity, bucket.tokens + (Math.max(0, at - bucket.at) / 1000) * perSecond);
    buckets.delete(caller);
    buckets.set(caller, { tokens: tokens < 1 ? tokens : tokens - 1, at });
    const [oldest] = buckets.keys();
    if (buckets.size > rememberedCallers && oldest !== undefined) buckets.delete(oldest);
    return tokens < 1 ? Math.ceil((1 - tokens) / perSecond) : 0;
  };
}

/** Reads a request's body, or says why not. Rejects if the client goes away. */
export type BodyReader = (request: IncomingMessage) => Promise<Buffer | 'too large' | 'too many'>;

export function createBodyReader({ bodyBytes, bodiesBytes }: HttpLimits): BodyReader {
  let held = 0;
  return async (request) => {
    if (Number(request.headers['content-length'] ?? 0) > bodyBytes) return 'too large';
    const chunks: Buffer[] = [];
    let size = 0;
    try {
      // The refusal still has to be written to the same socket.
      for await (const chunk of request.iterator({ destroyOnReturn: false })) {
        size += chunk.length;
        held += chunk.length;
        if (size > bodyBytes) return 'too large';
        if (held > bodiesBytes) return 'too many';
        chunks.push(chunk);
      }
      return Buffer.concat(chunks);
    } finally {
      held -= size;
    }
  };
}
