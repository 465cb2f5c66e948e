import { errors, type JWTPayload, type JWTVerifyOptions, type JWTVerifyResult, jwtVerify } from 'jose';
import * as z from 'zod';
import type { Agent } from '../journal/entry.js';
import { type Log, reasonOf } from '../util/log.js';
import { isObject, valueAt } from '../util/objects.js';
import type { Authenticate, Authentication } from './auth.js';
import { type IssuerKeys, IssuerProblem } from './issuer-keys.js';
import { createRateLimiter } from './limits.js';

/** Only signatures with a private key. With a shared key, everybody who can verify tokens could also make them. */
const algorithms = [
  ...['RS', 'PS', 'ES'].flatMap((family) => ['256', '384', '512'].map((bits) => family + bits)),
  ...['EdDSA', 'Ed25519'],
];
/** Types of access tokens: of RFC 9068, section 2.1, and the type that issuers used before. */
const tokenTypes = ['at+jwt', 'application/at+jwt', 'jwt'];
/** Tolerated difference between the clocks of the issuer and of this machine. */
const clockToleranceSeconds = 60;
/** Rate limit for log entries about keys. */
const loggedPerSecond = 0.2;

export interface IssuerOptions {
  /** The address of the issuer, spelled as in its tokens. */
  readonly issuer: string;
  readonly audience: string;
  /** The claim with the scopes, as a dotted path; `scope` or `scp` if undefined. */
  readonly scopeClaim?: string | undefined;
  readonly keys: IssuerKeys;
  readonly now: () => Date;
  readonly log: Log;
}

/** Authenticates callers by JWTs of one issuer for one audience. */
export function authenticateByIssuer({ issuer, audience, scopeClaim, keys, now, log }: IssuerOptions): Authenticate {
  const limitLog = createRateLimiter(loggedPerSecond, now, 1);
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
      // `IssuerKeys` logs an IssuerProblem itself.
      const isLogged = error instanceof IssuerProblem;
      if (!isLogged && limitLog('') === 0) log('warn', 'issuer', { error: reasonOf(error) });
      return { kind: 'unavailable', reason: 'issuer' };
    }
  };
}

/** Verifies a token. If several keys match, because the token names none, every matching key is tried. */
async function verify(token: string, { keyOf }: IssuerKeys, options: JWTVerifyOptions): Promise<JWTVerifyResult> {
  try {
    return await jwtVerify(token, keyOf, options);
  } catch (error) {
    if (error instanceof errors.JWKSMultipleMatchingKeys) return verifyByAnyOf(error, token, options);
    throw error;
  }
}

async function verifyByAnyOf(
  keys: errors.JWKSMultipleMatchingKeys,
  token: string,
  options: JWTVerifyOptions,
): Promise<JWTVerifyResult> {
  for await (const key of keys) {
    try {
      return await jwtVerify(token, key, options);
    } catch (error) {
      // A TypeError means that the key fits no token.
      const isKeyWrong = error instanceof errors.JWSSignatureVerificationFailed || error instanceof TypeError;
      if (!isKeyWrong) throw error;
    }
  }
  throw new errors.JWSSignatureVerificationFailed();
}

/** Reads the caller from a token whose signature, issuer, audience and times are valid. */
function authenticationOf(
  { payload, protectedHeader: { typ } }: JWTVerifyResult,
  scopeClaim: string | undefined,
): Authentication {
  if (typ !== undefined && !tokenTypes.includes(String(typ).toLowerCase())) return { kind: 'invalid', reason: 'typ' };
  // A token with `cnf` is bound to a key (RFC 7800). The key is not checked here, so a thief could use the token without it.
  if (payload.cnf !== undefined) return { kind: 'invalid', reason: 'cnf' };
  const { data: name } = subject.safeParse(payload.sub);
  if (name === undefined) return { kind: 'invalid', reason: 'sub' };
  const { exp = 0 } = payload;
  const principal = { name, scopes: scopesOf(payload, scopeClaim), agent: agentOf(payload) };
  return { kind: 'authenticated', principal, expiresAt: exp * 1000 };
}

/** Maximum number of actors in a chain. Further actors are dropped. */
const mostActors = 5;

/** Reads the program that acts for the caller. Claims that are no names count as absent, because they allow nothing. */
function agentOf({ client_id, act }: JWTPayload): Agent | undefined {
  const { data: clientId } = subject.safeParse(client_id);
  const actors: string[] = [];
  for (let claim = act; isObject(claim) && actors.length < mostActors; claim = claim.act) {
    const { data: actor } = subject.safeParse(claim.sub);
    if (actor !== undefined) actors.push(actor);
  }
  if (clientId === undefined && actors.length === 0) return undefined;
  return { ...(clientId !== undefined && { clientId }), actors };
}

/** A lone surrogate would be replaced when the name is written, and two names could become equal. */
const subject = z
  .string()
  .min(1)
  .max(255)
  .refine((name) => name.isWellFormed());

/** Codes of jose for invalid keys. All other codes are about the token. */
const keyErrors = ['ERR_JWK_INVALID', 'ERR_JWKS_INVALID'];

/** The problem of a token: a code of jose and the claim, never a value of the token. Undefined if the token is not the problem. */
function invalidReason(error: unknown): string | undefined {
  if (!(error instanceof errors.JOSEError) || keyErrors.includes(error.code)) return undefined;
  return error instanceof errors.JWTClaimValidationFailed ? `${error.code} ${error.claim}` : error.code;
}

const claimedScopes = z.union([z.string(), z.array(z.string()).transform((scopes) => scopes.join(' '))]).catch('');

/** Reads the configured claim, whose own name may contain dots. By default, `scope` (RFC 9068) or the `scp` of some issuers. */
function scopesOf(payload: JWTPayload, claim: string | undefined): readonly string[] {
  const claimed = claim === undefined ? (payload.scope ?? payload.scp) : (payload[claim] ?? valueAt(payload, claim));
  return claimedScopes.parse(claimed).split(' ');
}
