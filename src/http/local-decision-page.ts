import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { Change } from '../changes/change.js';
import { notFound } from './decision-session.js';
import { createDecisions, type DecisionsOptions } from './decisions.js';
import { checkHostAndOrigin, close, HttpError, listen, sendJson } from './http-helpers.js';

interface LocalPageOptions extends Omit<DecisionsOptions, 'publicUrl' | 'signIn' | 'callerOf'> {
  /** Resolves with the file that redirects to the URL, if there is one. */
  readonly open: (url: string) => Promise<{ remove(): Promise<void> } | undefined>;
}

/** Serves the pages for decisions on loopback, at a secret address, to the person at this machine. */
export async function serveLocalPage({ open, ...options }: LocalPageOptions) {
  const { store, now } = options;
  /** Milliseconds since 1970. */
  let countsAsOpenUntil = 0;
  /** Other settings may apply to the changes of other processes. */
  const ownIds = new Set<string>();
  const ownOf = (changes: readonly Change[]) => changes.filter(({ id }) => ownIds.has(id));
  /** Keeps the secret address out of command lines. */
  let redirectFile: Awaited<ReturnType<LocalPageOptions['open']>>;

  const removeRedirect = async () => {
    await redirectFile?.remove();
    redirectFile = undefined;
  };

  const server = createServer({ headersTimeout: 10_000, connectionsCheckingInterval: 1000 });
  // A browser opens six, and other users of the machine can open some.
  server.maxConnections = 64;
  const port = await listen(server, { host: '127.0.0.1', port: 0 });
  // 128 random bits, so that no other user or page can guess the address. A cookie would also reach servers of others on this machine.
  const path = `/${randomBytes(16).toString('base64url')}`;
  const publicUrl = `http://127.0.0.1:${port}${path}`;
  const serve = createDecisions({
    ...options,
    publicUrl,
    signIn: undefined,
    callerOf: async () => undefined,
    store: {
      find: async (id) => (ownIds.has(id) ? store.find(id) : undefined),
      waiting: async (of) => ownOf(await store.waiting(of)),
      newest: async (of) => ownOf(await store.newest(of)),
    },
  });

  server.on('request', (request, response) => {
    const answer = async () => {
      checkHostAndOrigin(request, ['127.0.0.1']);
      const { url = '' } = request;
      if (!url.startsWith(`${path}/`)) throw notFound();
      request.url = url.slice(path.length);
      // A visible page asks every three seconds. Seven seconds after the last request, a new tab is opened.
      countsAsOpenUntil = now().getTime() + 7_000;
      await removeRedirect();
      await serve(request, response);
    };
    answer().catch((error: unknown) => {
      const { status, message } = error instanceof HttpError ? error : { status: 500, message: 'It failed.' };
      if (!response.headersSent) sendJson(response, status, { message });
    });
  });

  return {
    /** Opens a tab for a change, unless the person sees a page, which tells of the change. */
    async show(id: string): Promise<void> {
      ownIds.add(id);
      if (now().getTime() < countsAsOpenUntil) return;
      // A browser needs 15 s at most. Set before anything is awaited, because two changes must not open two tabs.
      countsAsOpenUntil = now().getTime() + 15_000;
      try {
        // An earlier tab may never have loaded.
        await removeRedirect();
        redirectFile = await open(`${publicUrl}/decisions/${id}/`);
      } catch (error) {
        // No tab will open, so the next change tries again.
        countsAsOpenUntil = 0;
        throw error;
      }
    },
    async close(): Promise<void> {
      await removeRedirect();
      await close(server, { graceMs: 0 });
    },
  };
}
