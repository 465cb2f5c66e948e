import { createLocalJWKSet, errors, type JWTVerifyGetKey } from 'jose';
import * as z from 'zod';
import { httpFailureText } from '../calls/remedies.js';
import type { HttpClient } from '../transport/http-client.js';
import { type Log, ShownError } from '../util/log.js';
import { exact, join, quoted, type Said, type Shown, said, say, words } from '../util/safe-text.js';

/** The time for each document, in milliseconds. */
const networkMs = 5000;
/** Keys are asked for again after this time, in milliseconds: a key that the issuer withdraws is refused from then on. */
const freshMs = 10 * 60_000;
/** So long are they kept while the issuer is away. */
const keptMs = 24 * 60 * 60_000;
/** Pause between two attempts, so that an issuer in trouble is left alone. */
const pauseMs = 5000;
/** The largest document of metadata or keys that is read. */
export const documentBytes = 1024 * 1024;

/** A sentence without its end that says why an issuer's keys cannot be had. */
export class IssuerProblem extends ShownError {}

/** The keys of an issuer, found through its metadata. */
export interface IssuerKeys {
  /**
   * Finds the key of a token. One that is not known waits for the keys to be fetched once more.
   * @throws IssuerProblem if there are no keys, or a key is not known and they cannot be fetched
   */
  readonly keyOf: JWTVerifyGetKey;
  /** Fetches them, so that the first caller need not wait. Never rejects: the log has the problem. */
  fetch(): Promise<void>;
  /** True if the last attempt to fetch them succeeded. */
  reachable(): boolean;
}

export interface IssuerKeysOptions {
  /** As tokens and the issuer's metadata spell it. */
  readonly issuer: string;
  readonly httpClient: HttpClient;
  readonly now: () => Date;
  readonly sleep: (milliseconds: number) => Promise<unknown>;
  readonly log: Log;
}

interface Attempt {
  readonly at: number;
  readonly problem: IssuerProblem | undefined;
}

export function createIssuerKeys({ issuer, httpClient, now, sleep, log }: IssuerKeysOptions): IssuerKeys {
  let kept: { readonly find: JWTVerifyGetKey; readonly at: number } | undefined;
  let last: Attempt | undefined;
  let asking: Promise<JWTVerifyGetKey> | undefined;
  let next: Promise<JWTVerifyGetKey> | undefined;

  const since = (time: number) => Math.abs(now().getTime() - time);
  /** The rest of the pause after the last attempt, in milliseconds. */
  const rest = () => (last === undefined ? 0 : Math.max(0, pauseMs - since(last.at)));
  const note = (problem: IssuerProblem | undefined): void => {
    if (problem !== undefined && problem.message !== last?.problem?.message)
      log('error', 'issuer', { error: problem.message });
    if (problem === undefined && last?.problem !== undefined)
      log('info', 'issuer', { message: words('It answers again.') });
    last = { at: now().getTime(), problem };
  };
  const attempt = async () => {
    try {
      const find = await findKeys(issuer, httpClient);
      kept = { find, at: now().getTime() };
      note(undefined);
      return find;
    } catch (error) {
      const problem = error instanceof IssuerProblem ? error : new IssuerProblem(words('its keys cannot be read'));
      note(problem);
      throw problem;
    } finally {
      asking = undefined;
    }
  };
  const ask = () => {
    asking ??= attempt();
    return asking;
  };

  /** The keys at hand, if they are fresh, or the issuer is away; else those that it has now. */
  const current = async (): Promise<JWTVerifyGetKey> => {
    const age = kept === undefined ? keptMs : since(kept.at);
    if (kept === undefined || age >= keptMs) {
      if (last?.problem !== undefined && rest() > 0) throw last.problem;
      return ask();
    }
    const { find } = kept;
    if (age < freshMs || rest() > 0) return find;
    const asked = ask().catch(() => find);
    // Nobody waits for an issuer that failed to answer before.
    return last?.problem === undefined ? asked : find;
  };
  /** The keys after an attempt that begins now, or when the pause after the last one is over. */
  const renewed = async (): Promise<JWTVerifyGetKey> => {
    if (last?.problem !== undefined && rest() > 0) throw last.problem;
    next ??= sleep(rest())
      .then(ask)
      .finally(() => {
        next = undefined;
      });
    return next;
  };

  return {
    keyOf: async (header, token) => {
      const find = await current();
      try {
        return await find(header, token);
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
        return (await renewed())(header, token);
      }
    },
    fetch: async () => {
      await ask().catch(() => undefined);
    },
    reachable: () => last !== undefined && last.problem === undefined,
  };
}

const metadataSchema = z.object({ issuer: z.string(), jwks_uri: z.url() });
/** A token that names no key is tried with each: with thousands, a stranger's would take seconds. */
const mostKeys = 100;
const keysSchema = z.object({ keys: z.array(z.record(z.string(), z.unknown())).max(mostKeys) });

/**
 * Finds an issuer's keys by its metadata (RFC 8414, or OpenID Connect Discovery).
 * @throws IssuerProblem
 */
export async function findKeys(issuer: string, httpClient: HttpClient): Promise<JWTVerifyGetKey> {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const places = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ];
  const problems: Shown[] = [];
  for (const place of places) {
    const found = await fetchJson(place, httpClient);
    const { data: metadata } = metadataSchema.safeParse(found.json);
    if (metadata === undefined)
      problems.push(say`${exact(place)} ${said(found.problem ?? words('has no metadata of an issuer'))}`);
    else return await keysAt(metadata, issuer, httpClient);
  }
  throw new IssuerProblem(join(problems, '; '));
}

async function keysAt(
  { issuer: named, jwks_uri }: z.output<typeof metadataSchema>,
  issuer: string,
  httpClient: HttpClient,
): Promise<JWTVerifyGetKey> {
  if (named !== issuer) throw new IssuerProblem(say`it calls itself ${quoted(named, 200)}${hint(named, issuer)}`);
  const { protocol, origin, href } = new URL(jwks_uri);
  // Plain http only where the issuer itself was allowed to have it.
  if (protocol !== 'https:' && origin !== new URL(issuer).origin)
    throw new IssuerProblem(words('its metadata names keys that are not at an https address'));
  const found = await fetchJson(href, httpClient);
  const { data: keys } = keysSchema.safeParse(found.json);
  if (keys === undefined)
    throw new IssuerProblem(
      say`${quoted(href, 200)} ${said(found.problem ?? say`has no keys, or more than ${mostKeys}`)}`,
    );
  return createLocalJWKSet(keys);
}

/** The commonest mistake: to issuers, an address with a slash at its end is another one than without. */
function hint(named: string, issuer: string): Said {
  if (named.replace(/\/$/, '') !== issuer.replace(/\/$/, ''))
    return said(words(', which is not what CLOUDOPS_HTTP_ISSUER says'));
  const how = said(words(named.endsWith('/') ? 'with the slash' : 'without a slash'));
  return said(say`: set CLOUDOPS_HTTP_ISSUER to exactly that, ${how} at the end`);
}

/**
 * The JSON at a place of the issuer, if that is what is there. Many servers answer a path that they do not have with a page, or
 * with the way to one.
 * @throws IssuerProblem if there is no answer
 */
async function fetchJson(place: string, httpClient: HttpClient): Promise<{ json?: unknown; problem?: Shown }> {
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
      problem: say`answers with HTTP status ${response.kind === 'response' ? response.status : said(words('none'))}`,
    };
  try {
    return { json: JSON.parse(response.body) };
  } catch {
    return { problem: words('answers with something that is not JSON') };
  }
}
