import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Context, Hono } from 'hono';
import type { Change } from '../changes/change.js';
import { readView } from '../mcp/views/view-of-tool.js';
import { reasonOf } from '../util/log.js';
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
  /** Opens the browser at a URL, if necessary with a file that redirects to the URL. Resolves with that file, so that it can be removed. */
  readonly open: (url: string) => Promise<{ remove(): Promise<void> } | undefined>;
}

/** The person at this machine. Over stdio, neither callers nor the people who decide have names. */
const personHere: PageUser = { person: undefined, personId: undefined, mayApprove: false, scopes: undefined };

/** Maximum number of connections. A browser opens six, and other users of the machine can open some without knowing the address. */
const mostConnections = 64;
/** Time limit for the headers of a request (milliseconds), so that other users of the machine cannot keep connections open. */
const headersMs = 10_000;
/** Size limit of a request's body, and of all bodies that are being received, in bytes. Clicks are smaller. */
const maximumBody = 64 * 1024;
const maximumBodies = 16 * maximumBody;

/** The longest time that a browser needs to start (milliseconds). */
const startMs = 15_000;
/** The tab counts as closed if it has not polled for this time (milliseconds). */
const goneMs = 5_000;
/** Time after which a poll of the tab is answered, even if there is no other change (milliseconds). The tab then polls again. */
const longestPollMs = 25_000;
/** Pause between two looks at the changes during a poll (milliseconds). */
const pauseMs = 500;

/**
 * Serves the page on loopback on which the person at this machine decides on waiting changes. One browser tab shows the changes one by one,
 * the oldest first. The tab polls for the next change to show.
 */
export async function serveLocalPage({ open, ...options }: LocalPageOptions) {
  // Over stdio, callers have no names, so a change has no caller to find.
  const dependencies: PageDependencies = { ...options, callerOf: async () => undefined };
  const { store, now, log } = dependencies;
  let openPolls = 0;
  /** The tab counts as open until this time (milliseconds since 1970): for a while after a poll, and after the start of the browser. */
  let countsAsOpenUntil = 0;
  /** The IDs of the changes of this process. Other processes may share the store, and other settings may apply to their changes. */
  const ownIds = new Set<string>();
  /** The file that redirects the browser to the page, so that no command line has the secret address. Undefined if `open` needed no file. */
  let redirectFile: Awaited<ReturnType<LocalPageOptions['open']>>;

  /** The waiting changes of this process, oldest first. */
  const waitingChanges = async (): Promise<readonly Change[]> => {
    const waiting = await store.waiting({ caller: null });
    return waiting.filter(({ id }) => ownIds.has(id));
  };

  /** Returns the content of the tab. `follows` makes the tab poll for other changes, and `shown` is the change that its polls name. */
  const showOldestChange = async () => {
    // The tab has loaded, so the file with its address is not needed any more.
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
    let change: Change | undefined;
    try {
      change = ownIds.has(click.ticket) ? await store.find(click.ticket) : undefined;
    } catch (error) {
      log('error', 'journal', { error: reasonOf(error) });
      return undecidedClick(words('the plans cannot be read now'));
    }
    // The plan has expired. Status 404 tells the page that the click decided nothing.
    if (change === undefined || (change.state === 'waiting' && change.isExpired)) throw notFound();
    return answerClick(change, click, personHere, dependencies);
  };

  /** Answers a poll of the tab as soon as the oldest waiting change is not the change in the tab, or after `longestPollMs`. */
  const waitForOtherChange = async (params: unknown, gone: AbortSignal) => {
    // Undefined if the tab shows no change.
    const shownId = textAt(params, 'shown');
    openPolls += 1;
    try {
      for (let waited = 0; waited < longestPollMs && !gone.aborted; waited += pauseMs) {
        const [change] = await waitingChanges();
        // If no change waits, the tab keeps what it shows.
        if (change !== undefined && change.id !== shownId) return { otherPlanWaits: true };
        await delay(pauseMs, undefined, { ref: false });
      }
      // The tab polls again.
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
  // 128 random bits, so that no other user of the machine and no other page in the browser can guess the address.
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
    /** Opens a tab for the waiting changes and this one. An open tab will show it, so none is opened. Rejects if `open` rejects. */
    async show(id: string): Promise<void> {
      ownIds.add(id);
      if (openPolls > 0 || now().getTime() < countsAsOpenUntil) return;
      // Before anything is awaited, because two changes at the same time must not open two tabs. The tab cannot poll before the browser has started.
      countsAsOpenUntil = now().getTime() + startMs + goneMs;
      try {
        // If an earlier tab never loaded, its file is still there.
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

/** Creates the server of the page, which other users of the machine can reach. It does not listen yet. */
function createLoopbackServer(pages: Hono<PageEnv>): Server {
  const server = createServer({ headersTimeout: headersMs, connectionsCheckingInterval: 1000 }, (request, response) => {
    const answer = async () => {
      checkHostAndOrigin(request, ['127.0.0.1']);
      // The handlers use only the path of a URL, so the origin needs no port.
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
