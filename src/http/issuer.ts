import { errors, type JWTPayload, type JWTVerifyOptions, type JWTVerifyResult, jwtVerify } from 'jose';
import * as z from 'zod';
import { type Log, reasonOf } from '../util/log.js';
import { valueAt } from '../util/objects.js';
import type { Authenticate, Authentication } from './auth.js';
import { type IssuerKeys, IssuerProblem } from './issuer-keys.js';
import { createRateLimiter } from './limits.js';

/** Signatures by a private key. With a shared key, everybody who verifies tokens could also make them. */
const algorithms = [
  ...['RS', 'PS', 'ES'].flatMap((family) => ['256', '384', '512'].map((bits) => family + bits)),
  ...['EdDSA', 'Ed25519'],
];
/** Types of access tokens by RFC 9068, section 2.1, and those that issuers used before it. */
const tokenTypes = ['at+jwt', 'application/at+jwt', 'jwt'];
/** Clocks of the issuer and of this machine may differ by so much. */
const clockToleranceSeconds = 60;
/** Problems with keys that are logged in a second. */
const loggedPerSecond = 0.2;

export interface IssuerOptions {
  /** As tokens spell it. */
  readonly issuer: string;
  readonly audience: string;
  /** The claim that has the scopes, as a dotted path; `scope` or `scp` if undefined. */
  readonly scopeClaim?: string | undefined;
  readonly keys: IssuerKeys;
  readonly now: () => Date;
  readonly log: Log;
}

/** Authenticates by JWTs of an issuer for an audience. */
export function authenticateByIssuer({ issuer, audience, scopeClaim, keys, now, log }: IssuerOptions): Authenticate {
  const isUnlogged = createRateLimiter(loggedPerSecond, now, 1);
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
      return authenticationOf(verified, scopeClaim);
    } catch (error) {
      const reason = invalidReason(error);
      if (reason !== undefined) return { kind: 'invalid', reason };
      // The others are logged where they are found.
      if (!(error instanceof IssuerProblem) && isUnlogged('') === 0) log('warn', 'issuer', { error: reasonOf(error) });
      return { kind: 'unavailable', reason: 'issuer' };
    }
  };
}

/** Verifies a token. One that does not say by which of several keys is tried with each of them. */
async function verify(token: string, { keyOf }: IssuerKeys, options: JWTVerifyOptions): Promise<JWTVerifyResult> {
  return jwtVerify(token, keyOf, options).catch(async (error: unknown) => {
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
function authenticationOf(
  { payload, protectedHeader: { typ } }: JWTVerifyResult,
  scopeClaim: string | undefined,
): Authentication {
  if (typ !== undefined && !tokenTypes.includes(String(typ).toLowerCase())) return { kind: 'invalid', reason: 'typ' };
  // Bound to a key that the bearer would have to prove (RFC 7800): a thief must not get in without it.
  if (payload.cnf !== undefined) return { kind: 'invalid', reason: 'cnf' };
  const { data: name } = subject.safeParse(payload.sub);
  if (name === undefined) return { kind: 'invalid', reason: 'sub' };
  const { exp = 0 } = payload;
  return { kind: 'authenticated', principal: { name, scopes: scopesOf(payload, scopeClaim) }, expiresAt: exp * 1000 };
}

/** Half a character would be lost where a name is written down, and two names could become one. */
const subject = z
  .string()
  .min(1)
  .max(255)
  .refine((name) => name.isWellFormed());

/** Codes of jose for keys that cannot be read. Its other errors are about the token. */
const keyErrors = ['ERR_JWK_INVALID', 'ERR_JWKS_INVALID'];

/** The problem with a token: a code of jose and the claim, never a value of the token. Undefined if something else failed. */
function invalidReason(error: unknown): string | undefined {
  if (!(error instanceof errors.JOSEError) || keyErrors.includes(error.code)) return undefined;
  return error instanceof errors.JWTClaimValidationFailed ? `${error.code} ${error.claim}` : error.code;
}

const claimedScopes = z.union([z.string(), z.array(z.string()).transform((scopes) => scopes.join(' '))]).catch('');

/** `scope` (RFC 9068) or `scp`, as some issuers call it, or the claim that is configured; its name may have dots of its own. */
function scopesOf(payload: JWTPayload, claim: string | undefined): readonly string[] {
  const claimed = claim === undefined ? (payload.scope ?? payload.scp) : (payload[claim] ?? valueAt(payload, claim));
  return claimedScopes.parse(claimed).split(' ');
}
