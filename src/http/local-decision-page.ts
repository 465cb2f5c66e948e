import { setTimeout as delay } from 'node:timers/promises';
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
import { notFound } from './pages.js';
import { serveViewPage } from './view-page.js';

interface LocalPageOptions extends Omit<PageDependencies, 'callerOf'> {
  /** Opens the browser at a URL, if necessary with a file that redirects to the URL. Resolves with that file, so that it can be removed. */
  readonly open: (url: string) => Promise<{ remove(): Promise<void> } | undefined>;
}

/** The person at this machine. Over stdio, neither callers nor the people who decide have names. */
const personHere: PageUser = { person: undefined, personId: undefined, mayApprove: false, scopes: undefined };

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
  const tab = createTabWatch(now);
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
    const endPoll = tab.startPoll();
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
      endPoll();
    }
  };

  const page = await serveViewPage({
    port: 0,
    pageHtml: await readView('page'),
    viewHtml: await readView('change'),
    loadContent: showOldestChange,
    callTool: decide,
    waitForNext: waitForOtherChange,
  });

  return {
    /** Opens a tab for the waiting changes and this one. An open tab will show it, so none is opened. Rejects if `open` rejects. */
    async show(id: string): Promise<void> {
      ownIds.add(id);
      if (tab.isOpen()) return;
      // Before anything is awaited, because two changes at the same time must not open two tabs. The tab cannot poll before the browser has started.
      tab.countAsOpenFor(startMs + goneMs);
      try {
        // If an earlier tab never loaded, its file is still there.
        await redirectFile?.remove();
        redirectFile = await open(page.url);
      } catch (error) {
        // No tab will open, so the next change tries again.
        tab.countAsClosed();
        throw error;
      }
    },
    async close(): Promise<void> {
      await redirectFile?.remove();
      await page.close();
    },
  };
}

/** Creates a record of whether the tab is open: during each poll, for a time after a poll, and for a time after the start of the browser. */
function createTabWatch(now: () => Date) {
  let openPolls = 0;
  /** Milliseconds since 1970. */
  let countsAsOpenUntil = 0;
  const countAsOpenFor = (milliseconds: number): void => {
    countsAsOpenUntil = now().getTime() + milliseconds;
  };
  return {
    isOpen: () => openPolls > 0 || now().getTime() < countsAsOpenUntil,
    countAsOpenFor,
    countAsClosed: () => {
      countsAsOpenUntil = 0;
    },
    /** Returns the function to call when the poll is answered. */
    startPoll: () => {
      openPolls += 1;
      return () => {
        openPolls -= 1;
        // Bridges the time until the tab's next poll.
        countAsOpenFor(goneMs);
      };
    },
  };
}
