import { randomBytes, timingSafeEqual } from 'node:crypto';
import * as z from 'zod';
import { lazy } from '../util/objects.js';
import type { SealingKeys } from '../util/seal.js';
import { createSealedCookie } from './sealed-cookie.js';

/** The session of a signed-in person, as the cookie holds it. */
export interface DecisionSession {
  readonly person: string;
  readonly personId?: string | undefined;
  readonly mayApprove: boolean;
  readonly scopes: readonly string[];
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
  /** Our pages send this random text with each change, as proof of their origin. */
  readonly csrf: string;
  /** Looked up in the tokens file at each request, so that the token can be revoked. */
  readonly token?: string | undefined;
}

export const sessionMs = 8 * 60 * 60 * 1000;

const schema = lazy(() =>
  z.object({
    person: z.string(),
    personId: z.string().optional(),
    mayApprove: z.boolean(),
    scopes: z.array(z.string()),
    expiresAt: z.number(),
    csrf: z.string(),
    token: z.string().optional(),
  }),
);

export const createSessionCookie = (keys: SealingKeys, now: () => Date) =>
  createSealedCookie<DecisionSession>({ name: 'session', purpose: 'cloudops decisions session', schema, keys, now });

/** A session before `withNewProof`. */
export type NewSession = Omit<DecisionSession, 'csrf'>;

/** Adds a new `csrf` proof to a session. */
export const withNewProof = (signedIn: NewSession): DecisionSession => ({
  ...signedIn,
  csrf: randomBytes(16).toString('base64url'),
});

/** Compares the `csrf` proof in constant time. */
export function isOwnPage({ csrf }: DecisionSession, proof: string | undefined): boolean {
  const [expected, actual] = [Buffer.from(csrf), Buffer.from(proof ?? '')];
  return expected.length === actual.length && timingSafeEqual(expected, actual);
}
