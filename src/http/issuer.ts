import {
  createRemoteJWKSet,
  customFetch,
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  type JWTVerifyResult,
  jwtVerify,
} from 'jose';
import * as z from 'zod';
import { type Log, reasonOf } from '../util/log.js';
import type { Authenticate } from './auth.js';
import { createRateLimiter } from './limits.js';

/** Signatures by a private key. With a shared key, everybody who verifies tokens could also make them. */
const algorithms = [
  ...['RS', 'PS', 'ES'].flatMap((family) => ['256', '384', '512'].map((bits) => family + bits)),
  ...['EdDSA', 'Ed25519'],
];
/** Types of access tokens by RFC 9068, section 2.1, and those that issuers used before it. */
const tokenTypes = ['at+jwt', 'application/at+jwt', 'jwt'];
const networkMs = 5000;
const clockToleranceSeconds = 5;
/** Pause after an issuer did not answer, for requests to it and for the log. */
const pauseMs = 5000;
/** The largest document of metadata or keys that is read. */
const documentBytes = 1024 * 1024;

export interface IssuerOptions {
  /** As tokens and the issuer's metadata spell it. */
  readonly issuer: string;
  readonly audience: string;
  readonly now: () => Date;
  readonly log: Log;
}

/** Authenticates by JWTs of an issuer for an audience. The issuer's keys are found through its metadata, and kept. */
export function authenticateByIssuer(options: IssuerOptions): Authenticate {
  const { issuer, audience, now, log } = options;
  const patiently = withPauses(now);
  const isUnlogged = createRateLimiter(1000 / pauseMs, now, 1);
  // Kept for ten minutes. A key that is not among them is looked for again, at most every 30 seconds, where the metadata says.
  const keys = createRemoteJWKSet(new URL(issuer), {
    [customFetch]: () => patiently(async () => Response.json(await findKeys(issuer))),
  });
  return async (token) => {
    try {
      const verified = await verify(token, keys, {
        issuer,
        audience,
        algorithms,
        requiredClaims: ['exp', 'sub'],
        clockTolerance: clockToleranceSeconds,
        currentDate: now(),
      });
      return authenticationOf(verified);
    } catch (error) {
      const reason = invalidReason(error);
      if (reason !== undefined) return { kind: 'invalid', reason };
      if (isUnlogged('') === 0) log('warn', 'issuer', { error: reasonOf(error) });
      return { kind: 'unavailable', reason: 'issuer' };
    }
  };
}

/** Verifies a token. One that does not say by which of several keys is tried with each of them. */
async function verify(token: string, keys: JWTVerifyGetKey, options: JWTVerifyOptions): Promise<JWTVerifyResult> {
  return jwtVerify(token, keys, options).catch(async (error: unknown) => {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    for await (const key of error) {
      const verified = await jwtVerify(token, key, options).catch((reason: unknown) => {
        // A key of the set may be unfit for any token.
        const isOfKey = reason instanceof errors.JWSSignatureVerificationFailed || reason instanceof TypeError;
        if (!isOfKey) throw reason;
      });
      if (verified !== undefined) return verified;
    }
    throw new errors.JWSSignatureVerificationFailed();
  });
}

/** The bearer of a token whose signature, issuer, audience and time are right. */
function authenticationOf({ payload, protectedHeader: { typ } }: JWTVerifyResult): Awaited<ReturnType<Authenticate>> {
  if (typ !== undefined && !tokenTypes.includes(String(typ).toLowerCase())) return { kind: 'invalid', reason: 'typ' };
  // Bound to a key that the bearer would have to prove (RFC 7800): a thief must not get in without it.
  if (payload.cnf !== undefined) return { kind: 'invalid', reason: 'cnf' };
  const { data: name } = subject.safeParse(payload.sub);
  if (name === undefined) return { kind: 'invalid', reason: 'sub' };
  return { kind: 'authenticated', principal: { name, scopes: scopesOf(payload) } };
}

const subject = z.string().min(1).max(255);

/** Codes of jose for keys that cannot be fetched or read. Its other errors are about the token. */
const keyErrors = ['ERR_JOSE_GENERIC', 'ERR_JWK_INVALID', 'ERR_JWKS_INVALID', 'ERR_JWKS_TIMEOUT'];

/** The problem with a token: a code of jose and the claim, never a value of the token. Undefined if something else failed. */
function invalidReason(error: unknown): string | undefined {
  if (!(error instanceof errors.JOSEError) || keyErrors.includes(error.code)) return undefined;
  return error instanceof errors.JWTClaimValidationFailed ? `${error.code} ${error.claim}` : error.code;
}

/** Repeats a failure for a while without asking again, so that an issuer in trouble is left alone. */
function withPauses(now: () => Date) {
  let failed: { readonly at: number; readonly error: unknown } | undefined;
  return async <Answer>(ask: () => Promise<Answer>): Promise<Answer> => {
    if (failed !== undefined && Math.abs(now().getTime() - failed.at) <= pauseMs) throw failed.error;
    failed = undefined;
    return ask().catch((error: unknown) => {
      failed = { at: now().getTime(), error };
      throw error;
    });
  };
}

const metadataSchema = z.object({ issuer: z.string(), jwks_uri: z.url() });
const keysSchema = z.object({ keys: z.array(z.record(z.string(), z.unknown())) });

/** Finds an issuer's keys by its metadata (RFC 8414, or OpenID Connect Discovery). */
async function findKeys(issuer: string) {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const places = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ];
  for (const place of places) {
    const { data: metadata } = metadataSchema.safeParse(await fetchJson(place));
    if (metadata === undefined) continue;
    if (metadata.issuer !== issuer) throw new Error('the metadata names another issuer');
    const url = new URL(metadata.jwks_uri);
    // Plain http only where the issuer itself was allowed to have it.
    if (url.protocol !== 'https:' && url.origin !== origin)
      throw new Error('the metadata names keys that are not at an https address');
    const { data: keys } = keysSchema.safeParse(await fetchJson(url.href));
    if (keys === undefined) throw new Error('the issuer has no keys');
    return keys;
  }
  throw new Error('the issuer has no metadata');
}

/**
 * The JSON at a place of the issuer, if that is what is there. Many servers answer a path that they do not have with a page, or
 * with the way to one.
 */
async function fetchJson(place: string): Promise<unknown> {
  const response = await fetch(place, { redirect: 'manual', signal: AbortSignal.timeout(networkMs) });
  if (response.ok) return new Response(response.body?.pipeThrough(bounded())).json().catch(() => undefined);
  await response.body?.cancel();
  return undefined;
}

/** Passes on so much of a document as it is without compression, then fails. */
function bounded() {
  let left = documentBytes;
  return new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, controller) => {
      left -= chunk.length;
      if (left < 0) controller.error(new Error('too large'));
      else controller.enqueue(chunk);
    },
  });
}

const claimedScopes = z.union([z.string(), z.array(z.string()).transform((scopes) => scopes.join(' '))]).catch('');

/** `scope` (RFC 9068), or `scp` as some issuers call it. */
const scopesOf = ({ scope, scp }: JWTPayload): readonly string[] => claimedScopes.parse(scope ?? scp).split(' ');
