import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Context, Hono } from 'hono';
import type { Change } from '../changes/change.js';
import { afterStoreFailure } from '../changes/change-context.js';
import { readView } from '../mcp/views/view-of-tool.js';
import { textAt } from '../util/objects.js';
import { words } from '../util/safe-text.js';
import {
  answerClick,
  noteOf,
  type PageDependencies,
  type PageUser,
  readClick,
  shownChange,
  undecidedClick,
} from './change-on-page.js';
import { checkHostAndOrigin, close, createBodyReader, HttpError, listen, sendJson } from './http-helpers.js';
import { createPages, hostHeaders, notFound, type PageEnv, requireJson, servePages, viewHeaders } from './pages.js';

interface LocalPageOptions extends Omit<PageDependencies, 'callerOf'> {
  /** Resolves with the file that redirects to the URL, if there is one. */
  readonly open: (url: string) => Promise<{ remove(): Promise<void> } | undefined>;
}

/** Without authentication, nobody has a name, and changes have no caller. */
const personHere: PageUser = { person: undefined, mayApprove: false };

/** A browser opens six, and other users of the machine can open some. */
const mostConnections = 64;
const headersMs = 10_000;
/** In bytes, for one click and for all that are being received. */
const maximumBody = 64 * 1024;
const maximumBodies = 16 * maximumBody;

/** The longest time that a browser needs to start. */
const startMs = 15_000;
/** Without a poll for this time, the tab counts as closed. */
const goneMs = 5_000;
const longestPollMs = 25_000;
const pauseMs = 500;

/** Serves the page on loopback on which the person at this machine decides, in one tab. */
export async function serveLocalPage({ open, ...options }: LocalPageOptions) {
  const dependencies: PageDependencies = { ...options, callerOf: async () => undefined };
  const { store, now } = dependencies;
  let openPolls = 0;
  /** Milliseconds since 1970. */
  let countsAsOpenUntil = 0;
  /** Other settings may apply to the changes of other processes. */
  const ownIds = new Set<string>();
  /** Keeps the secret address out of command lines. */
  let redirectFile: Awaited<ReturnType<LocalPageOptions['open']>>;

  const waitingChanges = async (): Promise<readonly Change[]> => {
    const waiting = await store.waiting({ caller: null });
    return waiting.filter(({ id }) => ownIds.has(id));
  };

  const showOldestChange = async () => {
    await redirectFile?.remove();
    const waiting = await waitingChanges();
    const [change] = waiting;
    if (change === undefined) return { follows: true, note: 'No change waits for a decision.' };
    const result = shownChange(change, personHere, dependencies, waiting);
    return { follows: true, shown: change.id, note: noteOf(change), result };
  };

  const decide = async (params: unknown) => {
    const click = readClick(params);
    if (click === undefined) throw new Error('this is no decision');
    const found = ownIds.has(click.ticket) ? store.find(click.ticket) : undefined;
    const change = await found?.catch(afterStoreFailure(dependencies, () => 'unreadable' as const));
    if (change === 'unreadable') return undecidedClick(words('the plans cannot be read now'));
    // Status 404 tells the page that the click decided nothing.
    if (change === undefined || (change.state === 'waiting' && change.isExpired)) throw notFound();
    return answerClick(change, click, personHere, dependencies);
  };

  const waitForOtherChange = async (params: unknown, gone: AbortSignal) => {
    const shownId = textAt(params, 'shown');
    openPolls += 1;
    try {
      for (let waited = 0; waited < longestPollMs && !gone.aborted; waited += pauseMs) {
        const [change] = await waitingChanges();
        if (change !== undefined && change.id !== shownId) return { otherPlanWaits: true };
        await delay(pauseMs, undefined, { ref: false });
      }
      return { otherPlanWaits: false };
    } finally {
      openPolls -= 1;
      countsAsOpenUntil = now().getTime() + goneMs;
    }
  };

  const readBody = createBodyReader(maximumBody, maximumBodies);
  const readJson = async ({ env }: Context<PageEnv>): Promise<unknown> =>
    JSON.parse(String(await readBody(env.incoming)));
  const [pageHtml, viewHtml] = [await readView('page'), await readView('change')];
  // 128 random bits, so that no other user or page can guess the address.
  const path = `/${randomBytes(16).toString('base64url')}`;
  const pages = createPages<PageEnv>();
  pages.get(`${path}/`, hostHeaders('no-referrer'), (context) => context.html(pageHtml));
  pages.get(`${path}/view`, viewHeaders('no-referrer'), (context) => context.html(viewHtml));
  pages.post(`${path}/*`, requireJson);
  pages.post(`${path}/call`, async (context) => context.json(await showOldestChange()));
  pages.post(`${path}/tool`, async (context) => context.json(await decide(await readJson(context))));
  pages.post(`${path}/next`, async (context) => {
    const gone = new AbortController();
    context.env.outgoing.once('close', () => gone.abort());
    return context.json(await waitForOtherChange(await readJson(context), gone.signal));
  });
  const server = createLoopbackServer(pages);
  const port = await listen(server, { host: '127.0.0.1', port: 0 });

  return {
    /** Opens a tab for the waiting changes, unless a tab is open. */
    async show(id: string): Promise<void> {
      ownIds.add(id);
      if (openPolls > 0 || now().getTime() < countsAsOpenUntil) return;
      // Set before anything is awaited, because two changes must not open two tabs.
      countsAsOpenUntil = now().getTime() + startMs + goneMs;
      try {
        // An earlier tab may never have loaded.
        await redirectFile?.remove();
        redirectFile = await open(`http://127.0.0.1:${port}${path}/`);
      } catch (error) {
        // No tab will open, so the next change tries again.
        countsAsOpenUntil = 0;
        throw error;
      }
    },
    async close(): Promise<void> {
      await redirectFile?.remove();
      await close(server, { graceMs: 0 });
    },
  };
}

/** Other users of the machine can reach this server. */
function createLoopbackServer(pages: Hono<PageEnv>): Server {
  const server = createServer({ headersTimeout: headersMs, connectionsCheckingInterval: 1000 }, (request, response) => {
    const answer = async () => {
      checkHostAndOrigin(request, ['127.0.0.1']);
      await servePages(pages, 'http://127.0.0.1', request, response);
    };
    answer().catch((error: unknown) => {
      const { status, message } = error instanceof HttpError ? error : { status: 500, message: 'It failed.' };
      if (!response.headersSent) sendJson(response, status, { message });
    });
  });
  server.maxConnections = mostConnections;
  return server;
}
