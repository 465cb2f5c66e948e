import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Context } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import * as z from 'zod';
import type { Translator } from '../util/language.js';
import { lazy } from '../util/objects.js';
import type { SafeText } from '../util/safe-text.js';
import { createSeal, type SealingKeys } from '../util/seal.js';
import { HttpError } from './http-helpers.js';

/** Characters. Browsers reject cookies of more than about 4 KB. */
const maximumLength = 4000;

/** Creates a cookie that only our replicas can read or make. */
export function createSealedCookie<Value extends { readonly expiresAt: number }>(options: {
  readonly name: string;
  readonly purpose: string;
  readonly schema: () => z.ZodType<Value>;
  readonly keys: SealingKeys;
  readonly now: () => Date;
}) {
  const { purpose, schema, keys, now } = options;
  // Browsers let only this host set such cookies, and only over https.
  const name = `__Host-cloudops-${options.name}`;
  const seal = createSeal(keys, { purpose, associatedData: '', longest: maximumLength });
  const set = (context: Context, value: string, maxAge: number) =>
    setCookie(context, name, value, { path: '/', maxAge, httpOnly: true, secure: true, sameSite: 'Lax' });

  return {
    /** Undefined if the cookie is missing, forged or expired, or came twice. */
    read(context: Context): Value | undefined {
      const pairs = (context.req.header('cookie') ?? '').split(';');
      // Another host may have set one of two.
      const cameOnce = pairs.filter((pair) => pair.trim().startsWith(`${name}=`)).length === 1;
      const text = cameOnce ? seal.open(getCookie(context, name) ?? '') : undefined;
      const value = text === undefined ? undefined : schema().safeParse(JSON.parse(text)).data;
      return value !== undefined && value.expiresAt > now().getTime() ? value : undefined;
    },
    /** @throws HttpError if the value is too long */
    write(context: Context, value: Value): void {
      const sealed = seal.seal(JSON.stringify(value));
      // Only a session with the person's token can be long.
      if (sealed.length > maximumLength) throw new HttpError(400, 'sign-in', 'The token is too long for this page.');
      set(context, sealed, Math.max(0, Math.floor((value.expiresAt - now().getTime()) / 1000)));
    },
    clear: (context: Context): void => set(context, '', 0),
  };
}

const schema = lazy(() =>
  z.object({
    person: z.string(),
    personId: z.string().optional(),
    mayApprove: z.boolean(),
    scopes: z.array(z.string()).readonly(),
    /** Milliseconds since 1970. */
    expiresAt: z.number(),
    /** Our pages send this random text with each change, as proof of their origin. */
    csrf: z.string(),
    /** Looked up in the tokens file at each request, so that the token can be revoked. */
    token: z.string().optional(),
  }),
);

export type DecisionSession = Readonly<z.output<ReturnType<typeof schema>>>;

export const sessionMs = 8 * 60 * 60 * 1000;

export const createSessionCookie = (keys: SealingKeys, now: () => Date) =>
  createSealedCookie({ name: 'session', purpose: 'cloudops decisions session', schema, keys, now });

export type NewSession = Omit<DecisionSession, 'csrf'>;

export interface PageUser extends Pick<DecisionSession, 'personId' | 'mayApprove' | 'scopes'> {
  /** Undefined for the person at this machine, who may use every account. */
  readonly person: string | undefined;
  /** Undefined on the page of this machine, whose address is secret. */
  readonly csrf?: string | undefined;
}

/** Requires the proof that a request comes from our page. In constant time. @throws HttpError */
export function checkProof({ csrf }: PageUser, proof = ''): void {
  if (csrf === undefined) return;
  const [expected, actual] = [Buffer.from(csrf), Buffer.from(proof)];
  if (expected.length !== actual.length || !timingSafeEqual(expected, actual))
    throw new HttpError(403, 'csrf', 'The request comes from another page.');
}

/** Gives handlers Node's request and response. */
export interface PageEnv {
  readonly Bindings: { readonly incoming: IncomingMessage; readonly outgoing: ServerResponse };
  /** For the language of the person. */
  readonly Variables: { translator: Translator };
}

export const notFound = () => new HttpError(404, 'path', 'Nothing is here.');

/** Thrown if something that a page needs is missing for now. `missing` is a clause, and `advice` a sentence. */
export class NotNow extends HttpError {
  readonly missing: SafeText;
  readonly advice: SafeText;
  constructor(reason: string, missing: SafeText, advice: SafeText, retryAfterSeconds: number) {
    super(503, reason, missing.text, { 'retry-after': String(retryAfterSeconds) });
    this.missing = missing;
    this.advice = advice;
  }
}
