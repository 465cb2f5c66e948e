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
  shownPlan,
} from './decide-on-plan.js';
import { serveViewPage } from './view-page.js';

export interface LocalPageOptions extends Omit<PlanDeciding, 'callerOf'> {
  /** Opens the browser. Resolves with a function that removes what it left on disk for that. */
  readonly open: (url: string) => Promise<{ remove(): Promise<void> } | undefined>;
  readonly log: Log;
}

/** Over stdio, callers are not told apart, and neither are those who decide. */
const personHere: Decider = { person: undefined, mayApprove: false, scopes: undefined };

/** The tab asks for the next plan again and again, and is gone when it has not for so long (milliseconds). */
const goneMs = 5_000;
const longestPollMs = 25_000;
const pollMs = 500;

/**
 * Serves the page on which the person at this machine decides on plans that wait, on loopback. One tab shows one plan after the other,
 * the oldest first.
 */
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
      // The tab is up: nobody else needs to read its address.
      await opened?.remove();
      const plan = await oldest();
      if (plan === undefined) return { follows: true, note: 'No change waits for a decision.' };
      const mayDecide = reasonAgainst(plan, personHere, accounts) === undefined;
      return { follows: true, shown: plan.nonce, note: noteOf(plan), result: shownPlan(plan, mayDecide) };
    },
    async callTool(params) {
      const given = readClick(params);
      const plan = given && (await plans.find(given.nonce));
      if (given === undefined || plan === undefined) throw new Error('this is no decision on a plan that waits');
      return answerClick(plan, given.decision, personHere, { ...deciding, callerOf: async () => undefined, log });
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
    /** Shows the plans that wait: in the tab that is open, or in a new one. */
    async show(): Promise<void> {
      if (polling > 0 || now().getTime() - polledAt < goneMs) return;
      await opened?.remove();
      // Until the tab has come up, no second one is opened.
      polledAt = now().getTime() + startMs;
      opened = await open(page.url);
    },
    async close(): Promise<void> {
      await opened?.remove();
      await page.close();
    },
  };
}

/** A browser that has to start takes so long at most (milliseconds). */
const startMs = 15_000;
