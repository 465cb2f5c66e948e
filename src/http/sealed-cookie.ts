import type { Context } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import type * as z from 'zod';
import { createSeal, type SealingKeys } from '../util/seal.js';
import { HttpError } from './http-helpers.js';

/** Browsers reject cookies longer than about 4 KB. */
const maximumLength = 4000;

/** The value of a cookie, which expires at a time in milliseconds since 1970. */
interface Expiring {
  readonly expiresAt: number;
}

interface SealedCookieOptions<Value extends Expiring> {
  /** The cookie is called `__Host-cloudops-<name>`, which only this host can set, and only over https. */
  readonly name: string;
  /** Binds the seal to one kind of cookie. Another value would end the sessions that browsers hold. */
  readonly purpose: string;
  readonly schema: () => z.ZodType<Value>;
  readonly keys: SealingKeys;
  readonly now: () => Date;
}

/**
 * A cookie that only holders of the key can read or make, unlike Hono's signed cookies, which everybody can read. Any replica with
 * the same key reads it.
 */
export function createSealedCookie<Value extends Expiring>(options: SealedCookieOptions<Value>) {
  const { purpose, schema, keys, now } = options;
  const name = `__Host-cloudops-${options.name}`;
  const seal = createSeal(keys, { purpose, associatedData: '', longest: maximumLength });
  const set = (context: Context, value: string, maxAge: number) =>
    setCookie(context, name, value, { path: '/', maxAge, httpOnly: true, secure: true, sameSite: 'Lax' });
  return {
    /** The value, unless it is missing, forged or expired. */
    read(context: Context): Value | undefined {
      const text = hasTwo(context, name) ? undefined : seal.open(getCookie(context, name) ?? '');
      const value = text === undefined ? undefined : schema().safeParse(JSON.parse(text)).data;
      return value !== undefined && value.expiresAt > now().getTime() ? value : undefined;
    },
    /** @throws HttpError if the value is too long for a cookie */
    write(context: Context, value: Value): void {
      const sealed = seal.seal(JSON.stringify(value));
      if (sealed.length > maximumLength) throw new HttpError(400, 'sign-in', 'The token is too long for this page.');
      set(context, sealed, Math.max(0, Math.floor((value.expiresAt - now().getTime()) / 1000)));
    },
    clear: (context: Context): void => set(context, '', 0),
  };
}

/** True if a cookie came twice, because another site of the same domain may have added one. Hono reads the first. */
function hasTwo(context: Context, name: string): boolean {
  const pairs = (context.req.header('cookie') ?? '').split(';');
  return pairs.filter((pair) => pair.trim().startsWith(`${name}=`)).length > 1;
}
