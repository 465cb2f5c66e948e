import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page, Route } from 'playwright-core';
import { afterAll, describe, expect, test } from 'vitest';
import { authenticateByIssuer } from '../../src/http/issuer.js';
import { createIssuerKeys, documentBytes } from '../../src/http/issuer-keys.js';
import { signInAtIssuer } from '../../src/http/sign-in-at-issuer.js';
import { outcomeKey } from '../../src/mcp/views/view-contract.js';
import { abortMultipartUpload } from '../../src/tools/abort-multipart-upload.js';
import { createHttpClient, defaultLimits } from '../../src/transport/http-client.js';
import type { Decisions } from '../support/decisions.js';
import { audience, client, startProvider } from '../support/provider.js';
import { findings, startBrowser } from './browser.js';
import { decisionPages, signIn, viewOf } from './decision-pages.js';
import { keepPicture } from './gallery.js';

/** The page for decisions as people see it. */

const browser = await startBrowser();
afterAll(browser.close);

const { opened, newPage, start, openAs } = decisionPages(browser);

/** The link to a plan of alice's. */
async function planOf({ ask, pass }: Decisions, args: object = {}): Promise<string> {
  const { decideAt } = await ask(args);
  pass(3000);
  return String(decideAt);
}

const agree = (page: Page) => viewOf(page).getByRole('button', { name: 'Create server "wiki"' });
const outcome = (page: Page, name: string) => viewOf(page).getByRole('heading', { name }).waitFor();

test('a person comes by the link, signs in, reads the plan and agrees', async () => {
  const served = await start();
  const url = await planOf(served);
  const page = await openAs('bob', url);
  expect(page.url()).toBe(url);
  await viewOf(page).getByRole('heading', { level: 1 }).waitFor();
  expect(await page.getByText(/^Asked for by "alice" with the client /).isVisible()).toBe(true);
  expect(await viewOf(page).getByRole('heading', { level: 1 }).innerText()).toContain('"wiki"');
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

test('on a phone, the decision is the heading, buttons fit a finger, and the outcome is said once, with person and time', async () => {
  const served = await start();
  const page = await openAs('bob', await planOf(served), { width: 360 });
  await agree(page).waitFor();
  const heading = viewOf(page).getByRole('heading', { level: 1 });
  expect(await heading.evaluate((node) => Number.parseFloat(getComputedStyle(node).fontSize))).toBeGreaterThanOrEqual(
    20,
  );
  expect(await heading.innerText()).toMatch(/^Create DevOps server "wiki"/);
  const heights = await viewOf(page)
    .getByRole('button')
    .evaluateAll((nodes) => nodes.map((node) => node.getBoundingClientRect().height));
  expect([heights.length, Math.min(...heights) >= 44]).toEqual([2, true]);
  await agree(page).click();
  await outcome(page, 'Accepted');
  const said = await viewOf(page).locator('.outcome').innerText();
  expect(said.match(/agreed/g)).toEqual(['agreed']);
  expect(said).toMatch(/\nbob agreed at .*\d\d:\d\d:\d\d .*\.\n/);
  expect(said).not.toContain('Sent ');
  for (const frame of page.frames()) expect(await findings(frame)).toEqual([]);
});

test('other plans that come while a plan is open appear in it', async () => {
  const served = await start();
  const page = await openAs('bob', await planOf(served, { diskSize: 100 }));
  await agree(page).waitFor();
  await viewOf(page)
    .getByLabel(/^Reason/)
    .fill('Wait for Monday');
  await planOf(served, { diskSize: 200 });
  await viewOf(page)
    .getByText(/^Another plan for "wiki" waits \(disk size 200 GB\), made \d+ s ago\.$/)
    .waitFor();
  expect(
    await viewOf(page)
      .getByLabel(/^Reason/)
      .inputValue(),
  ).toBe('Wait for Monday');
  await page.getByRole('link', { name: 'Show all changes' }).waitFor();
});

test('a person refuses', async () => {
  const served = await start();
  const page = await openAs('bob', await planOf(served));
  await viewOf(page).getByLabel('Reason, if you decline (optional)').fill('Wait for Monday');
  expect(
    await viewOf(page)
      .getByLabel(/ type /)
      .isVisible(),
  ).toBe(false);
  await viewOf(page).getByRole('button', { name: 'Do nothing' }).click();
  await viewOf(page)
    .getByText(/^bob declined at .*\d\d.* Reason: "Wait for Monday"\.$/)
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
      await expect.poll(() => viewOf(page).getByRole('button').count()).toBe(0);
      return viewOf(page).getByRole('heading', { level: 1 }).innerText();
    }),
  );
  expect(headings.sort()).toEqual(['Accepted', 'Too late']);
  expect(served.requests).toHaveLength(1);
});

describe('who comes too late', () => {
  /** The page learns nothing of the plan by itself, so that a click comes before it does. */
  const withoutLooks = (page: Page) =>
    page.route('**/tool', (route) =>
      route.request().postData()?.includes('"look"') === true ? route.fulfill({ json: {} }) : route.continue(),
    );
  const reason = (page: Page) => viewOf(page).getByRole('textbox', { name: /reason/i });

  test('is told so, and by whom; the typed reason stays, and the first decision stands', async () => {
    const served = await start();
    const url = await planOf(served);
    const [bob, carol] = [await openAs('bob', url), await openAs('carol', url)];
    await withoutLooks(carol);
    await agree(carol).waitFor();
    await reason(carol).fill('Wait for Monday');
    await agree(bob).click();
    await outcome(bob, 'Accepted');
    await viewOf(carol).getByRole('button', { name: 'Do nothing' }).click();
    await outcome(carol, 'Too late');
    await viewOf(carol)
      .getByText(/^Too late: bob agreed \d+ s before you\. Your click changed nothing\.$/)
      .waitFor();
    expect(await viewOf(carol).getByRole('heading', { name: 'Accepted' }).count()).toBe(0);
    expect(await viewOf(carol).getByLabel('Your reason, which was not sent').inputValue()).toBe('Wait for Monday');
    for (const frame of carol.frames()) expect(await findings(frame)).toEqual([]);
    await keepPicture('too-late', await carol.screenshot());
    await carol.reload();
    await viewOf(carol)
      .getByText(/^bob agreed at [^.]*\d\d[^.]*\.$/)
      .waitFor();
    await carol.goto(`${served.publicUrl}/decisions`);
    expect(await carol.getByRole('listitem').innerText()).toMatch(/Accepted.*decided by "bob" just now$/s);
    expect(served.requests).toHaveLength(1);
  });

  /** A page that loses its buttons while it is open, and keeps what was typed. */
  async function closes(page: Page, title: string, why: RegExp | string, happens: () => Promise<unknown>) {
    await agree(page).waitFor();
    await reason(page).fill('Wait for Monday');
    await happens();
    await viewOf(page).getByRole('heading', { name: title }).waitFor();
    expect(await viewOf(page).getByRole('button').count()).toBe(0);
    await viewOf(page).getByText(why).first().waitFor();
    expect(await reason(page).inputValue()).toBe('Wait for Monday');
    for (const frame of page.frames()) expect(await findings(frame)).toEqual([]);
    await keepPicture(`closed-${title.toLowerCase().replaceAll(' ', '-')}`, await page.screenshot());
  }

  test('sees the buttons go when somebody else declines', async () => {
    const served = await start();
    const url = await planOf(served);
    const [bob, carol] = [await openAs('bob', url), await openAs('carol', url)];
    await closes(carol, 'Nothing was done', /^bob declined at .* Reason: "Too large"\.$/, async () => {
      await reason(bob).fill('Too large');
      await viewOf(bob).getByRole('button', { name: 'Do nothing' }).click();
    });
    expect(served.requests).toEqual([]);
  });

  test('sees the buttons go when the caller withdraws the plan', async () => {
    const served = await start();
    const { changeId, decideAt } = await served.ask();
    served.pass(3000);
    const page = await openAs('bob', String(decideAt));
    await closes(page, 'The plan was withdrawn', 'Its caller withdrew the plan.', () => served.withdraw(changeId));
    expect(served.requests).toEqual([]);
  });

  test('is led to the newer plan when the caller replaces the plan', async () => {
    const served = await start();
    const { changeId, decideAt } = await served.ask({ diskSize: 100 });
    served.pass(3000);
    const page = await openAs('bob', String(decideAt));
    const why = 'Its caller replaced the plan with a newer one.';
    await closes(page, 'The plan was withdrawn', why, async () => {
      await served.ask({ diskSize: 200, replaces: changeId });
      served.pass(3000);
    });
    await page.getByRole('link', { name: 'Open the newer plan' }).click();
    await agree(page).click();
    await outcome(page, 'Accepted');
    expect(served.requests.map(({ body }) => JSON.parse(String(body)).diskSize)).toEqual([200]);
    await page.goto(String(decideAt));
    await page.getByRole('link', { name: 'Open the newer plan' }).waitFor();
  });

  test('sees the buttons go when the plan expires', async () => {
    const served = await start();
    const page = await openAs('bob', await planOf(served));
    // The session would expire before the plan.
    await closes(page, 'This plan has expired', /can no longer be decided on/, () =>
      page.route('**/tool', (route) => route.fulfill({ status: 404, body: 'No such plan' })),
    );
    expect(served.requests).toEqual([]);
  });
});

test('a click that came too soon keeps the plan, and the next one counts without loading the page again', async () => {
  const served = await start();
  const page = await openAs('bob', await planOf(served));
  await agree(page).waitFor();
  const uncounted = { kind: 'uncounted', sentence: 'Please read the plan first.' };
  await page.route('**/tool', (route) => route.fulfill({ json: { _meta: { [outcomeKey]: uncounted } } }));
  await agree(page).click();
  await viewOf(page).getByText('Please read the plan first.').waitFor();
  await page.unroute('**/tool');
  await agree(page).click();
  await outcome(page, 'Accepted');
  expect(served.requests).toHaveLength(1);
});

test('who deletes types the name, is asked again after another, and nothing is sent before', async () => {
  const served = await start();
  const { decideAt } = await served.callTool(abortMultipartUpload.name, abortMultipartUpload.example);
  served.pass(3000);
  const page = await openAs('bob', String(decideAt));
  const name = viewOf(page).getByLabel(`To go ahead, type "${abortMultipartUpload.example.object}"`);
  const abort = viewOf(page).getByRole('button', { name: /^Abort upload/ });
  await name.fill('another.mov');
  await abort.click();
  await viewOf(page).getByText('What was typed does not match.', { exact: false }).first().waitFor();
  await page.getByRole('heading', { name: 'A change to decide on' }).waitFor();
  expect(served.requests.filter(({ method }) => method === 'DELETE')).toEqual([]);
  await name.fill(abortMultipartUpload.example.object);
  await abort.click();
  await viewOf(page)
    .getByText(/^bob agreed at /)
    .waitFor();
  expect(served.requests.filter(({ method }) => method === 'DELETE')).toHaveLength(1);
});

test('of two plans for the same thing, each page tells of the other, before any click and after one was accepted', async () => {
  const served = await start();
  const older = await planOf(served, { diskSize: 100 });
  const newer = await planOf(served, { diskSize: 200 });
  const page = await openAs('bob', older);
  await viewOf(page)
    .getByText(/^Another plan for "wiki" waits \(disk size 200 GB\), made \d+ s ago\.$/)
    .waitFor();
  await page.goto(newer);
  await viewOf(page)
    .getByText(/^Another plan for "wiki" waits \(disk size 100 GB\), made \d+ s ago\.$/)
    .waitFor();
  await agree(page).click();
  await outcome(page, 'Accepted');
  await page.goto(older);
  await viewOf(page)
    .getByText(/^Another plan for "wiki" was accepted \(disk size 200 GB\), \d+ s ago\.$/)
    .waitFor();
  expect(served.requests).toHaveLength(1);
});

test('after signing out in another tab, the page says so and keeps what was typed; after signing in there, a click counts', async () => {
  const served = await start();
  const page = await openAs('bob', await planOf(served));
  await agree(page).waitFor();
  const reason = viewOf(page).getByLabel('Reason, if you decline (optional)');
  await reason.fill('Wait for Monday');
  const other = await page.context().newPage();
  await other.goto(`${served.publicUrl}/decisions`);
  await other.getByRole('button', { name: 'Sign out' }).click();
  await other.getByRole('button', { name: 'Sign in' }).waitFor();
  await page.bringToFront();
  await viewOf(page).getByRole('button', { name: 'Do nothing' }).click();
  await viewOf(page)
    .getByText(/^You are signed out/)
    .waitFor();
  await page.getByText(/^You are signed out/).waitFor();
  expect(await reason.inputValue()).toBe('Wait for Monday');
  for (const frame of page.frames()) expect(await findings(frame)).toEqual([]);
  await keepPicture('signed-out', await page.screenshot());
  expect(await served.store.waiting({})).toHaveLength(1);
  await signIn(other, 'bob');
  await other.getByRole('heading', { name: 'Decisions on changes' }).waitFor();
  await page.bringToFront();
  // The click learns of the new session after a look at the plan, which the page makes by itself, has learned of it.
  const held: Route[] = [];
  await page.route(page.url(), (route) => (held.length === 0 ? held.push(route) : route.continue()));
  const looked = page.waitForResponse((response) => response.url().endsWith('/tool') && response.ok());
  await viewOf(page).getByRole('button', { name: 'Do nothing' }).click();
  await looked;
  await held[0]?.continue();
  await outcome(page, 'Nothing was done');
  expect((await served.store.newest({ limit: 1 }))[0]?.decision).toMatchObject({
    person: 'bob',
    reason: 'Wait for Monday',
  });
});

test('after somebody else has signed in in another tab, a click on the page of the first person does not count', async () => {
  const served = await start();
  const page = await openAs('bob', await planOf(served));
  await agree(page).waitFor();
  const other = await page.context().newPage();
  await other.goto(`${served.publicUrl}/decisions`);
  await other.getByRole('button', { name: 'Sign out' }).click();
  await signIn(other, 'carol');
  await other.getByText('Signed in as').waitFor();
  await page.bringToFront();
  await agree(page).click();
  await viewOf(page)
    .getByText(/^Another person has signed in/)
    .waitFor();
  expect(served.requests).toEqual([]);
});

test('a click whose answer a proxy lost may have been sent', async () => {
  const served = await start();
  const page = await openAs('bob', await planOf(served));
  await agree(page).waitFor();
  await page.route('**/tool', (route) => route.fulfill({ status: 502, body: 'Bad gateway' }));
  await agree(page).click();
  await outcome(page, 'No answer came');
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
      const provider = await startProvider({ redirectUri: `${publicUrl}/decisions/callback`, granted });
      opened.push(provider.close);
      const now = () => new Date();
      const log = () => undefined;
      const { issuer } = provider;
      const httpClient = createHttpClient({}, { ...defaultLimits, bodyBytes: documentBytes });
      opened.push(httpClient.close);
      const keys = createIssuerKeys({ issuer, httpClient, now, log, sleep: async () => undefined });
      const authenticate = authenticateByIssuer({ issuer, audience, keys, now, log });
      const options = { issuer, audience, publicUrl, keys, httpClient, authenticate, now, log };
      return { signIn: signInAtIssuer({ ...options, clientId: client.id, clientSecret: client.secret }) };
    });
  const openAt = async (url: string, name: string) => {
    const page = await newPage();
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
    const page = await newPage({ ...options, width });
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
    await page.goto(url);
    await check('sign-in');
    await signIn(page, 'alice');
    await page.getByRole('alert').waitFor();
    await check('sign-in-refused');
    await signIn(page, 'bob');
    await agree(page).waitFor();
    await check('plan');
    await page.goto(`${served.publicUrl}/decisions`);
    await check('list');
    await page.goto(url);
    await viewOf(page)
      .getByLabel(/^Reason/)
      .fill('Wait for Monday');
    await viewOf(page).getByRole('button', { name: 'Do nothing' }).click();
    await outcome(page, 'Nothing was done');
    await check('declined');
    await page.reload();
    await viewOf(page)
      .getByText(/^The plan: /)
      .waitFor();
    await check('decided-before');
    const deletion = await served.callTool(abortMultipartUpload.name, abortMultipartUpload.example);
    await page.goto(String(deletion.decideAt));
    await viewOf(page)
      .getByLabel(/^To go ahead, type /)
      .waitFor();
    await check('typed-name');
    await page.goto(`${served.publicUrl}/decisions`);
    await check('list-with-decided');
    await page.goto(`${served.publicUrl}/decisions/${'0'.repeat(22)}/`);
    await page.getByRole('heading', { name: 'No such plan' }).waitFor();
    await check('no-such-plan');
  });
});
