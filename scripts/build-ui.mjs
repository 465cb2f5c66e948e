// Builds the views of ui/ into a folder. Each view is one HTML file without references, because hosts load a single file.
import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { browserslistToTargets, transform } from 'lightningcss';
import { bundleLines } from './bundle.mjs';

const beside = (file) => fileURLToPath(new URL(file, import.meta.url));
const browsers = ['chrome 123', 'safari 17.5', 'firefox 121'];

/**
 * The content security policy of views. They load nothing, and no text can become HTML or code (Trusted Types without a policy).
 * Scripts are inline because a view is one file. Hosts add their own policy.
 */
const policy = [
  "default-src 'none'",
  "script-src 'unsafe-inline'",
  "style-src 'unsafe-inline'",
  'font-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const views = {
  upload: { title: 'Upload', start: 'startUploadView' },
  change: { title: 'Change', start: 'startChangeView' },
};

/** Pages of our own server, which puts the title and the content into the list. */
const pages = {
  page: { title: 'cloudops-mcp', lines: "import { startHostPage } from './ui/page/host-page.js'; startHostPage();" },
  list: { title: '', lines: "import { startListPage } from './ui/list/list-page.js'; startListPage();" },
};

export async function buildViews(outdir) {
  await mkdir(outdir, { recursive: true });
  for (const [name, { title, start }] of Object.entries(views)) {
    const script = await scriptOf(`import { ${start} } from './ui/${name}/${name}-view.js'; void ${start}();`);
    const style = await styleOf('shared/base.css', `${name}/${name}.css`);
    await writeFile(`${outdir}/${name}.html`, page({ title, policy, style, script }));
  }
  for (const [name, { title, lines }] of Object.entries(pages)) {
    const script = await scriptOf(lines);
    const icon = await iconUrl();
    const rules = await styleOf('shared/base.css', 'shared/page-top.css', `${name}/${name}.css`);
    const style = `${rules}header strong::before{background-image:url("${icon}")}`;
    const html = page({ title, policy: hostPolicy(script, style), icon, style, script });
    await writeFile(`${outdir}/${name}.html`, html);
  }
}

/** A page for decisions runs only its own script and reaches only its own server. */
const hostPolicy = (script, style) =>
  [
    "default-src 'none'",
    `script-src '${sourceHash(script)}'`,
    `style-src '${sourceHash(style)}'`,
    "connect-src 'self'",
    "frame-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    // For signing out.
    "form-action 'self'",
  ].join('; ');

const sourceHash = (text) => `sha256-${createHash('sha256').update(text).digest('base64')}`;

const page = ({ title, policy, icon, style, script }) =>
  [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${title}</title>${icon ? `<link rel="icon" href="${icon}">` : ''}<style>${style}</style></head><body><script type="module">${script}</script></body></html>`,
  ].join('');

/** The icon of the browser's tabs and of the page's top. */
async function iconUrl() {
  const svg = await readFile(beside('../ui/page/icon.svg'), 'utf8');
  return `data:image/svg+xml,${encodeURIComponent(svg.trim())}`;
}

async function scriptOf(lines) {
  const code = await bundleLines(lines, {
    transform: { target: browsers.map((browser) => browser.replace(' ', '')) },
    output: { minify: true, comments: false },
  });
  return inline(code);
}

async function styleOf(...files) {
  const sources = await Promise.all(files.map((file) => readFile(beside(`../ui/${file}`))));
  const { code, warnings } = transform({
    filename: files.join(' + '),
    code: Buffer.concat(sources),
    minify: true,
    targets: browserslistToTargets(browsers),
  });
  if (warnings.length > 0) throw new Error(warnings.map(({ message }) => message).join('\n'));
  return inline(code.toString());
}

/** Escapes text for an element, so that the text cannot close the element. */
function inline(text) {
  if (/<\/(script|style)|<!--/i.test(text)) throw new Error('A view has text that would end the element it is in.');
  return text.trim();
}
