import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { SealingKey, SealingKeys } from '../util/seal.js';
import type { PlanClaims } from './outcome.js';

/**
 * A consent token stands for one plan or one question. A `handle` stands for a plan that only a person can decide on, and lets a client
 * ask for the state of that plan.
 */
export interface ConsentClaims extends PlanClaims {
  readonly use: ConsentUse;
  /** Milliseconds since 1970. */
  readonly issuedAt: number;
}

type ConsentUse = (typeof uses)[number];

/** Issues consent tokens, and verifies the tokens that clients send back. */
export interface ConsentTokens {
  issue(claims: Omit<ConsentClaims, 'issuedAt'>): string;
  /** @throws InvalidToken */
  verify(token: string): ConsentClaims;
  /**
   * Returns the claims of a token of any age.
   * @throws InvalidToken
   */
  read(token: string): ConsentClaims;
}

/** Thrown for a token that is not accepted. */
export class InvalidToken extends Error {
  readonly reason: 'expired' | 'forged';
  constructor(reason: InvalidToken['reason']) {
    super(reason);
    this.reason = reason;
  }
}

/** Lifetime of a plan or a question. */
export const tokenLifetimeMs = 10 * 60 * 1000;

const digestBytes = 16;
const nonceBytes = 8;
const macBytes = 16;
/** Use and time share a number of 40 bits. The two highest bits are the use. */
const headBytes = 5;
const useStep = 2 ** 38;
const uses = ['plan', 'question', 'handle'] as const;
/** Resolution of the time (milliseconds). It suffices until the year 2109. */
const stepMs = 16;
const nonceAt = headBytes + digestBytes;
const claimsBytes = nonceAt + nonceBytes;

export const newNonce = (): string => randomBytes(nonceBytes).toString('hex');

/**
 * Makes tokens of 60 characters, because models copy them: use, time, 128 bits of digest, 64 bits of nonce, and 128 bits of HMAC-SHA256
 * over these and the caller. Time is rounded down, so that an answer may seem up to `stepMs` slower than it was, but never faster. A
 * token is valid for ten minutes and for one caller.
 * @param keys at least 32 bytes each. The first key signs, and all keys verify
 * @param planKeys separate keys for planIds, which prove no consent
 */
export function createConsentTokens(
  keys: SealingKeys,
  caller: string,
  now: () => Date,
  planKeys: SealingKeys = keys,
): ConsentTokens {
  const keysFor = (use: ConsentUse) => (use === 'plan' ? planKeys() : keys());
  const read = (token: string): ConsentClaims => {
    const bytes = Buffer.from(token, 'base64url');
    if (bytes.length !== claimsBytes + macBytes) throw new InvalidToken('forged');
    const encoded = bytes.subarray(0, claimsBytes);
    const mac = bytes.subarray(claimsBytes);
    const claims = decodeClaims(encoded);
    const isGenuine = keysFor(claims.use).some((key) => timingSafeEqual(mac, macOf(key, encoded, caller)));
    if (!isGenuine) throw new InvalidToken('forged');
    return claims;
  };
  return {
    read,
    issue: (claims) => {
      const encoded = encodeClaims({ ...claims, issuedAt: now().getTime() });
      const mac = macOf(keysFor(claims.use)[0], encoded, caller);
      return Buffer.concat([encoded, mac]).toString('base64url');
    },
    verify: (token) => {
      const claims = read(token);
      if (now().getTime() - claims.issuedAt > tokenLifetimeMs) throw new InvalidToken('expired');
      return claims;
    },
  };
}

function macOf(key: SealingKey, encodedClaims: Uint8Array, caller: string): Buffer {
  const hmac = createHmac('sha256', key).update('cloudops consent token 3\0').update(encodedClaims).update(caller);
  return hmac.digest().subarray(0, macBytes);
}

function encodeClaims({ use, digest, nonce, issuedAt }: ConsentClaims): Buffer {
  const encoded = Buffer.alloc(claimsBytes);
  const steps = Math.floor(issuedAt / stepMs);
  encoded.writeUIntBE(uses.indexOf(use) * useStep + steps, 0, headBytes);
  encoded.write(digest, headBytes, digestBytes, 'hex');
  encoded.write(nonce, nonceAt, nonceBytes, 'hex');
  return encoded;
}

/** @throws InvalidToken if the use is unknown */
function decodeClaims(encoded: Buffer): ConsentClaims {
  const head = encoded.readUIntBE(0, headBytes);
  const use = uses[Math.floor(head / useStep)];
  if (use === undefined) throw new InvalidToken('forged');
  return {
    use,
    digest: encoded.toString('hex', headBytes, nonceAt),
    nonce: encoded.toString('hex', nonceAt),
    issuedAt: (head % useStep) * stepMs,
  };
}
