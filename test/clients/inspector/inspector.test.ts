import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Frame, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { listParts } from '../../../src/tools/list-parts.js';
import { restoreInstance } from '../../../src/tools/restore-instance.js';
import { type HttpProcess, startHttpProcess } from '../../support/http-process.js';
import { readAsAPerson } from '../../support/person.js';
import { clientConfig, serverPath } from '../client.js';
import { type Inspector, startInspector } from './page.js';

/** The Inspector's page in a browser: a host that others wrote, with questions and with views. */

/** Where PICTURES says, the picture of the page about clients is written. */
const pictures = process.env.PICTURES;
const withoutElicitation = fileURLToPath(new URL('without-elicitation.mjs', import.meta.url));
const upload = listParts.example;
const restore = restoreInstance.example;
const { backupId, instanceId } = restore;
const accept = restoreInstance.change?.accept({ backupId, instanceId }).text ?? '';

const configuration = z.object({ mcpServers: z.object({ cloudops: z.looseObject({}) }) });

let inspector: Inspector;
let http: HttpProcess;
beforeAll(async () => {
  http = await startHttpProcess(['--sandbox', 'CLOUDOPS_CONFIRM=human']);
  const { cloudops } = configuration.parse(JSON.parse(await clientConfig('CLOUDOPS_SANDBOX_SEED=picture'))).mcpServers;
  inspector = await startInspector({
    cloudops,
    // Its protocol is older than 2026-07-28, so it is not asked over HTTP, and gets a button instead.
    'cloudops over HTTP': { type: 'streamable-http', url: http.url.href },
    'views alone': {
      type: 'stdio',
      command: process.execPath,
      args: [withoutElicitation, process.execPath, serverPath],
      env: { CLOUDOPS_SANDBOX: '1', CLOUDOPS_CONFIRM: 'human' },
    },
  });
});
afterAll(async () => {
  await inspector?.close();
  await http?.stop();
});

async function fill(page: Page, args: Readonly<Record<string, unknown>>) {
  for (const [name, value] of Object.entries(args))
    await page.getByRole('textbox', { name, exact: true }).fill(String(value));
}

describe('the question over stdio', () => {
  let page: Page;
  beforeAll(async () => {
    page = await inspector.open('cloudops', 'Tools');
    await page.getByRole('button', { name: restoreInstance.name }).click();
    await fill(page, restore);
    await page.getByRole('button', { name: 'Execute Tool' }).click();
  });
  afterAll(() => page?.close());

  test('is shown as one paragraph, with the decision first and a choice in words', async () => {
    const question = page.getByRole('dialog');
    await question.getByText('Create DevOps server').waitFor();
    if (pictures !== undefined)
      await question.screenshot({ path: join(pictures, 'question-inspector.png'), animations: 'disabled' });
    const text = await question.innerText();
    expect(text).toMatch(
      /Create DevOps server "[^"]+" \(100 GB, e-large\)\? It costs money\. The built-in sandbox, [^.]+, account SANDBOX\w+\./,
    );
    expect(await question.getByRole('textbox', { name: 'Decision' }).inputValue()).toBe(`${accept} (costs money)`);
  });

  test('is answered, and what was agreed to is sent', async () => {
    const question = page.getByRole('dialog');
    await readAsAPerson();
    await question.getByRole('button', { name: 'Submit' }).click();
    await page.getByText('The cloud accepted the restore').first().waitFor();
  });
});

describe.each(['views alone', 'cloudops over HTTP'])('the views of %s', (server) => {
  const clicked = { ...restore, instanceId: 'from-a-click' };

  /** Opens the view of a tool. */
  async function open({ title, args }: { title: string; args: Readonly<Record<string, unknown>> }) {
    const page = await inspector.open(server, 'Apps');
    await page.getByRole('button', { name: title }).click();
    await fill(page, args);
    await page.getByTestId('open-app').click();
    await page.locator('[data-app-status="ready"]').waitFor();
    return { page, view: await viewIn(page) };
  }

  test('the upload view appears', async () => {
    const { page, view } = await open({ title: listParts.title, args: upload });
    await view.getByText('12 of 16 parts').first().waitFor();
    await page.close();
  });

  test('the change view appears, and the click acts', async () => {
    const { page, view } = await open({ title: restoreInstance.title, args: clicked });
    await readAsAPerson();
    await view.getByRole('button', { name: /from-a-click/ }).click();
    await view.getByText('The cloud accepted the restore').first().waitFor();
    await page.close();
  });
});

/** The frame inside the frames of a page that holds a view. */
async function viewIn(page: Page): Promise<Frame> {
  let found: Frame | undefined;
  await expect
    .poll(
      async () => {
        for (const frame of page.frames().slice(1))
          if (
            (await frame
              .getByRole('main')
              .count()
              .catch(() => 0)) > 0
          )
            found = frame;
        return found !== undefined;
      },
      { timeout: 30_000 },
    )
    .toBe(true);
  if (found === undefined) throw new Error('no frame holds a view');
  return found;
}
