import { mkdir } from 'node:fs/promises';
import { afterAll, expect, test } from 'vitest';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { readProposedChange } from '../../ui/change/read-change.js';
import { startBrowser } from './browser.js';
import { planResult } from './changes.js';
import { startRealServer } from './real-server.js';
import { expected, partsOfFourHundred, uploadResult } from './uploads.js';

/**
 * The picture of the README: an upload, and below it a change that waits for a decision. It is written where PICTURES says, and
 * otherwise only made. ui/README.md says how it is made small.
 */
const folder = process.env.PICTURES;

if (folder !== undefined) await mkdir(folder, { recursive: true });

const browser = await startBrowser();
afterAll(browser.close);

const themes = ['light', 'dark'] as const;
type Theme = (typeof themes)[number];
const context = (theme: Theme) => ({ theme, locale: 'en-GB', timeZone: 'UTC' });

async function pictureOfUpload(theme: Theme): Promise<Buffer> {
  const { page, view, sendCall } = await browser.show('upload', { context: context(theme), colorScheme: theme });
  await sendCall(
    { bucket: 'demo-bucket', object: 'backups/database.dump', uploadId: 'demo', ...expected },
    uploadResult(partsOfFourHundred, expected),
  );
  await view.getByRole('slider', { name: 'Part' }).hover({ position: { x: 300, y: 50 } });
  return page.locator('iframe').screenshot();
}

/** With the plan of the real server. */
async function pictureOfChange(theme: Theme): Promise<Buffer> {
  const server = await startRealServer();
  const args = { ...restoreInstance.example, instanceId: 'wiki', diskSize: 200 };
  const plan = readProposedChange((await server.call(restoreInstance.name, args))._meta);
  await server.close();
  const { page, view, sendCall } = await browser.show('change', { context: context(theme), colorScheme: theme });
  await page.clock.setFixedTime('2026-11-20T12:00:30Z');
  await sendCall({}, planResult({ ...plan, expiresAt: '2026-11-20T12:10:00.000Z' }));
  await view.getByRole('button', { name: 'Do nothing' }).waitFor();
  return page.locator('iframe').screenshot();
}

const frame = (theme: Theme, pictures: readonly Buffer[]) => {
  const [paper, line] = theme === 'light' ? ['#ffffff', '#d1d9e0'] : ['#0d1117', '#3d444d'];
  const images = pictures.map((picture) => `<img src="data:image/png;base64,${picture.toString('base64')}">`);
  return `<body style="margin:0;background:${paper}"><div style="display:grid;gap:16px;width:762px">${images.join('')}</div>
    <style>img { display: block; border: 1px solid ${line}; border-radius: 8px }</style>`;
};

test.each(themes)('an upload and a decision, %s', async (theme) => {
  const html = frame(theme, [await pictureOfUpload(theme), await pictureOfChange(theme)]);
  const page = await browser.open('about:blank');
  await page.setContent(html);
  const path = folder === undefined ? {} : { path: `${folder}/upload-and-decision-${theme}.png` };
  const picture = await page.locator('div').screenshot(path);
  expect(picture.length).toBeGreaterThan(10_000);
});
