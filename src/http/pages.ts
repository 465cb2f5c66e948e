import type { IncomingMessage, ServerResponse } from 'node:http';
import { Hono, type MiddlewareHandler } from 'hono';
import type { html } from 'hono/html';
import { HTTPException } from 'hono/http-exception';
import { secureHeaders } from 'hono/secure-headers';
import { HttpError, webHeaders } from './http-helpers.js';

/** Functions for all pages for people, which run on Hono behind Node's server. */

/** Gives handlers Node's request and response. */
export interface PageEnv {
  readonly Bindings: { readonly incoming: IncomingMessage; readonly outgoing: ServerResponse };
}

/** Creates a Hono app whose answers are not cached, and whose errors are thrown. */
export function createPages<Env extends PageEnv>(): Hono<Env> {
  const pages = new Hono<Env>();
  pages.use(async (context, next) => {
    context.header('cache-control', 'no-store');
    await next();
  });
  pages.onError((error) => {
    throw error instanceof HTTPException ? otherSite() : error;
  });
  pages.notFound(() => {
    throw notFound();
  });
  return pages;
}

export const otherSite = () => new HttpError(403, 'origin', 'The request comes from another site.');
export const notFound = () => new HttpError(404, 'path', 'Nothing is here.');

/** Answers a request of Node's server with a Hono app. @throws HttpError */
export async function servePages<Env extends PageEnv>(
  pages: Hono<Env>,
  origin: string,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const { method = '', url = '' } = incoming;
  if (!['GET', 'HEAD', 'POST'].includes(method)) throw notFound();
  // Handlers read the body from `incoming`, with limits on its size.
  const request = new Request(new URL(url, origin), { method, headers: webHeaders(incoming) });
  const response = await pages.fetch(request, { incoming, outgoing });
  const body = Buffer.from(await response.arrayBuffer());
  // Hono's answer to HEAD has no body.
  const length = method === 'HEAD' ? [] : [['content-length', String(body.length)]];
  outgoing.writeHead(response.status, [...response.headers, ...length].flat());
  outgoing.end(body);
}

/** HTML from a template that escapes all values. */
export type Html = ReturnType<typeof html>;

/** Forms need `same-origin`, because with `no-referrer`, browsers send no origin. */
type Referrer = 'same-origin' | 'no-referrer';

/** Sets security headers. `policy` is the CSP without `frame-ancestors`. */
function pageHeaders(
  policy: Readonly<Record<string, string[]>>,
  frameAncestors: "'none'" | "'self'",
  referrerPolicy: Referrer,
): MiddlewareHandler {
  return secureHeaders({
    contentSecurityPolicy: { ...policy, frameAncestors: [frameAncestors] },
    // `true` allows framing by the same origin.
    xFrameOptions: frameAncestors === "'none'" ? 'DENY' : true,
    referrerPolicy,
    // Would force https on subdomains of other people.
    strictTransportSecurity: false,
    overwrite: false,
  });
}

/** For a view, which only our page may frame. */
export const viewHeaders = (referrer: Referrer) => pageHeaders({ sandbox: ['allow-scripts'] }, "'self'", referrer);

/** For the page around a view, whose HTML limits the scripts. */
export const hostHeaders = (referrer: Referrer) => pageHeaders({}, "'none'", referrer);

/** Requires JSON, which other sites cannot send. @throws HttpError */
export const requireJson: MiddlewareHandler = async (context, next) => {
  if (context.req.header('content-type') !== 'application/json')
    throw new HttpError(415, 'content type', 'The content type must be application/json.');
  await next();
};

/** Requires a form, the only type whose origin Hono's `csrf` checks. @throws HttpError */
export const requireForm: MiddlewareHandler = async (context, next) => {
  const [mediaType] = (context.req.header('content-type') ?? formType).split(';');
  if (mediaType?.trim().toLowerCase() !== formType)
    throw new HttpError(415, 'content type', `The content type must be ${formType}.`);
  await next();
};

const formType = 'application/x-www-form-urlencoded';
