import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { checkHostAndOrigin, close, createBodyReader, HttpError, listen, sendJson } from './http-helpers.js';

/** The content of the page, and the calls that it may make. */
export interface ViewPage {
  /** Port on loopback; 0 takes one that is free. */
  readonly port: number;
  /** The page around the view, and the view, as HTML. */
  readonly host: string;
  readonly view: string;
  /** The call that the view belongs to, with its result. */
  call(): Promise<object>;
  /** Calls a tool for the view. Rejects if it may not. */
  callTool(params: unknown): Promise<object>;
  /** Resolves when the page has something else to show, or after a while. `gone` aborts with the connection. */
  next?(params: unknown, gone: AbortSignal): Promise<object>;
}

/** A browser has six. Other users of the machine can connect too, and take nothing but these, for so long (milliseconds). */
const mostConnections = 64;
const headersMs = 10_000;

/** No call that can be shown is larger. */
const maximumBody = 512 * 1024;

/**
 * Serves a view on loopback for the browser of the person at this machine. Its address has 128 random bits, so that no other
 * user or page of the machine can guess it.
 * @throws NodeJS.ErrnoException if the port cannot be listened on
 */
export async function serveViewPage({ port, host, view, call, callTool, next }: ViewPage) {
  const readBody = createBodyReader(maximumBody, 4 * maximumBody);
  const secret = randomBytes(16).toString('base64url');
  const answerWith =
    (answerTo: (params: unknown, gone: AbortSignal) => Promise<object>) =>
    async (request: IncomingMessage, response: ServerResponse) => {
      const gone = new AbortController();
      response.once('close', () => gone.abort());
      sendJson(response, 200, await answerTo(JSON.parse(String(await readBody(request))), gone.signal));
    };
  const answers: Readonly<Record<string, (request: IncomingMessage, response: ServerResponse) => Promise<void>>> = {
    [`GET /${secret}/`]: async (_, response) => sendPage(response, host, "frame-ancestors 'none'"),
    // Sandboxed by header too, in case it is opened outside its frame.
    [`GET /${secret}/view`]: async (_, response) =>
      sendPage(response, view, "sandbox allow-scripts; frame-ancestors 'self'"),
    [`POST /${secret}/call`]: async (_, response) => sendJson(response, 200, await call()),
    [`POST /${secret}/tool`]: answerWith(callTool),
    ...(next && { [`POST /${secret}/next`]: answerWith(next) }),
  };

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    checkHostAndOrigin(request, ['127.0.0.1']);
    const found = answers[`${request.method} ${request.url}`];
    if (found === undefined) throw new HttpError(404, 'path', 'Nothing is here.');
    // A page of another site could send anything else without asking first.
    if (request.method === 'POST' && request.headers['content-type'] !== 'application/json')
      throw new HttpError(415, 'content type', 'The content type must be application/json.');
    await found(request, response);
  };

  const server = createServer({ headersTimeout: headersMs, connectionsCheckingInterval: 1000 }, (request, response) => {
    answer(request, response).catch((error: unknown) => {
      const { status, message } = error instanceof HttpError ? error : { status: 500, message: 'It failed.' };
      if (!response.headersSent) sendJson(response, status, { message });
    });
  });
  server.maxConnections = mostConnections;
  const taken = await listen(server, { host: '127.0.0.1', port });
  return { url: `http://127.0.0.1:${taken}/${secret}/`, close: () => close(server, 0) };
}

function sendPage(response: ServerResponse, html: string, policy: string): void {
  response.writeHead(200, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy,
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  });
  response.end(html);
}
