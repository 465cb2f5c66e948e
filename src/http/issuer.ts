import { errors, type JWTPayload, type JWTVerifyOptions, type JWTVerifyResult, jwtVerify } from 'jose';
import * as z from 'zod';
import type { Agent } from '../calls/policy.js';
import { type Log, reasonOf } from '../util/log.js';
import { isObject, valueAt } from '../util/objects.js';
import { exact, quoted, type SafeText, say, words } from '../util/safe-text.js';
import type { Authenticate, Authentication } from './auth.js';
import { type IssuerKeys, IssuerProblem } from './issuer-keys.js';
import { createRateLimiter } from './limits.js';

/** No shared keys, because everybody who can verify tokens with them can also make them. */
const algorithms = [
  ...['RS', 'PS', 'ES'].flatMap((family) => ['256', '384', '512'].map((bits) => family + bits)),
  ...['EdDSA', 'Ed25519'],
];
/** RFC 9068, section 2.1, and the older `jwt`. */
const tokenTypes = ['at+jwt', 'application/at+jwt', 'jwt'];
const clockToleranceSeconds = 60;

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
  const secondsUntilNextLog = createRateLimiter(0.2, now, { burst: 1 });
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
      const reason = invalidReason(error, { issuer, audience, now });
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

function authenticationOf(
  { payload, protectedHeader: { typ } }: JWTVerifyResult,
  { scopeClaim, scopePrefix = '', personClaim = 'sub' }: Partial<IssuerOptions>,
): Authentication {
  if (typ !== undefined && !tokenTypes.includes(String(typ).toLowerCase()))
    return { kind: 'invalid', reason: claimReason(say`typ`, typ, tokenTypes.join(' or ')) };
  // A token with `cnf` needs a proof of possession (RFC 7800), which this server cannot check.
  if (payload.cnf !== undefined) return { kind: 'invalid', reason: 'cnf' };
  const { data: name } = subject.safeParse(payload.sub);
  if (name === undefined) return { kind: 'invalid', reason: 'sub' };
  const { exp = 0 } = payload;
  const { data: personId } = subject.safeParse(claimAt(payload, personClaim));
  const principal = { name, personId, scopes: scopesOf(payload, scopeClaim, scopePrefix), agent: agentOf(payload) };
  return { kind: 'authenticated', principal, expiresAt: exp * 1000 };
}

/** Invalid claims count as absent, because these claims give no rights. */
function agentOf({ client_id, act }: JWTPayload): Agent | undefined {
  const { data: clientId } = subject.safeParse(client_id);
  const actors: string[] = [];
  for (let claim = act; isObject(claim) && actors.length < 5; claim = claim.act) {
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

/** Reasons that can be given before the signature is verified, so they have no text of the token. */
const unverified: Readonly<Record<string, string>> = {
  ERR_JWS_INVALID:
    'it is no signed JWT; some issuers give opaque or encrypted tokens to clients that do not ask for the audience',
  ERR_JWT_INVALID: 'it is no JWT with claims in JSON',
  ERR_JOSE_ALG_NOT_ALLOWED: `this server accepts the algorithms ${algorithms.join(', ')}`,
  ERR_JWKS_NO_MATCHING_KEY: 'the issuer has no key with the name (kid) and the algorithm of the token',
};

/** The claims in the reason are the issuer's, because jose verifies the signature first. */
function invalidReason(
  error: unknown,
  { issuer, audience, now }: Pick<IssuerOptions, 'issuer' | 'audience' | 'now'>,
): string | undefined {
  if (!(error instanceof errors.JOSEError)) return undefined;
  const { code } = error;
  // The issuer's keys are wrong, and not the token.
  if (['ERR_JWK_INVALID', 'ERR_JWKS_INVALID'].includes(code)) return undefined;
  if (!(error instanceof errors.JWTClaimValidationFailed || error instanceof errors.JWTExpired))
    return unverified[code] === undefined ? code : `${code}: ${unverified[code]}`;
  const { claim, payload } = error;
  const seconds = Math.floor(now().getTime() / 1000);
  const expected = new Map([
    ['iss', issuer],
    ['aud', audience],
    ['exp', `a time after ${seconds}`],
    ['nbf', `a time before ${seconds}`],
  ]).get(claim);
  return claimReason(say`${exact(code)} ${exact(claim)}`, payload[claim], expected);
}

function claimReason(problem: SafeText, value: unknown, expected: string | undefined): string {
  const present = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing');
  const should = expected === undefined ? words('') : say`, and this server expects ${quoted(expected, 200)}`;
  return say`${problem}: the token has ${quoted(present, 200)}${should}`.text;
}

const claimAt = (payload: JWTPayload, claim: string): unknown => payload[claim] ?? valueAt(payload, claim);

/** Issuers write scopes in `scope` or `scp`, as a list or as one text. Some leave out the prefix of a scope. */
function scopesOf(payload: JWTPayload, claim: string | undefined, scopePrefix: string): readonly string[] {
  const claims = claim === undefined ? [payload.scope, payload.scp] : [claimAt(payload, claim)];
  return claims
    .flat()
    .flatMap((scopes) => (typeof scopes === 'string' ? scopes.split(/[\s,]+/) : []))
    .filter((scope) => scope !== '')
    .map((scope) => (scope.startsWith(scopePrefix) ? scope.slice(scopePrefix.length) : scope));
}
