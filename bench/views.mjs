// Measures the views in headless Chromium. Run it with npm run bench -- views [--rounds 41] [--json]. Prints the sizes of the views,
// the time until a view's first paint and until its host can send data, and the time to draw a map of parts. Each round measures every
// subject once, in turn. Figures are medians. The fastest figure stands in brackets, because other work on the machine affects it
// least.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { bundleLines } from '../scripts/bundle.mjs';

const { values: options } = parseArgs({
  options: { json: { type: 'boolean' }, rounds: { type: 'string', default: '11' } },
});
const here = (file) => fileURLToPath(new URL(file, import.meta.url));
function spread(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return { median: sorted[sorted.length >> 1], fastest: sorted[0] };
}
const shown = ({ median, fastest }) => `${median.toFixed(0)} (${fastest.toFixed(0)})`;

/** Bundles and loads the host of the browser tests, which is TypeScript. */
async function loadTestHost() {
  const outfile = here('../dist/bench-host.mjs');
  const contents =
    "export { startBrowser } from './test/browser/browser.js'; export * from './test/browser/uploads.js';";
  const code = await bundleLines(contents, {
    platform: 'node',
    external: /^[@\w][^:]*$/,
    transform: {
      define: { 'import.meta.url': JSON.stringify(String(pathToFileURL(here('../test/browser/browser.ts')))) },
    },
  });
  writeFileSync(outfile, code);
  try {
    return await import(String(pathToFileURL(outfile)));
  } finally {
    rmSync(outfile);
  }
}

/** The smallest view with the SDK's own protocol client. */
async function viewOfSdk() {
  const contents =
    "import { App } from '@modelcontextprotocol/ext-apps'; document.body.append('Upload'); void new App({ name: 'bench', version: '1' }, {}).connect();";
  const code = await bundleLines(contents, { output: { minify: true } });
  return `<!doctype html><html lang="en"><title>App</title><body><script type="module">${code}</script></body></html>`;
}

const { startBrowser, partsOf, uploadResult, upTo } = await loadTestHost();
const views = {
  'upload view': readFileSync(here('../dist/ui/upload.html'), 'utf8'),
  'change view': readFileSync(here('../dist/ui/change.html'), 'utf8'),
  'App of ext-apps, no view': await viewOfSdk(),
};
const browser = await startBrowser();

/** Milliseconds from the start of the view's document until its first paint, and until it tells its host that it is ready for data. */
async function load(html) {
  const { page, view } = await browser.show('upload', { html });
  const painted = await view.evaluate(
    () =>
      new Promise((resolve) => {
        const observer = new PerformanceObserver((list) => {
          for (const { name, startTime } of list.getEntries())
            if (name === 'first-contentful-paint') resolve(startTime);
        });
        observer.observe({ type: 'paint', buffered: true });
      }),
  );
  const ready = await page.evaluate(() => performance.getEntriesByName('ready')[0].duration);
  return { painted, ready };
}

/** Milliseconds from the arrival of a result to the next frame. */
async function draw(count, width) {
  const { view, sendCall } = await browser.show('upload', { width });
  await view.evaluate(() =>
    window.addEventListener('message', ({ data, timeStamp }) => {
      if (data.method !== 'ui/notifications/tool-result') return;
      // The view's own listener has run, and its changes are on the screen after the next frame.
      requestAnimationFrame(() => setTimeout(() => performance.measure('drawing', { start: timeStamp })));
    }),
  );
  await sendCall({ bucket: 'b', object: 'o', uploadId: 'u' }, uploadResult(partsOf(upTo(count))));
  const measured = await view.waitForFunction(() => performance.getEntriesByName('drawing')[0]?.duration);
  return measured.jsonValue();
}

const maps = [1, 12, 1000, 10_000].flatMap((count) => [280, 760, 1600].map((width) => ({ count, width, taken: [] })));
const loads = Object.entries(views).map(([name, html]) => ({ name, html, painted: [], ready: [] }));
for (let round = -1; round < Number(options.rounds); round += 1) {
  for (const { html, painted, ready } of loads) {
    const figures = await load(html);
    if (round >= 0) painted.push(figures.painted) && ready.push(figures.ready);
  }
  for (const { count, width, taken } of maps) {
    const ms = await draw(count, width);
    if (round >= 0) taken.push(ms);
  }
}
await browser.close();

const figures = {
  loads: loads.map(({ name, html, painted, ready }) => ({
    name,
    kB: Buffer.byteLength(html) / 1000,
    gzipped: gzipSync(html).length / 1000,
    painted: spread(painted),
    ready: spread(ready),
  })),
  maps: maps.map(({ count, width, taken }) => ({ count, width, ms: spread(taken) })),
};
if (options.json)
  console.log(JSON.stringify({ node: process.version, rounds: Number(options.rounds), ...figures }, null, 2));
else {
  const row = (...cells) => console.log(`| ${cells.join(' | ')} |`);
  row('what', 'kB', 'gzip, kB', 'first paint, ms (≤ 300)', 'ready for data, ms');
  row('---', '---', '---', '---', '---');
  for (const { name, kB, gzipped, painted, ready } of figures.loads)
    row(name, kB.toFixed(0), gzipped.toFixed(0), shown(painted), shown(ready));
  console.log();
  const widths = [...new Set(maps.map(({ width }) => width))];
  row('parts: drawn in ms (≤ 200)', ...widths.map((width) => `${width} px wide`));
  row('---', ...widths.map(() => '---'));
  for (const count of new Set(maps.map((map) => map.count)))
    row(count, ...figures.maps.filter((map) => map.count === count).map(({ ms }) => shown(ms)));
}
