import type { Page } from 'playwright-core';
import { afterEach } from 'vitest';
import { type DecisionsSetup, serveDecisions } from '../support/decisions.js';
import { freePort } from '../support/free-port.js';
import type { Browser } from './browser.js';

/** Servers with the page for decisions, and people in front of it. A test's servers and pages are closed after it. */
export function decisionPages(browser: Browser) {
  const opened: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of opened.splice(0).reverse()) await close();
  });
  const newPage = async (options: Parameters<Browser['another']>[0] = {}): Promise<Page> => {
    const page = await browser.another(options);
    opened.push(() => page.context().close());
    return page;
  };
  return {
    /** Adds what is closed after the test. */
    opened,
    newPage,
    /** Starts a server, whose setup may depend on its address. */
    start: async (setup: DecisionsSetup | ((publicUrl: string) => Promise<DecisionsSetup>) = {}) => {
      const port = await freePort();
      const publicUrl = `http://localhost:${port}`;
      const given = typeof setup === 'function' ? await setup(publicUrl) : setup;
      const served = await serveDecisions({ port, publicUrl, ...given });
      opened.push(served.close);
      return served;
    },
    /** Opens a page as the person of a token. */
    openAs: async (token: string, url: string, options: Parameters<Browser['another']>[0] = {}) => {
      const page = await newPage(options);
      await page.goto(url);
      await signIn(page, token);
      return page;
    },
  };
}

export async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel(/^(?:Token|スコープ)/).fill(token);
  await page.getByRole('button', { name: /^(?:Sign in|サインイン)$/ }).click();
}

/** The view of the change on its page. */
export const viewOf = (page: Page) => page.frameLocator('iframe');
