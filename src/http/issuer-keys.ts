import { createRemoteJWKSet, customFetch, errors, type JWTHeaderParameters, type JWTVerifyGetKey } from 'jose';
import * as z from 'zod';
import { httpFailureText } from '../calls/remedies.js';
import type { HttpClient } from '../transport/http-client.js';
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
/** Number of keys that are remembered as unknown, and the longest remembered name of a key. */
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

/** Keeps an issuer's keys with jose, which caches them and shares one fetch among all callers. */
export function createIssuerKeys({ issuer, httpClient, now, sleep, log }: IssuerKeysOptions): IssuerKeys {
  let lastGood: { readonly keys: KeySet; readonly at: number } | undefined;
  let lastAttempt: { readonly problem: IssuerProblem | undefined; readonly at: number } | undefined;

  const ageOf = ({ at }: { readonly at: number }) => Math.abs(now().getTime() - at);
  const pauseLeft = () => (lastAttempt === undefined ? 0 : Math.max(0, pauseMs - ageOf(lastAttempt)));
  const isLastGoodTooOld = () => lastGood !== undefined && ageOf(lastGood) >= lastGoodMs;

  /** Keys that the last fetch did not find. Their tokens need not wait for the next fetch. */
  const unknownKeys = new Set<string>();
  const enterWaiting = createCounter(mostWaiting);

  const note = (problem: IssuerProblem | undefined): void => {
    const before = lastAttempt?.problem;
    if (problem !== undefined && problem.message !== before?.message)
      log('error', 'issuer', { error: problem.message });
    if (problem === undefined && before !== undefined) log('info', 'issuer', { message: words('It answers again.') });
    lastAttempt = { at: now().getTime(), problem };
    unknownKeys.clear();
  };
  const attempt = async (): Promise<IssuerProblem | undefined> => {
    try {
      lastGood = { keys: await findKeys(issuer, httpClient), at: now().getTime() };
      note(undefined);
      return undefined;
    } catch (error) {
      const problem = error instanceof IssuerProblem ? error : new IssuerProblem(words('its keys cannot be read'));
      note(problem);
      return problem;
    }
  };
  /** The issuer's keys, or the last good keys if it failed to answer now or during the last pause. */
  const fetchKeys = async (): Promise<Response> => {
    const failure = pauseLeft() > 0 ? lastAttempt?.problem : undefined;
    if (failure === undefined && pauseLeft() > 0) await sleep(pauseLeft());
    const problem = failure ?? (await attempt());
    if (lastGood !== undefined && !isLastGoodTooOld()) return Response.json(lastGood.keys);
    throw problem;
  };
  // jose wants one address. Ours is in the issuer's metadata, which each fetch reads first. `keyAfterFetch` and the
  // pause replace jose's cooldown.
  const keySet = createRemoteJWKSet(new URL(issuer), {
    cacheMaxAge: freshMs,
    cooldownDuration: Number.POSITIVE_INFINITY,
    [customFetch]: fetchKeys,
  });
  const fetch = () => keySet.reload().catch(() => undefined);

  const waitForIssuer = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    const leave = enterWaiting('');
    if (leave === undefined) throw new IssuerProblem(words('too many requests wait for it'));
    return work().finally(leave);
  };
  /** Fetches the keys again and finds the key of a token. If it is still unknown, it is remembered until the next fetch. */
  const keyAfterFetch: JWTVerifyGetKey = async (header, token) => {
    const name = nameOf(header);
    if (pauseLeft() > 0 && unknownKeys.has(name)) throw new errors.JWKSNoMatchingKey();
    await waitForIssuer(() => keySet.reload());
    return keySet(header, token).catch((error: unknown) => {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      if (lastAttempt?.problem !== undefined) throw lastAttempt.problem;
      if (unknownKeys.size < mostUnknown && name.length <= longestKeyName) unknownKeys.add(name);
      throw error;
    });
  };

  return {
    async keyOf(header, token) {
      // To jose, last good keys are new keys, so it would not fetch them again soon.
      if (isLastGoodTooOld()) await waitForIssuer(() => keySet.reload());
      else if (lastAttempt?.problem !== undefined && pauseLeft() === 0) void fetch();
      if (!keySet.fresh) await waitForIssuer(() => keySet.reload());
      return keySet(header, token).catch((error: unknown) => {
        if (error instanceof errors.JWKSNoMatchingKey) return keyAfterFetch(header, token);
        throw error;
      });
    },
    fetch,
    reachable: () => lastAttempt !== undefined && lastAttempt.problem === undefined,
  };
}

/** The name of a token's key, with the algorithm, because a key fits one algorithm. */
const nameOf = ({ kid, alg }: JWTHeaderParameters) => `${alg} ${kid}`;

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
    const found = await fetchJson(place, httpClient);
    const { data: metadata } = metadataSchema.safeParse(found.json);
    if (metadata === undefined)
      problems.push(say`${exact(place)} ${found.problem ?? words('has no metadata of an issuer')}`);
    else return await keysAt(metadata, issuer, httpClient);
  }
  throw new IssuerProblem(join(problems, '; '));
}

async function keysAt(
  { issuer: named, jwks_uri }: z.output<typeof metadataSchema>,
  issuer: string,
  httpClient: HttpClient,
): Promise<KeySet> {
  if (named !== issuer) throw new IssuerProblem(say`it calls itself ${quoted(named, 200)}${hint(named, issuer)}`);
  const { protocol, origin, href } = new URL(jwks_uri);
  // Plain http is allowed only at the issuer's own origin, which the configuration has checked.
  if (protocol !== 'https:' && origin !== new URL(issuer).origin)
    throw new IssuerProblem(words('its metadata names keys that are not at an https address'));
  const found = await fetchJson(href, httpClient);
  const { data: keys } = keysSchema.safeParse(found.json);
  if (keys === undefined)
    throw new IssuerProblem(say`${quoted(href, 200)} ${found.problem ?? say`has no keys, or more than ${mostKeys}`}`);
  return keys;
}

/** Explains the most common mistake. Issuers treat addresses with and without a slash at the end as different. */
function hint(named: string, issuer: string): SafeText {
  if (named.replace(/\/$/, '') !== issuer.replace(/\/$/, ''))
    return words(', which is not what CLOUDOPS_HTTP_ISSUER says');
  const how = words(named.endsWith('/') ? 'with the slash' : 'without a slash');
  return say`: set CLOUDOPS_HTTP_ISSUER to exactly that, ${how} at the end`;
}

/**
 * Fetches a JSON document of the issuer. `problem` says why there is none, because many servers answer an unknown path with an
 * HTML page or a redirect.
 * @throws IssuerProblem if there is no answer
 */
async function fetchJson(place: string, httpClient: HttpClient): Promise<{ json?: unknown; problem?: SafeText }> {
  const { origin, pathname, search } = new URL(place);
  const request = { method: 'GET', origin, path: pathname + search, newConnection: false } as const;
  const headers = { accept: 'application/json' };
  const response = await httpClient.send({ ...request, headers }, AbortSignal.timeout(networkMs));
  const failure = response.kind === 'failure' ? response : response.bodyFailure;
  if (failure?.code === 'CallTimeout')
    throw new IssuerProblem(say`${exact(origin)} did not answer within ${networkMs / 1000} s`);
  if (failure !== undefined) throw new IssuerProblem(httpFailureText(failure, origin));
  if (response.kind === 'failure' || response.status !== 200)
    return {
      problem: say`answers with HTTP status ${response.kind === 'response' ? response.status : words('none')}`,
    };
  try {
    return { json: JSON.parse(response.body) };
  } catch {
    return { problem: words('answers with something that is not JSON') };
  }
}
