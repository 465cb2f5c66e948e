import { errors, type JWTPayload, type JWTVerifyOptions, type JWTVerifyResult, jwtVerify } from 'jose';
import * as z from 'zod';
import type { Agent } from '../calls/policy.js';
import { type Log, reasonOf } from '../util/log.js';
import { isObject, valueAt } from '../util/objects.js';
import { exact, quoted, say } from '../util/safe-text.js';
import type { Authenticate, Authentication } from './auth.js';
import { IssuerProblem } from './find-issuer.js';
import type { IssuerKeys } from './issuer-keys.js';
import { createRateLimiter } from './limits.js';

/** The accepted algorithms. All have a private key, because everybody who can verify tokens with a shared key can also make tokens. */
const algorithms = [
  ...['RS', 'PS', 'ES'].flatMap((family) => ['256', '384', '512'].map((bits) => family + bits)),
  ...['EdDSA', 'Ed25519'],
];
/** Accepted types (`typ`) of access tokens: the types of RFC 9068, section 2.1, and the type that issuers used before that RFC. */
const tokenTypes = ['at+jwt', 'application/at+jwt', 'jwt'];
/** Tolerated difference between the clocks of the issuer and of this machine. */
const clockToleranceSeconds = 60;
/** Rate limit for log entries about tokens that cannot be verified. */
const loggedPerSecond = 0.2;

export interface IssuerOptions {
  /** The address of the issuer, spelled as in its tokens. */
  readonly issuer: string;
  /** The URL of this server, for which the issuer must have issued the token. */
  readonly audience: string;
  /** The claim with the scopes, as a dotted path; `scope` or `scp` if undefined. */
  readonly scopeClaim?: string | undefined;
  /** The text in front of the scopes' names, which a token may have or lack. Empty if undefined. */
  readonly scopePrefix?: string | undefined;
  /** The claim that identifies a person in all clients, as a dotted path; `sub` if undefined. */
  readonly personClaim?: string | undefined;
  readonly keys: IssuerKeys;
  readonly now: () => Date;
  readonly log: Log;
}

/** Authenticates callers by JWTs of one issuer for one audience. The result is `unavailable` if the token cannot be verified now. */
export function authenticateByIssuer({ issuer, audience, keys, now, log, ...claims }: IssuerOptions): Authenticate {
  const secondsUntilNextLog = createRateLimiter(loggedPerSecond, now, { burst: 1 });
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
      return authenticationOf(verified, claims);
    } catch (error) {
      const reason = invalidReason(error, { issuer, audience });
      if (reason !== undefined) return { kind: 'invalid', reason };

      // `createIssuerKeys` logs an IssuerProblem itself.
      const isLogged = error instanceof IssuerProblem;
      if (!isLogged && secondsUntilNextLog() === 0) log('warn', 'issuer', { error: reasonOf(error) });
      return { kind: 'unavailable', reason: 'issuer' };
    }
  };
}

/**
 * Verifies a token. If the token does not name its key, several keys may match, and the first key that fits counts.
 * @throws JOSEError if no key fits, or if the token is invalid
 */
async function verify(token: string, { keyOf }: IssuerKeys, options: JWTVerifyOptions): Promise<JWTVerifyResult> {
  try {
    return await jwtVerify(token, keyOf, options);
  } catch (multiple) {
    if (!(multiple instanceof errors.JWKSMultipleMatchingKeys)) throw multiple;
    for await (const key of multiple) {
      try {
        return await jwtVerify(token, key, options);
      } catch (error) {
        // jose throws a TypeError for a key that cannot verify any token, such as a key that is too short.
        const isKeyWrong = error instanceof errors.JWSSignatureVerificationFailed || error instanceof TypeError;
        if (!isKeyWrong) throw error;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

type Claims = Pick<IssuerOptions, 'scopeClaim' | 'scopePrefix' | 'personClaim'>;

/** Reads the caller from a token whose signature, issuer, audience and times are valid. */
function authenticationOf(
  { payload, protectedHeader: { typ } }: JWTVerifyResult,
  { scopeClaim, scopePrefix = '', personClaim = 'sub' }: Claims,
): Authentication {
  if (typ !== undefined && !tokenTypes.includes(String(typ).toLowerCase())) return { kind: 'invalid', reason: 'typ' };
  // A token with `cnf` is valid only with a proof of possession (RFC 7800). This server cannot check the proof, so a thief could use the token.
  if (payload.cnf !== undefined) return { kind: 'invalid', reason: 'cnf' };
  const { data: name } = subject.safeParse(payload.sub);
  if (name === undefined) return { kind: 'invalid', reason: 'sub' };
  const { exp = 0 } = payload;
  const { data: personId } = subject.safeParse(claimAt(payload, personClaim));
  const principal = { name, personId, scopes: scopesOf(payload, scopeClaim, scopePrefix), agent: agentOf(payload) };
  return { kind: 'authenticated', principal, expiresAt: exp * 1000 };
}

/** Maximum number of actors that are read from a chain of `act` claims. Further actors are dropped. */
const mostActors = 5;

/** Reads which program acts for the caller. An invalid claim counts as absent, because these claims give no rights. */
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

/** A name in a token. Lone surrogates are refused, because UTF-8 cannot write them, and replacing them could make two names equal. */
const subject = z
  .string()
  .min(1)
  .max(255)
  .refine((name) => name.isWellFormed());

/** Codes of jose for invalid keys of the issuer. All other codes are about the token. */
const keyErrors = ['ERR_JWK_INVALID', 'ERR_JWKS_INVALID'];

/**
 * Returns why a token is invalid, for the log: jose's code and, for a claim, what the token has and what is expected. The claims are the issuer's,
 * because jose verifies the signature first. Undefined if the token is not the problem.
 */
function invalidReason(
  error: unknown,
  { issuer, audience }: Pick<IssuerOptions, 'issuer' | 'audience'>,
): string | undefined {
  if (!(error instanceof errors.JOSEError) || keyErrors.includes(error.code)) return undefined;
  if (!(error instanceof errors.JWTClaimValidationFailed)) return error.code;
  const { code, claim, payload } = error;
  const expected = { iss: issuer, aud: audience }[claim];
  if (expected === undefined) return `${code} ${claim}`;
  const present = JSON.stringify(payload[claim]) ?? 'nothing';
  return say`${exact(code)} ${exact(claim)}: the token has ${quoted(present, 200)}, and this server expects ${quoted(expected, 200)}`
    .text;
}

const claimedScopes = z.union([z.string(), z.array(z.string()).transform((scopes) => scopes.join(' '))]).catch('');

/** The value of a configured claim: by its name or, if there is none, by its path. */
const claimAt = (payload: JWTPayload, claim: string): unknown => payload[claim] ?? valueAt(payload, claim);

/** Reads the scopes from `scope` (RFC 9068) or `scp`, or from the configured claim. Some issuers take a scope with a prefix and write it without. */
function scopesOf(payload: JWTPayload, claim: string | undefined, scopePrefix: string): readonly string[] {
  const claimed = claim === undefined ? (payload.scope ?? payload.scp) : claimAt(payload, claim);
  return claimedScopes
    .parse(claimed)
    .split(' ')
    .map((scope) => (scope.startsWith(scopePrefix) ? scope.slice(scopePrefix.length) : scope));
}
