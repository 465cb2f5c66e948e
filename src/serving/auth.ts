import { createHash, timingSafeEqual } from 'node:crypto';
import { createRemoteJWKSet, errors, type JWTPayload, jwtVerify } from 'jose';
import * as z from 'zod';
import { type Principal, readScope, writeScope } from '../calls/principal.js';
import type { Log } from '../util/log.js';

/** Whom a bearer token lets in: somebody, nobody, or not to be told now. */
export type Authenticate = (token: string) => Promise<Principal | 'invalid' | 'unavailable'>;

/** A token that the server knows by its SHA-256 alone. */
export interface StaticToken extends Principal {
  readonly digest: Buffer;
}

/**
 * Reads a file of tokens. A line is a name, the SHA-256 of the token in hex and, if it may not do everything, its scopes.
 * Empty lines and those that begin with # are left out. Problems name the line, never what is in it.
 */
export function parseTokens(text: string): { tokens: readonly StaticToken[]; problems: readonly string[] } {
  const tokens: StaticToken[] = [];
  const problems: string[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    const [name = '', digest = '', ...scopes] = line.trim().split(/\s+/);
    if (name === '' || name.startsWith('#')) continue;
    const report = (problem: string) => problems.push(`Line ${index + 1} of the tokens file ${problem}.`);
    if (!/^[0-9a-f]{64}$/i.test(digest)) report('has no SHA-256 in hex after the name');
    else if (scopes.some((scope) => scope !== readScope && scope !== writeScope))
      report(`names a scope that is neither ${readScope} nor ${writeScope}`);
    else if (tokens.some((token) => token.name === name)) report('has the name of an earlier line');
    else
      tokens.push({
        name,
        digest: Buffer.from(digest, 'hex'),
        scopes: scopes.length === 0 ? [readScope, writeScope] : scopes,
      });
  }
  if (tokens.length === 0 && problems.length === 0) problems.push('The tokens file holds no token.');
  return { tokens, problems };
}

/** Lets in whoever bears one of the tokens. Every one of them is compared, in constant time. */
export function authenticateByToken(tokens: readonly StaticToken[]): Authenticate {
  return async (token) => {
    const digest = createHash('sha256').update(token).digest();
    const [found] = tokens.filter((candidate) => timingSafeEqual(candidate.digest, digest));
    return found === undefined ? 'invalid' : { name: found.name, scopes: found.scopes };
  };
}

/** Signed with a private key: whoever can verify such a token cannot make one. */
const algorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
const networkMs = 5000;
const clockToleranceSeconds = 5;
/** An issuer that did not answer is left alone for so long. */
const discoveryPauseMs = 5000;

export interface IssuerOptions {
  /** As tokens and the issuer's metadata spell it. */
  readonly issuer: string;
  readonly audience: string;
  readonly now: () => Date;
  readonly log: Log;
}

/** Lets in whoever bears a JWT of the issuer for this audience. Its keys are found through its metadata, and kept. */
export function authenticateByIssuer(options: IssuerOptions): Authenticate {
  const { issuer, audience, now, log } = options;
  let keys: ReturnType<typeof discoverKeys> | undefined;
  let failedAt: number | undefined;
  const findKeys = () => {
    const retry = failedAt !== undefined && now().getTime() - failedAt > discoveryPauseMs;
    if (keys === undefined || retry) {
      failedAt = undefined;
      keys = discoverKeys(issuer).catch((error: unknown) => {
        failedAt = now().getTime();
        throw error;
      });
    }
    return keys;
  };
  return async (token) => {
    try {
      const { payload } = await jwtVerify(token, await findKeys(), {
        issuer,
        audience,
        algorithms,
        requiredClaims: ['exp', 'sub'],
        clockTolerance: clockToleranceSeconds,
        currentDate: now(),
      });
      return payload.sub === undefined || payload.sub === ''
        ? 'invalid'
        : { name: payload.sub.slice(0, 200), scopes: scopesOf(payload) };
    } catch (error) {
      if (saysInvalid(error)) return 'invalid';
      log('warn', 'issuer', { error: error instanceof Error ? error.message : 'unknown' });
      return 'unavailable';
    }
  };
}

/** Everything else means that the keys could not be had. */
const saysInvalid = (error: unknown) =>
  error instanceof errors.JWTInvalid ||
  error instanceof errors.JWTExpired ||
  error instanceof errors.JWTClaimValidationFailed ||
  error instanceof errors.JWSInvalid ||
  error instanceof errors.JWSSignatureVerificationFailed ||
  error instanceof errors.JOSEAlgNotAllowed ||
  error instanceof errors.JOSENotSupported ||
  error instanceof errors.JWKSNoMatchingKey ||
  error instanceof errors.JWKSMultipleMatchingKeys;

const metadataSchema = z.object({ issuer: z.string(), jwks_uri: z.url() });

/** Finds an issuer's keys by its metadata (RFC 8414, or OpenID Connect Discovery). */
async function discoverKeys(issuer: string) {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const places = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ];
  for (const place of places) {
    const response = await fetch(place, { redirect: 'error', signal: AbortSignal.timeout(networkMs) });
    if (!response.ok) {
      await response.body?.cancel();
      continue;
    }
    const metadata = metadataSchema.parse(await response.json());
    if (metadata.issuer !== issuer) throw new Error('the metadata names another issuer');
    const url = new URL(metadata.jwks_uri);
    // Plain http only where the issuer itself was allowed to have it.
    if (url.protocol !== 'https:' && url.origin !== origin)
      throw new Error('the metadata names keys that are not at an https address');
    return createRemoteJWKSet(url, { timeoutDuration: networkMs });
  }
  throw new Error('the issuer has no metadata');
}

const claimedScopes = z.union([z.string(), z.array(z.string()).transform((scopes) => scopes.join(' '))]).catch('');

/** `scope` (RFC 9068), or `scp` as some issuers call it. */
const scopesOf = ({ scope, scp }: JWTPayload): readonly string[] => claimedScopes.parse(scope ?? scp).split(' ');
