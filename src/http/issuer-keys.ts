import { createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey } from 'jose';
import type { HttpClient } from '../transport/http-client.js';
import type { Log } from '../util/log.js';
import { words } from '../util/safe-text.js';
import { type FoundIssuer, findIssuer, IssuerProblem } from './find-issuer.js';
import { createCounter } from './limits.js';

/** Keys are fetched again after this time (milliseconds). Until then, tokens of a key that the issuer has withdrawn are still accepted. */
const freshMs = 10 * 60_000;
/** If the issuer does not answer, the last good keys are used for this time after they were fetched (milliseconds). */
const lastGoodMs = 24 * 60 * 60_000;
/** Pause between two attempts to fetch the keys (milliseconds), because more requests would not help an issuer in trouble. */
const pauseMs = 5000;
/** Maximum number of requests that wait for a fetch. Without it, anybody could block all connections of a proxy in front of us by sending tokens. */
const mostWaiting = 32;
export interface IssuerKeysOptions {
  /** The address of the issuer, spelled as in its tokens and metadata. */
  readonly issuer: string;
  readonly httpClient: HttpClient;
  readonly now: () => Date;
  readonly sleep: (milliseconds: number) => Promise<unknown>;
  readonly log: Log;
}

export type IssuerKeys = ReturnType<typeof createIssuerKeys>;

/**
 * The metadata of an issuer and the public keys with which it signs tokens. jose caches the keys, and makes concurrent callers wait for the same
 * fetch. This wrapper adds the pause between two attempts, and uses the last good keys if the issuer does not answer.
 */
export function createIssuerKeys({ issuer, httpClient, now, sleep, log }: IssuerKeysOptions) {
  let found: FoundIssuer | undefined;
  let foundAt = Number.NEGATIVE_INFINITY;
  let attemptedAt = Number.NEGATIVE_INFINITY;
  /** The problem of the last attempt, if it failed. */
  let problem: IssuerProblem | undefined;
  /** Keys that the last attempt did not find. At most `mostWaiting` requests wait for an attempt, so few names are remembered. */
  const unknownKeys = new Set<string>();
  const enterWaiting = createCounter(mostWaiting);

  // The absolute difference, because the clock may have been set back.
  const msSince = (time: number) => Math.abs(now().getTime() - time);
  const pauseLeft = () => Math.max(0, pauseMs - msSince(attemptedAt));
  const areGood = () => msSince(foundAt) < lastGoodMs;

  const attempt = async (): Promise<void> => {
    const earlier = problem;
    try {
      found = await findIssuer(issuer, httpClient);
      foundAt = now().getTime();
      problem = undefined;
      if (earlier !== undefined) log('info', 'issuer', { message: words('It answers again.') });
    } catch (error) {
      problem = error instanceof IssuerProblem ? error : new IssuerProblem(words('its keys cannot be read'));
      if (problem.message !== earlier?.message) log('error', 'issuer', { error: problem.message });
    }
    attemptedAt = now().getTime();
    unknownKeys.clear();
  };

  const keySet = createRemoteJWKSet(new URL(issuer), {
    cacheMaxAge: freshMs,
    // `keyOf` fetches the keys again for an unknown key, because it has to wait for the end of the pause.
    cooldownDuration: Number.POSITIVE_INFINITY,
    [customFetch]: async () => {
      // In the pause after a failure, nobody waits. In the pause after a success, a caller needs a key that may have been added since then.
      if (problem === undefined && pauseLeft() > 0) await sleep(pauseLeft());
      if (problem === undefined || pauseLeft() === 0) await attempt();
      if (!areGood()) throw problem;
      return Response.json(found?.keys);
    },
  });

  const reload = async (): Promise<void> => {
    const leave = enterWaiting();
    if (leave === undefined) throw new IssuerProblem(words('too many requests wait for it'));
    await keySet.reload().finally(leave);
  };
  /** Reloads old keys. After a failure, tries again in the background when the pause has ended. */
  const reloadIfDue = async (): Promise<void> => {
    if (!keySet.fresh || !areGood()) return reload();
    if (problem !== undefined && pauseLeft() === 0) void keySet.reload().catch(() => undefined);
  };

  /**
   * Finds the key of a token. If the key is not known, waits until the keys are fetched again, because the issuer may have added the key.
   * @throws JWKSNoMatchingKey if the issuer does not have the key, and IssuerProblem if the keys cannot be fetched or too many requests wait
   */
  const keyOf: JWTVerifyGetKey = async (header, token) => {
    await reloadIfDue();
    const name = `${header.alg} ${header.kid}`;
    const find = () => keySet(header, token);
    return find().catch(async (error) => {
      const isUnknown = unknownKeys.has(name) && pauseLeft() > 0;
      if (isUnknown || !(error instanceof errors.JWKSNoMatchingKey)) throw error;
      await reload();
      return find().catch((error) => {
        // After a failed attempt, the issuer may have the key.
        if (problem !== undefined) throw problem;
        unknownKeys.add(name);
        throw error;
      });
    });
  };

  return {
    keyOf,
    /** Fetches the keys before the first caller needs them. Never rejects, because problems are logged. */
    fetch: () => keySet.reload().catch(() => undefined),
    /** The issuer's metadata. @throws IssuerProblem if the issuer did not answer the last attempt, or too many requests wait */
    async metadata(): Promise<FoundIssuer['metadata']> {
      await reloadIfDue();
      if (found === undefined || problem !== undefined) throw problem;
      return found.metadata;
    },
    /** True if the last attempt to fetch the keys succeeded. */
    reachable: () => found !== undefined && problem === undefined,
    /** True if there are keys that may be used. Begins to fetch due keys, because a server that is not ready gets no requests that would. */
    areGood: () => {
      void reloadIfDue().catch(() => undefined);
      return areGood();
    },
  };
}
