import type { IncomingMessage, ServerResponse } from 'node:http';
import { Hono, type MiddlewareHandler } from 'hono';
import type { html } from 'hono/html';
import { HTTPException } from 'hono/http-exception';
import { secureHeaders } from 'hono/secure-headers';
import { HttpError, webHeaders } from './http-helpers.js';

/** Functions for all pages for people: decisions, sign-in, and the page of a single view. The pages run on Hono, behind Node's server. */

/** Gives handlers Node's request and response. */
export interface PageEnv {
  readonly Bindings: { readonly incoming: IncomingMessage; readonly outgoing: ServerResponse };
}

/** Creates a Hono app whose answers are not cached. Errors reach the caller of `servePages`, because Hono does not answer them. */
export function createPages<Env extends PageEnv>(): Hono<Env> {
  const pages = new Hono<Env>();
  pages.use(async (context, next) => {
    context.header('cache-control', 'no-store');
    await next();
  });
  pages.onError((error) => {
    // Only Hono's `csrf` throws an HTTPException here, for a form from another site.
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
 * @param origin the origin at which the browser reaches this server, for the URL that handlers see
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
  // The request has no body, because handlers read the body from `incoming` with our readers, which limit its size.
  const request = new Request(new URL(url, origin), { method, headers: webHeaders(incoming) });
  const response = await pages.fetch(request, { incoming, outgoing });
  const body = Buffer.from(await response.arrayBuffer());
  // Hono's answer to HEAD has no body, so the length of the answer to GET is not known.
  const length = method === 'HEAD' ? [] : [['content-length', String(body.length)]];
  outgoing.writeHead(response.status, [...response.headers, ...length].flat());
  outgoing.end(body);
}

/** HTML from Hono's `html` template, which escapes all values. */
export type Html = ReturnType<typeof html>;

/** The values of Referrer-Policy that we use. Pages with forms need `same-origin`, because with `no-referrer`, browsers send no origin to check. */
type Referrer = 'same-origin' | 'no-referrer';

/** Creates middleware that sets Hono's security headers, unless the handler sets them. `policy` is the CSP without `frame-ancestors`. */
export function pageHeaders(
  policy: Readonly<Record<string, string[]>>,
  frameAncestors: "'none'" | "'self'",
  referrerPolicy: Referrer,
): MiddlewareHandler {
  return secureHeaders({
    contentSecurityPolicy: { ...policy, frameAncestors: [frameAncestors] },
    // `true` is Hono's default, which allows framing by pages of the same origin.
    xFrameOptions: frameAncestors === "'none'" ? 'DENY' : true,
    referrerPolicy,
    // Hono's header would force https on all subdomains of this host, which may belong to other people.
    strictTransportSecurity: false,
    overwrite: false,
  });
}

/** The headers of a view, which only our page may frame. They sandbox the view even if a person opens it outside its frame. */
export const viewHeaders = (referrer: Referrer) => pageHeaders({ sandbox: ['allow-scripts'] }, "'self'", referrer);

/** The headers of the page around a view. They do not limit scripts, because the HTML of the page does so itself. */
export const hostHeaders = (referrer: Referrer) => pageHeaders({}, "'none'", referrer);

/**
 * Requires JSON. A page of another site cannot send us JSON, because browsers first ask the receiver for permission, and we never give it.
 * @throws HttpError
 */
export const requireJson: MiddlewareHandler = async (context, next) => {
  if (context.req.header('content-type') !== 'application/json')
    throw new HttpError(415, 'content type', 'The content type must be application/json.');
  await next();
};

/** Requires a form. Hono's `csrf` checks the origin of forms only, so a body of another type could come from another site. @throws HttpError */
export const requireForm: MiddlewareHandler = async (context, next) => {
  const [mediaType] = (context.req.header('content-type') ?? formType).split(';');
  if (mediaType?.trim().toLowerCase() !== formType)
    throw new HttpError(415, 'content type', `The content type must be ${formType}.`);
  await next();
};

const formType = 'application/x-www-form-urlencoded';
