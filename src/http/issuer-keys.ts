import { createRemoteJWKSet, customFetch, errors, type JWTHeaderParameters, type JWTVerifyGetKey } from 'jose';
import * as z from 'zod';
import { httpFailureText } from '../calls/remedies.js';
import type { HttpClient, HttpFailure } from '../transport/http-client.js';
import { type Log, ShownError } from '../util/log.js';
import { exact, join, quoted, type SafeText, say, words } from '../util/safe-text.js';
import { createCounter } from './limits.js';

/** Time limit for fetching one document (milliseconds). */
const networkMs = 5000;
/** Keys are fetched again after this time (milliseconds). Until then, tokens of a key that the issuer has withdrawn are still accepted. */
const freshMs = 10 * 60_000;
/** If the issuer does not answer, the last good keys are used for this time after they were fetched (milliseconds). */
const lastGoodMs = 24 * 60 * 60_000;
/** Pause between two attempts to fetch the keys (milliseconds), because more requests would not help an issuer in trouble. */
const pauseMs = 5000;
/** Maximum number of requests that wait for a fetch. Without it, anybody could block all connections of a proxy in front of us by sending tokens. */
const mostWaiting = 32;
/** Maximum number of names that are remembered as unknown keys. */
const mostUnknown = 1000;
/** Longer names of unknown keys are not remembered (characters). */
const longestKeyName = 256;
/** Size limit of a document with metadata or keys (bytes). */
export const documentBytes = 1024 * 1024;

/** Thrown if the keys of an issuer are not available. The message is a clause about the issuer, such as "it calls itself …". */
export class IssuerProblem extends ShownError {}

/** The public keys with which an issuer signs tokens. */
export interface IssuerKeys {
  /**
   * Finds the key of a token. If the key is not known, fetches the keys again, because the issuer may have added the key.
   * @throws JWKSNoMatchingKey if the issuer does not have the key, and IssuerProblem if the keys cannot be fetched or too many requests wait
   */
  readonly keyOf: JWTVerifyGetKey;
  /** Fetches the keys before the first caller needs them. Never rejects, because problems are logged. */
  fetch(): Promise<void>;
  /** True if the last attempt to fetch the keys succeeded. */
  reachable(): boolean;
  /**
   * True if there are keys that may still be used. Also begins to fetch the keys again if they are old or the last attempt failed, because a
   * server that is not ready gets no requests that would do so.
   */
  areGood(): boolean;
}

export interface IssuerKeysOptions {
  /** The address of the issuer, spelled as in its tokens and metadata. */
  readonly issuer: string;
  readonly httpClient: HttpClient;
  readonly now: () => Date;
  readonly sleep: (milliseconds: number) => Promise<unknown>;
  readonly log: Log;
}

/**
 * Creates `IssuerKeys`. `joseCache` holds the keys, and makes concurrent callers wait for the same fetch. `source` fetches the keys, with a
 * pause after each attempt. After a failed attempt, `source` returns the last good keys. Only `source` knows their age.
 */
export function createIssuerKeys(options: IssuerKeysOptions): IssuerKeys {
  /** Names of keys that the last fetch did not find. Each new fetch clears the names. */
  const unknownKeys = new Set<string>();
  const source = createKeySource({ ...options, onAttempt: () => unknownKeys.clear() });
  // jose needs an address, but `source` finds the address of the keys itself.
  const joseCache = createRemoteJWKSet(new URL(options.issuer), {
    cacheMaxAge: freshMs,
    // Keeps jose from fetching the keys again for an unknown key. `keyOf` decides when to fetch.
    cooldownDuration: Number.POSITIVE_INFINITY,
    // Rejects if there are no good keys, or if they are too old.
    [customFetch]: async () => Response.json(await source.fetchKeys()),
  });
  const enterWaiting = createCounter(mostWaiting);

  /**
   * Fetches the keys again, or joins a fetch under way, and waits until new keys or the last good keys are in the cache. In the pause after a
   * success, `source.fetchKeys` waits for the end of the pause first. In the pause after a failure, it returns the last good keys at once.
   * @throws IssuerProblem if there are no good keys, or if too many requests wait
   */
  const reloadAndWait = async (): Promise<void> => {
    const leave = enterWaiting();
    if (leave === undefined) throw new IssuerProblem(words('too many requests wait for it'));
    await joseCache.reload().finally(leave);
  };
  /** Fetches the keys again. Never rejects, because `source` logs the problem. */
  const tryReload = () => joseCache.reload().catch(() => undefined);

  // jose counts the age from the last reload, but that reload may have got the last good keys, which are older.
  const isCacheOld = () => !joseCache.fresh || source.isLastGoodTooOld();

  /** Begins to fetch the keys again if they are old or the last attempt failed, but not in the pause after an attempt. */
  const reloadInBackgroundIfDue = (): void => {
    const isDue = isCacheOld() || source.lastProblem() !== undefined;
    if (isDue && source.pauseLeft() === 0) void tryReload();
  };

  /**
   * Returns the key of a token from the cache; undefined if the cache does not have the key. Must not be called if the cache is old, because jose
   * would then fetch the keys again.
   */
  const cachedKey = async (...token: Parameters<JWTVerifyGetKey>) => {
    try {
      return await joseCache(...token);
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) return undefined;
      throw error;
    }
  };

  return {
    /**
     * Finds the key of a token in the cache, or fetches the keys again. In the pause after a fetch, immediately refuses a key that this fetch did
     * not find (`unknownKeys`).
     */
    async keyOf(header, token) {
      if (isCacheOld()) await reloadAndWait();
      else reloadInBackgroundIfDue();
      const knownKey = await cachedKey(header, token);
      if (knownKey !== undefined) return knownKey;

      const name = nameOfKey(header);
      if (unknownKeys.has(name) && source.pauseLeft() > 0) throw new errors.JWKSNoMatchingKey();

      // Reloads even if the cache has just been reloaded, because that fetch may have begun before the issuer added the key.
      await reloadAndWait();
      const newKey = await cachedKey(header, token);
      if (newKey !== undefined) return newKey;

      // After a failed fetch, the key does not count as unknown, because the cache has only the last good keys, and the issuer may have the key.
      const problem = source.lastProblem();
      if (problem !== undefined) throw problem;

      // Anybody can send tokens with any names of keys, so the memory for them is limited.
      if (unknownKeys.size < mostUnknown && name.length <= longestKeyName) unknownKeys.add(name);
      throw new errors.JWKSNoMatchingKey();
    },
    fetch: tryReload,
    reachable: source.reachable,
    areGood: () => {
      reloadInBackgroundIfDue();
      return source.hasGoodKeys();
    },
  };
}

/** The name in `unknownKeys`: the ID of the key with the algorithm, because a key is for one algorithm. */
const nameOfKey = ({ kid, alg }: JWTHeaderParameters) => `${alg} ${kid}`;

/**
 * Fetches the keys of an issuer, with a pause of `pauseMs` after each attempt. If the issuer does not answer, the last good keys are used.
 * Logs when the issuer stops answering and when it answers again. `onAttempt` is called after each attempt, even if it failed.
 */
function createKeySource(options: IssuerKeysOptions & { readonly onAttempt: () => void }) {
  const { issuer, httpClient, now, sleep, log, onAttempt } = options;
  let lastGood: { readonly keys: KeySet; readonly at: number } | undefined;
  let lastAttempt: { readonly problem: IssuerProblem | undefined; readonly at: number } | undefined;

  // The absolute difference, because the clock may have been set back.
  const ageOf = ({ at }: { readonly at: number }) => Math.abs(now().getTime() - at);
  const pauseLeft = () => (lastAttempt === undefined ? 0 : Math.max(0, pauseMs - ageOf(lastAttempt)));
  const isLastGoodTooOld = () => lastGood !== undefined && ageOf(lastGood) >= lastGoodMs;

  /** Keeps the result of an attempt. Logs a problem only if it is new. */
  const endAttempt = (problem: IssuerProblem | undefined): void => {
    const earlierProblem = lastAttempt?.problem;
    if (problem !== undefined && problem.message !== earlierProblem?.message)
      log('error', 'issuer', { error: problem.message });
    if (problem === undefined && earlierProblem !== undefined)
      log('info', 'issuer', { message: words('It answers again.') });
    lastAttempt = { at: now().getTime(), problem };
    onAttempt();
  };

  /** Fetches the keys once. Never rejects. Afterwards, `lastAttempt` has the problem if there is one. */
  const attempt = async (): Promise<void> => {
    let problem: IssuerProblem | undefined;
    try {
      const { keys } = await findIssuer(issuer, httpClient);
      lastGood = { keys, at: now().getTime() };
    } catch (error) {
      problem = error instanceof IssuerProblem ? error : new IssuerProblem(words('its keys cannot be read'));
    }
    endAttempt(problem);
  };

  return {
    /**
     * Fetches the keys. Returns the last good keys if the issuer does not answer, and also in the pause after an attempt that failed.
     * @throws IssuerProblem if there are no good keys, or if they are too old
     */
    async fetchKeys(): Promise<KeySet> {
      const isPauseAfterFailure = pauseLeft() > 0 && lastAttempt?.problem !== undefined;
      if (!isPauseAfterFailure) {
        // Waits for the end of the pause after a success, because the caller needs a key that the issuer may have added since then.
        if (pauseLeft() > 0) await sleep(pauseLeft());
        await attempt();
      }
      if (lastGood !== undefined && !isLastGoodTooOld()) return lastGood.keys;
      // A success would have renewed `lastGood`, so the last attempt has failed, and has a problem.
      throw lastAttempt?.problem;
    },
    /** Milliseconds until the next attempt may begin. */
    pauseLeft,
    isLastGoodTooOld,
    hasGoodKeys: () => lastGood !== undefined && !isLastGoodTooOld(),
    /** The problem of the last attempt, if the attempt failed. */
    lastProblem: () => lastAttempt?.problem,
    reachable: () => lastAttempt !== undefined && lastAttempt.problem === undefined,
  };
}

const metadataSchema = z.object({
  issuer: z.string(),
  jwks_uri: z.url(),
  /** Only OpenID Connect Discovery requires this field. */
  subject_types_supported: z.array(z.string()).optional().catch(undefined),
});
/** Maximum number of keys of an issuer. A token that names no key is tried with each key, which would take seconds with thousands. */
const mostKeys = 100;
const keysSchema = z.object({ keys: z.array(z.record(z.string(), z.unknown())).max(mostKeys) });
type KeySet = z.output<typeof keysSchema>;

interface FoundIssuer {
  readonly keys: KeySet;
  /** True if the issuer's metadata says that each client gets other subjects (`sub`) for the same people. */
  readonly isPairwise: boolean;
}

/** Finds an issuer's keys by its metadata (RFC 8414, or OpenID Connect Discovery). @throws IssuerProblem */
export async function findIssuer(issuer: string, httpClient: HttpClient): Promise<FoundIssuer> {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const metadataUrls = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ];
  const problems: SafeText[] = [];
  for (const url of metadataUrls) {
    const document = await fetchJson(url, httpClient);
    const { data: metadata } = metadataSchema.safeParse(document.json);
    if (metadata !== undefined) {
      const { subject_types_supported: types = [] } = metadata;
      const isPairwise = types.length > 0 && types.every((type) => type === 'pairwise');
      return { keys: await fetchKeysNamedIn(metadata, issuer, httpClient), isPairwise };
    }
    problems.push(say`${exact(url)} ${document.problem ?? words('has no metadata of an issuer')}`);
  }
  throw new IssuerProblem(join(problems, '; '));
}

/** Fetches the keys from the address in an issuer's metadata. @throws IssuerProblem */
async function fetchKeysNamedIn(
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
  // Plain http is allowed only at the issuer's own origin. The configuration allows an http issuer only on loopback.
  if (protocol !== 'https:' && origin !== new URL(issuer).origin)
    throw new IssuerProblem(words('its metadata names keys that are not at an https address'));

  const document = await fetchJson(href, httpClient);
  const { data: keys } = keysSchema.safeParse(document.json);
  if (keys !== undefined) return keys;
  const problem = document.problem ?? say`has no keys, or more than ${mostKeys}`;
  throw new IssuerProblem(say`${quoted(href, 200)} ${problem}`);
}

/** Says how the address in the metadata differs from the configured address. Usually, only one of the two ends with a slash. */
function spellingHint(issuerInMetadata: string, issuer: string): SafeText {
  if (issuerInMetadata.replace(/\/$/, '') !== issuer.replace(/\/$/, ''))
    return words(', which is not what CLOUDOPS_HTTP_ISSUER says');
  const how = words(issuerInMetadata.endsWith('/') ? 'with the slash' : 'without a slash');
  return say`: set CLOUDOPS_HTTP_ISSUER to exactly that, ${how} at the end`;
}

/**
 * Fetches a JSON document of the issuer. Returns a `problem` if the answer is not JSON, because many servers answer an unknown path with an HTML
 * page or a redirect, and the document may be at another path.
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
