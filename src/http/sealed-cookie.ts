import type { Context } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import type * as z from 'zod';
import { createSeal, type SealingKeys } from '../util/seal.js';
import { HttpError } from './http-helpers.js';

/** Maximum length of a value (characters), because browsers reject cookies of more than about 4 KB. */
const maximumLength = 4000;

/** A value with the time at which its cookie expires (milliseconds since 1970). */
interface Expiring {
  readonly expiresAt: number;
}

interface SealedCookieOptions<Value extends Expiring> {
  /** The cookie is called `__Host-cloudops-<name>`. Browsers let only this host set a cookie with this prefix, and only over https. */
  readonly name: string;
  /** Binds the seal to one kind of cookie. A new version must not change the purpose, because it could not open older cookies. */
  readonly purpose: string;
  readonly schema: () => z.ZodType<Value>;
  readonly keys: SealingKeys;
  readonly now: () => Date;
}

/**
 * Creates a cookie that only our replicas can read or make, because only they have the key. Hono's signed cookies can be read by everybody.
 */
export function createSealedCookie<Value extends Expiring>(options: SealedCookieOptions<Value>) {
  const { purpose, schema, keys, now } = options;
  const name = `__Host-cloudops-${options.name}`;
  // `longest` limits only texts that are opened. `write` checks the length of a new text itself.
  const seal = createSeal(keys, { purpose, associatedData: '', longest: maximumLength });
  const set = (context: Context, value: string, maxAge: number) =>
    setCookie(context, name, value, { path: '/', maxAge, httpOnly: true, secure: true, sameSite: 'Lax' });

  return {
    /** Returns the value of the request's cookie; undefined if the cookie is missing, forged or expired, or came twice. */
    read(context: Context): Value | undefined {
      // If two cookies came, another host may have set the one that Hono reads, so neither counts.
      const text = cameTwice(context, name) ? undefined : seal.open(getCookie(context, name) ?? '');
      const value = text === undefined ? undefined : schema().safeParse(JSON.parse(text)).data;
      return value !== undefined && value.expiresAt > now().getTime() ? value : undefined;
    },
    /** Sets the cookie in the answer. @throws HttpError if the value is too long for a cookie */
    write(context: Context, value: Value): void {
      const sealed = seal.seal(JSON.stringify(value));
      // Of our cookies, only a session with the person's token can be long. So the error is about the token.
      if (sealed.length > maximumLength) throw new HttpError(400, 'sign-in', 'The token is too long for this page.');
      set(context, sealed, Math.max(0, Math.floor((value.expiresAt - now().getTime()) / 1000)));
    },
    clear: (context: Context): void => set(context, '', 0),
  };
}

/** True if a cookie came twice, which happens only in browsers that do not know the prefix `__Host-`. */
function cameTwice(context: Context, name: string): boolean {
  const pairs = (context.req.header('cookie') ?? '').split(';');
  return pairs.filter((pair) => pair.trim().startsWith(`${name}=`)).length > 1;
}
