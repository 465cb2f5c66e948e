import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { Context } from 'hono';
import { checkHostAndOrigin, close, createBodyReader, HttpError, listen, sendJson } from './http-helpers.js';
import { createPages, hostHeaders, type PageEnv, requireJson, servePages, viewHeaders } from './pages.js';

/** A page with a view, and the functions that answer its requests. */
interface ViewPage {
  /** Port on loopback; 0 takes any free port. */
  readonly port: number;
  /** The HTML of the page around the view. */
  readonly pageHtml: string;
  readonly viewHtml: string;
  /** Returns the content of the page: usually a tool call and its result for the view, and a note above the view. */
  loadContent(): Promise<object>;
  /** Calls a tool for the view. Rejects if the view may not call it. */
  callTool(params: unknown): Promise<object>;
  /** Answers a poll of the page when there is other content, or after a time limit. `gone` aborts when the connection closes. */
  waitForNext?(params: unknown, gone: AbortSignal): Promise<object>;
}

/** Maximum number of connections. A browser opens six, and other users of the machine can open some without knowing the address. */
const mostConnections = 64;
/** Time limit for the headers of a request (milliseconds), so that other users of the machine cannot keep connections open. */
const headersMs = 10_000;

/** Size limit of a request's body, and of all bodies that are being received, in bytes. The calls of a view are smaller. */
const maximumBody = 512 * 1024;
const maximumBodies = 4 * maximumBody;

/**
 * Serves a view on loopback, for the browser of the person at this machine. The address has 128 random bits, so that no other user of the
 * machine and no other page in the browser can guess it.
 * @throws NodeJS.ErrnoException if the port cannot be listened on
 */
export async function serveViewPage({ port, pageHtml, viewHtml, loadContent, callTool, waitForNext }: ViewPage) {
  const readBody = createBodyReader(maximumBody, maximumBodies);
  const readJson = async ({ env }: Context<PageEnv>): Promise<unknown> =>
    JSON.parse(String(await readBody(env.incoming)));
  const path = `/${randomBytes(16).toString('base64url')}`;

  const pages = createPages<PageEnv>();
  pages.get(`${path}/`, hostHeaders('no-referrer'), (context) => context.html(pageHtml));
  pages.get(`${path}/view`, viewHeaders('no-referrer'), (context) => context.html(viewHtml));
  pages.post(`${path}/*`, requireJson);
  pages.post(`${path}/call`, async (context) => context.json(await loadContent()));
  pages.post(`${path}/tool`, async (context) => context.json(await callTool(await readJson(context))));
  if (waitForNext !== undefined) {
    pages.post(`${path}/next`, async (context) => {
      const gone = new AbortController();
      context.env.outgoing.once('close', () => gone.abort());
      return context.json(await waitForNext(await readJson(context), gone.signal));
    });
  }

  const server = createServer({ headersTimeout: headersMs, connectionsCheckingInterval: 1000 }, (request, response) => {
    const answer = async () => {
      checkHostAndOrigin(request, ['127.0.0.1']);
      // The handlers above use only the path of a URL, so the origin needs no port.
      await servePages(pages, 'http://127.0.0.1', request, response);
    };
    answer().catch((error: unknown) => {
      const { status, message } = error instanceof HttpError ? error : { status: 500, message: 'It failed.' };
      if (!response.headersSent) sendJson(response, status, { message });
    });
  });
  server.maxConnections = mostConnections;
  const listeningPort = await listen(server, { host: '127.0.0.1', port });
  return { url: `http://127.0.0.1:${listeningPort}${path}/`, close: () => close(server, { graceMs: 0 }) };
}
