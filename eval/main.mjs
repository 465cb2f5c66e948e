// Lets a model go through the situations: npm run eval -- --base-url … --model …
import { fileURLToPath } from 'node:url';
import { bundle } from '../scripts/bundle.mjs';

const dist = fileURLToPath(new URL('../dist', import.meta.url));
await bundle({
  input: { eval: fileURLToPath(new URL('command.ts', import.meta.url)) },
  platform: 'node',
  transform: { target: 'node20' },
  resolve: { mainFields: ['module', 'main'] },
  output: { dir: dist, codeSplitting: false },
});
const { evaluate } = await import('../dist/eval.js');
const stop = new AbortController();
process.once('SIGINT', () => stop.abort(new Error('interrupted')));
const { argv, env, stdout, stderr } = process;
process.exitCode = await evaluate({
  ...{ args: argv.slice(2), env, stdout, stderr, signal: stop.signal },
  now: () => new Date(),
  server: `${dist}/main.js`,
  results: fileURLToPath(new URL('results', import.meta.url)),
  skills: fileURLToPath(new URL('../skills', import.meta.url)),
});
