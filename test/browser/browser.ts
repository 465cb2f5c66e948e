import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { CallToolResult } from '@modelcontextprotocol/client';
import type { McpUiHostContext } from '@modelcontextprotocol/ext-apps/app-bridge';
import axe from 'axe-core';
import { type BrowserContextOptions, type Browser as Chromium, chromium, type Frame, type Page } from 'playwright-core';
import { build } from 'rolldown';
import type { ViewName } from '../../src/mcp/views/view-contract.js';
import type { HostSetup } from './host-page.js';

/** Answers what a view calls. */
export type AnswerToolCall = (
  name: string,
  args: Readonly<Record<string, unknown>>,
) => CallToolResult | Promise<CallToolResult>;

/** A view in a host, in a browser. */
export interface ShownView {
  /** The page of the host. */
  readonly page: Page;
  /** The view itself. */
  readonly view: Frame;
  /** What the model was told, in order. */
  readonly told: string[];
  /** Errors and refusals that the browser reported. */
  readonly reported: string[];
  /** Sends the view the call that it belongs to, and waits until the view shows it in full. */
  sendCall(args: Record<string, unknown>, result: CallToolResult): Promise<void>;
  changeContext(context: McpUiHostContext): Promise<void>;
}

export interface ShowOptions {
  readonly answer?: AnswerToolCall;
  readonly context?: McpUiHostContext;
  readonly callsTools?: boolean;
  /** Set for a host that says that it passes calls on, and refuses them. */
  readonly refusesCalls?: boolean;
  readonly width?: number;
  readonly colorScheme?: 'light' | 'dark';
  readonly reducedMotion?: 'reduce' | 'no-preference';
  /** In place of the view as it was built. */
  readonly html?: string;
}

export interface Browser {
  /** Shows a view in a new page, in place of the one before. */
  show(name: ViewName, options?: ShowOptions): Promise<ShownView>;
  /** Opens an address of this machine. */
  open(url: string): Promise<Page>;
  /** A page of another profile, beside all others. */
  another(options?: Omit<BrowserContextOptions, 'viewport'> & { readonly width?: number }): Promise<Page>;
  close(): Promise<void>;
}

const hostUrl = 'http://host.test/';

/** Starts headless Chromium. Nothing that a page asks for leaves the machine. */
export async function startBrowser(): Promise<Browser> {
  const chrome = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      // Text in shades of grey: pictures stay small.
      '--disable-lcd-text',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
  let script: Promise<string> | undefined;
  return {
    async show(name, options = {}) {
      const page = await onlyPage(chrome);
      script ??= hostScript();
      return showView(page, await script, name, options);
    },
    async open(url) {
      const page = await onlyPage(chrome);
      await page.goto(url);
      return page;
    },
    another: ({ width, ...options } = {}) => newPage(chrome, { colorScheme: 'light', ...options }, width),
    close: () => chrome.close(),
  };
}

/** A page of a new profile, in place of all others: what a test did to its page, to the clock for one, ends with it. */
async function onlyPage(chrome: Chromium): Promise<Page> {
  for (const earlier of chrome.contexts()) await earlier.close();
  return newPage(chrome);
}

/** A page of a new profile. It waits a minute, as the other tests do, because a busy machine reaches the browser's 30 seconds. */
async function newPage(chrome: Chromium, options: BrowserContextOptions = {}, width = 760): Promise<Page> {
  const context = await chrome.newContext({ viewport: { width, height: 900 }, ...options });
  context.setDefaultTimeout(60_000);
  return context.newPage();
}

async function hostScript(): Promise<string> {
  const { output } = await build({
    input: fileURLToPath(new URL('host-page.ts', import.meta.url)),
    write: false,
    output: { format: 'iife' },
  });
  return output[0].code;
}

async function showView(page: Page, script: string, name: ViewName, options: ShowOptions): Promise<ShownView> {
  const {
    answer = unexpected,
    context,
    callsTools,
    refusesCalls,
    width,
    colorScheme = 'light',
    reducedMotion = 'reduce',
  } = options;
  const told: string[] = [];
  const reported: string[] = [];
  page.on('pageerror', (error) => reported.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') reported.push(message.text());
  });
  await page.emulateMedia({ colorScheme, reducedMotion });
  await page.route('**/*', (route) =>
    route.request().url() === hostUrl
      ? route.fulfill({
          contentType: 'text/html',
          body: '<!doctype html><html lang="en"><title>Host</title><body style="margin:0">',
        })
      : route.abort(),
  );
  await page.exposeFunction('answerToolCall', (tool: string, args: Record<string, unknown>) => answer(tool, args));
  await page.exposeFunction('tellModel', (text: string) => {
    told.push(text);
  });
  await page.goto(hostUrl);
  await page.addScriptTag({ content: script });
  const html = options.html ?? (await readFile(new URL(`../../dist/ui/${name}.html`, import.meta.url), 'utf8'));
  const setup: HostSetup = {
    html,
    ...(context !== undefined && { context }),
    ...(callsTools !== undefined && { callsTools }),
    ...(refusesCalls !== undefined && { refusesCalls }),
    ...(width !== undefined && { width }),
  };
  // As JSON, because playwright's types follow every branch of the protocol's.
  await page.evaluate((json) => window.showView(JSON.parse(json)), JSON.stringify(setup));
  const view = page.frames()[1];
  if (view === undefined) throw new Error('the host shows no view');
  return {
    page,
    view,
    told,
    reported,
    async sendCall(args, result) {
      await page.evaluate((call) => window.testHost.sendCall(call), JSON.stringify({ args, result }));
      await fitFrame(view);
    },
    changeContext: (changed) =>
      page.evaluate((json) => window.testHost.changeContext(JSON.parse(json)), JSON.stringify(changed)),
  };
}

/** Waits until the host has given the view the height that it asked for. A click before that can miss, because the view is still scrolled. */
async function fitFrame(view: Frame): Promise<void> {
  await view.waitForFunction(
    () => window.innerHeight === Math.ceil(document.querySelector('main')?.getBoundingClientRect().height ?? 0),
  );
}

const unexpected: AnswerToolCall = (name) => {
  throw new Error(`${name} was not expected`);
};

/** What axe-core finds in a page or a view, as the IDs of its rules. */
export async function findings(frame: Frame): Promise<string[]> {
  await frame.evaluate(axe.source);
  const { violations } = await frame.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}

/** The elements of a view that have an animation or a transition, by tag and class. */
export const movingElements = (view: Frame): Promise<string[]> =>
  view.evaluate(() =>
    [...document.querySelectorAll('*')]
      .filter((element) => {
        const { animationName, transitionDuration } = getComputedStyle(element);
        return animationName !== 'none' || !/^(0s(, )?)+$/.test(transitionDuration);
      })
      .map(({ tagName, className }) => `${tagName}.${className}`),
  );

declare global {
  interface Window {
    axe: typeof axe;
  }
}
