// Writes docs/CONFIGURATION.md from the table of settings. With --check nothing is written; the exit code says whether it is current.
import { readFileSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';

const path = 'docs/CONFIGURATION.md';
const entryPoints = ['src/config/document.ts'];
const { outputFiles } = await build({ entryPoints, bundle: true, write: false, platform: 'node', format: 'esm' });
const code = Buffer.from(outputFiles[0].contents).toString('base64');
const { configurationDocument } = await import(`data:text/javascript;base64,${code}`);

const document = configurationDocument();
if (!process.argv.includes('--check')) writeFileSync(path, document);
else if (readFileSync(path, 'utf8') !== document) {
  console.error(`${path} is not current: run node scripts/configuration-doc.mjs`);
  process.exitCode = 1;
}
