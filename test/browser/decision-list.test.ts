import { afterAll, describe, expect, test } from 'vitest';
import { say } from '../../src/util/safe-text.js';
import { newChange } from '../support/changes.js';
import type { Decisions } from '../support/decisions.js';
import { readAsAPerson } from '../support/person.js';
import { findings, startBrowser } from './browser.js';
import { decisionPages, viewOf } from './decision-pages.js';
import { keepPicture } from './gallery.js';

/** The list of changes, as a person works through it. */

const browser = await startBrowser();
afterAll(browser.close);

const { start, openAs } = decisionPages(browser);

/** Adds plans like the one of alice's: half a minute apart, of four callers, with every risk and a name of any direction. */
async function addPlans({ ask, store, pass }: Decisions, count: number): Promise<void> {
  await ask();
  const [template] = await store.waiting({});
  if (template === undefined) throw new Error('no plan waits');
  const risks = [['costs money'], ['no way back'], ['costs money', 'no way back'], []] as const;
  const names = ['mail', 'build-server-of-the-second-team-in-the-north', 'wiki', 'git', 'שרת "חדש"'];
  for (let index = 1; index < count; index += 1) {
    pass(30_000);
    const isDelete = index % 4 === 1;
    const caller = ['alice', 'mallory', 'deploy-agent-of-the-platform-team', 'nightly'][index % 4];
    const change = {
      ...template,
      id: newChange().id,
      caller,
      personId: caller,
      subject: undefined,
      plan: {
        ...template.plan,
        risks: risks[index % 4] ?? [],
        summary: isDelete
          ? say`Abort the upload of ${`backups/${index}/database.dump`} to bucket ${'archive'} (23 parts, 1.1 GiB).`
          : say`Create DevOps server ${names[index % 5] ?? ''} (e-double-large96, 400 GB) in jp-east-1 from backup ${'7f3a90c2'.repeat(4)}.`,
      },
    };
    expect(await store.add(change, { lifetimeMs: 24 * 3_600_000 })).toMatchObject({ kind: 'added' });
  }
}

async function openList(served: Decisions, options = {}) {
  const page = await openAs('bob', `${served.publicUrl}/decisions/sign-in`, options);
  await page.waitForURL(`${served.publicUrl}/decisions`);
  return page;
}

test('a new plan appears by itself, is announced, and leaves the focus where it was', async () => {
  const served = await start();
  await addPlans(served, 2);
  const page = await openList(served);
  await page.clock.install();
  await page.reload();
  await page.getByRole('link', { name: /^Abort/ }).focus();
  await served.ask({ instanceId: 'later' });
  await page.clock.runFor(10_000);
  await page.getByRole('link', { name: /"later"/ }).waitFor();
  await expect.poll(() => page.getByRole('status').innerText()).toBe('A new change waits.');
  expect(await page.title()).toBe('3 changes wait for a decision');
  expect(await page.evaluate(() => document.activeElement?.textContent)).toMatch(/^Abort/);
});

test('a server that is gone is said, and a session that has ended leads to the sign-in', async () => {
  const served = await start();
  await addPlans(served, 1);
  const page = await openList(served);
  await page.clock.install();
  await page.reload();
  await page.route('**/decisions', (route) => route.abort());
  await page.clock.runFor(10_000);
  await page.getByText('The server does not answer.').waitFor();
  await page.unroute('**/decisions');
  await page.clock.runFor(10_000);
  await expect.poll(() => page.getByRole('status').innerText()).toBe('');
  await page.context().clearCookies();
  await page.clock.runFor(10_000);
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
});

test('the list is filtered, without scripts too', async () => {
  const served = await start();
  await addPlans(served, 9);
  const page = await openList(served, { javaScriptEnabled: false });
  expect(await page.getByRole('heading', { level: 2 }).innerText()).toBe('9 changes wait for a decision');
  await page.getByLabel('Asked for by').selectOption('mallory');
  await page.getByRole('button', { name: 'Show' }).click();
  await page.getByRole('heading', { level: 2, name: '2 changes wait for a decision' }).waitFor();
  expect(await page.getByRole('link', { name: /^Abort/ }).count()).toBe(2);
});

test('rows say what, where, who and how risky; long IDs are shortened, and what all rows share is said once', async () => {
  const served = await start();
  await addPlans(served, 3);
  const page = await openList(served);
  const rows = await page.getByRole('listitem').allInnerTexts();
  expect(rows[1]).toMatch(
    /^Abort the upload of "backups\/1\/database.dump" to bucket "archive" \(23 parts, 1.1 GiB\)\.\s+No way back\s+Asked for by "mallory"/,
  );
  expect(rows[2]).toMatch(/from backup "7f3a90c2…"\.\s+Costs money\s+No way back\s+Asked for by "deploy-agent/);
  expect(await page.getByTitle('7f3a90c2'.repeat(4)).count()).toBe(1);
  await page.getByText('Region jp-east-1 · account AKIDTEST', { exact: true }).waitFor();
  expect(rows.join()).not.toContain('account');
});

test('an empty list says what will appear there, and that the server uses the sandbox', async () => {
  const served = await start({ isSandbox: true });
  const page = await openList(served);
  await page.getByRole('heading', { name: 'Nothing waits for a decision' }).waitFor();
  await page.getByText(/^When an agent asks for a change/).waitFor();
  await page.getByText('Sandbox: nothing real happens').waitFor();
  expect(await findings(page.mainFrame())).toEqual([]);
  await keepPicture('decisions-empty', await page.screenshot());
});

test('with scripts, a choice applies at once, and finds each change with the risk', async () => {
  const served = await start();
  await addPlans(served, 9);
  const page = await openList(served);
  expect(await page.getByRole('button', { name: 'Show' }).count()).toBe(0);
  await page.getByLabel('Risk').selectOption('costs money');
  await page.getByRole('heading', { level: 2, name: '5 changes wait for a decision' }).waitFor();
  expect(await page.getByText('Costs money', { exact: true }).count()).toBe(5);
});

test('somebody works through the plans, and each leads back to the list', async () => {
  const served = await start();
  for (const instanceId of ['one', 'two', 'three']) await served.ask({ instanceId });
  const page = await openList(served);
  const seen: string[] = [];
  for (let plan = 0; plan < 3; plan += 1) {
    await page.getByRole('list').first().getByRole('link').first().click();
    await viewOf(page).getByRole('button', { name: 'Do nothing' }).waitFor();
    await readAsAPerson();
    await viewOf(page).getByRole('button', { name: 'Do nothing' }).click();
    await viewOf(page).getByRole('heading', { name: 'Nothing was done' }).waitFor();
    expect(await page.getByText('Signed in as "bob"').isVisible()).toBe(true);
    seen.push(page.url());
    await page.getByRole('link', { name: 'All changes', exact: true }).click();
  }
  expect(new Set(seen).size).toBe(3);
  await page.getByRole('heading', { name: 'Nothing waits for a decision' }).waitFor();
  expect(await page.getByText('Declined').count()).toBe(3);
});

test('somebody signs out on the page of a plan', async () => {
  const served = await start();
  await addPlans(served, 1);
  const page = await openList(served);
  await page.getByRole('link').first().click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
});

const looks = [
  ['light', { colorScheme: 'light' }],
  ['dark', { colorScheme: 'dark' }],
  ['forced', { colorScheme: 'dark', forcedColors: 'active' }],
] as const;

describe.each(looks)('52 plans, %s', (look, options) => {
  test.each([360, 1280])('can be used by everybody, %i px wide', async (width) => {
    const served = await start();
    await addPlans(served, 52);
    const [oldest] = await served.store.waiting({});
    await served.store.decide(String(oldest?.id), { kind: 'approved', way: 'page', person: 'carol' });
    served.pass(300_000);
    const page = await openList(served, { ...options, width });
    expect(await page.getByRole('link').count()).toBe(52);
    expect(await page.evaluate(() => document.documentElement.scrollHeight)).toBeLessThan(4500);
    expect(await findings(page.mainFrame())).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)).toBe(false);
    // A finger needs 24 pixels.
    const heights = await page.locator('.plan').evaluateAll((plans) => plans.map((plan) => plan.clientHeight));
    expect(Math.min(...heights)).toBeGreaterThan(40);
    const clip = { x: 0, y: 0, width, height: width === 360 ? 900 : 560 };
    await keepPicture(`decisions-many-${look}-${width}`, await page.screenshot({ clip }));
    await keepPicture(`decisions-many-whole-${look}-${width}`, await page.screenshot({ fullPage: true }));
  });
});
