// Builds the server and runs a bench by its name: npm run bench [-- http] [its options]. The default is `run`, which compares with peers.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const names = [
  'run',
  'http',
  'versions',
  'soak',
  'views',
  'newcomer',
  'call-path',
  'journal',
  'load',
  'faults',
  'strangers',
  'tokens',
];
const given = process.argv.slice(2);
const name = given[0] === undefined || given[0].startsWith('-') ? 'run' : given.shift();
if (!names.includes(name)) {
  console.error(`There is no bench ${name}. These are there: ${names.join(', ')}`);
  process.exit(1);
}

for (const [script, ...options] of [['../scripts/build.mjs'], [`${name}.mjs`, ...given]]) {
  const file = fileURLToPath(new URL(script, import.meta.url));
  const { status } = spawnSync(process.execPath, [file, ...options], { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
