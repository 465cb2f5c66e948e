import { setTimeout as delay } from 'node:timers/promises';
import type { FoundPlan } from '../consent/plans.js';
import { readView } from '../mcp/views/view-of-tool.js';
import type { Log } from '../util/log.js';
import { textAt } from '../util/objects.js';
import {
  answerClick,
  type Decider,
  noteOf,
  type PlanDeciding,
  readClick,
  reasonAgainst,
  relatedTexts,
  shownPlan,
} from './decide-on-plan.js';
import { serveViewPage } from './view-page.js';

interface LocalPageOptions extends Omit<PlanDeciding, 'callerOf'> {
  /** Opens the browser. `remove` deletes the file with the address that was needed for it. */
  readonly open: (url: string) => Promise<{ remove(): Promise<void> } | undefined>;
  readonly log: Log;
}

/** Over stdio, neither callers nor the people who decide have names. */
const personHere: Decider = { person: undefined, mayApprove: false, scopes: undefined };

/** The tab polls for the next plan. It counts as closed if it has not polled for this time, in milliseconds. */
const goneMs = 5_000;
const longestPollMs = 25_000;
const pollMs = 500;

const oldestWaiting = (plans: readonly FoundPlan[]) => plans.find(({ state }) => state === 'waiting');

/** Serves the page on loopback on which the person at this machine decides on waiting plans. One tab shows them one by one, the oldest first. */
export async function serveLocalPage({ open, log, ...deciding }: LocalPageOptions) {
  const { plans, accounts, now } = deciding;
  let openPolls = 0;
  /** Without an open poll, the tab counts as open until this time. */
  let tabIsOpenUntil = Number.NEGATIVE_INFINITY;
  let browser: Awaited<ReturnType<LocalPageOptions['open']>>;

  const showOldestPlan = async () => {
    // The tab has loaded, so that the file with its address is not needed any more.
    await browser?.remove();
    const all = await plans.list();
    const plan = oldestWaiting(all);
    if (plan === undefined) return { follows: true, note: 'No change waits for a decision.' };
    const mayDecide = reasonAgainst(plan, personHere, accounts) === undefined;
    const result = shownPlan(plan, mayDecide, relatedTexts(plan, all, deciding));
    return { follows: true, shown: plan.nonce, note: noteOf(plan), result };
  };
  const decide = async (params: unknown) => {
    const click = readClick(params);
    const plan = click && (await plans.find(click.nonce));
    if (click === undefined || plan === undefined) throw new Error('this is no decision on a plan that waits');
    return answerClick(plan, click, personHere, { ...deciding, callerOf: async () => undefined, log });
  };
  /** Answers a poll of the tab, as soon as another plan than the shown one is the oldest. */
  const waitForOtherPlan = async (params: unknown, gone: AbortSignal) => {
    const shownNonce = textAt(params, 'shown');
    openPolls += 1;
    try {
      for (let waited = 0; waited < longestPollMs && !gone.aborted; waited += pollMs) {
        const plan = oldestWaiting(await plans.list());
        if (plan !== undefined && plan.nonce !== shownNonce) return { waits: true };
        await delay(pollMs, undefined, { ref: false });
      }
      return { waits: false };
    } finally {
      openPolls -= 1;
      tabIsOpenUntil = now().getTime() + goneMs;
    }
  };

  const page = await serveViewPage({
    port: 0,
    host: await readView('page'),
    view: await readView('change'),
    call: showOldestPlan,
    callTool: decide,
    next: waitForOtherPlan,
  });
  return {
    /** Opens a tab for the waiting plans, unless one is open, which will show them. */
    async show(): Promise<void> {
      if (openPolls > 0 || now().getTime() < tabIsOpenUntil) return;
      await browser?.remove();
      // The tab cannot poll before it has loaded.
      tabIsOpenUntil = now().getTime() + startMs + goneMs;
      browser = await open(page.url);
    },
    async close(): Promise<void> {
      await browser?.remove();
      await page.close();
    },
  };
}

/** The time that a browser needs to start, in milliseconds. */
const startMs = 15_000;
