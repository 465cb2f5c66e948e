import { randomBytes, timingSafeEqual } from 'node:crypto';
import * as z from 'zod';
import { lazy } from '../util/objects.js';
import type { SealingKeys } from '../util/seal.js';
import { createSealedCookie } from './sealed-cookie.js';

/** The session of a signed-in person, as the session cookie holds it. */
export interface DecisionSession {
  readonly person: string;
  /** See `Principal.personId`. */
  readonly personId?: string | undefined;
  /** Set if the person has the scope `cloudops:approve`. */
  readonly mayApprove: boolean;
  /** The person's scopes that name accounts. */
  readonly scopes: readonly string[];
  /** Time at which the session ends (milliseconds since 1970). */
  readonly expiresAt: number;
  /** Random text that our pages send with each request that changes something, as proof of their origin. */
  readonly csrf: string;
  /** The person's token, if people sign in by a tokens file. Each request looks the token up in the file, so that the token can be revoked. */
  readonly token?: string | undefined;
}

/** Maximum duration of a session (milliseconds). */
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

/** The session of a person who has just signed in, before `withNewProof`. */
export type NewSession = Omit<DecisionSession, 'csrf'>;

/** Adds a new `csrf` proof to a session. */
export const withNewProof = (signedIn: NewSession): DecisionSession => ({
  ...signedIn,
  csrf: randomBytes(16).toString('base64url'),
});

/** True if `proof` is the `csrf` proof of the session. Compared in constant time. */
export function isOwnPage({ csrf }: DecisionSession, proof: string | undefined): boolean {
  const [expected, actual] = [Buffer.from(csrf), Buffer.from(proof ?? '')];
  return expected.length === actual.length && timingSafeEqual(expected, actual);
}
