import { afterAll, describe, expect, test } from 'vitest';
import { type ChangeOutcome, changeKey, outcomeKey, type ProposedChange } from '../../src/mcp/views/view-contract.js';
import { abortMultipartUpload } from '../../src/tools/abort-multipart-upload.js';
import { provisionKubeResourceGroup } from '../../src/tools/provision-kube-resource-group.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { upgradeKubeVersion } from '../../src/tools/upgrade-kube-version.js';
import { readProposedChange } from '../../ui/change/read-change.js';
import { findings, type ShownView, type ShowOptions, startBrowser } from './browser.js';
import { accepted, outcomeResult, planResult } from './changes.js';
import { keepPicture } from './gallery.js';
import { startRealServer } from './real-server.js';
import { expected, partsOfFourHundred, uploadResult } from './uploads.js';

/**
 * Every state of the views, as people see it in a narrow and in a wide chat, light and dark. `gallery.ts` says where the pictures
 * go; what they have to be is checked here.
 */

const browser = await startBrowser();
afterAll(browser.close);

/** The plans of the real server, by tool. */
const plans = await planAll();
async function planAll(): Promise<Readonly<Record<string, ProposedChange>>> {
  const server = await startRealServer({ CLOUDOPS_STORAGE_HEADERS: 'amz' });
  const planned = [provisionKubeResourceGroup, restoreInstance, upgradeKubeVersion, abortMultipartUpload].map(
    async ({ name, example }) => {
      const named = name === restoreInstance.name ? { instanceId: 'wiki', diskSize: 200 } : {};
      const plan = readProposedChange((await server.call(name, { ...example, ...named }))._meta);
      if (plan === undefined) throw new Error(`${name} made no plan`);
      return [name, { ...plan, issuedAt: '2026-11-20T12:00:00.000Z', expiresAt: '2026-11-20T12:10:00.000Z' }] as const;
    },
  );
  return Object.fromEntries(await Promise.all(planned).finally(server.close));
}

const themes = ['light', 'dark'] as const;
const looks = themes.flatMap((theme) => [420, 800].map((width) => [theme, width] as const));
const now = '2026-11-20T12:00:30Z';

async function show(name: 'upload' | 'change', theme: 'light' | 'dark', width: number, options: ShowOptions = {}) {
  const context = { theme, locale: 'en-GB', timeZone: 'Asia/Tokyo' };
  const shown = await browser.show(name, { context, colorScheme: theme, width, ...options });
  await shown.page.setViewportSize({ width, height: 900 });
  await shown.page.clock.setFixedTime(now);
  return shown;
}

/** Takes the picture of a view in which everybody can read everything. */
async function picture({ page, view }: ShownView, name: string): Promise<void> {
  expect(await findings(view)).toEqual([]);
  expect(await view.evaluate(() => document.documentElement.scrollWidth > innerWidth)).toBe(false);
  const taken = await page.locator('iframe').screenshot();
  expect(taken.length).toBeGreaterThan(3000);
  await keepPicture(name, taken);
}

const planOf = (tool: string, more: Partial<ProposedChange> = {}) => {
  const plan = plans[tool];
  if (plan === undefined) throw new Error(`there is no plan of ${tool}`);
  return planResult({ ...plan, ...more });
};

const failed: ChangeOutcome = {
  kind: 'rejected',
  sentence: 'The cloud refused it with "Client.ResourceIncorrectState.Cluster" (HTTP status 409).',
  details: ['The cloud says: "demo-user is configuring: wait until it runs."'],
  requestIds: { 'x-request-id': '8f14e45f-ceea' },
  code: 'Client.ResourceIncorrectState.Cluster',
};

const outcomes: Readonly<Record<string, ChangeOutcome>> = {
  accepted: { ...accepted, sentAt: '2026-11-20T12:00:12.000Z', details: ['You agreed to it.'] },
  rejected: failed,
  unknown: {
    kind: 'unknown',
    sentence: 'The connection was lost after the request had been sent.',
    details: [],
    requestIds: {},
    next: 'Wait ten minutes, then check in the console whether it happened.',
  },
  declined: { kind: 'declined', sentence: 'Nothing was sent: you did not agree to it.', details: [], requestIds: {} },
  late: {
    kind: 'late',
    sentence: 'Too late: bob agreed 12 s before you. Your click changed nothing.',
    details: [String(accepted.sentence)],
    requestIds: {},
    isOfPlan: true,
  },
};

describe.each(looks)('%s, %i px wide', (theme, width) => {
  test.each(['provision_kube_resource_group', 'restore_instance', 'upgrade_kube_version', 'abort_multipart_upload'])(
    'the plan of %s, before anybody decides',
    async (tool) => {
      const shown = await show('change', theme, width);
      await shown.sendCall({}, planOf(tool));
      await shown.view.getByRole('button', { name: 'Do nothing' }).waitFor();
      await picture(shown, `plan-${tool}-${theme}-${width}`);
    },
  );

  test('a plan on the sandbox', async () => {
    const shown = await show('change', theme, width);
    await shown.sendCall({}, planOf(restoreInstance.name, { isSandbox: true }));
    await shown.view.getByText('Sandbox: nothing real happens').waitFor();
    await shown.view.getByText('The exact request').click();
    await picture(shown, `plan-sandbox-${theme}-${width}`);
  });

  test('a plan in a chat that passes no clicks on', async () => {
    const shown = await show('change', theme, width, { callsTools: false });
    await shown.sendCall({}, planOf(upgradeKubeVersion.name));
    await shown.view.getByText('This chat does not pass clicks on').waitFor();
    await picture(shown, `plan-no-clicks-${theme}-${width}`);
  });

  test('a plan that has expired', async () => {
    const shown = await show('change', theme, width, { answer: () => ({ content: [] }) });
    await shown.sendCall({}, planOf(restoreInstance.name, { expiresAt: '2026-11-20T11:59:00.000Z' }));
    await shown.view.getByRole('heading', { name: 'This plan has expired' }).waitFor();
    await picture(shown, `plan-expired-${theme}-${width}`);
  });

  test.each(Object.keys(outcomes))('the outcome "%s", after the click', async (name) => {
    const outcome = outcomes[name] ?? failed;
    const shown = await show('change', theme, width, { answer: () => outcomeResult(outcome) });
    await shown.sendCall({}, planOf(restoreInstance.name, { issuedAt: now }));
    await shown.view.getByRole('button', { name: 'Create server "wiki"' }).click();
    await shown.view.getByText('The plan: Create DevOps server').waitFor();
    await picture(shown, `outcome-${name}-${theme}-${width}`);
  });

  test('a click that got no answer', async () => {
    const answer = () => {
      throw new Error('the connection was lost');
    };
    const shown = await show('change', theme, width, { answer });
    await shown.sendCall({}, planOf(restoreInstance.name));
    await shown.view.getByRole('button', { name: 'Create server "wiki"' }).click();
    await shown.view.getByRole('button', { name: 'Ask again' }).waitFor();
    await picture(shown, `outcome-none-${theme}-${width}`);
  });

  test('an outcome after the page was loaded again', async () => {
    const shown = await show('change', theme, width);
    const meta = { ...planOf(restoreInstance.name)._meta, ...outcomeResult(outcomes.accepted ?? accepted)._meta };
    expect(Object.keys(meta)).toEqual([changeKey, outcomeKey]);
    await shown.sendCall({}, { content: [], _meta: meta });
    await shown.view.getByText('The plan: Create DevOps server').waitFor();
    await picture(shown, `outcome-again-${theme}-${width}`);
  });

  const longKey = `${'backups/2026/11/production/customer-database/primary-shard-00017/'.repeat(7)}database.dump`;
  test.each([
    ['usual', partsOfFourHundred, 'backups/database.dump', 3],
    ['all-too-small', partsOfFourHundred.map((part) => ({ ...part, size: 1000 })), 'backups/database.dump', 3],
    ['long-key', partsOfFourHundred, longKey, 3600],
  ] as const)('an upload, %s', async (name, those, object, idleSeconds) => {
    const shown = await show('upload', theme, width);
    const args = { bucket: 'demo-bucket', object, uploadId: 'demo', ...expected };
    await shown.sendCall(args, uploadResult(those, expected, { object }, idleSeconds));
    await shown.view.getByRole('slider', { name: 'Part' }).hover({ position: { x: 300, y: 50 } });
    await picture(shown, `upload-${name}-${theme}-${width}`);
  });
});
