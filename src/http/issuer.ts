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

/** No shared keys, because everybody who can verify tokens with them can also make them. */
const algorithms = [
  ...['RS', 'PS', 'ES'].flatMap((family) => ['256', '384', '512'].map((bits) => family + bits)),
  ...['EdDSA', 'Ed25519'],
];
/** RFC 9068, section 2.1, and the older `jwt`. */
const tokenTypes = ['at+jwt', 'application/at+jwt', 'jwt'];
const clockToleranceSeconds = 60;
const loggedPerSecond = 0.2;

export interface IssuerOptions {
  /** Spelled as in the tokens. */
  readonly issuer: string;
  readonly audience: string;
  /** A dotted path; `scope` or `scp` if undefined. */
  readonly scopeClaim?: string | undefined;
  /** The text in front of the scopes' names, which a token may lack. */
  readonly scopePrefix?: string | undefined;
  /** The claim that identifies a person in all clients; `sub` if undefined. */
  readonly personClaim?: string | undefined;
  readonly keys: IssuerKeys;
  readonly now: () => Date;
  readonly log: Log;
}

/** Authenticates callers by JWTs of one issuer for one audience. */
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

/** Without a key's name in the token, several keys may match. @throws JOSEError */
async function verify(token: string, { keyOf }: IssuerKeys, options: JWTVerifyOptions): Promise<JWTVerifyResult> {
  try {
    return await jwtVerify(token, keyOf, options);
  } catch (multiple) {
    if (!(multiple instanceof errors.JWKSMultipleMatchingKeys)) throw multiple;
    for await (const key of multiple) {
      try {
        return await jwtVerify(token, key, options);
      } catch (error) {
        // jose throws a TypeError for a key that is too short.
        const isKeyWrong = error instanceof errors.JWSSignatureVerificationFailed || error instanceof TypeError;
        if (!isKeyWrong) throw error;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

type Claims = Pick<IssuerOptions, 'scopeClaim' | 'scopePrefix' | 'personClaim'>;

function authenticationOf(
  { payload, protectedHeader: { typ } }: JWTVerifyResult,
  { scopeClaim, scopePrefix = '', personClaim = 'sub' }: Claims,
): Authentication {
  if (typ !== undefined && !tokenTypes.includes(String(typ).toLowerCase())) return { kind: 'invalid', reason: 'typ' };
  // A token with `cnf` needs a proof of possession (RFC 7800), which this server cannot check.
  if (payload.cnf !== undefined) return { kind: 'invalid', reason: 'cnf' };
  const { data: name } = subject.safeParse(payload.sub);
  if (name === undefined) return { kind: 'invalid', reason: 'sub' };
  const { exp = 0 } = payload;
  const { data: personId } = subject.safeParse(claimAt(payload, personClaim));
  const principal = { name, personId, scopes: scopesOf(payload, scopeClaim, scopePrefix), agent: agentOf(payload) };
  return { kind: 'authenticated', principal, expiresAt: exp * 1000 };
}

const mostActors = 5;

/** Invalid claims count as absent, because these claims give no rights. */
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

/** Replacing lone surrogates could make two names equal. */
const subject = z
  .string()
  .min(1)
  .max(255)
  .refine((name) => name.isWellFormed());

const keyErrors = ['ERR_JWK_INVALID', 'ERR_JWKS_INVALID'];

/** The claims in the reason are the issuer's, because jose verifies the signature first. */
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

const claimAt = (payload: JWTPayload, claim: string): unknown => payload[claim] ?? valueAt(payload, claim);

/** Some issuers leave out the prefix of a scope. */
function scopesOf(payload: JWTPayload, claim: string | undefined, scopePrefix: string): readonly string[] {
  const claimed = claim === undefined ? (payload.scope ?? payload.scp) : claimAt(payload, claim);
  return claimedScopes
    .parse(claimed)
    .split(' ')
    .map((scope) => (scope.startsWith(scopePrefix) ? scope.slice(scopePrefix.length) : scope));
}
