import type { Page } from 'playwright-core';
import { afterAll, expect, test } from 'vitest';
import { abortMultipartUpload } from '../../src/tools/abort-multipart-upload.js';
import { provisionKubeResourceGroup } from '../../src/tools/provision-kube-resource-group.js';
import { upgradeKubeVersion } from '../../src/tools/upgrade-kube-version.js';
import type { DecisionsSetup } from '../support/decisions.js';
import { readAsAPerson } from '../support/person.js';
import { type Browser, findings, startBrowser } from './browser.js';
import { decisionPages, signIn, viewOf } from './decision-pages.js';
import { keepPicture } from './gallery.js';

/** The pages for decisions in Japanese. */

const browser = await startBrowser();
afterAll(browser.close);

const pages = decisionPages(browser);

async function start(setup: DecisionsSetup, options: Parameters<Browser['another']>[0]) {
  const served = await pages.start(setup);
  const page = await pages.newPage(options);
  await page.goto(`${served.publicUrl}/decisions/sign-in`);
  return { served, page };
}

/** Words in Latin letters that are neither data nor names of the cloud or of this server. */
async function englishIn(page: Page): Promise<readonly string[]> {
  const texts = await Promise.all(page.frames().map((frame) => frame.locator('body').innerText()));
  const ownWords = texts
    .join(' ')
    .replace(/その他：[^。]*。/, '')
    .replace(/"(?:[^"\\]|\\.)*"|[\w-]*(?:-[\w-]+|_\w+|:\w+)|AKIDTEST|cloudops/g, '');
  return (ownWords.match(/[A-Za-z]{2,}/g) ?? []).filter((word) => !names.includes(word));
}
const names = [
  'GB',
  'DevOps',
  'Kubernetes',
  'API',
  'SSH',
  'GMT',
  'UTC',
  'JST',
  'LAN',
  'GetKubeServerConfig',
  'ID',
  'IP',
  'JSON',
  'XML',
  'alice',
  'mallory',
  'bob',
];

test.each([360, 1280])('list, plan and outcome are in Japanese, for everybody, %i px wide', async (width) => {
  const { served, page } = await start({}, { width, locale: 'ja-JP' });
  const check = async (name: string) => {
    for (const frame of page.frames()) {
      expect(await findings(frame), name).toEqual([]);
      expect(await frame.evaluate(() => document.documentElement.scrollWidth > innerWidth), name).toBe(false);
      expect(await frame.evaluate(() => document.documentElement.lang)).toBe('ja');
    }
    await page.setViewportSize({ width, height: 240 });
    await page.setViewportSize({ width, height: await page.evaluate(() => document.documentElement.scrollHeight) });
    await keepPicture(`japanese-${name}-${width}`, await page.screenshot());
    expect(await englishIn(page), name).toEqual([]);
  };

  await check('sign-in');
  await signIn(page, 'x');
  await page.getByRole('alert').getByText('このトークンではここで決定できません。').waitFor();
  await signIn(page, 'bob');
  await page.getByRole('heading', { name: '決定待ちの変更はありません' }).waitFor();
  await check('empty');

  await served.ask();
  await served.ask({ instanceId: 'mail' }, 'mallory');
  for (const { name, example } of [abortMultipartUpload, upgradeKubeVersion]) await served.callTool(name, example);
  await page.reload();
  await page.getByRole('heading', { name: '4 件の変更が決定を待っています' }).waitFor();
  await check('list');

  await page.getByRole('link', { name: /"wiki"/ }).click();
  await viewOf(page).getByRole('button', { name: 'サーバー "wiki" を作成する（料金が発生します）' }).waitFor();
  await check('plan');
  await readAsAPerson();
  await viewOf(page).getByLabel('却下する場合の理由（任意）').fill('later');
  await viewOf(page).getByRole('button', { name: '却下する' }).click();
  await viewOf(page).getByRole('heading', { name: '何も実行されていません' }).waitFor();
  await check('declined');

  await page.getByRole('link', { name: 'すべての変更', exact: true }).click();
  await page.getByRole('link', { name: /"mail"/ }).click();
  await viewOf(page)
    .getByRole('button', { name: /^サーバー "mail" を作成する/ })
    .click();
  await viewOf(page).getByRole('heading', { name: '受け付けられました' }).waitFor();
  await check('accepted');

  await page.getByRole('link', { name: 'すべての変更', exact: true }).click();
  await page.getByRole('link', { name: /アップロード/ }).click();
  const object = abortMultipartUpload.example.object;
  await viewOf(page).getByLabel(`実行するには "${object}" と入力してください`).fill('another');
  await viewOf(page)
    .getByRole('button', { name: /中止する/ })
    .click();
  await viewOf(page).getByText('入力が一致しません').waitFor();
  await check('wrong-name');

  await page.goto(`${served.publicUrl}/decisions/${'x'.repeat(22)}/`);
  await page.getByRole('heading', { name: '計画が見つかりません' }).waitFor();
  await check('missing');
});

test('the plan with the most arguments is in Japanese', async () => {
  const { served, page } = await start({}, { width: 800, locale: 'ja-JP' });
  await served.callTool(provisionKubeResourceGroup.name, {
    ...Object(provisionKubeResourceGroup.example),
    externalCloudConfig: undefined,
  });
  await signIn(page, 'bob');
  await page.getByRole('link', { name: /Kubernetes/ }).click();
  await viewOf(page)
    .getByRole('button', { name: /を構築する/ })
    .waitFor();
  await keepPicture('japanese-provision', await page.screenshot({ fullPage: true }));
  expect(await englishIn(page)).toEqual([]);
});

test.each([
  [undefined, 'ja', 'ja'],
  [undefined, 'ja-JP', 'ja'],
  [undefined, 'de-DE', 'en'],
  ['en', 'ja-JP', 'en'],
  ['ja', 'en-US', 'ja'],
] as const)('with CLOUDOPS_LANGUAGE %s and a browser in %s, the page is in %s', async (language, locale, shown) => {
  const { page } = await start({ ...(language && { language }) }, { locale });
  expect(await page.evaluate(() => document.documentElement.lang)).toBe(shown);
  await page.getByRole('button', { name: shown === 'ja' ? 'サインイン' : 'Sign in' }).waitFor();
});
