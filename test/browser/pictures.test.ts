import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readProposedChange } from '../../src/mcp/views/contract/change.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { type Browser, startBrowser } from './browser.js';
import { planResult } from './changes.js';
import { startRealServer } from './real-server.js';
import { mebibyte, partsOf, uploadResult, upTo } from './uploads.js';

/** The pictures of the README. They are written where PICTURES says, and otherwise only made. */
const folder = process.env.PICTURES;

let browser: Browser;
beforeAll(async () => {
  if (folder !== undefined) await mkdir(folder, { recursive: true });
  browser = await startBrowser();
});
afterAll(() => browser.close());

const themes = ['light', 'dark'] as const;
const path = (name: string) => (folder === undefined ? {} : { path: `${folder}/${name}.png` });
const context = (theme: 'light' | 'dark') => ({ theme, locale: 'en-GB', timeZone: 'UTC' });

/** An upload of 400 parts, four at a time, of which some have been lost on the way and one is too small. */
const lost = [77, 78, 79, 142, 203];
const parts = partsOf(
  upTo(236).filter((number) => !lost.includes(number)),
  (number) => ({
    uploadedAt: Date.parse('2026-11-20T12:00:00Z') + 8000 * Math.floor(number / 4) + 40_000 * Math.sin(number / 40),
    etag: createHash('md5').update(`part ${number}`).digest('hex'),
    ...(number === 18 && { size: mebibyte }),
  }),
).map((part) => ({ ...part, uploadedAt: Math.round(part.uploadedAt / 1000) * 1000 }));

test.each(themes)('the upload view, %s', async (theme) => {
  const { page, view, sendCall } = await browser.show('upload', { context: context(theme), colorScheme: theme });
  const expected = { expectedParts: 400, expectedBytes: 400 * 8 * mebibyte };
  await sendCall(
    { bucket: 'demo-bucket', object: 'backups/database.dump', uploadId: 'demo', ...expected },
    uploadResult(parts, expected),
  );
  await view.getByRole('slider').hover({ position: { x: 300, y: 50 } });
  const picture = await page.locator('iframe').screenshot(path(`upload-${theme}`));
  expect(picture.length).toBeGreaterThan(5000);
});

test.each(themes)('the change view, %s, with the plan of the real server', async (theme) => {
  const server = await startRealServer();
  const args = { ...restoreInstance.example, instanceId: 'wiki', diskSize: 200 };
  const plan = readProposedChange((await server.call(restoreInstance.name, args))._meta);
  await server.close();
  const { page, view, sendCall } = await browser.show('change', { context: context(theme), colorScheme: theme });
  await page.clock.setFixedTime('2026-11-20T12:00:30Z');
  await sendCall({}, planResult({ ...plan, expiresAt: '2026-11-20T12:10:00.000Z' }));
  await view.getByRole('button', { name: 'Do nothing' }).waitFor();
  const picture = await page.locator('iframe').screenshot(path(`change-${theme}`));
  expect(picture.length).toBeGreaterThan(5000);
});
