import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { SealingKey, SealingKeys } from '../util/seal.js';
import type { PlanClaims } from '../calls/outcome.js';

/** The content of a consent token, which stands for one plan or one question. */
export interface ConsentClaims extends PlanClaims {
  /**
   * `plan`: a planId with which a call may carry out the plan. `question`: the question that a client brings back with its reply. `handle`:
   * a planId of a plan that only a person can decide on, with which a client can ask for the state of the plan and no more.
   */
  readonly use: ConsentUse;
  /** Time at which the token was issued (milliseconds since 1970). */
  readonly issuedAt: number;
}

type ConsentUse = (typeof uses)[number];

/** Issues consent tokens, and verifies the tokens that clients send back. */
export interface ConsentTokens {
  issue(claims: Omit<ConsentClaims, 'issuedAt'>): string;
  /** Returns the claims of a token. @throws InvalidToken if it is older than `tokenLifetimeMs`, or was not issued for this caller */
  verify(token: string): ConsentClaims;
  /** Returns the claims of a token of any age. @throws InvalidToken if it was not issued for this caller */
  read(token: string): ConsentClaims;
}

/** Thrown for a token that has expired, or that this server did not issue for this caller. */
export class InvalidToken extends Error {}

/** Lifetime of a consent token, and the time in which declined changes count (milliseconds). A stored plan may live longer. */
export const tokenLifetimeMs = 10 * 60 * 1000;

const digestBytes = 16;
const nonceBytes = 8;
const macBytes = 16;
/** A token begins with a number of 40 bits. Its two highest bits are the use, and the others are the time in steps of `stepMs`. */
const headBytes = 5;
const useStep = 2 ** 38;
const uses = ['plan', 'question', 'handle'] as const;
/**
 * Resolution of the time in a token (milliseconds). With it, 38 bits last until the year 2109. The time is rounded down, so an answer may seem
 * up to `stepMs` slower than it was. It must not seem faster, because an answer that comes too soon counts as a program's.
 */
const stepMs = 16;
const nonceAt = headBytes + digestBytes;
const claimsBytes = nonceAt + nonceBytes;

export const newNonce = (): string => randomBytes(nonceBytes).toString('hex');

/**
 * Issues and reads tokens of one caller. A token is only 60 characters long, because models have to copy it: use and time (5 bytes), digest
 * (16), nonce (8), and HMAC-SHA256 over all these and the caller, cut to 16 bytes.
 * @param keys returns keys of at least 32 bytes each. The first key signs, and all keys verify. A function, because some keys are made at first use
 * @param planKeys returns the keys for tokens with the use `plan`, which may be less secret, because a model holds such a token anyway, and the
 *   token does not prove that a person agreed
 */
export function createConsentTokens(
  keys: SealingKeys,
  caller: string,
  now: () => Date,
  planKeys: SealingKeys = keys,
): ConsentTokens {
  const keysFor = (use: ConsentUse) => (use === 'plan' ? planKeys() : keys());

  /**
   * Reads a genuine token of any age. An expired planId still finds the state of its plan, because a stored plan outlives its planId.
   * @throws InvalidToken `forged`
   */
  const read = (token: string): ConsentClaims => {
    const bytes = Buffer.from(token, 'base64url');
    if (bytes.length !== claimsBytes + macBytes) throw new InvalidToken('forged');
    const encoded = bytes.subarray(0, claimsBytes);
    const mac = bytes.subarray(claimsBytes);

    // The claims name the use, which selects the keys, so they are decoded before the MAC is verified.
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
      const ageMs = now().getTime() - claims.issuedAt;
      if (ageMs > tokenLifetimeMs) throw new InvalidToken('expired');
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

/** Decodes claims, without verifying them. @throws InvalidToken if the use is unknown */
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
