import { createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey } from 'jose';
import type { HttpClient } from '../transport/http-client.js';
import type { Log } from '../util/log.js';
import { words } from '../util/safe-text.js';
import { type FoundIssuer, findIssuer, IssuerProblem } from './find-issuer.js';
import { createCounter } from './limits.js';

/** Until keys are fetched again, withdrawn keys are accepted. */
const freshMs = 10 * 60_000;
/** How long the last good keys are used if the issuer does not answer. */
const lastGoodMs = 24 * 60 * 60_000;
/** Between two attempts to fetch the keys. */
const pauseMs = 5000;
/** Without this limit, anybody could block the connections of a proxy in front of us. */
const mostWaiting = 32;
export interface IssuerKeysOptions {
  readonly issuer: string;
  readonly httpClient: HttpClient;
  readonly now: () => Date;
  readonly sleep: (milliseconds: number) => Promise<unknown>;
  readonly log: Log;
}

export type IssuerKeys = ReturnType<typeof createIssuerKeys>;

/** The metadata and public keys of an issuer. Adds pauses and the last good keys to jose's cache. */
export function createIssuerKeys({ issuer, httpClient, now, sleep, log }: IssuerKeysOptions) {
  let found: FoundIssuer | undefined;
  let foundAt = Number.NEGATIVE_INFINITY;
  let attemptedAt = Number.NEGATIVE_INFINITY;
  let problem: IssuerProblem | undefined;
  const enterWaiting = createCounter(mostWaiting);

  // The clock may have been set back.
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
  };

  const keySet = createRemoteJWKSet(new URL(issuer), {
    cacheMaxAge: freshMs,
    // `keyOf` fetches the keys again, after the pause.
    cooldownDuration: Number.POSITIVE_INFINITY,
    [customFetch]: async () => {
      // A key may have been added since the last success.
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
  /** After a failure, tries again in the background. */
  const reloadIfDue = async (): Promise<void> => {
    if (!keySet.fresh || !areGood()) return reload();
    if (problem !== undefined && pauseLeft() === 0) void keySet.reload().catch(() => undefined);
  };

  /** Fetches again for an unknown key. @throws JWKSNoMatchingKey or IssuerProblem */
  const keyOf: JWTVerifyGetKey = async (header, token) => {
    await reloadIfDue();
    return keySet(header, token).catch(async (error) => {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      await reload();
      return keySet(header, token).catch((stillUnknown) => {
        // After a failed attempt, the issuer may have the key.
        throw problem ?? stillUnknown;
      });
    });
  };

  return {
    keyOf,
    /** @throws IssuerProblem */
    async metadata(): Promise<FoundIssuer['metadata']> {
      // After a failure, a sign-in waits for the attempt, because the issuer may answer again.
      await (problem === undefined ? reloadIfDue() : reload().catch(() => undefined));
      if (found === undefined || problem !== undefined) throw problem;
      return found.metadata;
    },
    reachable: () => found !== undefined && problem === undefined,
    /** Also fetches due keys, because a server that is not ready gets no requests. */
    areGood: () => {
      void reloadIfDue().catch(() => undefined);
      return areGood();
    },
  };
}
