import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import * as z from 'zod';
import { lazy } from '../util/objects.js';
import { createSeal, type SealingKeys } from '../util/seal.js';
import { HttpError } from './http-helpers.js';

/** A person who is signed in. */
export interface DecisionSession {
  readonly person: string;
  /** Set if they have the scope `cloudops:approve`. */
  readonly mayApprove: boolean;
  /** Their scopes that name accounts. */
  readonly scopes: readonly string[];
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
  /** Proves that a request comes from a page of ours. */
  readonly csrf: string;
  /** The token of a tokens file, which is looked up again with each request. */
  readonly token?: string | undefined;
}

/** A sign-in that the issuer has not answered. */
export interface SignInState {
  readonly state: string;
  readonly verifier: string;
  /** The plan that the person came for. */
  readonly nonce?: string | undefined;
  readonly expiresAt: number;
}

/** The longest that a person stays signed in. */
export const sessionMs = 8 * 60 * 60 * 1000;

/** Browsers keep no longer cookies. */
const longest = 4000;

const names = { session: '__Host-cloudops-session', signIn: '__Host-cloudops-sign-in' } as const;

const schemas = {
  session: lazy(() =>
    z.object({
      person: z.string(),
      mayApprove: z.boolean(),
      scopes: z.array(z.string()),
      expiresAt: z.number(),
      csrf: z.string(),
      token: z.string().optional(),
    }),
  ),
  signIn: lazy(() =>
    z.object({ state: z.string(), verifier: z.string(), nonce: z.string().optional(), expiresAt: z.number() }),
  ),
};

/** Cookies are sealed: nobody can read or make one without the key, and none is good for anything but its purpose. */
export function createDecisionSessions(keys: SealingKeys, now: () => Date) {
  const sealOf = (kind: keyof typeof names) =>
    createSeal(keys, { purpose: `cloudops decisions ${kind}`, associatedData: '', longest });
  const seals = { session: sealOf('session'), signIn: sealOf('signIn') };

  const cookie = (kind: keyof typeof names, value: string, seconds: number) =>
    `${names[kind]}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; Secure; SameSite=Lax`;
  const open = (kind: keyof typeof names, request: IncomingMessage): unknown => {
    const text = seals[kind].open(cookieOf(request, names[kind]));
    return text === undefined ? undefined : JSON.parse(text);
  };
  const seal = (kind: keyof typeof names, value: DecisionSession | SignInState) => {
    const sealed = seals[kind].seal(JSON.stringify(value));
    if (sealed.length > longest) throw new HttpError(400, 'sign-in', 'The token is too long for this page.');
    return cookie(kind, sealed, Math.floor((value.expiresAt - now().getTime()) / 1000));
  };
  const isCurrent = <Value extends { expiresAt: number }>(value: Value | undefined) =>
    value !== undefined && value.expiresAt > now().getTime() ? value : undefined;
  return {
    newSession: (person: Omit<DecisionSession, 'csrf'>): DecisionSession => ({
      ...person,
      csrf: randomBytes(16).toString('base64url'),
    }),
    session: (request: IncomingMessage): DecisionSession | undefined =>
      isCurrent(schemas.session().safeParse(open('session', request)).data),
    signIn: (request: IncomingMessage): SignInState | undefined =>
      isCurrent(schemas.signIn().safeParse(open('signIn', request)).data),
    sessionCookie: (session: DecisionSession) => seal('session', session),
    signInCookie: (state: SignInState) => seal('signIn', state),
    clear: (kind: keyof typeof names) => cookie(kind, '', 0),
  };
}

export type DecisionSessions = ReturnType<typeof createDecisionSessions>;

/** The value of a cookie; empty if there is none, or more than one: another site under the same domain may have added it. */
function cookieOf({ headers: { cookie = '' } }: IncomingMessage, name: string): string {
  const values = cookie.split(';').flatMap((pair) => {
    const [key = '', ...rest] = pair.trim().split('=');
    return key === name ? [rest.join('=')] : [];
  });
  return values.length === 1 ? (values[0] ?? '') : '';
}

/** True if a request proves that it comes from a page of the session. */
export function isOwnPage({ csrf }: DecisionSession, given: string | undefined): boolean {
  const [expected, actual] = [Buffer.from(csrf), Buffer.from(given ?? '')];
  return expected.length === actual.length && timingSafeEqual(expected, actual);
}
