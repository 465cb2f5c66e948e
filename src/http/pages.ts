import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Hono } from 'hono';
import type { html } from 'hono/html';
import { secureHeaders } from 'hono/secure-headers';
import type { Translator } from '../util/language.js';
import type { SafeText } from '../util/safe-text.js';
import { HttpError, webHeaders } from './http-helpers.js';

/** Functions for pages for people, which run on Hono behind Node's server. */

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
  const response = await pages.fetch(request, { incoming, outgoing });
  const headers = new Headers(response.headers);
  const above = new URL(publicUrl).pathname.replace(/\/$/, '');
  const location = headers.get('location');
  if (location?.startsWith('/')) headers.set('location', above + location);
  // Templates escape quotation marks, so no other text looks like a link.
  const html = (await response.text()).replaceAll(/ (href|action)="(?=\/decisions)/g, (link) => link + above);
  const body = Buffer.from(html);
  // Hono's answer to HEAD has no body.
  if (method !== 'HEAD') headers.set('content-length', String(body.length));
  outgoing.writeHead(response.status, [...headers].flat());
  outgoing.end(body);
}

/** HTML from a template that escapes all values. */
export type Html = ReturnType<typeof html>;

/** Sets security headers. `policy` is the CSP without `frame-ancestors`. */
const pageHeaders = (policy: Readonly<Record<string, string[]>>, frameAncestors: "'none'" | "'self'") =>
  secureHeaders({
    contentSecurityPolicy: { ...policy, frameAncestors: [frameAncestors] },
    // `true` allows framing by the same origin.
    xFrameOptions: frameAncestors === "'none'" ? 'DENY' : true,
    // Not `no-referrer`, with which browsers send forms without an origin.
    referrerPolicy: 'same-origin',
    strictTransportSecurity: false,
    overwrite: false,
  });

/** For a view, which only our page may frame. */
export const viewHeaders = pageHeaders({ sandbox: ['allow-scripts'] }, "'self'");

/** For all other pages, whose HTML limits the scripts. */
export const hostHeaders = pageHeaders({}, "'none'");
