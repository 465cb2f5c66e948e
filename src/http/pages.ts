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

/**
 * Answers a request of Node's server with a Hono app.
 * @param publicUrl the address of the server, whose path stands in front of the pages' own in links and redirects
 * @throws HttpError
 */
export async function servePages<Env extends PageEnv>(
  pages: Hono<Env>,
  publicUrl: string,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const { method = '', url = '' } = incoming;
  if (!['GET', 'HEAD', 'POST'].includes(method)) throw notFound();
  // Handlers read the body from `incoming`, with limits on its size.
  const request = new Request(new URL(url, publicUrl), { method, headers: webHeaders(incoming) });
  const response = await atPublicPath(await pages.fetch(request, { incoming, outgoing }), publicUrl);
  const body = Buffer.from(await response.arrayBuffer());
  // Hono's answer to HEAD has no body.
  const length = method === 'HEAD' ? [] : [['content-length', String(body.length)]];
  outgoing.writeHead(response.status, [...response.headers, ...length].flat());
  outgoing.end(body);
}

/** Puts the path of the public URL in front of the addresses of pages. Templates escape quotation marks, so no other text looks like a link. */
async function atPublicPath(response: Response, publicUrl: string): Promise<Response> {
  const above = new URL(publicUrl).pathname.replace(/\/$/, '');
  if (above === '') return response;
  const headers = new Headers(response.headers);
  const location = headers.get('location');
  if (location?.startsWith('/')) headers.set('location', above + location);
  const text = await response.text();
  const body = text.replaceAll(/ (href|action)="(?=\/decisions)/g, (attribute) => attribute + above);
  return new Response(body, { status: response.status, headers });
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
