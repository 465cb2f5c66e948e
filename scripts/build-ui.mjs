// Builds the views of ui/: each becomes one HTML file without references, as hosts load it, in dist/ui.
import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const beside = (file) => fileURLToPath(new URL(file, import.meta.url));

/**
 * Nothing is loaded from anywhere, and no text can become HTML or code (Trusted Types without a policy). Scripts are inline because
 * a view is one file; hosts put their own policy on top of this one.
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

export async function buildViews(outdir = beside('../dist/ui')) {
  await mkdir(outdir, { recursive: true });
  for (const [name, { title, start }] of Object.entries(views)) {
    const script = await bundle(`import { ${start} } from './ui/${name}/${name}-view.js'; void ${start}();`, 'ts');
    const style = await bundle(`@import './ui/shared/base.css'; @import './ui/${name}/${name}.css';`, 'css');
    await writeFile(`${outdir}/${name}.html`, page({ title, policy, style, script }));
  }
  const script = await bundle("import { startHostPage } from './ui/page/host-page.js'; startHostPage();", 'ts');
  const style = await bundle("@import './ui/page/page.css';", 'css');
  await writeFile(
    `${outdir}/page.html`,
    page({ title: 'cloudops-mcp', policy: hostPolicy(script, style), style, script }),
  );
}

/** The page of `cloudops-mcp view` runs its own script and reaches its own server, and nothing else. */
const hostPolicy = (script, style) =>
  [
    "default-src 'none'",
    `script-src '${sourceHash(script)}'`,
    `style-src '${sourceHash(style)}'`,
    "connect-src 'self'",
    "frame-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');

const sourceHash = (text) => `sha256-${createHash('sha256').update(text).digest('base64')}`;

const page = ({ title, policy, style, script }) =>
  [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${title}</title><style>${style}</style></head><body><script type="module">${script}</script></body></html>`,
  ].join('');

/** The text of a bundle. esbuild writes `</script` and `</style` so that they cannot end the element they are in. */
async function bundle(contents, loader) {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: beside('..'), loader },
    bundle: true,
    write: false,
    minify: true,
    format: 'esm',
    target: ['chrome123', 'safari17.5', 'firefox121'],
    legalComments: 'none',
    logLevel: 'warning',
  });
  return outputFiles[0].text.trim();
}
