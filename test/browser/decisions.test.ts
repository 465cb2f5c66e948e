import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { authenticateByIssuer } from '../../src/http/issuer.js';
import { createIssuerKeys, documentBytes } from '../../src/http/issuer-keys.js';
import { signInAtIssuer } from '../../src/http/sign-in-at-issuer.js';
import { abortMultipartUpload } from '../../src/tools/abort-multipart-upload.js';
import { createHttpClient, defaultLimits } from '../../src/transport/http-client.js';
import { type Decisions, type DecisionsSetup, serveDecisions } from '../support/decisions.js';
import { audience, client, startProvider } from '../support/provider.js';
import { type Browser, findings, startBrowser } from './browser.js';
import { keepPicture } from './gallery.js';

/** The page for decisions as people see it. */

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

const opened: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function start(setup: (publicUrl: string) => Promise<DecisionsSetup> = async () => ({})) {
  const port = await freePort();
  const publicUrl = `http://localhost:${port}`;
  const served = await serveDecisions({ port, publicUrl, ...(await setup(publicUrl)) });
  opened.push(served.close);
  return served;
}

/** The link to a plan of alice's. */
async function planOf({ ask, pass }: Decisions, args: object = {}): Promise<string> {
  const { decideAt } = await ask(args);
  pass(3000);
  return String(decideAt);
}

async function openAs(token: string, url: string, options = {}): Promise<Page> {
  const page = await browser.another(options);
  opened.push(() => page.context().close());
  await page.goto(url);
  await page.getByLabel(/^Token/).fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  return page;
}
const view = (page: Page) => page.frameLocator('iframe');
const agree = (page: Page) => view(page).getByRole('button', { name: 'Create server "wiki"' });
const outcome = (page: Page, name: string) => view(page).getByRole('heading', { name }).waitFor();

test('a person comes by the link, signs in, reads the plan and agrees', async () => {
  const served = await start();
  const url = await planOf(served);
  const page = await openAs('bob', url);
  expect(page.url()).toBe(url);
  await view(page).getByRole('heading', { level: 1 }).waitFor();
  expect(await page.getByText(/^Asked for by "alice" with the client /).isVisible()).toBe(true);
  expect(await view(page).getByRole('heading', { level: 1 }).innerText()).toContain('"wiki"');
  await agree(page).click();
  await outcome(page, 'Accepted');
  expect(served.requests).toHaveLength(1);
  await page.goto(`${served.publicUrl}/decisions`);
  expect(await page.getByRole('listitem').innerText()).toMatch(
    /Accepted.*Asked for by "alice" just now · decided by "bob" just now/s,
  );
});

test('the list says how long ago, and exactly by the clock of its reader, without scripts in UTC', async () => {
  const served = await start();
  await planOf(served);
  const listed = async (options: object) => {
    const page = await openAs('bob', `${served.publicUrl}/decisions`, options);
    const titles = await page.locator('time').evaluateAll((times) => times.map((time) => time.getAttribute('title')));
    return [await page.getByRole('listitem').innerText(), ...titles];
  };
  const text = expect.stringMatching(/Asked for by "alice" just now · expires in 23 h$/);
  const local = expect.stringMatching(/^\d+ \w+ \d{4}, \d\d:\d\d:\d\d GMT\+9$/);
  expect(await listed({ locale: 'en-GB', timezoneId: 'Asia/Tokyo' })).toEqual([text, local, local]);
  const utc = expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d UTC$/);
  expect(await listed({ javaScriptEnabled: false, timezoneId: 'Asia/Tokyo' })).toEqual([text, utc, utc]);
});

test('a person refuses', async () => {
  const served = await start();
  const page = await openAs('bob', await planOf(served));
  await view(page).getByLabel('Reason, if you decline (optional)').fill('Wait for Monday');
  expect(
    await view(page)
      .getByLabel(/^Type /)
      .isVisible(),
  ).toBe(false);
  await view(page).getByRole('button', { name: 'Do nothing' }).click();
  await view(page)
    .getByText(/^"bob" declined this at .*\d\d.* Reason: "Wait for Monday"\.$/)
    .waitFor();
  expect(served.requests).toEqual([]);
  expect((await served.store.newest({ limit: 1 }))[0]?.decision?.reason).toBe('Wait for Monday');
});

test('of two people at once one agrees, and the other learns it', async () => {
  const served = await start();
  const url = await planOf(served);
  const pages = await Promise.all([openAs('bob', url), openAs('carol', url)]);
  await Promise.all(pages.map((page) => agree(page).waitFor()));
  await Promise.all(pages.map((page) => agree(page).click()));
  const headings = await Promise.all(
    pages.map(async (page) => {
      await expect.poll(() => view(page).getByRole('button').count()).toBe(0);
      return (await view(page).getByRole('status').allInnerTexts()).join(' ');
    }),
  );
  // The other one learns what came of it, or that it is not known yet.
  const isTold = (text: string) => /This click sent nothing|Decided before/.test(text);
  expect(headings.filter((text) => text.includes('Accepted') && !isTold(text))).toHaveLength(1);
  expect(headings.filter(isTold)).toHaveLength(1);
  expect(served.requests).toHaveLength(1);
});

test('on a page that is out of date, "Do nothing" leaves the decision to the first person, and says whose it was and when', async () => {
  const served = await start();
  const url = await planOf(served);
  const [bob, carol] = [await openAs('bob', url), await openAs('carol', url)];
  await agree(carol).waitFor();
  await agree(bob).click();
  await outcome(bob, 'Accepted');
  await view(carol).getByRole('button', { name: 'Do nothing' }).click();
  await outcome(carol, 'Accepted');
  await view(carol)
    .getByText(/^"bob" accepted this at .*\d\d.* This click sent nothing\.$/)
    .waitFor();
  expect(await view(carol).getByText('allowRepeat').count()).toBe(0);
  await carol.reload();
  await view(carol)
    .getByText(/^"bob" accepted this at [^.]*\d\d[^.]*\.$/)
    .waitFor();
  await carol.goto(`${served.publicUrl}/decisions`);
  expect(await carol.getByRole('listitem').innerText()).toMatch(/Accepted.*decided by "bob" just now$/s);
  expect(served.requests).toHaveLength(1);
});

test('who deletes types the name, is asked again after another, and nothing is sent before', async () => {
  const served = await start();
  const { decideAt } = await served.callTool(abortMultipartUpload.name, abortMultipartUpload.example);
  served.pass(3000);
  const page = await openAs('bob', String(decideAt));
  const name = view(page).getByLabel(`Type ${abortMultipartUpload.example.object} to agree`);
  const abort = view(page).getByRole('button', { name: /^Abort upload/ });
  await name.fill('another.mov');
  await abort.click();
  await view(page).getByText('That is not the name', { exact: false }).first().waitFor();
  await page.getByRole('heading', { name: 'A change to decide on' }).waitFor({ timeout: 5000 });
  expect(served.requests.filter(({ method }) => method === 'DELETE')).toEqual([]);
  await name.fill(abortMultipartUpload.example.object);
  await abort.click();
  await view(page)
    .getByText(/^"bob" accepted this at /)
    .waitFor();
  expect(served.requests.filter(({ method }) => method === 'DELETE')).toHaveLength(1);
});

test('of two plans for the same thing, each page tells of the other, before any click and after one was accepted', async () => {
  const served = await start();
  const older = await planOf(served, { diskSize: 100 });
  const newer = await planOf(served, { diskSize: 200 });
  const page = await openAs('bob', older);
  await view(page)
    .getByText(/^Another plan for "wiki" waits \(disk size 200 GB\), made \d+ s ago\.$/)
    .waitFor();
  await page.goto(newer);
  await view(page)
    .getByText(/^Another plan for "wiki" waits \(disk size 100 GB\), made \d+ s ago\.$/)
    .waitFor();
  await agree(page).click();
  await outcome(page, 'Accepted');
  await page.goto(older);
  await view(page)
    .getByText(/^Another plan for "wiki" was accepted \(disk size 200 GB\), \d+ s ago\.$/)
    .waitFor();
  expect(served.requests).toHaveLength(1);
});

test('after signing out in another tab, a click does nothing', async () => {
  const served = await start();
  const page = await openAs('bob', await planOf(served));
  await agree(page).waitFor();
  const other = await page.context().newPage();
  await other.goto(`${served.publicUrl}/decisions`);
  await other.getByRole('button', { name: 'Sign out' }).click();
  await other.getByRole('button', { name: 'Sign in' }).waitFor();
  await agree(page).click();
  await outcome(page, 'Not sent');
  await view(page).getByText('The server refused this click, so nothing was sent.').waitFor();
  await view(page).getByText('Load this page again, and sign in if it asks you to.').waitFor();
  await page.reload();
  await page.getByLabel(/^Token/).waitFor();
  expect(served.requests).toEqual([]);
});

test.each([
  ['a page of an earlier session', 403, 'Not sent'],
  ['a page of a plan that has expired since', 404, 'Not sent'],
  ['a page whose proxy lost the answer', 502, 'No answer came'],
])('%s: a click that gets the status %i is shown as "%s"', async (_what, status, title) => {
  const served = await start();
  const page = await openAs('bob', await planOf(served));
  await agree(page).waitFor();
  await page.route('**/tool', (route) => route.fulfill({ status, body: 'Refused' }));
  await agree(page).click();
  await outcome(page, title);
  await page.unroute('**/tool');
  await page.reload();
  await agree(page).click();
  await outcome(page, 'Accepted');
});

test('a plan that has expired is not shown', async () => {
  const served = await start();
  const url = await planOf(served);
  served.pass(25 * 3_600_000);
  const page = await openAs('bob', url);
  await page.getByRole('heading', { name: 'No such plan' }).waitFor();
});

test('a token that does something else signs nobody in', async () => {
  const page = await openAs('alice', await planOf(await start()));
  await page.getByRole('alert').waitFor();
  expect(await page.getByRole('alert').innerText()).toContain('cannot decide here');
});

test('a link of another site shows the plan and decides nothing; a form and a frame of it do not work', async () => {
  const served = await start();
  const url = await planOf(served);
  const page = await openAs('bob', url);
  await agree(page).waitFor();
  const evil = createServer((_request, response) =>
    response.setHeader('content-type', 'text/html').end(
      `<a href="${url}">Look</a><iframe src="${url}"></iframe>
       <form method="post" enctype="text/plain" action="${url}tool"><input name='{"name":"decide_change","x":"' value='"}'><button>Win</button></form>`,
    ),
  ).listen(0, '127.0.0.1');
  await once(evil, 'listening');
  opened.push(async () => evil.close());
  const address = `http://127.0.0.1:${(evil.address() as AddressInfo).port}/`;
  await page.goto(address);
  expect(await page.frames()[1]?.locator('iframe').count()).toBe(0);
  await page.getByRole('button', { name: 'Win' }).click();
  await page.waitForLoadState();
  await page.goto(address);
  await page.getByRole('link', { name: 'Look' }).click();
  await agree(page).waitFor();
  expect(served.requests).toEqual([]);
});

describe('with a real identity provider', () => {
  const startWithProvider = (granted: Record<string, string>) =>
    start(async (publicUrl) => {
      const provider = await startProvider(`${publicUrl}/decisions/callback`, granted);
      opened.push(provider.close);
      const now = () => new Date();
      const log = () => undefined;
      const { issuer } = provider;
      const httpClient = createHttpClient({}, { ...defaultLimits, bodyBytes: documentBytes });
      opened.push(httpClient.close);
      const keys = createIssuerKeys({ issuer, httpClient, now, log, sleep: async () => undefined });
      const authenticate = authenticateByIssuer({ issuer, audience, keys, now, log });
      const options = { issuer, audience, publicUrl, httpClient, authenticate, now, log };
      return { signIn: signInAtIssuer({ ...options, clientId: client.id, clientSecret: client.secret }) };
    });
  const openAt = async (url: string, name: string) => {
    const page = await browser.another();
    opened.push(() => page.context().close());
    await page.goto(url);
    await page.getByRole('link', { name: 'Sign in' }).click();
    await page.getByLabel('Name').fill(name);
    await page.getByRole('button', { name: 'Continue' }).click();
    return page;
  };

  test('somebody else signs in there, and comes back to the plan', async () => {
    const served = await startWithProvider({ bob: 'cloudops:approve' });
    const url = await planOf(served);
    const page = await openAt(url, 'bob');
    await agree(page).click();
    await outcome(page, 'Accepted');
    expect(page.url()).toBe(url);
  });

  test('nobody approves their own change, nor without the scope', async () => {
    const served = await startWithProvider({ alice: 'cloudops:approve', dave: 'cloudops:read' });
    const url = await planOf(served);
    await (await openAt(url, 'alice')).getByText('for somebody else to decide on').waitFor();
    await (await openAt(url, 'dave')).getByText('No such plan').first().waitFor();
    await (await openAt(url, 'eve')).getByRole('alert').waitFor();
    expect(served.requests).toEqual([]);
  });
});

describe.each([
  ['light', { colorScheme: 'light' }],
  ['dark', { colorScheme: 'dark' }],
  ['forced', { colorScheme: 'dark', forcedColors: 'active' }],
] as const)('%s', (look, options) => {
  test.each([400, 800])('every page can be used by everybody, %i px wide', async (width) => {
    const served = await start();
    const url = await planOf(served);
    const page = await browser.another({ ...options, width });
    opened.push(() => page.context().close());
    const check = async (name: string) => {
      for (const frame of page.frames()) expect(await findings(frame), name).toEqual([]);
      const overflows = () => document.documentElement.scrollWidth > document.documentElement.clientWidth;
      expect(await page.evaluate(overflows), name).toBe(false);
      // A frame is painted only within the window.
      await page.setViewportSize({ width, height: 240 });
      await page.setViewportSize({ width, height: await page.evaluate(() => document.documentElement.scrollHeight) });
      await keepPicture(`decisions-${name}-${look}-${width}`, await page.screenshot());
      await page.setViewportSize({ width, height: 900 });
    };
    const signIn = async (token: string) => {
      await page.getByLabel(/^Token/).fill(token);
      await page.getByRole('button', { name: 'Sign in' }).click();
    };
    await page.goto(url);
    await check('sign-in');
    await signIn('alice');
    await page.getByRole('alert').waitFor();
    await check('sign-in-refused');
    await signIn('bob');
    await agree(page).waitFor();
    await check('plan');
    await page.goto(`${served.publicUrl}/decisions`);
    await check('list');
    await page.goto(url);
    await view(page)
      .getByLabel(/^Reason/)
      .fill('Wait for Monday');
    await view(page).getByRole('button', { name: 'Do nothing' }).click();
    await outcome(page, 'Nothing was done');
    await check('declined');
    await page.reload();
    await view(page)
      .getByText(/^The plan: /)
      .waitFor();
    await check('decided-before');
    const deletion = await served.callTool(abortMultipartUpload.name, abortMultipartUpload.example);
    await page.goto(String(deletion.decideAt));
    await view(page)
      .getByLabel(/^Type /)
      .waitFor();
    await check('typed-name');
    await page.goto(`${served.publicUrl}/decisions`);
    await check('list-with-decided');
    await page.goto(`${served.publicUrl}/decisions/${'0'.repeat(22)}/`);
    await page.getByRole('heading', { name: 'No such plan' }).waitFor();
    await check('no-such-plan');
  });
});
