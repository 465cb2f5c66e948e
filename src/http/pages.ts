import type { IncomingMessage, ServerResponse } from 'node:http';
import { Hono, type MiddlewareHandler } from 'hono';
import type { html } from 'hono/html';
import { HTTPException } from 'hono/http-exception';
import { secureHeaders } from 'hono/secure-headers';
import { HttpError, webHeaders } from './http-helpers.js';

/** Shared by all pages for people: decisions, sign-in, and the page of one view. They run on Hono, behind Node's server. */

/** Node's request and response. Handlers read bodies from `incoming`, because our readers limit the size. */
export interface PageEnv {
  readonly Bindings: { readonly incoming: IncomingMessage; readonly outgoing: ServerResponse };
}

/** A Hono app whose answers are not cached, and whose errors reach the caller of `servePages`. */
export function createPages<Env extends PageEnv>(): Hono<Env> {
  const pages = new Hono<Env>();
  pages.use(async (context, next) => {
    context.header('cache-control', 'no-store');
    await next();
  });
  pages.onError((error) => {
    // Only Hono's check of the origin throws an HTTPException.
    throw error instanceof HTTPException ? otherSite() : error;
  });
  pages.notFound(() => {
    throw notFound();
  });
  return pages;
}

export const otherSite = () => new HttpError(403, 'origin', 'The request comes from another site.');
export const notFound = () => new HttpError(404, 'path', 'Nothing is here.');

/**
 * Answers a request of Node's server with a Hono app.
 * @param origin under which the browser reaches the server
 * @throws HttpError
 */
export async function servePages<Env extends PageEnv>(
  pages: Hono<Env>,
  origin: string,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const { method = '', url = '' } = incoming;
  if (!['GET', 'HEAD', 'POST'].includes(method)) throw notFound();
  const request = new Request(new URL(url, origin), { method, headers: webHeaders(incoming) });
  const response = await pages.fetch(request, { incoming, outgoing });
  const body = Buffer.from(await response.arrayBuffer());
  outgoing.writeHead(response.status, [...response.headers, ['content-length', String(body.length)]].flat());
  outgoing.end(body);
}

/** HTML made by the `html` template of Hono, which escapes all values. */
export type Html = ReturnType<typeof html>;

/** With `no-referrer`, browsers send forms without their origin. */
type Referrer = 'same-origin' | 'no-referrer';

/**
 * Sets Hono's security headers. Headers that an inner handler has set stay.
 * @param policy the Content-Security-Policy but for `frame-ancestors`
 */
export function pageHeaders(
  policy: Readonly<Record<string, string[]>>,
  frameAncestors: "'none'" | "'self'",
  referrerPolicy: Referrer,
): MiddlewareHandler {
  return secureHeaders({
    contentSecurityPolicy: { ...policy, frameAncestors: [frameAncestors] },
    // Without a value, Hono allows framing by the same origin.
    xFrameOptions: frameAncestors === "'none'" ? 'DENY' : true,
    referrerPolicy,
    // This header would also bind the other hosts of the domain, which belong to somebody else.
    strictTransportSecurity: false,
    overwrite: false,
  });
}

/** For a view. The header sandboxes the view even if it is opened outside its frame. */
export const viewHeaders = (referrer: Referrer) => pageHeaders({ sandbox: ['allow-scripts'] }, "'self'", referrer);

/** For the page around a view, whose own HTML says which scripts may run. */
export const hostHeaders = (referrer: Referrer) => pageHeaders({}, "'none'", referrer);

/**
 * Requires JSON. Browsers send JSON to another site only if that site allows it, and we never do.
 * @throws HttpError
 */
export const requireJson: MiddlewareHandler = async (context, next) => {
  if (context.req.header('content-type') !== 'application/json')
    throw new HttpError(415, 'content type', 'The content type must be application/json.');
  await next();
};

/**
 * Refuses bodies of other types than a form, because Hono's `csrf` would not check their origin.
 * @throws HttpError
 */
export const requireForm: MiddlewareHandler = async (context, next) => {
  const [mediaType] = (context.req.header('content-type') ?? formType).split(';');
  if (mediaType?.trim().toLowerCase() !== formType)
    throw new HttpError(415, 'content type', `The content type must be ${formType}.`);
  await next();
};

const formType = 'application/x-www-form-urlencoded';
