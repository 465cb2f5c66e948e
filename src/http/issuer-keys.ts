import { createRemoteJWKSet, customFetch, errors, type JWTHeaderParameters, type JWTVerifyGetKey } from 'jose';
import * as z from 'zod';
import { httpFailureText } from '../calls/remedies.js';
import type { HttpClient, HttpFailure } from '../transport/http-client.js';
import { type Log, ShownError } from '../util/log.js';
import { exact, join, quoted, type SafeText, say, words } from '../util/safe-text.js';
import { createCounter } from './limits.js';

/** Time limit for each document, in milliseconds. */
const networkMs = 5000;
/** Keys are fetched again after this time, in milliseconds. Only then is a key refused that the issuer has withdrawn. */
const freshMs = 10 * 60_000;
/** Keys are used for this time, in milliseconds, if the issuer does not answer. */
const lastGoodMs = 24 * 60 * 60_000;
/** Pause between two attempts, in milliseconds, because an issuer in trouble should not get more requests. */
const pauseMs = 5000;
/** Number of requests that wait for the issuer at a time. Strangers send tokens too, and must not take all connections of a proxy. */
const mostWaiting = 32;
/** Number of names that are remembered as unknown keys, and the longest remembered name. */
const mostUnknown = 1000;
const longestKeyName = 256;
/** Size limit of a document with metadata or keys. */
export const documentBytes = 1024 * 1024;

/** An error that says why an issuer's keys are not available. Its message is a sentence without the period. */
export class IssuerProblem extends ShownError {}

/** The keys of an issuer, found through its metadata. */
export interface IssuerKeys {
  /**
   * Finds the key of a token. If the key is unknown, the keys are fetched again first, at most once for each pause.
   * @throws IssuerProblem if there are no keys, if the key is unknown and the keys cannot be fetched, or if too many requests wait
   */
  readonly keyOf: JWTVerifyGetKey;
  /** Fetches the keys before the first caller needs them. Never rejects, because problems are logged. */
  fetch(): Promise<void>;
  /** True if the last attempt to fetch the keys succeeded. */
  reachable(): boolean;
}

export interface IssuerKeysOptions {
  /** The address of the issuer, spelled as in its tokens and metadata. */
  readonly issuer: string;
  readonly httpClient: HttpClient;
  readonly now: () => Date;
  readonly sleep: (milliseconds: number) => Promise<unknown>;
  readonly log: Log;
}

/** Finds the keys of tokens with jose, which caches an issuer's keys and shares one fetch among all callers. */
export function createIssuerKeys(options: IssuerKeysOptions): IssuerKeys {
  /** Names of keys that were not among the last fetched keys. Tokens with such a key do not wait for the next fetch. */
  const unknownKeys = new Set<string>();
  const source = createKeySource(options, () => unknownKeys.clear());
  // The address is not used, because `source` reads it from the issuer's metadata. The pause of `source` replaces jose's cooldown.
  const keySet = createRemoteJWKSet(new URL(options.issuer), {
    cacheMaxAge: freshMs,
    cooldownDuration: Number.POSITIVE_INFINITY,
    [customFetch]: async () => Response.json(await source.fetchKeys()),
  });
  const enterWaiting = createCounter(mostWaiting);

  /** Waits until jose has fetched the keys again. */
  const waitForFetch = async (): Promise<void> => {
    const leave = enterWaiting('');
    if (leave === undefined) throw new IssuerProblem(words('too many requests wait for it'));
    await keySet.reload().finally(leave);
  };
  const fetchInBackground = () => keySet.reload().catch(() => undefined);

  const refreshCache = async (): Promise<void> => {
    if (!keySet.fresh || source.isLastGoodTooOld()) return waitForFetch();
    // jose regards the last good keys as fresh, and would not fetch the keys again soon.
    if (source.lastProblem() !== undefined && source.pauseLeft() === 0) void fetchInBackground();
  };

  /** Returns the key of a token from the cache. Undefined if the cache does not have it. */
  const cachedKey = async (...token: Parameters<JWTVerifyGetKey>) => {
    try {
      return await keySet(...token);
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) return undefined;
      throw error;
    }
  };

  return {
    async keyOf(header, token) {
      await refreshCache();
      const knownKey = await cachedKey(header, token);
      if (knownKey !== undefined) return knownKey;

      // The issuer may have published the key since the last fetch.
      const name = nameOfKey(header);
      if (unknownKeys.has(name) && source.pauseLeft() > 0) throw new errors.JWKSNoMatchingKey();
      await waitForFetch();
      const newKey = await cachedKey(header, token);
      if (newKey !== undefined) return newKey;

      const problem = source.lastProblem();
      if (problem !== undefined) throw problem;
      if (unknownKeys.size < mostUnknown && name.length <= longestKeyName) unknownKeys.add(name);
      throw new errors.JWKSNoMatchingKey();
    },
    fetch: fetchInBackground,
    reachable: source.reachable,
  };
}

/** The name of a token's key, with the algorithm, because a key fits one algorithm. */
const nameOfKey = ({ kid, alg }: JWTHeaderParameters) => `${alg} ${kid}`;

/**
 * Fetches an issuer's keys with a pause after each attempt, and keeps the last good keys for times in which the issuer does not answer.
 * Logs when the issuer stops answering and when it answers again.
 * @param onAttempt called after each attempt
 */
function createKeySource({ issuer, httpClient, now, sleep, log }: IssuerKeysOptions, onAttempt: () => void) {
  let lastGood: { readonly keys: KeySet; readonly at: number } | undefined;
  let lastAttempt: { readonly problem: IssuerProblem | undefined; readonly at: number } | undefined;

  const ageOf = ({ at }: { readonly at: number }) => Math.abs(now().getTime() - at);
  const pauseLeft = () => (lastAttempt === undefined ? 0 : Math.max(0, pauseMs - ageOf(lastAttempt)));
  const isLastGoodTooOld = () => lastGood !== undefined && ageOf(lastGood) >= lastGoodMs;

  const endAttempt = (problem: IssuerProblem | undefined): void => {
    const earlierProblem = lastAttempt?.problem;
    if (problem !== undefined && problem.message !== earlierProblem?.message)
      log('error', 'issuer', { error: problem.message });
    if (problem === undefined && earlierProblem !== undefined)
      log('info', 'issuer', { message: words('It answers again.') });
    lastAttempt = { at: now().getTime(), problem };
    onAttempt();
  };
  const attempt = async (): Promise<void> => {
    try {
      const keys = await findKeys(issuer, httpClient);
      lastGood = { keys, at: now().getTime() };
      endAttempt(undefined);
    } catch (error) {
      endAttempt(error instanceof IssuerProblem ? error : new IssuerProblem(words('its keys cannot be read')));
    }
  };

  return {
    /**
     * Fetches the keys. If the issuer does not answer, or has not answered before the present pause, returns the last good keys.
     * @throws IssuerProblem if there are no good keys, or if they are too old
     */
    async fetchKeys(): Promise<KeySet> {
      const isPauseAfterProblem = pauseLeft() > 0 && lastAttempt?.problem !== undefined;
      if (!isPauseAfterProblem) {
        if (pauseLeft() > 0) await sleep(pauseLeft());
        await attempt();
      }
      if (lastGood === undefined || isLastGoodTooOld()) throw lastAttempt?.problem;
      return lastGood.keys;
    },
    /** Milliseconds until the next attempt may begin. */
    pauseLeft,
    isLastGoodTooOld,
    /** The problem of the last attempt, if the attempt failed. */
    lastProblem: () => lastAttempt?.problem,
    reachable: () => lastAttempt !== undefined && lastAttempt.problem === undefined,
  };
}

const metadataSchema = z.object({ issuer: z.string(), jwks_uri: z.url() });
/** Maximum number of keys of an issuer. A token that names no key is tried with each key, which takes seconds for thousands of keys. */
const mostKeys = 100;
const keysSchema = z.object({ keys: z.array(z.record(z.string(), z.unknown())).max(mostKeys) });
type KeySet = z.output<typeof keysSchema>;

/**
 * Finds an issuer's keys by its metadata (RFC 8414, or OpenID Connect Discovery).
 * @throws IssuerProblem
 */
export async function findKeys(issuer: string, httpClient: HttpClient): Promise<KeySet> {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const places = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ];
  const problems: SafeText[] = [];
  for (const place of places) {
    const document = await fetchJson(place, httpClient);
    const { data: metadata } = metadataSchema.safeParse(document.json);
    if (metadata !== undefined) return await fetchKeys(metadata, issuer, httpClient);
    problems.push(say`${exact(place)} ${document.problem ?? words('has no metadata of an issuer')}`);
  }
  throw new IssuerProblem(join(problems, '; '));
}

/** Fetches the keys that an issuer's metadata names. */
async function fetchKeys(
  metadata: z.output<typeof metadataSchema>,
  issuer: string,
  httpClient: HttpClient,
): Promise<KeySet> {
  const issuerInMetadata = metadata.issuer;
  if (issuerInMetadata !== issuer)
    throw new IssuerProblem(
      say`it calls itself ${quoted(issuerInMetadata, 200)}${spellingHint(issuerInMetadata, issuer)}`,
    );
  const { protocol, origin, href } = new URL(metadata.jwks_uri);
  // Plain http is allowed only at the issuer's own origin, which the configuration has checked.
  if (protocol !== 'https:' && origin !== new URL(issuer).origin)
    throw new IssuerProblem(words('its metadata names keys that are not at an https address'));
  const document = await fetchJson(href, httpClient);
  const { data: keys } = keysSchema.safeParse(document.json);
  if (keys !== undefined) return keys;
  const problem = document.problem ?? say`has no keys, or more than ${mostKeys}`;
  throw new IssuerProblem(say`${quoted(href, 200)} ${problem}`);
}

/** Explains the most common mistake. Issuers treat addresses with and without a slash at the end as different. */
function spellingHint(issuerInMetadata: string, issuer: string): SafeText {
  if (issuerInMetadata.replace(/\/$/, '') !== issuer.replace(/\/$/, ''))
    return words(', which is not what CLOUDOPS_HTTP_ISSUER says');
  const how = words(issuerInMetadata.endsWith('/') ? 'with the slash' : 'without a slash');
  return say`: set CLOUDOPS_HTTP_ISSUER to exactly that, ${how} at the end`;
}

/**
 * Fetches a JSON document of the issuer. `problem` says why there is none, because many servers answer an unknown path with an
 * HTML page or a redirect.
 * @throws IssuerProblem if there is no answer
 */
async function fetchJson(url: string, httpClient: HttpClient): Promise<{ json?: unknown; problem?: SafeText }> {
  const { origin, pathname, search } = new URL(url);
  const headers = { accept: 'application/json' };
  const request = { method: 'GET', origin, path: pathname + search, headers, newConnection: false } as const;
  const response = await httpClient.send(request, AbortSignal.timeout(networkMs));
  if (response.kind === 'failure') throw noAnswer(response, origin);
  if (response.bodyFailure !== undefined) throw noAnswer(response.bodyFailure, origin);
  if (response.status !== 200) return { problem: say`answers with HTTP status ${response.status}` };
  try {
    return { json: JSON.parse(response.body) };
  } catch {
    return { problem: words('answers with something that is not JSON') };
  }
}

const noAnswer = (failure: HttpFailure, origin: string) =>
  new IssuerProblem(
    failure.code === 'CallTimeout'
      ? say`${exact(origin)} did not answer within ${networkMs / 1000} s`
      : httpFailureText(failure, origin),
  );
