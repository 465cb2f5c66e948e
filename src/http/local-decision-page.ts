import { setTimeout as delay } from 'node:timers/promises';
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

export interface LocalPageOptions extends Omit<PlanDeciding, 'callerOf'> {
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

/** Serves the page on loopback on which the person at this machine decides on waiting plans. One tab shows them one by one, the oldest first. */
export async function serveLocalPage({ open, log, ...deciding }: LocalPageOptions) {
  const { plans, accounts, now } = deciding;
  let polling = 0;
  let polledAt = Number.NEGATIVE_INFINITY;
  let opened: Awaited<ReturnType<LocalPageOptions['open']>>;
  const oldest = async () => (await plans.list()).find(({ state }) => state === 'waiting');

  const page = await serveViewPage({
    port: 0,
    host: await readView('page'),
    view: await readView('change'),
    async call() {
      // The tab has loaded, so that the file with its address is not needed any more.
      await opened?.remove();
      const all = await plans.list();
      const plan = all.find(({ state }) => state === 'waiting');
      if (plan === undefined) return { follows: true, note: 'No change waits for a decision.' };
      const mayDecide = reasonAgainst(plan, personHere, accounts) === undefined;
      return {
        follows: true,
        shown: plan.nonce,
        note: noteOf(plan),
        result: shownPlan(plan, mayDecide, relatedTexts(plan, all, deciding)),
      };
    },
    async callTool(params) {
      const click = readClick(params);
      const plan = click && (await plans.find(click.nonce));
      if (click === undefined || plan === undefined) throw new Error('this is no decision on a plan that waits');
      return answerClick(plan, click, personHere, { ...deciding, callerOf: async () => undefined, log });
    },
    async next(params, gone) {
      const shown = textAt(params, 'shown');
      polling += 1;
      try {
        for (let waited = 0; waited < longestPollMs && !gone.aborted; waited += pollMs) {
          const plan = await oldest();
          if (plan !== undefined && plan.nonce !== shown) return { waits: true };
          await delay(pollMs, undefined, { ref: false });
        }
        return { waits: false };
      } finally {
        polling -= 1;
        polledAt = now().getTime();
      }
    },
  });
  return {
    /** Shows the waiting plans in the open tab, or in a new tab. */
    async show(): Promise<void> {
      if (polling > 0 || now().getTime() - polledAt < goneMs) return;
      await opened?.remove();
      // No second tab is opened until the first one has loaded.
      polledAt = now().getTime() + startMs;
      opened = await open(page.url);
    },
    async close(): Promise<void> {
      await opened?.remove();
      await page.close();
    },
  };
}

/** The time that a browser needs to start, in milliseconds. */
const startMs = 15_000;
