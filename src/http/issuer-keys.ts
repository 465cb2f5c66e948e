import { createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey } from 'jose';
import * as z from 'zod';
import { httpFailureText } from '../calls/remedies.js';
import type { HttpClient, HttpFailure } from '../transport/http-client.js';
import { type Log, ShownError } from '../util/log.js';
import { isObject, parseJson } from '../util/objects.js';
import { distinct, exact, join, quoted, type SafeText, say, words } from '../util/safe-text.js';
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
  let found: Awaited<ReturnType<typeof findIssuer>> | undefined;
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
    async metadata() {
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

const networkMs = 5000;
export const documentBytes = 1024 * 1024;

/** Thrown if the issuer's metadata or keys are not available. */
export class IssuerProblem extends ShownError {}

/** Keeps unknown fields, because signing in needs more of the metadata. */
const metadataSchema = z
  .object({
    issuer: z.string(),
    jwks_uri: z.url(),
    /** Only OpenID Connect Discovery requires this field. */
    subject_types_supported: z.array(z.string()).catch([]),
  })
  .catchall(z.json());
/** A token that names no key is tried with each key. */
const mostKeys = 100;
const keysSchema = z.object({
  keys: z
    .array(z.unknown())
    .max(mostKeys)
    .transform((keys) => keys.filter(isObject)),
});

/** Finds an issuer's keys by its metadata (RFC 8414, or OpenID Connect Discovery). @throws IssuerProblem */
export async function findIssuer(issuer: string, httpClient: HttpClient) {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const metadataUrls = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/openid-configuration${path}`,
  ];
  const metadata = await firstMetadata(new Set(metadataUrls), issuer, httpClient);

  const { protocol, origin: keysOrigin, href } = new URL(metadata.jwks_uri);
  // An http issuer is allowed only on loopback.
  if (protocol !== 'https:' && keysOrigin !== origin)
    throw new IssuerProblem(words('its metadata names keys that are not at an https address'));
  const { data: keys } = keysSchema.safeParse(await fetchJson(href, httpClient));
  if (keys === undefined) throw new IssuerProblem(say`${quoted(href, 200)} has no keys, or more than ${mostKeys}`);

  const { subject_types_supported: types } = metadata;
  return {
    metadata,
    keys,
    /** True if each client gets other subjects (`sub`) for the same people. */
    isPairwise: types.length > 0 && types.every((type) => type === 'pairwise'),
  };
}

/** @throws IssuerProblem with the problems of all places */
async function firstMetadata(urls: Iterable<string>, issuer: string, httpClient: HttpClient) {
  const problems: SafeText[] = [];
  for (const url of urls) {
    try {
      const { data: metadata } = metadataSchema.safeParse(await fetchJson(url, httpClient));
      if (metadata?.issuer === issuer) return metadata;
      problems.push(
        metadata === undefined
          ? say`${exact(url)} has no metadata of an issuer`
          : say`it calls itself ${quoted(metadata.issuer, 200)}${spellingHint(metadata.issuer, issuer)}`,
      );
    } catch (error) {
      if (!(error instanceof IssuerProblem)) throw error;
      problems.push(error.shown);
    }
  }
  throw new IssuerProblem(join(distinct(problems), '; '));
}

function spellingHint(issuerInMetadata: string, issuer: string): SafeText {
  if (issuerInMetadata.replace(/\/$/, '') !== issuer.replace(/\/$/, ''))
    return words(', which is not what CLOUDOPS_HTTP_ISSUER says');
  const how = words(issuerInMetadata.endsWith('/') ? 'with the slash' : 'without a slash');
  return say`: set CLOUDOPS_HTTP_ISSUER to exactly that, ${how} at the end`;
}

/** @throws IssuerProblem */
async function fetchJson(url: string, httpClient: HttpClient): Promise<unknown> {
  const response = await fetchFromIssuer(httpClient, url, { headers: { accept: 'application/json' } });
  if (response.status !== 200) throw new IssuerProblem(say`${exact(url)} answers with HTTP status ${response.status}`);
  const json = parseJson(await response.text());
  if (json === undefined) throw new IssuerProblem(say`${exact(url)} answers with something that is not JSON`);
  return json;
}

/** Sends a request with our HTTP client, which follows no redirects. @throws IssuerProblem */
export async function fetchFromIssuer(
  httpClient: HttpClient,
  url: string,
  {
    method,
    headers,
    body,
    signal = AbortSignal.timeout(networkMs),
  }: {
    readonly method?: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: unknown;
    readonly signal?: AbortSignal | undefined;
  },
): Promise<Response> {
  const { origin, pathname, search } = new URL(url);
  const request = { origin, path: pathname + search, headers, newConnection: false };
  const answer = await httpClient.send(
    method === 'POST' ? { ...request, method, body: String(body ?? '') } : { ...request, method: 'GET' },
    signal,
  );
  if (answer.kind === 'failure') throw noAnswer(answer, origin);
  if (answer.bodyFailure !== undefined) throw noAnswer(answer.bodyFailure, origin);
  const { body: text, status, headers: received } = answer;
  return new Response(text === '' ? null : text, { status, headers: received });
}

const noAnswer = (failure: HttpFailure, origin: string) =>
  new IssuerProblem(
    failure.code === 'CallTimeout'
      ? say`${exact(origin)} did not answer within ${networkMs / 1000} s`
      : httpFailureText(failure, origin),
  );
