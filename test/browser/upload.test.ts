import { afterAll, describe, expect, test } from 'vitest';
import { findings, movingElements, type ShownView, type ShowOptions, startBrowser } from './browser.js';
import { mebibyte, partsOf, uploadResult, upTo } from './uploads.js';

const browser = await startBrowser();
afterAll(browser.close);

const args = { bucket: 'demo-bucket', object: 'backups/database.dump', uploadId: 'demo-upload', region: 'jp-east-1' };
const show = (options?: ShowOptions) => browser.show('upload', options);

/** Twelve parts expected, eight there: 4 and 8 are missing, 2 is too small. */
const twelve = partsOf([1, 2, 3, 5, 6, 7, 9, 10], (number) => (number === 2 ? { size: mebibyte } : {}));
const ofTwelve = { expectedParts: 12 };

/** What is said of the part that is looked at. */
const looked = async ({ view }: ShownView) =>
  (await view.getByRole('slider', { name: 'Part' }).getAttribute('aria-valuetext')) ?? '';
const legend = async ({ view }: ShownView) =>
  (await view.getByRole('list', { name: 'Parts by state' }).innerText()).replaceAll(/\s+/g, ' ').trim();

test('the map says what is there, missing, too small and still to come', async () => {
  const shown = await show();
  await shown.sendCall({ ...args, ...ofTwelve }, uploadResult(twelve, ofTwelve));
  await shown.view.getByRole('slider', { name: 'Part' }).waitFor();
  expect(await legend(shown)).toBe('7 there 1 too small 2 missing 2 still to come');
  expect(await shown.view.getByRole('heading', { level: 1 }).innerText()).toBe(
    'Upload of backups/database.dump to demo-bucket',
  );
  expect(await shown.view.getByRole('progressbar').getAttribute('aria-valuenow')).toBe('58.3');
  expect(shown.reported).toEqual([]);
});

test('the keyboard walks through the parts', async () => {
  const shown = await show();
  await shown.sendCall({ ...args, ...ofTwelve }, uploadResult(twelve, ofTwelve));
  const { page, view } = shown;
  await view.getByRole('slider', { name: 'Part' }).focus();
  const heard: string[] = [];
  for (const key of ['Home', 'ArrowRight', 'ArrowRight', 'ArrowRight', 'End', 'ArrowLeft']) {
    await page.keyboard.press(key);
    heard.push(await looked(shown));
  }
  expect(heard[0]).toMatch(/^Part 1 · 8\.0 MiB \(8,388,608 bytes\) · arrived .+ · ETag 0{31}1$/);
  expect(heard[1]).toMatch(/^Part 2 · 1\.0 MiB .*too small/);
  expect(heard[2]).toMatch(/^Part 3 · 8\.0 MiB/);
  expect(heard[3]).toBe('Part 4 is missing: in flight, failed, or left out by the client.');
  expect(heard[4]).toBe('Part 12 is still to come.');
  expect(heard[5]).toBe('Part 11 is still to come.');
  expect(await view.locator('.detail').innerText()).toBe('Part 11 is still to come.');
});

test('gaps are named, and a key and a button jump from one to the next', async () => {
  const shown = await show();
  await shown.sendCall({ ...args, ...ofTwelve }, uploadResult(twelve, ofTwelve));
  const { page, view } = shown;
  await view
    .getByText('Missing: parts 4 and 8. To be sent again, because parts but the last need 5 MiB: part 2.', {
      exact: true,
    })
    .waitFor();
  await view.getByRole('slider', { name: 'Part' }).focus();
  const heard: string[] = [];
  for (const key of ['n', 'n', 'n', 'Shift+N']) {
    await page.keyboard.press(key);
    heard.push((await looked(shown)).split(' ').slice(0, 2).join(' '));
  }
  expect(heard).toEqual(['Part 2', 'Part 4', 'Part 8', 'Part 4']);
  await view.getByRole('button', { name: /^Next gap/ }).click();
  expect(await looked(shown)).toMatch(/^Part 8 /);
});

test('an upload without gaps has no button for them', async () => {
  const shown = await show();
  await shown.sendCall(args, uploadResult(partsOf(upTo(5))));
  await shown.view.getByRole('slider', { name: 'Part' }).waitFor();
  expect(await shown.view.getByRole('button', { name: /^Next gap/ }).isVisible()).toBe(false);
});

test('parts that are all too small do not look like nothing', async () => {
  const shown = await show();
  const small = partsOf(upTo(8), () => ({ size: 1000 }));
  const expected = { expectedParts: 12, expectedBytes: 12 * 8 * mebibyte };
  await shown.sendCall({ ...args, ...expected }, uploadResult(small, expected));
  const bar = shown.view.getByRole('progressbar');
  expect(await bar.getAttribute('aria-valuetext')).toBe('8 of 12 parts · 7.8 KiB of 96.0 MiB');
  const share = async (part: string) =>
    ((await bar.locator(part).boundingBox())?.width ?? 0) / ((await bar.boundingBox())?.width ?? 1);
  expect(await share('.unusable')).toBeCloseTo(8 / 12, 1);
  expect(await share('.usable')).toBe(0);
});

test('a long key is shown by its end, and whole where somebody wants it', async () => {
  const object = `${'a-folder/'.repeat(60)}database.dump`;
  const shown = await show();
  await shown.sendCall({ ...args, object }, uploadResult(twelve, {}, { object }));
  const heading = shown.view.getByRole('heading', { level: 1 });
  await expect.poll(() => heading.innerText()).toMatch(/^Upload of ….{40} to demo-bucket$/);
  expect(await shown.view.getByText(object).isVisible()).toBe(false);
  await shown.view.getByText('The whole key').click();
  expect(await shown.view.getByText(object).isVisible()).toBe(true);
});

test('the pointer shows the part under it, and leaves the keyboard where it was', async () => {
  const shown = await show();
  await shown.sendCall({ ...args, ...ofTwelve }, uploadResult(twelve, ofTwelve));
  await shown.view.getByRole('slider', { name: 'Part' }).hover({ position: { x: 18 * 2 + 4, y: 4 } });
  expect(await looked(shown)).toMatch(/^Part 3 /);
  await shown.view.getByRole('heading', { level: 1 }).hover();
  expect(await looked(shown)).toMatch(/^Part 1 /);
});

describe.each([1, 12, 1000, 10_000])('a map of %i parts', (count) => {
  test.each([280, 760, 1600])('is drawn at a width of %i without a scroll bar', async (width) => {
    const { view, sendCall } = await show({ width });
    await sendCall(args, uploadResult(partsOf(upTo(count))));
    await view.getByRole('slider', { name: 'Part' }).waitFor();
    const canvas = view.locator('.map canvas');
    // A part that is there is a filled square: its middle tells whether it was drawn.
    const painted = () =>
      canvas.evaluate((element: HTMLCanvasElement) => element.getContext('2d')?.getImageData(1, 1, 1, 1).data[3]);
    await expect.poll(painted).toBe(255);
    const { x, width: drawn } = (await canvas.boundingBox()) ?? { x: 0, width: 0 };
    expect(x + drawn).toBeLessThanOrEqual(width);
    expect(await view.evaluate(() => document.documentElement.scrollWidth > innerWidth)).toBe(false);
    // The last part is drawn where the layout says it is.
    await view.getByRole('slider', { name: 'Part' }).focus();
    await view.getByRole('slider', { name: 'Part' }).press('End');
    expect(await view.getByRole('slider', { name: 'Part' }).getAttribute('aria-valuenow')).toBe(String(count));
  });
});

test('10,000 parts have a bar beside each row, which says how much of it is there', async () => {
  const { view, sendCall } = await show({ width: 760 });
  await sendCall(args, uploadResult(partsOf(upTo(5000)), { expectedParts: 10_000 }));
  await view.getByText('Bars at the right').waitFor();
  const barAt = (row: 'first' | 'last') =>
    view.locator('.map canvas').evaluate((element: HTMLCanvasElement, place) => {
      const y = place === 'first' ? 1 : element.height - 2;
      return element.getContext('2d')?.getImageData(element.width - 4, y, 1, 1).data[3];
    }, row);
  expect([await barAt('first'), await barAt('last')]).toEqual([255, 0]);
});

test('in forced colours the progress bar shows what is usable and what is not', async () => {
  const { page, view, sendCall } = await show();
  await page.emulateMedia({ forcedColors: 'active' });
  const parts = partsOf(upTo(12)).map((part) => (part.partNumber === 3 ? { ...part, size: 1000 } : part));
  await sendCall({ ...args, ...ofTwelve }, uploadResult(parts, { expectedParts: 20 }));
  await view.getByRole('progressbar').waitFor();
  const backgrounds = await view
    .locator('.bar, .usable')
    .evaluateAll((elements) => elements.map((element) => getComputedStyle(element).backgroundColor));
  expect(new Set(backgrounds).size).toBe(2);
  const pattern = view.locator('.unusable').evaluate((element) => getComputedStyle(element).backgroundImage);
  expect(await pattern).toContain('gradient');
});

test('Refresh reads the list again, marks what is new, and tells the model', async () => {
  const calls: unknown[] = [];
  const shown = await show({
    answer(name, given) {
      calls.push([name, given]);
      return uploadResult(partsOf(upTo(12)), ofTwelve);
    },
  });
  await shown.sendCall({ ...args, ...ofTwelve }, uploadResult(twelve, ofTwelve));
  await shown.view.getByRole('button', { name: 'Refresh' }).click();
  await shown.view.getByText('All of it is there.').waitFor();
  expect(await legend(shown)).toBe('8 there 4 new since the last look');
  expect(calls).toEqual([['list_parts', { ...args, ...ofTwelve, view: 'summary' }]]);
  await expect.poll(() => shown.told).toEqual(['The upload has 12 parts.']);
});

test('the account is in the heading, and the list is read again in the same one', async () => {
  const account = 'prod';
  const calls: unknown[] = [];
  const shown = await show({
    answer(name, given) {
      calls.push([name, given]);
      return uploadResult(partsOf(upTo(12)), ofTwelve, { account });
    },
  });
  await shown.sendCall({ ...args, ...ofTwelve }, uploadResult(twelve, ofTwelve, { account }));
  const heading = shown.view.getByRole('heading', { level: 1 });
  await expect.poll(() => heading.innerText()).toMatch(/ to demo-bucket in account prod$/);
  await shown.view.getByRole('button', { name: 'Refresh' }).click();
  await shown.view.getByText('All of it is there.').waitFor();
  expect(calls).toEqual([['list_parts', expect.objectContaining({ ...args, account })]]);
});

describe('every ten seconds', () => {
  const refreshed = async (
    parts: ReturnType<typeof partsOf>,
    idleSeconds: number,
    act: (shown: ShownView) => Promise<unknown>,
  ) => {
    let calls = 0;
    const result = () => uploadResult(parts, ofTwelve, {}, idleSeconds);
    const shown = await show({
      answer() {
        calls += 1;
        return result();
      },
    });
    await shown.page.clock.install();
    await shown.sendCall({ ...args, ...ofTwelve }, result());
    await shown.view.getByRole('slider', { name: 'Part' }).waitFor();
    await act(shown);
    await shown.page.clock.fastForward(35_000);
    return { calls: () => calls, shown };
  };
  const nothing = () => Promise.resolve();

  test('it is read again while parts arrive', async () => {
    const { calls } = await refreshed(twelve, 3, nothing);
    await expect.poll(calls).toBeGreaterThan(0);
  });

  /** Scrolls the view out of the host's window, and waits until its page knows. */
  const scrollAway = async ({ page, view }: ShownView) => {
    await page.evaluate(() => document.body.style.setProperty('padding-top', '5000px'));
    await view.evaluate(
      () =>
        new Promise<void>((resolve) => {
          const observer = new IntersectionObserver((entries) => {
            if (entries.at(-1)?.isIntersecting === false) resolve();
          });
          observer.observe(document.body);
        }),
    );
  };

  test.each([
    ['it is out of sight', twelve, 3, scrollAway],
    ['the upload has stopped', twelve, 3600, nothing],
    ['all parts are there', partsOf(upTo(12)), 3, nothing],
    ['it is switched off', twelve, 3, ({ view }: ShownView) => view.getByRole('checkbox').uncheck()],
  ])('it is not when %s', async (_, parts, idleSeconds, act) => {
    const { calls, shown } = await refreshed(parts, idleSeconds, act);
    expect(await shown.view.getByRole('button', { name: 'Refresh' }).isVisible()).toBe(true);
    expect(calls()).toBe(0);
  });
});

test('a stopped upload says since when it stands still', async () => {
  const { view, sendCall } = await show({ context: { locale: 'en-GB', timeZone: 'UTC' } });
  await sendCall({ ...args, ...ofTwelve }, uploadResult(twelve, ofTwelve, {}, 3600));
  expect(await view.getByRole('status').innerText()).toBe(
    'No part since 20 Nov 2026, 12:00:20 UTC: the upload has stood still for 60 min.',
  );
});

test('what was there stays when a refresh fails, and the view says so', async () => {
  const shown = await show({
    answer() {
      throw new Error('the server is gone');
    },
  });
  await shown.sendCall({ ...args, ...ofTwelve }, uploadResult(twelve, ofTwelve));
  await shown.view.getByRole('button', { name: 'Refresh' }).click();
  expect(await shown.view.getByRole('alert').innerText()).toContain('No answer came');
  expect(await legend(shown)).toBe('7 there 1 too small 2 missing 2 still to come');
});

test('an error of the tool is shown in its words', async () => {
  const { view, sendCall } = await show();
  await sendCall(args, {
    content: [{ type: 'text', text: 'list_parts failed: NoSuchUpload.\n\ncode: …' }],
    isError: true,
  });
  expect(await view.getByRole('alert').innerText()).toBe('list_parts failed: NoSuchUpload.');
});

test('where the host passes no calls on, there is no Refresh', async () => {
  const { view, sendCall } = await show({ callsTools: false });
  await sendCall({ ...args, ...ofTwelve }, uploadResult(twelve, ofTwelve));
  await view.getByRole('slider', { name: 'Part' }).waitFor();
  expect(await view.getByRole('button', { name: 'Refresh' }).count()).toBe(0);
});

test('names are text, whatever they hold', async () => {
  const object =
    '<img src=x onerror="document.title=\'owned\'">\u202Egnp.exe</h1><script>document.title="owned"</script>';
  const shown = await show();
  await shown.sendCall({ ...args, object }, uploadResult(twelve, {}, { object, bucket: '<b>bucket</b>' }));
  const heading = shown.view.getByRole('heading', { level: 1 });
  const quoted = JSON.stringify(object).replace('\u202E', '\\u202e');
  expect(await heading.textContent()).toBe(`Upload of "…${quoted.slice(-40)} to "<b>bucket</b>"`);
  expect(await shown.view.locator('.key bdi').textContent()).toBe(quoted);
  expect(await heading.locator('img, script, b').count()).toBe(0);
  expect(await shown.view.title()).toBe('Upload');
  expect(shown.reported).toEqual([]);
});

test('part numbers and counts beyond all uploads do no harm', async () => {
  const { view, sendCall, reported } = await show();
  const parts = partsOf([1, 2, 2 ** 40]);
  await sendCall(args, uploadResult(parts, { expectedParts: 2 ** 50 }));
  await view.getByRole('slider', { name: 'Part' }).focus();
  await view.getByRole('slider', { name: 'Part' }).press('End');
  expect(await view.getByRole('slider', { name: 'Part' }).getAttribute('aria-valuetext')).toBe(
    'Parts 99,991 to 100,000: 10 missing',
  );
  expect(reported).toEqual([]);
});

test.each(['light', 'dark'] as const)('axe-core finds nothing in the %s theme', async (theme) => {
  const answer = () => {
    throw new Error('the server is gone');
  };
  const shown = await show({ context: { theme }, colorScheme: theme, answer });
  await shown.sendCall({ ...args, ...ofTwelve }, uploadResult(twelve, ofTwelve));
  await shown.view.getByRole('slider', { name: 'Part' }).waitFor();
  expect(await findings(shown.view)).toEqual([]);
  await shown.view.getByRole('button', { name: 'Refresh' }).click();
  await shown.view.getByRole('alert').waitFor();
  expect(await findings(shown.view)).toEqual([]);
});

test('nothing in it moves by itself, whatever motion the person allows', async () => {
  const shown = await show({ reducedMotion: 'no-preference' });
  await shown.sendCall({ ...args, ...ofTwelve }, uploadResult(twelve, ofTwelve));
  await shown.view.getByRole('slider', { name: 'Part' }).waitFor();
  expect(await movingElements(shown.view)).toEqual([]);
});

test("the host's theme, colours and fonts are taken on, and taken on anew", async () => {
  const variables = { '--font-sans': 'Georgia, serif', '--color-background-primary': 'rgb(1, 2, 3)' } as const;
  const shown = await show({ context: { theme: 'dark', styles: { variables: { ...variables } as never } } });
  const style = () =>
    shown.view.evaluate(() => {
      const { backgroundColor, fontFamily, colorScheme } = getComputedStyle(document.body);
      return { backgroundColor, fontFamily, colorScheme };
    });
  expect(await style()).toEqual({ backgroundColor: 'rgb(1, 2, 3)', fontFamily: 'Georgia, serif', colorScheme: 'dark' });
  await shown.changeContext({ theme: 'light' });
  await expect.poll(async () => (await style()).colorScheme).toBe('light');
});
