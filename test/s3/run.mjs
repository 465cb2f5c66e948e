// Starts each real object store on loopback, runs the storage suite against it, and stops it.
// Usage: node test/s3/run.mjs [swift] [radosgw] [-- options of vitest]
import { execFileSync, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('.', import.meta.url));
const vitest = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url));
const split = process.argv.indexOf('--');
const named = process.argv.slice(2, split < 0 ? undefined : split);
const options = split < 0 ? [] : process.argv.slice(split + 1);

let failed = false;
for (const server of named.length > 0 ? named : ['swift', 'radosgw']) {
  console.log(`\n== ${server}`);
  let started;
  try {
    started = execFileSync(`${folder}start-${server}.sh`, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  } catch {
    console.error(`${server} could not be started; the line above says what to install or what is in the way.`);
    failed = true;
    continue;
  }
  // The script's last line is `S3_ENDPOINT=… S3_REGION=… S3_ACCESS_KEY=… S3_SECRET_KEY=…`.
  const settings = Object.fromEntries(
    started
      .trim()
      .split('\n')
      .at(-1)
      .split(' ')
      .map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
  );
  try {
    const { status } = spawnSync(process.execPath, [vitest, 'run', '--config', 'vitest.s3.config.ts', ...options], {
      stdio: 'inherit',
      env: { ...process.env, ...settings, S3_SERVER: server },
    });
    if (status !== 0) failed = true;
  } finally {
    execFileSync(`${folder}stop-${server}.sh`, { stdio: 'inherit' });
  }
}
process.exitCode = failed ? 1 : 0;
