import { createHash, timingSafeEqual } from 'node:crypto';
import type { Change } from './change.js';

/**
 * This file makes the proofs of a person's click or response. Models never get them, and the row has only a hash, so
 * nobody who reads the store can click.
 */

interface Proof {
  /** For the client alone. */
  readonly token: string;
  readonly hash: string;
}

/**
 * Makes the proof of a change.
 * @param secret 128 random bits in base64url
 */
export const makeProof = (id: string, secret: string): Proof => ({ token: `${id}.${secret}`, hash: hashOf(secret) });

/** Returns the ID of the change that a proof names. */
export const idInProof = (token: string): string | undefined => /^([\w-]{22})\.[\w-]{22}$/.exec(token)?.[1];

/** True if a token is the proof of this change. */
export function isProofOf({ id, proof }: Pick<Change, 'id' | 'proof'>, token: string): boolean {
  if (proof === undefined || idInProof(token) !== id) return false;
  const given = Buffer.from(hashOf(token.slice(id.length + 1)));
  const kept = Buffer.from(proof);
  return given.length === kept.length && timingSafeEqual(given, kept);
}

const hashOf = (secret: string) => createHash('sha256').update(secret).digest('hex');
